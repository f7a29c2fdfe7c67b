"""Goals of the controller over DDS: reached, cancelled, replaced, aborted and refused, each seen at the arm."""

from __future__ import annotations

import re

import numpy as np
import pytest
from control_msgs.msg import JointComponentTolerance, JointTolerance

from manipapy_ros.common.conversions import to_seconds
from ros_arm import ABORTED, CANCELED, HOME, JOINTS, SUCCEEDED, Arm, Result, stamp_of

AWAY = HOME + np.array([0.5, 0.3, -0.4, 0.3, 0.2, -0.5])
"""A second of motion from HOME."""


@pytest.fixture(scope="module")
def shared_arm(start_for_module, peer):
    return Arm(peer, start_for_module)


@pytest.fixture
def arm(shared_arm):
    """The arm of the module, at HOME."""
    shared_arm.go_home()
    return shared_arm


def test_a_goal_is_reached(arm):
    status, result = arm.execute(arm.goal(AWAY))
    assert (status, result.error_code) == (SUCCEEDED, Result.SUCCESSFUL)
    arm.states.assert_still()
    assert np.abs(arm.states.q() - AWAY).max() < 0.002


def test_joint_order_does_not_matter(arm):
    order = [3, 0, 5, 1, 4, 2]
    status, _ = arm.execute(arm.goal(AWAY[order], names=[JOINTS[i] for i in order]))
    assert status == SUCCEEDED
    assert np.abs(arm.states.q() - AWAY).max() < 0.002


def test_joints_that_a_goal_does_not_name_stay(arm):
    status, _ = arm.execute(arm.goal([0.4], names=["elbow_joint"], seconds=1.5))
    assert status == SUCCEEDED
    expected = HOME.copy()
    expected[2] = 0.4
    assert np.abs(arm.states.q() - expected).max() < 0.002


def test_feedback_tells_how_far_it_is(arm):
    seen = []
    handle = arm.send(arm.goal(AWAY), feedback=lambda message: seen.append(message.feedback))
    assert arm.outcome(handle)[0] == SUCCEEDED
    assert len(seen) > 5
    assert list(seen[0].joint_names) == list(JOINTS)
    times = [to_seconds(feedback.desired.time_from_start) for feedback in seen]
    assert times == sorted(times)
    assert all(np.abs(feedback.error.positions).max() < 0.02 for feedback in seen)


def test_cancel_holds_position(arm):
    handle = arm.send(arm.goal(AWAY, seconds=2.0))
    arm.states.wait_until_moving()
    arm.cancel(handle)
    status, result = arm.outcome(handle)
    assert status == CANCELED, result.error_string
    arm.states.wait_until_still()
    arm.states.assert_still()
    assert np.abs(arm.states.q() - AWAY).max() > 0.05


def test_a_new_goal_replaces_the_old_one(arm):
    first = arm.send(arm.goal(AWAY, seconds=2.0))
    arm.states.wait_until_moving()
    second = arm.send(arm.goal(HOME, seconds=2.0))
    status, result = arm.outcome(first)
    assert status == ABORTED
    assert "another goal" in result.error_string
    assert arm.outcome(second)[0] == SUCCEEDED
    assert np.abs(arm.states.q() - HOME).max() < 0.002
    arm.states.assert_still()


def test_a_path_tolerance_that_cannot_be_kept_aborts(arm):
    goal = arm.goal(AWAY)
    goal.path_tolerance = [JointTolerance(name="elbow_joint", position=1e-9)]
    status, result = arm.execute(goal)
    assert (status, result.error_code) == (ABORTED, Result.PATH_TOLERANCE_VIOLATED)
    assert "elbow_joint" in result.error_string
    arm.states.wait_until_still()
    arm.states.assert_still()
    assert np.abs(arm.states.q() - AWAY).max() > 0.05


def test_a_goal_tolerance_that_cannot_be_kept_aborts(arm):
    goal = arm.goal(AWAY)
    # PyBullet's joints and floating point leave more than that.
    goal.goal_tolerance = [JointTolerance(name="wrist_2_joint", position=1e-15)]
    goal.goal_time_tolerance.nanosec = 200_000_000
    status, result = arm.execute(goal)
    assert (status, result.error_code) == (ABORTED, Result.GOAL_TOLERANCE_VIOLATED)
    assert "wrist_2_joint" in result.error_string
    arm.states.wait_until_still()
    arm.states.assert_still()


def test_tolerance_minus_one_checks_nothing(arm):
    goal = arm.goal(AWAY)
    goal.path_tolerance = [JointTolerance(name=name, position=-1.0, velocity=-1.0) for name in JOINTS]
    assert arm.execute(goal)[0] == SUCCEEDED


def test_a_stamp_in_the_future_waits(arm):
    goal = arm.goal(AWAY, seconds=0.8)
    start = stamp_of(arm.states.next()) + 1.0
    goal.trajectory.header.stamp.sec, goal.trajectory.header.stamp.nanosec = int(start), int(start % 1.0 * 1e9)
    handle = arm.send(goal)
    arm.status(lambda status: status.phase == "waiting")
    assert stamp_of(arm.states.wait_until_moving(0.02)) > start - 0.05
    assert arm.outcome(handle)[0] == SUCCEEDED
    assert stamp_of(arm.states.next()) > start + 0.8 - 0.05


def test_ten_thousand_points_are_followed(arm):
    share = np.linspace(0.0, 1.0, 10_001)[1:, None]
    smooth = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    status, result = arm.execute(arm.goal(*(HOME + smooth * (AWAY - HOME)), seconds=2e-4))
    assert status == SUCCEEDED, result.error_string
    assert np.abs(arm.states.q() - AWAY).max() < 0.002


def _nan(goal):
    goal.trajectory.points[0].positions[2] = float("nan")


def _infinite_velocity(goal):
    goal.trajectory.points[0].velocities[1] = float("inf")


def _too_short(goal):
    goal.trajectory.points[0].positions = [0.0, 0.0]


def _wrong_name(goal):
    goal.trajectory.joint_names[3] = "elbow"


def _named_twice(goal):
    goal.trajectory.joint_names[3] = "elbow_joint"


def _no_points(goal):
    goal.trajectory.points = []


def _no_positions(goal):
    goal.trajectory.points[0].positions = []


def _unsorted(goal):
    goal.trajectory.points += goal.trajectory.points


def _old(goal):
    goal.trajectory.header.stamp.nanosec = 1


def _beyond_a_limit(goal):
    goal.trajectory.points[0].positions[1] = 7.0


def _too_fast(goal):
    goal.trajectory.points[0].positions[2] += 1.0
    goal.trajectory.points[0].time_from_start.sec, goal.trajectory.points[0].time_from_start.nanosec = 0, 10_000_000


def _moving_end(goal):
    goal.trajectory.points[0].velocities[5] = 0.3


def _unknown_tolerance(goal):
    goal.path_tolerance = [JointTolerance(name="knee", position=0.1)]


def _nan_tolerance(goal):
    goal.path_tolerance = [JointTolerance(name="elbow_joint", position=float("nan"))]


def _component_tolerance(goal):
    goal.component_path_tolerance = [JointComponentTolerance(joint_name="elbow_joint")]


def _efforts(goal):
    goal.trajectory.points[0].effort = [0.0] * 6


@pytest.mark.parametrize(
    ("spoil", "code", "reason"),
    [
        (_nan, Result.INVALID_GOAL, "'elbow_joint'.*nan"),
        (_infinite_velocity, Result.INVALID_GOAL, "'shoulder_lift_joint'.*inf"),
        (_too_short, Result.INVALID_GOAL, "2 positions for 6 joints"),
        (_wrong_name, Result.INVALID_JOINTS, "no joint 'elbow'"),
        (_named_twice, Result.INVALID_JOINTS, "'elbow_joint' is named more than once"),
        (_no_points, Result.INVALID_GOAL, "at least one point"),
        (_no_positions, Result.INVALID_GOAL, "needs positions"),
        (_unsorted, Result.INVALID_GOAL, "increase strictly"),
        (_old, Result.OLD_HEADER_TIMESTAMP, "ended .* s ago"),
        (_beyond_a_limit, Result.INVALID_GOAL, "'shoulder_lift_joint' is 7"),
        (_too_fast, Result.INVALID_GOAL, "velocity of joint|too fast|rad/s"),
        (_moving_end, Result.INVALID_GOAL, "'wrist_3_joint' is 0.3 at the last point"),
        (_unknown_tolerance, Result.INVALID_JOINTS, "knee"),
        (_nan_tolerance, Result.INVALID_GOAL, "elbow_joint"),
        (_component_tolerance, Result.INVALID_GOAL, "component tolerances"),
        (_efforts, Result.INVALID_GOAL, "efforts"),
    ],
    ids=lambda value: value.__name__.strip("_") if callable(value) else "",
)
def test_a_bad_goal_is_aborted_with_the_reason_and_nothing_moves(shared_arm, spoil, code, reason):
    shared_arm.states.wait_until_still()
    before = shared_arm.states.q()
    goal = shared_arm.goal(AWAY)
    spoil(goal)
    status, result = shared_arm.execute(goal)
    assert status == ABORTED
    assert result.error_code == code, result.error_string
    assert re.search(reason, result.error_string), result.error_string
    np.testing.assert_allclose(shared_arm.states.q(), before, atol=1e-3)
