"""The usual tick in one call, against the same tick by its parts: alike when all is well, and silent when it is not."""

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
"""Ticks of the motion before something happens, and after."""
ARRAYS = ("q", "qd", "q_ref", "qd_ref", "qdd_ref", "tau")
ROUNDING = 1e-9
"""[rad, rad/s, rad/s², N m]"""


@dataclass
class Measured:
    """What a tick is told."""

    now: float
    q: Array
    qd: Array
    stamp: float


class Twins:
    """Two controllers of one arm that get the same; one of them always goes the long way."""

    def __init__(self, robot: str, settings: ControllerSettings | None = None):
        self.robot, self.chain, self.now = robot, ARMS[robot], 50.0
        self.quick, self.long = (ArmController(self.chain, settings) for _ in range(2))
        self._only_the_long_way()
        self.quickly = 0
        """Ticks that the first one made in one call."""
        self._rng, self._start = np.random.default_rng(3), np.inf

    def _only_the_long_way(self) -> None:
        self.long._pipeline._fused = None

    def both(self, do: Callable[[ArmController], object]) -> None:
        do(self.quick)
        do(self.long)

    def start_goal(self) -> None:
        times = np.arange(1, round(DURATION / POINT) + 1) * POINT
        points = np.array([quintic(HOME[self.robot], AWAY[self.robot], DURATION, t) for t in times])
        self.both(lambda c: c.submit(JointTrajectory(times, *points.transpose(1, 0, 2))))
        self._start = self.now

    def usual(self) -> Measured:
        """An arm that is nearly where it should be."""
        q, qd, _ = quintic(HOME[self.robot], AWAY[self.robot], DURATION, self.now - self._start)
        noise = self._rng.normal(size=(2, self.chain.n))
        return Measured(self.now, q + 1e-5 * noise[0], qd + 1e-5 * noise[1], self.now)

    def tick(self, measured: Measured | None = None, dt: float = DT) -> tuple[Status, Status]:
        told = measured or self.usual()
        efforts = [c.tick(told.now, told.q.copy(), told.qd.copy(), told.stamp) for c in (self.quick, self.long)]
        assert (efforts[0] is None) == (efforts[1] is None)
        if efforts[0] is not None:
            assert np.abs(efforts[0] - efforts[1]).max() < ROUNDING
        self.quickly += self._was_quick()
        self.now += dt
        one, other = self.quick.status(), self.long.status()
        assert_alike(one, other)
        return one, other

    def _was_quick(self) -> bool:
        pipeline = self.quick._pipeline
        results = () if pipeline._fused is None else pipeline._fused._results
        return any(pipeline.state is result.state for result in results)

    def run(self, ticks: int) -> None:
        for _ in range(ticks):
            self.tick()


def assert_alike(one: Status, other: Status) -> None:
    """Everything that a tick tells, to rounding."""
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
    """In the middle of a motion."""
    twins = Twins(request.param)
    twins.run(250)
    twins.start_goal()
    twins.run(BEFORE)
    assert twins.quickly > 0.8 * BEFORE, "the usual tick is made in one call"
    return twins


@pytest.mark.parametrize("payload", [None, Payload(1.5, (0.01, 0.0, 0.05))], ids=["empty", "loaded"])
@pytest.mark.parametrize("robot", ARMS)
def test_a_whole_motion_is_alike(robot, payload):
    twins = Twins(robot, ControllerSettings(payload=payload))
    twins.run(250)
    assert not twins.quickly, "an arm without a goal is held the long way"
    twins.start_goal()
    twins.run(round(DURATION / DT) + 200)
    assert twins.quickly > 0.95 * DURATION / DT
    assert twins.quick.status().phase is GoalPhase.HOLDING


def outwards(twins: Twins, told: Measured) -> Measured:
    """Just before a position limit and fast."""
    j, limits = 2, twins.chain.limits
    q, qd = told.q.copy(), told.qd.copy()
    q[j], qd[j] = limits.upper[j] - 0.01, 0.9 * limits.velocity[j]
    return replace(told, q=q, qd=qd)


def with_speed(share: float) -> Callable[[Twins, Measured], Measured]:
    def change(twins: Twins, told: Measured) -> Measured:
        qd = told.qd.copy()
        qd[0] = share * twins.chain.limits.velocity[0]
        return replace(told, qd=qd)

    return change


def displaced(distance: float) -> Callable[[Twins, Measured], Measured]:
    return lambda twins, told: replace(told, q=told.q + distance * np.eye(twins.chain.n)[1])


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
    "outwards": (outwards, Action.HOLD, {Check.POSITION}),
    "fast": (with_speed(1.1), Action.SLOW, {Check.VELOCITY, Check.EFFORT, Check.TORQUE_RATE}),
    "too fast": (with_speed(1.4), Action.HOLD, {Check.VELOCITY}),
    "efforts jump": (displaced(0.1), Action.SLOW, {Check.EFFORT, Check.TORQUE_RATE}),
    "far away": (displaced(0.4), Action.HOLD, {Check.TRACKING}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_found_the_same_way(twins, fault):
    change, action, checks = FAULTS[fault]
    told = change(twins, twins.usual())
    one, _ = twins.tick(told, dt=told.now - twins.now + DT)
    if fault != "far away":
        assert one.verdict.action is action and one.verdict.check in checks
    else:
        # The path tolerance of the goal is narrower than the guard's, so the goal is aborted first.
        assert one.goal is None and one.phase is GoalPhase.STOPPING
    twins.run(AFTER)


def test_a_path_tolerance_aborts_the_same_way(twins):
    twins.tick(displaced(0.2)(twins, twins.usual()))
    assert twins.quick.status().goal is None
    twins.run(AFTER)


@pytest.mark.parametrize(("excess", "quick"), [(-1e-4, True), (-2e-9, False), (1e-12, False), (1e-4, False)])
def test_near_a_limit_the_long_way_decides(excess, quick):
    """A tracking error that is allowed, or not, by a hair; the goal is to stay."""
    allowed = 1e-3
    # No torque rate is too high, so that it is this check alone which matters.
    twins = Twins("ur5", ControllerSettings(guard=GuardSettings(tracking_error=allowed, effort_rise_time=1e-6)))
    twins.run(250)
    stay = np.stack([HOME["ur5"], HOME["ur5"]])
    twins.both(lambda c: c.submit(JointTrajectory([0.02, 10.0], stay, 0.0 * stay, 0.0 * stay)))
    still = [Measured(twins.now + k * DT, HOME["ur5"], np.zeros(6), twins.now + k * DT) for k in range(101)]
    for told in still[:100]:
        twins.tick(told)
    before = twins.quickly
    assert before > 50
    away = allowed * (1.0 + excess) * np.eye(6)[4]
    one, _ = twins.tick(replace(still[100], q=HOME["ur5"] + away))
    assert (twins.quickly > before) == quick
    assert one.verdict.action is (Action.HOLD if excess > 0.0 else Action.OK)


def slow_ahead() -> CollisionAhead:
    ahead = CollisionAhead(stale_after=1e9)
    ahead.update(0.5, 0.0)
    return ahead


def test_a_free_forecast_does_not_slow_ticks_down(twins):
    ahead = CollisionAhead(stale_after=1e9)
    ahead.update(1.0, 0.0)
    twins.both(lambda c: c.watch_for_collisions(ahead))
    before = twins.quickly
    for _ in range(20):
        twins.tick()
    assert twins.quickly > before


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
def test_what_others_ask_for_is_done_the_same_way(twins, change):
    twins.both(change)
    twins._only_the_long_way()
    for _ in range(AFTER):
        twins.tick()
        # A change of law chooses the way anew.
        twins._only_the_long_way()


def test_new_gains_are_used_once_they_are_blended_in(twins):
    before = twins.quick._pipeline._fused
    twins.both(lambda c: c.set_gains({"kp": 300.0, "kd": 30.0}))
    count = twins.quickly
    for _ in range(400):
        twins.tick()
        twins._only_the_long_way()
    assert twins.quick._pipeline._fused is not before and twins.quickly - count > 150


def test_filters_and_other_laws_go_the_long_way():
    for settings in (ControllerSettings(filter=FilterSettings()), ControllerSettings(law="feedforward")):
        assert ArmController(ARMS["ur5"], settings)._pipeline._fused is None


def test_what_was_measured_outlives_the_next_attempt(twins):
    """The hold goes on from the last measurement, so an attempt that fails must not have written over it."""
    twins.tick()
    state = twins.quick._pipeline.state
    q = state.q.copy()
    told = twins.usual()
    twins.tick(replace(told, q=told.q * np.nan))
    assert np.array_equal(state.q, q)
