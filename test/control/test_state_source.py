"""Joint states that are not accepted: the arm brakes by prediction, and from its rest on nothing is sent."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from control.arms import ARMS, AWAY, HOME, Rig, move
from manipapy_core.control import Action, Check, ControllerSettings, GuardSettings

robots = pytest.mark.parametrize("robot", ARMS)
STOP_TIME = 1.2
"""[s]"""


def moving(robot: str, settings: ControllerSettings | None = None):
    rig = Rig.of(robot, settings).run(0.05)
    goal = rig.controller.submit(move(ARMS[robot], AWAY[robot], 2.0))
    rig.run(1.0)
    assert np.abs(rig.arm.qd).max() > 0.8
    return rig, goal


def alternating(change):
    """Every tenth state is changed."""

    def measure(rig):
        q, qd, stamp = rig.truth()
        return (change(q), qd, stamp) if round(rig.now * 1000) % 10 == 0 else (q, qd, stamp)

    return measure


LIES = {
    "zeros": lambda q: 0.0 * q,
    "offset": lambda q: q + 0.1,
    "stale": lambda q: q - 0.05,
}


@robots
@pytest.mark.parametrize("lie", LIES)
def test_alternating_states_stop_the_arm_and_end_in_silence(robot, lie):
    rig, goal = moving(robot)
    mark = rig.mark()
    rig.measure = alternating(LIES[lie])
    rig.run(2.0)
    speeds = np.abs(rig.qd[mark:]).max(axis=0)
    assert (speeds <= np.abs(rig.qd[:mark]).max(axis=0) + 0.02).all(), "the arm only brakes"
    assert rig.still_within(mark, STOP_TIME)
    assert rig.silence > 0.3, "nothing is sent once the arm rests"
    held = rig.controller.status().held
    assert (held.action, held.check) == (Action.HOLD, Check.PLAUSIBLE)
    assert not goal.outcome.succeeded and "step between two joint states" in goal.outcome.text
    rig.measure = lambda rig: rig.truth()
    rig.run(0.5)
    assert rig.silence == 0.0, "accepted states end the silence"
    again = rig.controller.submit(move(ARMS[robot], HOME[robot], 3.0))
    rig.run(3.5)
    assert again.outcome.succeeded, again.outcome.text
    assert np.abs(rig.arm.q - HOME[robot]).max() < 2e-3


@robots
def test_disputed_states_stop_the_arm_by_prediction(robot):
    rig, goal = moving(robot)
    mark, tick = rig.mark(), rig.controller.tick
    rig.controller.tick = functools.partial(tick, disputed=True)  # type: ignore[method-assign]
    # What arrives is not looked at: even plausible lies change nothing.
    rig.measure = lambda rig: (rig.arm.q + 0.001 * (rig.now - 101.0), 0.0 * rig.arm.qd, rig.now)
    rig.run(2.0)
    assert rig.still_within(mark, STOP_TIME) and rig.silence > 0.3
    assert rig.controller.status().held.check is Check.SOURCE and not goal.outcome.succeeded
    rig.controller.tick, rig.measure = tick, lambda rig: rig.truth()  # type: ignore[method-assign]
    rig.run(0.5)
    assert rig.silence == 0.0
    again = rig.controller.submit(move(ARMS[robot], HOME[robot], 3.0))
    rig.run(3.5)
    assert again.outcome.succeeded, again.outcome.text


def test_an_arm_that_was_set_elsewhere_is_accepted_after_a_while():
    rig, _ = moving("ur5")
    rig.run(0.9)
    rig.arm.q[:], rig.arm.qd[:] = HOME["ur5"], 0.0
    mark = rig.mark()
    rig.run(1.5)
    assert rig.controller.status().held.check is Check.PLAUSIBLE
    assert rig.still_within(mark, 1.0) and rig.silence == 0.0
    np.testing.assert_allclose(rig.controller.status().q, rig.arm.q)


def test_a_new_source_is_accepted_at_once_and_a_stop_stays():
    rig = Rig.of("ur5").run(0.1)
    rig.controller.stop("for the test")
    rig.run(0.3)
    rig.arm.q[:] = AWAY["ur5"]
    rig.controller.change_source()
    mark = rig.mark()
    rig.run(0.3)
    assert rig.still_within(mark, 0.0), "it is held where it is, without a jerk"
    assert rig.controller.status().held.action is Action.STOP
    np.testing.assert_allclose(rig.arm.q, AWAY["ur5"], atol=1e-4)


def repeated(velocities: float):
    """A driver that hangs: its last positions with new stamps, and its velocities times a number."""
    last: list = []

    def measure(rig):
        q, qd, stamp = rig.truth()
        last[:] = last or [q.copy(), velocities * qd]
        return *last, stamp

    return measure


CONTRADICTIONS = {
    "repeated states": lambda: repeated(1.0),
    "repeated positions": lambda: repeated(0.0),
    "wrong sign": lambda: lambda rig: (rig.arm.q, -rig.arm.qd, rig.now),
    "offset": lambda: lambda rig: (rig.arm.q, rig.arm.qd + 0.5, rig.now),
}


@robots
@pytest.mark.parametrize("kind", CONTRADICTIONS)
def test_states_that_contradict_each_other_stop_the_arm(robot, kind):
    rig, goal = moving(robot)
    mark = rig.mark()
    rig.measure = CONTRADICTIONS[kind]()
    rig.run(1.5)
    assert (np.abs(rig.qd[mark:]) < ARMS[robot].limits.velocity).all()
    assert rig.still_within(mark, STOP_TIME)
    assert rig.silence > 0.3, "nothing is sent once the arm rests"
    held = rig.controller.status().held
    assert (held.action, held.check) == (Action.STOP, Check.PLAUSIBLE)
    # Within the first milliseconds it may look like a contact.
    assert any(word in goal.outcome.text for word in ("positions", "velocities", "external effort"))
    rig.measure = lambda rig: rig.truth()
    rig.run(0.5)
    assert rig.silence > 0.8, "an arm at rest does not show that its driver works again"
    rig.controller.reset()
    rig.run(0.1)
    again = rig.controller.submit(move(ARMS[robot], HOME[robot], 3.0))
    rig.run(3.5)
    assert again.outcome.succeeded, again.outcome.text


@robots
def test_an_arm_that_is_stopping_already_brakes_by_prediction_when_states_contradict_each_other(robot):
    rig, _ = moving(robot)
    rig.controller.stop("for the test")
    rig.run(0.02)
    mark, start, share = rig.mark(), rig.arm.q.copy(), 0.26 * ARMS[robot].limits.velocity
    rig.measure = lambda rig: (rig.arm.q, rig.arm.qd + share, rig.now)
    rig.run(1.5)
    assert rig.still_within(mark, STOP_TIME)
    assert np.abs(np.array(rig.q[mark:]) - start).max() < 0.12, "wrong velocities do not push the arm on"
    assert (np.abs(rig.qd[mark:]) < 0.5 * ARMS[robot].limits.velocity).all()


def test_noise_and_late_velocities_are_no_contradiction():
    rig, goal = moving("ur5")
    rng, earlier = np.random.default_rng(0), []

    def measure(rig):
        q, qd, stamp = rig.truth()
        earlier.append(qd + rng.normal(0.0, 0.02, 6))
        return q + rng.normal(0.0, 1e-4, 6), earlier[-min(3, len(earlier))], stamp

    rig.measure = measure
    rig.run(2.5)
    assert goal.outcome.succeeded, goal.outcome.text


def test_a_driver_that_publishes_faster_than_it_measures_works_with_a_larger_tolerance():
    """Measured at 250 Hz, published at 1 kHz with new stamps: by default this is a driver that hangs."""

    def outcome(guard: GuardSettings):
        rig, goal = moving("ur5", ControllerSettings(guard=guard))
        measured: list = []

        def measure(rig):
            if round(1e3 * rig.now) % 4 == 0 or not measured:
                measured[:] = [part.copy() for part in rig.truth()[:2]]
            return *measured, rig.truth()[2]

        rig.measure = measure
        rig.run(2.5)
        return goal.outcome

    assert "positions" in outcome(GuardSettings()).text
    assert outcome(GuardSettings(state_consistency=0.05)).succeeded


def test_an_arm_that_the_far_side_has_held_is_not_moved_by_a_prediction():
    """As in a simulation whose states stop: the loop does not tick for a while, and wakes up without a state."""
    settings = ControllerSettings(guard=GuardSettings(state_hold_after=0.25, state_stop_after=1.0))
    rig = Rig.of("ur5", settings).run(0.05)
    rig.controller.submit(move(ARMS["ur5"], AWAY["ur5"], 2.0))
    rig.run(1.0)
    q, qd, stamp = (np.copy(part) for part in rig.truth())
    tick = rig.controller.tick
    rig.controller.tick = lambda *_: None  # type: ignore[method-assign]
    rig.run(0.26)
    rig.controller.tick = tick  # type: ignore[method-assign]
    rig.measure = lambda rig: (q, qd, float(stamp))
    mark = rig.mark()
    rig.run(0.5)
    assert rig.still_within(mark, 0.1), "the drives have stopped it"
    assert rig.controller.status().held.check is Check.FRESH
