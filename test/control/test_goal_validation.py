"""Validation of goals: a refusal names its code, joint, value, limit and time."""

from __future__ import annotations

import time

import numpy as np
import pytest

from control.arms import AWAY, HOME, PANDA, UR5
from manipapy_core.control import (
    ErrorCode,
    ExecutionSettings,
    GoalRefused,
    GoalTolerances,
    JointTolerance,
    prepare,
)
from manipapy_core.trajectory import JointTrajectory

NAMES = UR5.joint_names
TIMES = [0.5, 1.0, 2.0]
POINTS = np.array([HOME["ur5"], 0.5 * (HOME["ur5"] + AWAY["ur5"]), AWAY["ur5"]])
ZERO = np.zeros((3, 6))


def refused(code, match, trajectory, tolerances=None, **options):
    with pytest.raises(GoalRefused, match=match) as caught:
        prepare(UR5, trajectory, tolerances, **options)
    assert caught.value.code is code
    assert caught.value.outcome().code is code and caught.value.outcome().text == str(caught.value)


def changed(array, index, value):
    array = np.array(array, dtype=float)
    array[index] = value
    return array


def test_a_valid_goal_is_accepted():
    plan = prepare(UR5, JointTrajectory(TIMES, POINTS, ZERO, ZERO, joint_names=NAMES))
    assert plan.spline.duration == 2.0 and plan.named.all() and not plan.partial


def test_joint_order_does_not_matter():
    order = [3, 0, 5, 1, 4, 2]
    straight = prepare(UR5, JointTrajectory(TIMES, POINTS, ZERO, joint_names=NAMES))
    jumbled = prepare(UR5, JointTrajectory(TIMES, POINTS[:, order], ZERO, joint_names=[NAMES[j] for j in order]))
    t = np.linspace(0.5, 2.0, 50)
    assert np.array_equal(straight.spline.sample_many(t), jumbled.spline.sample_many(t))


def test_without_names_the_columns_are_the_joints_of_the_chain():
    named = prepare(UR5, JointTrajectory(TIMES, POINTS, ZERO, joint_names=NAMES))
    unnamed = prepare(UR5, JointTrajectory(TIMES, POINTS, ZERO))
    assert np.array_equal(named.spline.coefficients, unnamed.spline.coefficients) and not unnamed.partial
    refused(ErrorCode.INVALID_GOAL, "3 points of 6 joints", JointTrajectory(TIMES, POINTS[:, :5]))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", ["positions", "velocities", "accelerations", "times"])
def test_numbers_that_are_not_finite_are_refused_everywhere(which, value):
    parts = {"times": TIMES, "positions": POINTS, "velocities": ZERO, "accelerations": ZERO}
    parts[which] = changed(parts[which], 1 if which == "times" else (1, 2), value)
    match = "time of point 1" if which == "times" else f"{which} of joint 'elbow_joint' at point 1"
    refused(ErrorCode.INVALID_GOAL, match, JointTrajectory(**parts, joint_names=NAMES))


@pytest.mark.parametrize(
    ("match", "trajectory"),
    [
        ("times must increase", JointTrajectory([0.5, 0.5, 1.0], POINTS, joint_names=NAMES)),
        (r"point 2 \(0.4 s\) is not after", JointTrajectory([0.1, 0.5, 0.4], POINTS, joint_names=NAMES)),
        ("first point is at -1", JointTrajectory([-1.0, 0.5, 1.0], POINTS, joint_names=NAMES)),
        ("at least one point", JointTrajectory([], np.zeros((0, 6)), joint_names=NAMES)),
        ("3 points of 6 joints", JointTrajectory(TIMES, POINTS[:2], joint_names=NAMES)),
        ("3 points of 6 joints", JointTrajectory(TIMES, POINTS[:, :5], joint_names=NAMES)),
        ("velocities have shape", JointTrajectory(TIMES, POINTS, ZERO[:1], joint_names=NAMES)),
        ("accelerations have shape", JointTrajectory(TIMES, POINTS, ZERO, ZERO[:, :2], joint_names=NAMES)),
        (
            "shoulder_pan_joint.*last point",
            JointTrajectory(TIMES, POINTS, changed(ZERO, (2, 0), 0.1), joint_names=NAMES),
        ),
        ("start time", JointTrajectory(TIMES, POINTS, start_time=np.nan, joint_names=NAMES)),
    ],
)
def test_invalid_trajectories_are_refused(match, trajectory):
    refused(ErrorCode.INVALID_GOAL, match, trajectory)


@pytest.mark.parametrize(
    ("match", "names"),
    [
        ("no joint 'knee'.*shoulder_pan_joint", ("knee", *NAMES[1:])),
        ("'elbow_joint' is named more than once", (*NAMES[:2], "elbow_joint", *NAMES[3:5], "elbow_joint")),
        ("name every joint", ()),
    ],
)
def test_invalid_joints_are_refused_by_name(match, names):
    refused(ErrorCode.INVALID_JOINTS, match, JointTrajectory(TIMES, POINTS[:, : len(names)], joint_names=names))


def test_a_partial_list_is_accepted_or_refused_by_the_settings():
    trajectory = JointTrajectory(TIMES, POINTS[:, 2:4], joint_names=NAMES[2:4])
    plan = prepare(UR5, trajectory)
    assert plan.partial and plan.named.tolist() == [False, False, True, True, False, False]
    strict = ExecutionSettings(allow_partial=False)
    refused(ErrorCode.INVALID_JOINTS, "no points for joint 'shoulder_pan_joint'", trajectory, settings=strict)


def test_positions_beyond_the_limits_are_refused_with_joint_value_limit_and_time():
    trajectory = JointTrajectory(TIMES, changed(POINTS, (1, 3), 7.0), joint_names=NAMES)
    refused(ErrorCode.INVALID_GOAL, r"position of joint 'wrist_1_joint' is 7 rad at 1.000 s.*6.283", trajectory)


def test_an_overshoot_between_points_is_found():
    """All points are within the limits; the curve between them is not."""
    q = np.array([[0.0, 0.0, 0.0, -0.1, 0.0, 1.0, 0.0]] * 2)
    fast = np.array([[0.0] * 7, [0.0] * 7])
    fast[0, 3] = 1.5
    trajectory = JointTrajectory([1.0, 2.0], q, fast, joint_names=PANDA.joint_names)
    with pytest.raises(GoalRefused, match="position of joint 'panda_joint4'"):
        prepare(PANDA, trajectory)


def test_a_velocity_beyond_the_limit_is_found_even_if_only_positions_are_given():
    trajectory = JointTrajectory([0.5, 0.6, 0.7], POINTS, joint_names=NAMES)
    refused(ErrorCode.INVALID_GOAL, r"velocity of joint 'shoulder_pan_joint' is 5 rad/s.*±3.142", trajectory)


def test_a_moving_end_may_be_allowed():
    moving = JointTrajectory(TIMES, POINTS, changed(ZERO, (2, 0), 0.1), joint_names=NAMES)
    prepare(UR5, moving, settings=ExecutionSettings(allow_moving_end=True))


def test_rounding_of_the_last_velocity_is_rest():
    """What joint_trajectory_controller accepts: programs that integrate rarely end at exactly zero."""
    prepare(UR5, JointTrajectory(TIMES, POINTS, changed(ZERO, (2, 0), 1e-7), joint_names=NAMES))
    with pytest.raises(GoalRefused, match="must end at rest"):
        prepare(UR5, JointTrajectory(TIMES, POINTS, changed(ZERO, (2, 0), 1e-6), joint_names=NAMES))


def test_a_trajectory_in_the_past_is_refused_and_clocks_are_named():
    old = JointTrajectory(TIMES, POINTS, start_time=10.0, joint_names=NAMES)
    refused(ErrorCode.OLD_HEADER_TIMESTAMP, "3.000 s ago.*same clock", old, now=15.0)
    prepare(UR5, old, now=11.0)


def test_ten_thousand_points_are_validated():
    t = np.linspace(0.01, 100.0, 10_000)
    positions = HOME["ur5"] + 0.3 * np.sin(t)[:, None] * np.ones(6)
    velocities = 0.3 * np.cos(t)[:, None] * np.ones(6)
    velocities[-1] = 0.0
    trajectory = JointTrajectory(t, positions, velocities, -positions + HOME["ur5"], joint_names=NAMES)
    prepare(UR5, trajectory)
    started = time.perf_counter()
    plan = prepare(UR5, trajectory)
    # Takes milliseconds; generous for a busy machine.
    assert time.perf_counter() - started < 1.0
    out = np.zeros((3, 6))
    plan.spline.sample(50.0, out)
    assert np.allclose(out[0], HOME["ur5"] + 0.3 * np.sin(50.0), atol=1e-3)


def test_tolerances_zero_is_the_default_and_minus_one_checks_nothing():
    settings = ExecutionSettings(path_position=0.2, goal_position=0.02, goal_time=3.0)
    requested = GoalTolerances(
        path=[JointTolerance("elbow_joint", 0.05), JointTolerance("wrist_1_joint", -1.0)],
        goal=[JointTolerance("elbow_joint", 0.0, 0.5)],
        goal_time=-1.0,
    )
    limits = prepare(UR5, JointTrajectory(TIMES, POINTS, joint_names=NAMES), requested, settings=settings).tolerances
    assert limits.path_position[[0, 2]].tolist() == [0.2, 0.05] and limits.path_position[3] > 1e9
    assert limits.goal_position.tolist() == [0.02] * 6 and limits.goal_velocity[2] == 0.5
    assert limits.goal_time > 1e9 and not limits.checks_path_velocity
    plain = prepare(UR5, JointTrajectory(TIMES, POINTS, joint_names=NAMES), settings=settings).tolerances
    assert plain.goal_time == 3.0


@pytest.mark.parametrize("value", [-2.0, -0.5, np.nan])
def test_invalid_tolerances_are_refused(value):
    trajectory = JointTrajectory(TIMES, POINTS, joint_names=NAMES)
    bad = GoalTolerances(path=[JointTolerance("elbow_joint", value)])
    refused(ErrorCode.INVALID_GOAL, "elbow_joint.*−1 for no check", trajectory, bad)
    refused(ErrorCode.INVALID_GOAL, "goal_time", trajectory, GoalTolerances(goal_time=value))


def test_a_tolerance_for_an_unknown_joint_is_refused():
    bad = GoalTolerances(goal=[JointTolerance("knee", 0.1)])
    refused(ErrorCode.INVALID_JOINTS, "knee", JointTrajectory(TIMES, POINTS, joint_names=NAMES), bad)
