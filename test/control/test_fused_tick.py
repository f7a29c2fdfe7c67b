"""The fused tick against the slow path: equal results, and no change of state when it gives up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from control.arms import ARMS, AWAY, DT, HOME, Array, quintic
from manipapy_core import Payload
from manipapy_core.control import (
    Action,
    ArmController,
    Check,
    CollisionAhead,
    ControllerSettings,
    FilterSettings,
    GoalPhase,
    GuardSettings,
    Status,
)
from manipapy_core.trajectory import JointTrajectory

DURATION, POINT = 2.0, 0.02
"""Of the motion, and between its points [s]."""
BEFORE, AFTER = 250, 60
"""Ticks of the motion before and after an event."""
ARRAYS = ("q", "qd", "q_ref", "qd_ref", "qdd_ref", "tau")
ROUNDING = 1e-9
"""[rad, rad/s, rad/s², N m]"""


@dataclass
class Measured:
    """Input of a tick."""

    now: float
    q: Array
    qd: Array
    stamp: float


class Twins:
    """Two controllers of one arm with the same input; the second always takes the slow path."""

    def __init__(self, robot: str, settings: ControllerSettings | None = None):
        self.robot, self.chain, self.now = robot, ARMS[robot], 50.0
        self.fused, self.slow = (ArmController(self.chain, settings) for _ in range(2))
        self._disable_fused_tick()
        self.fused_ticks = 0
        """Fused ticks of the first controller."""
        self._rng, self._start = np.random.default_rng(3), np.inf

    def _disable_fused_tick(self) -> None:
        self.slow._pipeline._fused = None

    def apply(self, do: Callable[[ArmController], object]) -> None:
        do(self.fused)
        do(self.slow)

    def start_goal(self) -> None:
        times = np.arange(1, round(DURATION / POINT) + 1) * POINT
        points = np.array([quintic(HOME[self.robot], AWAY[self.robot], DURATION, t) for t in times])
        self.apply(lambda c: c.submit(JointTrajectory(times, *points.transpose(1, 0, 2))))
        self._start = self.now

    def nominal(self) -> Measured:
        """Measurement of an arm close to its reference."""
        q, qd, _ = quintic(HOME[self.robot], AWAY[self.robot], DURATION, self.now - self._start)
        noise = self._rng.normal(size=(2, self.chain.n))
        return Measured(self.now, q + 1e-5 * noise[0], qd + 1e-5 * noise[1], self.now)

    def tick(self, measured: Measured | None = None, dt: float = DT) -> tuple[Status, Status]:
        measured = measured or self.nominal()
        efforts = [
            c.tick(measured.now, measured.q.copy(), measured.qd.copy(), measured.stamp) for c in (self.fused, self.slow)
        ]
        assert (efforts[0] is None) == (efforts[1] is None)
        if efforts[0] is not None:
            assert np.abs(efforts[0] - efforts[1]).max() < ROUNDING
        self.fused_ticks += self._was_fused()
        self.now += dt
        one, other = self.fused.status(), self.slow.status()
        assert_alike(one, other)
        return one, other

    def _was_fused(self) -> bool:
        pipeline = self.fused._pipeline
        results = () if pipeline._fused is None else pipeline._fused._results
        return any(pipeline.state is result.state for result in results)

    def run(self, ticks: int) -> None:
        for _ in range(ticks):
            self.tick()


def assert_alike(one: Status, other: Status) -> None:
    """Compares the status of two ticks, to rounding."""
    assert (one.phase, one.law, one.ticks) == (other.phase, other.law, other.ticks)
    assert (one.verdict.action, one.verdict.check, one.verdict.joint) == (
        other.verdict.action,
        other.verdict.check,
        other.verdict.joint,
    )
    assert (one.held is None) == (other.held is None)
    assert one.goal_time == pytest.approx(other.goal_time, abs=1e-12) and one.rate == pytest.approx(other.rate)
    assert (one.goal is None) == (other.goal is None)
    first, second = (np.stack([getattr(status, name) for name in ARRAYS]) for status in (one, other))
    assert np.abs(first - second).max() < ROUNDING, dict(zip(ARRAYS, np.abs(first - second).max(axis=1)))


@pytest.fixture(params=sorted(ARMS))
def twins(request):
    """Two controllers in mid-motion, which accept every joint state, also such as no effort explains."""
    guard = GuardSettings(state_jump=10.0, state_consistency=100.0, velocity_jump=100.0, contact_threshold=1e6)
    twins = Twins(request.param, ControllerSettings(guard=guard))
    return in_mid_motion(twins)


def in_mid_motion(twins: Twins) -> Twins:
    twins.run(250)
    twins.start_goal()
    twins.run(BEFORE)
    assert twins.fused_ticks > 0.8 * BEFORE, "a common tick is fused"
    return twins


@pytest.mark.parametrize("payload", [None, Payload(1.5, (0.01, 0.0, 0.05))], ids=["empty", "loaded"])
@pytest.mark.parametrize("robot", ARMS)
def test_fused_tick_equals_slow_path_over_a_motion(robot, payload):
    twins = Twins(robot, ControllerSettings(payload=payload))
    twins.run(250)
    assert not twins.fused_ticks, "an arm without a goal takes the slow path"
    twins.start_goal()
    twins.run(round(DURATION / DT) + 200)
    assert twins.fused_ticks > 0.95 * DURATION / DT
    assert twins.fused.status().phase is GoalPhase.HOLDING


def towards_limit(twins: Twins, measured: Measured) -> Measured:
    """Close to a position limit, at high speed."""
    j, limits = 2, twins.chain.limits
    q, qd = measured.q.copy(), measured.qd.copy()
    q[j], qd[j] = limits.upper[j] - 0.01, 0.9 * limits.velocity[j]
    return replace(measured, q=q, qd=qd)


def with_speed(share: float) -> Callable[[Twins, Measured], Measured]:
    def change(twins: Twins, measured: Measured) -> Measured:
        qd = measured.qd.copy()
        qd[0] = share * twins.chain.limits.velocity[0]
        return replace(measured, qd=qd)

    return change


def displaced(distance: float) -> Callable[[Twins, Measured], Measured]:
    return lambda twins, measured: replace(measured, q=measured.q + distance * np.eye(twins.chain.n)[1])


FAULTS: dict[str, tuple[Callable[[Twins, Measured], Measured], Action, set[Check]]] = {
    "q is NaN": (lambda _, m: replace(m, q=m.q * np.nan), Action.HOLD, {Check.FINITE}),
    "qd is infinite": (lambda _, m: replace(m, qd=m.qd + np.inf), Action.HOLD, {Check.FINITE}),
    "stale": (lambda _, m: replace(m, stamp=m.now - 0.03), Action.HOLD, {Check.FRESH}),
    "very stale": (lambda _, m: replace(m, stamp=m.now - 0.3), Action.STOP, {Check.FRESH}),
    "from the future": (lambda _, m: replace(m, stamp=m.now + 0.02), Action.HOLD, {Check.CLOCK}),
    "back in time": (lambda _, m: replace(m, stamp=m.now - 0.005), Action.HOLD, {Check.CLOCK}),
    "clock jumps": (lambda _, m: replace(m, now=m.now + 5.0, stamp=m.now + 5.0), Action.HOLD, {Check.CLOCK}),
    "clock stands": (lambda _, m: replace(m, now=m.now - DT, stamp=m.now - DT), Action.HOLD, {Check.CLOCK}),
    "late": (lambda _, m: replace(m, now=m.now + 0.007, stamp=m.now + 0.007), Action.SLOW, {Check.DEADLINE}),
    "very late": (lambda _, m: replace(m, now=m.now + 0.08, stamp=m.now + 0.08), Action.HOLD, {Check.DEADLINE}),
    "no new state": (lambda _, m: replace(m, stamp=m.now - DT), Action.OK, {Check.NONE}),
    "towards_limit": (towards_limit, Action.HOLD, {Check.POSITION}),
    "fast": (with_speed(1.1), Action.SLOW, {Check.VELOCITY, Check.EFFORT, Check.TORQUE_RATE}),
    "too fast": (with_speed(1.4), Action.HOLD, {Check.VELOCITY}),
    "efforts jump": (displaced(0.1), Action.SLOW, {Check.EFFORT, Check.TORQUE_RATE}),
    "far away": (displaced(0.4), Action.HOLD, {Check.TRACKING}),
}


@pytest.mark.parametrize("robot", ARMS)
def test_a_state_far_from_the_last_one_is_not_accepted_on_either_path(robot):
    twins = in_mid_motion(Twins(robot))
    before = twins.fused_ticks
    twins.tick(displaced(0.005)(twins, twins.nominal()))
    assert twins.fused_ticks == before + 1, "a small step is plausible"
    for _ in range(300):
        one, _ = twins.tick(displaced(0.1 if twins.now % 0.002 > 0.001 else 0.0)(twins, twins.nominal()))
    assert one.held is not None and one.held.check is Check.PLAUSIBLE
    assert np.abs(one.qd).max() < 1.0


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_give_the_same_verdict_on_both_paths(twins, fault):
    change, action, checks = FAULTS[fault]
    measured = change(twins, twins.nominal())
    one, _ = twins.tick(measured, dt=measured.now - twins.now + DT)
    if fault != "far away":
        assert one.verdict.action is action and one.verdict.check in checks
    else:
        # The path tolerance of the goal is narrower than the guard's, so the goal is aborted first.
        assert one.goal is None and one.phase is GoalPhase.STOPPING
    twins.run(AFTER)


def test_path_tolerance_aborts_on_both_paths(twins):
    twins.tick(displaced(0.2)(twins, twins.nominal()))
    assert twins.fused.status().goal is None
    twins.run(AFTER)


@pytest.mark.parametrize(("excess", "fused"), [(-1e-4, True), (-2e-9, False), (1e-12, False), (1e-4, False)])
def test_slow_path_decides_near_a_limit(excess, fused):
    """A tracking error close to its tolerance; the goal is to stay."""
    allowed = 1e-3
    # The torque rate is not limited, so that only the tracking check decides.
    twins = Twins("ur5", ControllerSettings(guard=GuardSettings(tracking_error=allowed, effort_rise_time=1e-6)))
    twins.run(250)
    stay = np.stack([HOME["ur5"], HOME["ur5"]])
    twins.apply(lambda c: c.submit(JointTrajectory([0.02, 10.0], stay, 0.0 * stay, 0.0 * stay)))
    still = [Measured(twins.now + k * DT, HOME["ur5"], np.zeros(6), twins.now + k * DT) for k in range(101)]
    for measured in still[:100]:
        twins.tick(measured)
    before = twins.fused_ticks
    assert before > 50
    away = allowed * (1.0 + excess) * np.eye(6)[4]
    one, _ = twins.tick(replace(still[100], q=HOME["ur5"] + away))
    assert (twins.fused_ticks > before) == fused
    assert one.verdict.action is (Action.HOLD if excess > 0.0 else Action.OK)


def slow_ahead() -> CollisionAhead:
    ahead = CollisionAhead(stale_after=1e9)
    ahead.update(0.5, 0.0)
    return ahead


def test_free_forecast_keeps_the_fused_tick(twins):
    ahead = CollisionAhead(stale_after=1e9)
    ahead.update(1.0, 0.0)
    twins.apply(lambda c: c.watch_for_collisions(ahead))
    before = twins.fused_ticks
    for _ in range(20):
        twins.tick()
    assert twins.fused_ticks > before


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.cancel(),
        lambda c: c.hold(),
        lambda c: c.stop("a test"),
        lambda c: c.set_speed(0.5),
        lambda c: c.set_law("pd_gravity"),
        lambda c: c.set_gains({"kp": 200.0}),
        lambda c: c.set_payload(Payload(0.5)),
        lambda c: c.watch_for_collisions(slow_ahead()),
        lambda c: c.fail(RuntimeError("a test")),
        lambda c: c.submit(JointTrajectory([1.0], [HOME["ur5" if c.chain.n == 6 else "panda"]])),
    ],
    ids=["cancel", "hold", "stop", "speed", "law", "gains", "payload", "collisions", "failure", "goal"],
)
def test_requests_have_the_same_effect_on_both_paths(twins, change):
    twins.apply(change)
    twins._disable_fused_tick()
    for _ in range(AFTER):
        twins.tick()
        # A change of law makes a new fused tick.
        twins._disable_fused_tick()


def test_fused_tick_uses_new_gains_after_the_blend(twins):
    before = twins.fused._pipeline._fused
    twins.apply(lambda c: c.set_gains({"kp": 300.0, "kd": 30.0}))
    count = twins.fused_ticks
    for _ in range(400):
        twins.tick()
        twins._disable_fused_tick()
    assert twins.fused._pipeline._fused is not before and twins.fused_ticks - count > 150


def test_filter_and_other_laws_take_the_slow_path():
    for settings in (ControllerSettings(filter=FilterSettings()), ControllerSettings(law="feedforward")):
        assert ArmController(ARMS["ur5"], settings)._pipeline._fused is None


def test_last_measurement_survives_a_dropped_fused_tick(twins):
    """The hold continues from the last measurement, which a dropped fused tick must not overwrite."""
    twins.tick()
    state = twins.fused._pipeline.state
    q = state.q.copy()
    measured = twins.nominal()
    twins.tick(replace(measured, q=measured.q * np.nan))
    assert np.array_equal(state.q, q)
