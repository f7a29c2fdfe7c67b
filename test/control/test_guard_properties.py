"""Whatever a law computes and whatever arrives as joint state: what is sent is finite and within limits and rates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from control.arms import ARMS, AWAY, DT, HOME, Rig, move
from control.faulty_laws import FaultyLaw
from manipapy_core.control import ArmController, ControllerSettings, GuardSettings

MOST_FAST = 1.05
"""Share of the velocity limit that no law may cause."""
PERIOD = ControllerSettings().period
ANY = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-10.0, 10.0),
    st.sampled_from([0.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308, 1e17, 1e6]),
)


class AnyLaw(FaultyLaw):
    """Gives the efforts that it is told to, or raises."""

    def __init__(self, chain):
        super().__init__(chain, lambda tau, _: self.wanted(tau))
        self.output: list[float] | Exception | None = None

    def wanted(self, tau):
        if isinstance(self.output, Exception):
            raise self.output
        return tau if self.output is None else np.resize(np.array(self.output), tau.shape)


def controller_of(robot: str) -> tuple[ArmController, AnyLaw]:
    """A new controller; what is compiled is shared."""
    controller = ArmController(ARMS[robot])
    law = AnyLaw(ARMS[robot])
    controller.set_law(law)
    return controller, law


numbers = st.lists(ANY, min_size=1, max_size=7)
measurements = st.one_of(
    st.none(),  # the state that is expected
    st.tuples(st.just("positions"), numbers),
    st.tuples(st.just("velocities"), numbers),
    st.tuples(st.just("shift"), st.floats(-0.5, 0.5)),
)
ticks = st.fixed_dictionaries(
    {
        "dt": st.one_of(st.just(DT), st.sampled_from([0.0, -0.01, 1e-6, 0.004, 0.03, 0.3, 2.0, 1e9])),
        "age": st.one_of(st.just(0.0), st.sampled_from([0.001, 0.03, 0.2, -0.05, -1e9, np.nan, np.inf, -np.inf])),
        "measured": measurements,
        "disputed": st.booleans(),
        "law": st.one_of(st.none(), numbers, st.just(ArithmeticError("of the law"))),
        "request": st.sampled_from(
            ["", "", "", "", "hold", "stop", "reset", "goal", "cancel", "source", "speed", "law"]
        ),
        "repeat": st.sampled_from([1, 1, 2, 30]),
    }
)
QUIET = {"dt": DT, "age": 0.0, "measured": None, "disputed": False, "law": None, "request": "", "repeat": 1}

LATE = [
    {**QUIET, "disputed": True},
    {**QUIET, "dt": 1e9, "measured": ("shift", 0.5)},
    *({**QUIET, "dt": dt} for dt in (DT, DT, -0.01, DT)),
]


def request(controller: ArmController, law: AnyLaw, robot: str, name: str) -> None:
    chain = ARMS[robot]
    {
        "hold": controller.hold,
        "stop": lambda: controller.stop("for the test"),
        "reset": controller.reset,
        "goal": lambda: controller.submit(move(chain, AWAY[robot], 2.0)),
        "cancel": controller.cancel,
        "source": controller.change_source,
        "speed": lambda: controller.set_speed(0.5),
        "law": lambda: controller.set_law(law),
        "": lambda: None,
    }[name]()


@pytest.mark.parametrize("robot", ARMS)
@given(sequence=st.lists(ticks, min_size=1, max_size=12))
@example(sequence=LATE)
@example(sequence=[{**QUIET, "measured": ("velocities", [1e308])}, QUIET])
@example(sequence=[{**QUIET, "measured": ("positions", [1e308])}, {**QUIET, "law": [1e308], "repeat": 30}])
@example(sequence=[QUIET, {**QUIET, "law": [np.nan], "repeat": 30}])
@example(sequence=[QUIET, {**QUIET, "law": [0.0], "repeat": 30}])
@settings(max_examples=150)
def test_efforts_are_finite_and_within_limits_and_rates(robot, sequence):
    chain = ARMS[robot]
    limit = chain.limits.effort
    rate = GuardSettings().torque_rates(chain)
    controller, law = controller_of(robot)
    now, last = 100.0, None
    for tick in sequence:
        request(controller, law, robot, tick["request"])
        law.output = tick["law"]
        for _ in range(tick["repeat"]):
            before, now = now, now + tick["dt"]
            q, qd = HOME[robot].copy(), np.zeros(chain.n)
            if tick["measured"] is not None:
                kind, value = tick["measured"]
                if kind == "shift":
                    q += value
                else:
                    (q if kind == "positions" else qd)[:] = np.resize(value, chain.n)
            tau = controller.tick(now, q, qd, now - tick["age"], disputed=tick["disputed"])
            if tau is None:
                last = None
                continue
            assert np.isfinite(tau).all()
            assert (np.abs(tau) <= limit * (1.0 + 1e-12)).all()
            if last is not None and tick["request"] != "source":
                # Late times have few digits after the point.
                step = min(max(now - before, 0.1 * PERIOD), 5.0 * PERIOD)
                assert (np.abs(tau - last) <= rate * step * (1.0 + 1e-9)).all()
            last = tau.copy()


KINDS = ("constant", "added", "ramp", "chatter", "sine", "saturated")


@pytest.mark.parametrize("robot", ARMS)
@given(
    kind=st.sampled_from(KINDS),
    shares=st.lists(st.floats(-1.0, 1.0), min_size=7, max_size=7),
    scale=st.sampled_from([0.05, 0.2, 0.5, 1.0, 10.0]),
    after=st.integers(50, 700),
    frequency=st.floats(1.0, 40.0),
    duration=st.one_of(st.none(), st.floats(0.9, 2.0)),
)
@example(kind="saturated", shares=[0.0, 0, 0, 0, 0.5, 0, 0], scale=1.0, after=60, frequency=1.0, duration=None)
@example(kind="chatter", shares=[0.0, 0, 0, 0, 1.0, 0, 0], scale=10.0, after=60, frequency=1.0, duration=None)
@settings(max_examples=12)
def test_no_law_makes_the_arm_faster_than_its_limit(robot, kind, shares, scale, after, frequency, duration):
    """Looks at the arm: whatever the law does, it is braked in time."""
    chain = ARMS[robot]
    size = scale * chain.limits.effort * np.array(shares[: chain.n])

    def fault(tau, tick):
        if kind == "constant":
            return np.where(size != 0.0, size, tau)
        if kind == "saturated":
            return np.where(size != 0.0, np.sign(size) * chain.limits.effort, tau)
        shape = {"ramp": tick / 200, "chatter": (-1.0) ** tick, "sine": np.sin(2e-3 * np.pi * frequency * tick)}
        return tau + size * shape.get(kind, 1.0)

    rig = Rig.of(robot, ControllerSettings(guard=GuardSettings(tracking_error=100.0))).run(0.05)
    rig.controller.set_law(FaultyLaw(chain, fault, after))
    rig.run(0.03)
    if duration is not None:
        rig.controller.submit(move(chain, AWAY[robot], duration))
    rig.run(1.2)
    assert (np.abs(rig.qd).max(axis=0) <= MOST_FAST * chain.limits.velocity).all()
