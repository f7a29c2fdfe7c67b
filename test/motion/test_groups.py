"""Motions of some of the joints, and of two arms together; collisions between the arms by coal."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import InputError, kinematics
from manipapy_core.errors import UnknownJoint
from manipapy_core.geometry import Box, Checker
from manipapy_core.model import SemanticDescription, find_arms
from manipapy_core.motion import (
    OrientationConstraint,
    OrientationError,
    PlanStatus,
    PoseGoal,
    PositionConstraint,
    TipsGoal,
    plan,
)
from motion.dual_scenes import READY, TIPS, both_arms, dual_coal_scene, dual_problem
from motion.test_constrained_planning import every_millisecond

STATION = "dual_ur5e"


@pytest.fixture(scope="module")
def groups():
    robot, _, _ = both_arms(STATION)
    semantic = SemanticDescription.of_arms(robot.name, find_arms(robot))
    return {group.name: semantic.joints_of(group.name, robot) for group in semantic.groups}


def pose_of(chain, q, link):
    return kinematics.link_poses(chain, q)[..., chain.link_names.index(link), :, :]


@pytest.mark.parametrize("seed", [0, 3])
def test_both_hands_reach_their_poses_without_touching(seed, groups):
    one = dual_problem(STATION, seed)
    chain = one.checker.body.chain
    result = plan(one.checker, one.start, one.goal, joints=groups["arms"], timeout=20.0)
    assert result.success, result.message
    q = every_millisecond(result.trajectory)
    for link, T in one.goal.poses.items():
        np.testing.assert_allclose(pose_of(chain, q[-1], link), T, atol=5e-6)
    assert not dual_coal_scene(one).check(q).any()


def test_arms_that_cross_are_found_by_coal_and_refused():
    """The straight motion is blocked: shows that the scene can find a collision."""
    blocked = 0
    for seed in range(3):
        one = dual_problem(STATION, seed)
        line = one.start + np.linspace(0.0, 1.0, 200)[:, None] * (one.q_goal - one.start)
        assert dual_coal_scene(one).check(line).any()
        blocked += plan(Checker(one.checker.body), one.start, one.goal, timeout=20.0).success
    assert blocked == 3


@pytest.mark.parametrize("side", ["left", "right"])
def test_one_arm_moves_while_the_other_holds(side, groups):
    one = dual_problem(STATION, 1)
    chain = one.checker.body.chain
    name = next(name for name, joints in groups.items() if len(joints) == 6 and joints[0].startswith(side))
    link = next(tip for tip in TIPS[STATION] if tip.startswith(side))
    moving = np.array([joint in groups[name] for joint in chain.joint_names])
    q_goal = np.where(moving, one.q_goal, one.start)
    if one.checker.check(q_goal):
        q_goal = np.where(moving, READY[STATION] + 0.2, one.start)
    assert not one.checker.check(q_goal)
    for goal in (q_goal, TipsGoal({link: pose_of(chain, q_goal, link)})):
        result = plan(one.checker, one.start, goal, joints=groups[name], timeout=20.0)
        assert result.success, result.message
        q = every_millisecond(result.trajectory)
        np.testing.assert_array_equal(q[:, ~moving], np.tile(one.start[~moving], (len(q), 1)))
        np.testing.assert_allclose(pose_of(chain, q[-1], link), pose_of(chain, q_goal, link), atol=5e-6)
        assert not dual_coal_scene(one).check(q).any()


def test_a_pose_goal_moves_only_the_joints_of_the_group(groups):
    _, chain, body = both_arms(STATION)
    ready = READY[STATION]
    three = [name for name in chain.joint_names if name.startswith("left")][3:]
    T = pose_of(chain, ready + 0.3 * np.array([name in three for name in chain.joint_names]), chain.tip)
    result = plan(Checker(body), ready, PoseGoal(T), joints=three, timeout=20.0)
    assert result.success, result.message
    still = [name not in three for name in chain.joint_names]
    assert np.ptp(result.trajectory.positions[:, still], axis=0).max() == 0.0
    far = pose_of(chain, ready + 0.5 * np.array([name.startswith("left") for name in chain.joint_names]), chain.tip)
    assert plan(Checker(body), ready, PoseGoal(far), joints=three).status is PlanStatus.UNREACHABLE


def test_unknown_and_empty_groups_are_refused():
    _, _, body = both_arms(STATION)
    with pytest.raises(UnknownJoint, match="no joint 'elbow'"):
        plan(Checker(body), READY[STATION], READY[STATION], joints=["elbow"])
    with pytest.raises(InputError, match="joints is empty"):
        plan(Checker(body), READY[STATION], READY[STATION], joints=[])


def test_two_hands_carry_an_object_together():
    """The right hand keeps its pose in the frame of the left one, as if both held one box."""
    _, chain, body = both_arms(STATION)
    left, right = TIPS[STATION]
    ready = READY[STATION].copy()
    T_left_right = np.linalg.inv(pose_of(chain, ready, left)) @ pose_of(chain, ready, right)
    turn = OrientationConstraint(right, T_left_right[:3, :3], (0.01,) * 3, OrientationError.ROTATION_VECTOR, left)
    place = PositionConstraint(right, [(Box([0.01] * 3), T_left_right)], frame=left)
    shift = np.eye(4)
    shift[:3, 3] = [0.15, 0.1, 0.1]
    goal = TipsGoal({link: shift @ pose_of(chain, ready, link) for link in (left, right)})
    result = plan(Checker(body), ready, goal, constraints=[turn, place], timeout=20.0)
    assert result.success, result.message
    q = every_millisecond(result.trajectory)
    relative = np.linalg.inv(pose_of(chain, q, left)) @ pose_of(chain, q, right)
    assert np.abs(relative[:, :3, 3] - T_left_right[:3, 3]).max() <= 0.005 + 1e-9
    moved = pose_of(chain, q[-1], left)[:3, 3] - pose_of(chain, ready, left)[:3, 3]
    np.testing.assert_allclose(moved, shift[:3, 3], atol=1e-5)
