"""Measurements that are broken, old or from another time: what the arm does, not what a flag says."""

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
FORGOTTEN = Payload(mass=1.0, com=(0.0, 0.0, 0.05))


def moving(robot="ur5"):
    """An arm in full motion, and its goal."""
    rig = Rig.of(robot).run(0.05)
    goal = rig.controller.submit(move(ARMS[robot], AWAY[robot], 2.0))
    rig.run(1.0)
    assert np.abs(rig.arm.qd).max() > 0.8
    return rig, goal


def carries_its_weight(rig):
    """The efforts are those that hold the arm where it is: no zeros."""
    weight = dynamics.gravity_forces(rig.chain, rig.arm.q)
    return np.abs(rig.tau[-1] - weight).max() < 0.05 * np.abs(weight).max()


def poisoned(value, joint=2):
    def measure(rig):
        q, qd, stamp = rig.truth()
        q[joint] = value
        return q, qd, stamp

    return measure


@robots
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_arm_whose_positions_become_nonsense_is_braked_blindly(robot, value):
    rig, goal = moving(robot)
    mark, seen = rig.mark(), rig.arm.q.copy()
    rig.measure = poisoned(value)
    rig.run(1.5)
    assert rig.still_within(mark, STOP_TIME[robot])
    assert np.abs(rig.arm.q - seen).max() < 0.7
    assert carries_its_weight(rig)
    held = rig.controller.status().held
    assert (held.action, held.check) == (Action.STOP, Check.FINITE) and held.joint == rig.chain.joint_names[2]
    assert goal.outcome.status is GoalStatus.ABORTED and "not finite" in goal.outcome.text


def test_a_single_broken_measurement_holds_the_arm_until_the_next_goal():
    rig, goal = moving()
    rig.measure = poisoned(np.nan)
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
def test_an_arm_whose_state_falls_silent_is_braked_and_stopped(robot):
    rig, goal = moving(robot)
    frozen = rig.truth()
    mark = rig.mark()
    rig.measure = lambda _: frozen
    rig.run(1.5)
    assert rig.still_within(mark, STOP_TIME[robot])
    assert carries_its_weight(rig)
    held = rig.controller.status().held
    assert (held.action, held.check) == (Action.STOP, Check.FRESH) and held.amount > 0.1
    assert "age of the joint state" in goal.outcome.text


def test_without_prediction_the_silent_arm_would_have_run_away():
    """The test above means something: gravity and PD on the last state seen would leave the arm coasting."""
    rig, _ = moving()
    start = rig.arm.q.copy()
    weight = dynamics.gravity_forces(UR5, start)
    for _ in range(1500):
        rig.arm.step(weight, 1e-3)
    assert np.abs(rig.arm.qd).max() > 0.8


@pytest.mark.parametrize("lost", ["silent", "nonsense"])
def test_an_arm_lost_from_sight_is_left_to_drives_that_see_it(lost):
    """Nobody told the controller of the payload, so what it predicts drifts away from the arm."""
    rig = Rig.of("ur5", payload=FORGOTTEN)
    rig.run(0.05)
    rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    rig.run(1.0)
    mark, frozen = rig.mark(), rig.truth()
    rig.measure = poisoned(np.nan) if lost == "nonsense" else lambda _: frozen
    rig.run(1.5)
    assert rig.controller.status().held.action is Action.STOP
    assert rig.silence == pytest.approx(1.5 - GuardSettings().state_stop_after, abs=0.003), "it went on sending blindly"
    assert rig.still_within(mark, STOP_TIME["ur5"] + 0.1)


def test_going_on_by_prediction_would_have_lost_the_arm():
    """The test above means something: the same arm under efforts that hold the one that is believed in."""
    arm, believed = (SimulatedArm(UR5, HOME["ur5"], payload=payload) for payload in (FORGOTTEN, None))
    hold = Hold(UR5, BrakingLimits.of(UR5, 2.0))
    hold.update(believed.state)
    hold.capture()
    for _ in range(1400):
        tau = hold.step(1e-3).copy()
        arm.step(tau, 1e-3)
        believed.step(tau, 1e-3)
    assert np.abs(believed.qd).max() < 1e-3 and np.abs(arm.qd).max() > 2.0


def test_an_arm_that_is_seen_again_gets_efforts_again():
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
    assert rig.still_within(mark, 0.5) and carries_its_weight(rig)


def test_a_stop_waits_for_a_reset_even_when_the_state_is_back():
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
    assert rig.still_within(mark, 0.0) and carries_its_weight(rig)
    rig.controller.reset()
    rig.run(0.1)
    assert rig.controller.status().held is None
    goal = rig.controller.submit(move(UR5, HOME["ur5"], 2.0))
    rig.run(2.5)
    assert goal.outcome.succeeded


def test_a_gap_of_ten_milliseconds_is_ridden_out():
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
def test_a_stamp_from_another_time_holds_the_arm(shift):
    """As when a simulation is reset, or when two machines disagree about the time."""
    rig, goal = moving()
    mark = rig.mark()
    rig.measure = lambda rig: (*rig.truth()[:2], rig.now + shift)
    rig.run(1.5)
    assert rig.still_within(mark, STOP_TIME["ur5"]) and carries_its_weight(rig)
    assert rig.controller.status().held.check is (Check.FRESH if shift < 0 else Check.CLOCK)
    assert goal.outcome is not None


@pytest.mark.parametrize("jump", [-30.0, 5.0], ids=["back", "forward"])
def test_a_jump_of_the_clock_ends_the_goal_and_holds_the_arm(jump):
    rig, goal = moving()
    mark = rig.mark()
    rig.now += jump
    rig.run(1.5)
    assert rig.still_within(mark, STOP_TIME["ur5"]) and carries_its_weight(rig)
    assert rig.controller.status().held.check is Check.CLOCK and goal.outcome is not None
    again = rig.controller.submit(move(UR5, HOME["ur5"], 2.0))
    rig.run(2.5)
    assert again.outcome.succeeded, "on the new time everything works as before"


def test_nothing_is_sent_before_the_arm_has_been_seen():
    rig = Rig.of("ur5")
    nonsense = np.full(6, np.nan)
    for tick in range(10):
        now = 100.0 + 1e-3 * tick
        assert rig.controller.tick(now, nonsense, np.zeros(6), now) is None
    waiting = rig.controller.submit(move(UR5, AWAY["ur5"], 2.0))
    assert rig.controller.tick(100.01, nonsense, np.zeros(6), 100.01) is None
    assert "no joint state has arrived" in waiting.outcome.text
    tau = rig.controller.tick(100.011, HOME["ur5"], np.zeros(6), 100.011)
    assert np.allclose(tau, dynamics.gravity_forces(UR5, HOME["ur5"]), atol=0.1), "the first effort carries the weight"


def test_an_arm_that_moves_when_control_begins_is_slowed_down_not_jerked():
    rig = Rig.of("ur5")
    rig.arm.qd[:] = 0.5
    rig.run(1.5)
    assert rig.still_within(0, 0.9)
    assert np.abs(np.diff(rig.qd, axis=0)).max() / 1e-3 < 20.0
