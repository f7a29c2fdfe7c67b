"""Goals for several links at once: behind the tip, in the middle of the arm, and the hands of two arms."""

from __future__ import annotations

import numpy as np
import pytest

from geometry.arms import arm
from manipapy_core import InputError, Robot, kinematics, lie
from manipapy_core.errors import UnknownLink
from manipapy_core.geometry import Checker, RobotBody
from manipapy_core.ik import NotAPose
from manipapy_core.motion import PlanStatus, PoseGoal, TipsGoal, plan
from manipapy_core.motion.multi_tip import errors_and_jacobians, solve_targets, targets_of
from motion.scenes import READY

ARM = """
  <joint name="{side}_0" type="revolute"><parent link="base"/><child link="{side}_shoulder"/>
    <origin xyz="0 {y} 0.6"/><axis xyz="0 0 1"/>{limit}</joint>
  <link name="{side}_shoulder"/>
  <joint name="{side}_1" type="revolute"><parent link="{side}_shoulder"/><child link="{side}_upper"/>
    <axis xyz="0 1 0"/>{limit}</joint>
  <link name="{side}_upper">{bar}</link>
  <joint name="{side}_2" type="revolute"><parent link="{side}_upper"/><child link="{side}_fore"/>
    <origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>{limit}</joint>
  <link name="{side}_fore">{bar}</link>
  <joint name="{side}_3" type="revolute"><parent link="{side}_fore"/><child link="{side}_roll"/>
    <origin xyz="0 0 0.3"/><axis xyz="0 0 1"/>{limit}</joint>
  <link name="{side}_roll"/>
  <joint name="{side}_4" type="revolute"><parent link="{side}_roll"/><child link="{side}_pitch"/>
    <axis xyz="0 1 0"/>{limit}</joint>
  <link name="{side}_pitch"/>
  <joint name="{side}_5" type="revolute"><parent link="{side}_pitch"/><child link="{side}_hand"/>
    <origin xyz="0 0 0.08"/><axis xyz="0 0 1"/>{limit}</joint>
  <link name="{side}_hand"/>"""
LIMIT = '<limit lower="-2.8" upper="2.8" velocity="2" effort="50"/>'
BAR = """<collision><origin xyz="0 0 0.15"/><geometry><cylinder radius="0.03" length="0.24"/></geometry></collision>"""


def two_arms() -> Robot:
    arms = "".join(ARM.format(side=side, y=y, limit=LIMIT, bar=BAR) for side, y in (("left", 0.25), ("right", -0.25)))
    return Robot.from_urdf(f'<robot name="two_arms"><link name="base"/>{arms}</robot>')


@pytest.fixture(scope="module")
def empty():
    return Checker(arm("panda")[2])


def pose_of(chain, q, link: str) -> np.ndarray:
    return kinematics.link_poses(chain, q)[..., chain.link_names.index(link), :, :]


def test_a_link_that_moves_with_the_tip_is_the_same_goal(empty):
    """The hand of the panda stands 0.1034 m before its tip."""
    chain, ready = empty.body.chain, READY["panda"]
    T_hand = pose_of(chain, ready + 0.2, "panda_hand")
    by_hand = plan(empty, ready, TipsGoal({"panda_hand": T_hand}), law=None)
    by_tip = plan(empty, ready, PoseGoal(T_hand @ lie.pose(translation=[0.0, 0.0, 0.1034])), law=None)
    assert by_hand.success and by_tip.success
    np.testing.assert_allclose(by_hand.path[-1], by_tip.path[-1], atol=1e-9)
    np.testing.assert_allclose(pose_of(chain, by_hand.path[-1], "panda_hand"), T_hand, atol=2e-6)


def test_two_links_of_one_arm_are_brought_to_their_poses_together(empty):
    """The elbow's pose leaves three joints for the tip, which alone would have a choice of elbows."""
    chain, ready = empty.body.chain, READY["panda"]
    wanted = ready + np.array([0.4, 0.2, -0.3, 0.4, 0.3, -0.2, 0.3])
    poses = {link: pose_of(chain, wanted, link) for link in ("panda_link4", "panda_hand_tcp")}
    result = plan(empty, ready, TipsGoal(poses), timeout=30.0)
    assert result.success, result.message
    for link, T in poses.items():
        np.testing.assert_allclose(pose_of(chain, result.trajectory.positions[-1], link), T, atol=5e-6)
    elsewhere = plan(empty, ready, PoseGoal(poses["panda_hand_tcp"]), law=None)
    assert np.abs(pose_of(chain, elsewhere.path[-1], "panda_link4") - poses["panda_link4"]).max() > 0.01


def test_joints_beyond_the_link_stay_where_they_are(empty):
    chain, ready = empty.body.chain, READY["panda"]
    T = pose_of(chain, ready + 0.2, "panda_link3")
    result = plan(empty, ready, TipsGoal({"panda_link3": T}), law=None)
    assert result.success, result.message
    np.testing.assert_allclose(result.path[-1][3:], ready[3:], atol=1e-12)
    np.testing.assert_allclose(pose_of(chain, result.path[-1], "panda_link3"), T, atol=5e-6)


def test_two_arms_reach_together():
    robot = two_arms()
    tree = robot.tree("base", "left_hand")
    checker = Checker(RobotBody.build(robot, tree, keep=False))
    start, wanted = np.zeros(tree.n), np.random.default_rng(4).uniform(-0.8, 0.8, tree.n)
    # Bent outwards, so that the arms do not stand in each other's way.
    start[[tree.joint_names.index(name) for name in ("left_2", "right_2")]] = 0.5
    assert not checker.check(np.stack([start, wanted])).any()
    poses = {hand: pose_of(tree, wanted, hand) for hand in ("left_hand", "right_hand")}
    result = plan(checker, start, TipsGoal(poses), law=None, timeout=30.0)
    assert result.success, result.message
    for hand, T in poses.items():
        np.testing.assert_allclose(pose_of(tree, result.path[-1], hand), T, atol=5e-6)
        alone = robot.chain("base", hand)
        q = [result.path[-1][tree.joint_names.index(name)] for name in alone.joint_names]
        np.testing.assert_allclose(kinematics.forward(alone, q), T, atol=5e-6)


def test_the_jacobian_is_the_derivative_of_the_errors(empty):
    chain, q = empty.body.chain, READY["panda"][None]
    goal = {link: pose_of(chain, q[0] + 0.01, link) for link in ("panda_link4", "panda_link6")}
    targets = targets_of(chain, goal)
    _, J = errors_and_jacobians(chain, targets, q)
    step = 1e-6
    for joint in range(chain.n):
        either = np.repeat(q, 2, axis=0)
        either[:, joint] += step, -step
        ahead, behind = errors_and_jacobians(chain, targets, either)[0]
        # Exact for the way; for small turns the rotation vector changes as fast as the arm turns.
        np.testing.assert_allclose((behind - ahead) / (2.0 * step), J[0, :, joint], atol=0.02)


def test_targets_that_can_be_reached_are_reached(empty):
    chain, rng = empty.body.chain, np.random.default_rng(1)
    lower, upper = chain.limits.lower, chain.limits.upper
    missed = 0
    for q in rng.uniform(lower, upper, (20, chain.n)):
        goal = {link: pose_of(chain, q, link) for link in ("panda_link4", "panda_hand_tcp")}
        found = solve_targets(chain, targets_of(chain, goal), rng.uniform(lower, upper, (32, chain.n)))
        missed += not len(found.q)
        assert ((found.q >= lower) & (found.q <= upper)).all()
    assert missed == 0


def test_poses_that_exclude_each_other_are_reported(empty):
    chain, ready = empty.body.chain, READY["panda"]
    far = pose_of(chain, ready, "panda_link4") @ lie.pose(translation=[0.05, 0.0, 0.0])
    poses = {"panda_link4": far, "panda_hand_tcp": pose_of(chain, ready, "panda_hand_tcp")}
    result = plan(empty, ready, TipsGoal(poses))
    assert result.status is PlanStatus.UNREACHABLE
    assert "panda_link4, panda_hand_tcp" in result.message and "mm" in result.message


@pytest.mark.parametrize(
    ("poses", "error", "text"),
    [
        ({}, InputError, "no link"),
        ({"antenna": np.eye(4)}, UnknownLink, "antenna"),
        ({"panda_link0": np.eye(4)}, InputError, "not moved by any joint"),
        ({"panda_hand": np.eye(4), "panda_hand_tcp": np.eye(4)}, InputError, "move together"),
        ({"panda_hand": np.diag([2.0, 1.0, 1.0, 1.0])}, NotAPose, "panda_hand"),
    ],
)
def test_invalid_poses_are_refused(empty, poses, error, text):
    with pytest.raises(error, match=text):
        plan(empty, READY["panda"], TipsGoal(poses))
