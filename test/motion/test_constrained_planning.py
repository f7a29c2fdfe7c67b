"""Motions under path constraints: orientation by Pinocchio, collisions by coal, every millisecond."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

from geometry.arms import arm, at
from manipapy_core import InputError, kinematics, lie
from manipapy_core.geometry import Box, Checker, World
from manipapy_core.motion import (
    JointConstraint,
    OrientationConstraint,
    OrientationError,
    Planner,
    PlanStatus,
    PoseGoal,
    PositionConstraint,
    RegionGoal,
    plan,
    straight_tip_motion,
)
from manipapy_core.trajectory.spline import Spline
from motion.constrained_scenes import DOWN, TILT, upright_problem
from motion.scenes import READY, coal_scene

VECTOR = OrientationError.ROTATION_VECTOR


def every_millisecond(trajectory) -> np.ndarray:
    times = np.append(np.arange(trajectory.times[0], trajectory.times[-1], 1e-3), trajectory.times[-1])
    return np.ascontiguousarray(Spline.of(trajectory).sample_many(times)[:, 0])


def link_poses_by_pinocchio(robot: str, q: np.ndarray, link: str) -> list[pin.SE3]:
    description, chain, _ = arm(robot)
    model = pin.buildModelFromXML(description.urdf)
    data, full, frame = model.createData(), pin.neutral(model), model.getFrameId(link)
    poses = []
    for row in q:
        for name, value in zip(chain.joint_names, row):
            full[model.joints[model.getJointId(name)].idx_q] = value
        pin.framesForwardKinematics(model, data, full)
        poses.append(data.oMf[frame].copy())
    return poses


def tilts(robot: str, q: np.ndarray, link: str) -> np.ndarray:
    """Angles about x and y of the upright constraint, shape (N, 2)."""
    rotations = np.array([DOWN.T @ pose.rotation for pose in link_poses_by_pinocchio(robot, q, link)])
    return np.abs(Rotation.from_matrix(rotations).as_euler("XYZ")[:, :2])


@pytest.mark.parametrize(("robot", "seed"), [("panda", 1), ("panda", 4), ("ur5", 2), ("ur5", 3)])
def test_the_tool_stays_upright_among_boxes(robot, seed):
    one = upright_problem(robot, seed)
    result = plan(one.checker, one.start, PoseGoal(one.T_goal), constraints=[one.constraint], timeout=20.0)
    assert result.success, result.message
    q = every_millisecond(result.trajectory)
    assert tilts(robot, q, one.checker.body.chain.tip).max() <= TILT
    assert not coal_scene(one).check(q).any()
    np.testing.assert_allclose(kinematics.forward(one.checker.body.chain, q[-1]), one.T_goal, atol=2e-6)
    np.testing.assert_allclose(q[0], one.start, atol=1e-12)
    assert 0.0 < result.verification.constraint <= 1.0
    free = plan(one.checker, one.start, PoseGoal(one.T_goal), timeout=20.0)
    again = plan(one.checker, one.start, PoseGoal(one.T_goal), constraints=[one.constraint], timeout=20.0)
    np.testing.assert_array_equal(again.path, result.path)
    assert free.verification.constraint == 0.0


def test_without_the_constraint_the_tool_tilts():
    """Shows that the problems are no problems without the constraint."""
    worst = []
    for seed in range(4):
        one = upright_problem("panda", seed)
        result = plan(one.checker, one.start, PoseGoal(one.T_goal), timeout=20.0)
        worst.append(tilts("panda", every_millisecond(result.trajectory), one.checker.body.chain.tip).max())
    assert max(worst) > 2.0 * TILT


@pytest.fixture(scope="module")
def empty():
    return Checker(arm("panda")[2])


def test_rotation_vector_tolerances_hold_in_the_frame(empty):
    chain, ready = empty.body.chain, READY["panda"]
    T = kinematics.forward(chain, ready)
    tolerance = np.array([0.05, 0.3, 0.1])
    goal = lie.pose(lie.exp_so3(np.array([0.0, 0.25, 0.0])) @ T[:3, :3], T[:3, 3] + [-0.05, 0.45, 0.1])
    constraint = OrientationConstraint(chain.tip, T[:3, :3], tolerance, VECTOR)
    result = plan(empty, ready, PoseGoal(goal), constraints=[constraint], timeout=20.0)
    assert result.success, result.message
    poses = link_poses_by_pinocchio("panda", every_millisecond(result.trajectory), chain.tip)
    errors = np.array([Rotation.from_matrix(pose.rotation @ T[:3, :3].T).as_rotvec() for pose in poses])
    assert np.all(np.abs(errors) <= tolerance)
    assert np.abs(errors[:, 1]).max() > 0.2


def test_a_point_stays_on_a_thin_plane(empty):
    """Two millimetres thick, one joint in a band; the goal is on the plane too."""
    chain, ready = empty.body.chain, READY["panda"]
    T = kinematics.forward(chain, ready)
    slab = PositionConstraint(chain.tip, [(Box([3.0, 3.0, 2e-3]), lie.pose(translation=T[:3, 3]))])
    band = JointConstraint("panda_joint3", 0.0, 0.3, 0.3)
    goal = T.copy()
    goal[:3, 3] += [0.05, -0.4, 0.0]
    result = plan(empty, ready, PoseGoal(goal), constraints=[slab, band], timeout=20.0)
    assert result.success, result.message
    q = every_millisecond(result.trajectory)
    heights = [pose.translation[2] - T[2, 3] for pose in link_poses_by_pinocchio("panda", q, chain.tip)]
    assert np.abs(heights).max() <= 1e-3
    assert np.abs(q[:, 2]).max() <= 0.3


def test_a_region_around_an_obstacle_is_kept(empty):
    """The tip passes the box on the side that the region leaves."""
    chain, ready = empty.body.chain, READY["panda"]
    T = kinematics.forward(chain, ready)
    start_pose, goal = T.copy(), T.copy()
    goal[:3, 3] += [0.0, 0.4, 0.0]
    world = World()
    world.add("post", Box([0.1, 0.06, 0.8]), at(T[0, 3], T[1, 3] + 0.2, 0.4))
    checker = Checker(empty.body, world)
    behind = PositionConstraint(chain.tip, [(Box([1.0, 2.0, 2.0]), at(T[0, 3] - 0.5 + 0.05, 0.0, 0.5))])
    result = plan(checker, ready, PoseGoal(goal), constraints=[behind], timeout=20.0)
    assert result.success, result.message
    poses = link_poses_by_pinocchio("panda", every_millisecond(result.trajectory), chain.tip)
    assert max(pose.translation[0] for pose in poses) <= start_pose[0, 3] + 0.05 + 1e-9


def test_start_and_goal_that_violate_are_named_with_the_amount(empty):
    chain, ready = empty.body.chain, READY["panda"]
    T = kinematics.forward(chain, ready)
    tilted = lie.pose(T[:3, :3] @ lie.exp_so3(np.array([0.3, 0.0, 0.0])), T[:3, 3])
    keep = OrientationConstraint(chain.tip, T[:3, :3], (0.1, 0.1, math.pi))
    result = plan(empty, ready, PoseGoal(tilted), constraints=[keep])
    assert result.status is PlanStatus.GOAL_VIOLATES_CONSTRAINTS and result.status.moveit_code == -13
    assert "off by 17.2° about x, 5.73° are allowed" in result.message
    other = OrientationConstraint(chain.tip, tilted[:3, :3], (0.1, 0.1, math.pi))
    result = plan(empty, ready, PoseGoal(tilted), constraints=[other])
    assert result.status is PlanStatus.START_VIOLATES_CONSTRAINTS and result.status.moveit_code == -11
    assert "at the start the orientation of 'panda_hand_tcp' is off by 17.2° about x" in result.message
    far = PositionConstraint(chain.tip, [(Box([0.1, 0.1, 0.1]), at(T[0, 3], T[1, 3], T[2, 3] + 0.1))])
    result = plan(empty, ready, ready + 0.1, constraints=[far])
    assert result.status is PlanStatus.START_VIOLATES_CONSTRAINTS and "50 mm outside its region" in result.message
    band = JointConstraint("panda_joint1", 1.0, 0.5, 0.5)
    result = plan(empty, ready, ready + 0.1, constraints=[band])
    assert "'panda_joint1' is at 0, outside its band 0.5 to 1.5" in result.message


def test_a_start_at_the_edge_of_its_tolerance_is_accepted(empty):
    chain, ready = empty.body.chain, READY["panda"]
    T = kinematics.forward(chain, ready)
    wanted = T[:3, :3] @ lie.exp_so3(np.array([0.1 - 1e-9, 0.0, 0.0]))
    keep = OrientationConstraint(chain.tip, wanted, (0.1, 0.1, math.pi))
    goal = lie.pose(wanted, T[:3, 3] + [0.0, 0.4, 0.1])
    result = plan(empty, ready, PoseGoal(goal), constraints=[keep], timeout=20.0)
    assert result.success, result.message
    assert result.verification.constraint <= 1.0 + 1e-9


def test_region_goals_are_chosen_inside_the_constraint(empty):
    """The middle of the region is tilted too much, part of it is not."""
    chain, ready = empty.body.chain, READY["panda"]
    T = kinematics.forward(chain, ready)
    middle = lie.pose(T[:3, :3] @ lie.exp_so3(np.array([0.2, 0.0, 0.0])), T[:3, 3] + [0.0, 0.3, 0.0])
    keep = OrientationConstraint(chain.tip, T[:3, :3], (0.1, 0.1, math.pi))
    goal = RegionGoal(middle, (0.01, 0.01, 0.01), (0.25, 0.05, 0.5))
    result = plan(empty, ready, goal, constraints=[keep], timeout=20.0)
    assert result.success, result.message


def test_straight_planner_and_straight_tip_motion_keep_or_refuse(empty):
    chain, ready = empty.body.chain, READY["panda"]
    T = kinematics.forward(chain, ready)
    keep = OrientationConstraint(chain.tip, T[:3, :3], (0.1, 0.1, math.pi))
    one = upright_problem("panda", 0)
    swung = plan(empty, one.start, one.goal, constraints=[one.constraint], planner=Planner.STRAIGHT)
    assert swung.status is PlanStatus.NO_PATH and "on the straight motion the orientation of" in swung.message
    base = ready + np.array([0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert plan(empty, ready, base, constraints=[keep], planner=Planner.STRAIGHT).success
    sideways = T.copy()
    sideways[:3, 3] += [0.05, 0.2, 0.0]
    moved = straight_tip_motion(empty, ready, sideways, constraints=[keep])
    assert moved.success and moved.verification.constraint < 1e-3
    tilted = sideways @ lie.pose(lie.exp_so3(np.array([0.4, 0.0, 0.0])))
    stopped = straight_tip_motion(empty, ready, tilted, constraints=[keep])
    assert stopped.status is PlanStatus.NO_PATH and "about x" in stopped.message
    assert 0.2 < stopped.fraction < 0.3
    with pytest.raises(InputError, match="RRT_CONNECT and STRAIGHT"):
        plan(empty, ready, base, constraints=[keep], planner=Planner.OPTIMAL)
