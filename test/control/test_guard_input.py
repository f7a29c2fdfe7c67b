"""Invalid, stale or wrongly stamped measurements: the motion of the arm, not only flags."""

from __future__ import annotations

import numpy as np
import pytest

from control.arms import ARMS, AWAY, HOME, UR5, Rig, move
from manipapy_core import dynamics
from manipapy_core.control import Action, Check, ErrorCode, GoalStatus, GuardSettings, Hold, SimulatedArm
from manipapy_core.dynamics import Payload
from manipapy_core.trajectory import BrakingLimits

robots = pytest.mark.parametrize("robot", ARMS)
STOP_TIME = {"ur5": 0.9, "panda": 0.4}
"""A stop from about 1 rad/s within the brake's acceleration takes so long [s]."""
UNKNOWN_PAYLOAD = Payload(mass=1.0, com=(0.0, 0.0, 0.05))


def moving(robot="ur5"):
    """An arm in full motion, and its goal."""
    rig = Rig.of(robot).run(0.05)
    goal = rig.controller.submit(move(ARMS[robot], AWAY[robot], 2.0))
    rig.run(1.0)
    assert np.abs(rig.arm.qd).max() > 0.8
    return rig, goal


def compensates_gravity(rig):
    """Whether the efforts compensate gravity."""
    weight = dynamics.gravity_forces(rig.chain, rig.arm.q)
    return np.abs(rig.tau[-1] - weight).max() < 0.05 * np.abs(weight).max()


def with_invalid(value, joint=2):
    def measure(rig):
        q, qd, stamp = rig.truth()
        q[joint] = value
        return q, qd, stamp

    return measure


@robots
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_invalid_positions_brake_the_arm_by_prediction(robot, value):
    rig, goal = moving(robot)
    mark, before = rig.mark(), rig.arm.q.copy()
    rig.measure = with_invalid(value)
    rig.run(1.5)
    assert rig.still_within(mark, STOP_TIME[robot])
    assert np.abs(rig.arm.q - before).max() < 0.7
    assert compensates_gravity(rig)
    held = rig.controller.status().held
    assert (held.action, held.check) == (Action.STOP, Check.FINITE) and held.joint == rig.chain.joint_names[2]
    assert goal.outcome.status is GoalStatus.ABORTED and "not finite" in goal.outcome.text


def test_single_invalid_measurement_holds_the_arm_until_the_next_goal():
    rig, goal = moving()
    rig.measure = with_invalid(np.nan)
    rig.tick()
    rig.measure = lambda rig: rig.truth()
    mark = rig.mark()
    rig.run(1.5)
    assert rig.still_within(mark, STOP_TIME["ur5"]) and goal.outcome.code is ErrorCode.PATH_TOLERANCE_VIOLATED
    assert rig.controller.status().held.action is Action.HOLD
    again = rig.controller.submit(move(UR5, HOME["ur5"], 2.0))
    rig.run(2.5)
    assert again.outcome.succeeded and np.abs(rig.arm.q - HOME["ur5"]).max() < 2e-3


@robots
def test_missing_joint_states_brake_and_stop_the_arm(robot):
    rig, goal = moving(robot)
    frozen = rig.truth()
    mark = rig.mark()
    rig.measure = lambda _: frozen
    rig.run(1.5)
    assert rig.still_within(mark, STOP_TIME[robot])
    assert compensates_gravity(rig)
    held = rig.controller.status().held
    assert (held.action, held.check) == (Action.STOP, Check.FRESH) and held.amount > 0.1
    assert "age of the joint state" in goal.outcome.text


@robots
@pytest.mark.parametrize("late", [25, 90])
def test_states_that_stay_late_are_not_replaced_by_a_prediction_for_ever(robot, late):
    """They are older than the limit of a hold, and younger than that of a stop, for seconds."""
    rig = Rig.of(robot, payload=UNKNOWN_PAYLOAD).run(0.05)
    rig.controller.submit(move(ARMS[robot], AWAY[robot], 2.0))
    rig.run(1.0)
    mark, states = rig.mark(), []

    def measure(rig):
        states.append(rig.truth())
        return states[max(0, len(states) - 1 - late)]

    rig.measure = measure
    rig.run(4.0)
    assert rig.still_within(mark, STOP_TIME[robot] + 0.2)
    assert (np.abs(rig.qd[mark:]) < ARMS[robot].limits.velocity).all()
    held = rig.controller.status().held
    assert (held.action, held.check) == (Action.STOP, Check.FRESH) and rig.silence > 3.0


def test_without_prediction_the_arm_coasts():
    """Counter-check of the test above: constant gravity compensation would let the arm coast."""
    rig, _ = moving()
    start = rig.arm.q.copy()
    weight = dynamics.gravity_forces(UR5, start)
    for _ in range(1500):
        rig.arm.step(weight, 1e-3)
    assert np.abs(rig.arm.qd).max() > 0.8


@pytest.mark.parametrize("lost", ["stale", "not finite"])
def test_nothing_is_sent_after_a_stop_without_joint_states(lost):
    """The payload is unknown to the controller, so its prediction drifts away from the arm."""
    rig = Rig.of("ur5", payload=UNKNOWN_PAYLOAD)
    rig.run(0.05)
    rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    rig.run(1.0)
    mark, frozen = rig.mark(), rig.truth()
    rig.measure = with_invalid(np.nan) if lost == "not finite" else lambda _: frozen
    rig.run(1.5)
    assert rig.controller.status().held.action is Action.STOP
    assert rig.silence == pytest.approx(1.5 - GuardSettings().state_stop_after, abs=0.003), (
        "efforts were sent without a measurement"
    )
    assert rig.still_within(mark, STOP_TIME["ur5"] + 0.1)


def test_prediction_alone_diverges_with_an_unknown_payload():
    """Counter-check of the test above: the arm under efforts that hold the predicted one."""
    arm, predicted = (SimulatedArm(UR5, HOME["ur5"], payload=payload) for payload in (UNKNOWN_PAYLOAD, None))
    hold = Hold(UR5, BrakingLimits.of(UR5, 2.0))
    hold.update(predicted.state)
    hold.capture()
    for _ in range(1400):
        tau = hold.step(1e-3).copy()
        arm.step(tau, 1e-3)
        predicted.step(tau, 1e-3)
    assert np.abs(predicted.qd).max() < 1e-3 and np.abs(arm.qd).max() > 2.0


def test_efforts_resume_when_joint_states_return():
    rig, _ = moving()
    frozen = rig.truth()
    rig.measure = lambda _: frozen
    rig.run(0.5)
    assert rig.silence > 0.0
    rig.measure = lambda rig: rig.truth()
    rig.tick()
    assert rig.silence == 0.0
    mark = rig.mark()
    rig.run(1.0)
    assert rig.still_within(mark, 0.5) and compensates_gravity(rig)


def test_stop_lasts_until_reset_when_joint_states_return():
    rig, _ = moving()
    frozen = rig.truth()
    rig.measure = lambda _: frozen
    rig.run(1.2)
    rig.measure = lambda rig: rig.truth()
    rig.run(0.3)
    mark = rig.mark()
    refused = rig.controller.submit(move(UR5, HOME["ur5"], 2.0))
    rig.run(0.5)
    assert refused.outcome.code is ErrorCode.INVALID_GOAL and "reset it first" in refused.outcome.text
    assert rig.still_within(mark, 0.0) and compensates_gravity(rig)
    rig.controller.reset()
    rig.run(0.1)
    assert rig.controller.status().held is None
    goal = rig.controller.submit(move(UR5, HOME["ur5"], 2.0))
    rig.run(2.5)
    assert goal.outcome.succeeded


def test_gap_of_ten_milliseconds_is_tolerated():
    rig, goal = moving()
    frozen = rig.truth()
    rig.measure = lambda _: frozen
    rig.run(0.01)
    rig.measure = lambda rig: rig.truth()
    rig.run(1.5)
    assert goal.outcome.succeeded


def test_measurements_at_a_fifth_of_the_rate_are_enough():
    rig = Rig.of("ur5")
    latest = [rig.truth()]

    def every_fifth(rig):
        if len(rig.q) % 5 == 0:
            latest[0] = rig.truth()
        return latest[0]

    rig.measure = every_fifth
    rig.run(0.05)
    goal = rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    rig.run(2.5)
    assert goal.outcome.succeeded


@pytest.mark.parametrize("shift", [-50.0, 0.5], ids=["back", "ahead"])
def test_wrong_stamp_holds_the_arm(shift):
    """As when a simulation is reset, or when two machines disagree about the time."""
    rig, goal = moving()
    mark = rig.mark()
    rig.measure = lambda rig: (*rig.truth()[:2], rig.now + shift)
    rig.run(1.5)
    assert rig.still_within(mark, STOP_TIME["ur5"]) and compensates_gravity(rig)
    assert rig.controller.status().held.check is (Check.FRESH if shift < 0 else Check.CLOCK)
    assert goal.outcome is not None


@pytest.mark.parametrize("jump", [-30.0, 5.0], ids=["back", "forward"])
def test_a_jump_of_the_clock_ends_the_goal_and_holds_the_arm(jump):
    rig, goal = moving()
    mark = rig.mark()
    rig.now += jump
    rig.run(1.5)
    assert rig.still_within(mark, STOP_TIME["ur5"]) and compensates_gravity(rig)
    assert rig.controller.status().held.check is Check.CLOCK and goal.outcome is not None
    again = rig.controller.submit(move(UR5, HOME["ur5"], 2.0))
    rig.run(2.5)
    assert again.outcome.succeeded, "goals work on the new time"


def test_nothing_is_sent_before_the_first_joint_state():
    rig = Rig.of("ur5")
    invalid = np.full(6, np.nan)
    for tick in range(10):
        now = 100.0 + 1e-3 * tick
        assert rig.controller.tick(now, invalid, np.zeros(6), now) is None
    waiting = rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    assert rig.controller.tick(100.01, invalid, np.zeros(6), 100.01) is None
    assert "no joint state has arrived" in waiting.outcome.text
    tau = rig.controller.tick(100.011, HOME["ur5"], np.zeros(6), 100.011)
    assert np.allclose(tau, dynamics.gravity_forces(UR5, HOME["ur5"]), atol=0.1), "the first effort compensates gravity"


def test_moving_arm_is_slowed_down_smoothly_at_the_start():
    rig = Rig.of("ur5")
    rig.arm.qd[:] = 0.5
    rig.run(1.5)
    assert rig.still_within(0, 0.9)
    assert np.abs(np.diff(rig.qd, axis=0)).max() / 1e-3 < 20.0
