"""A chain may run between any two links: up, down, across branches and from the middle."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import Robot, kinematics
from manipapy_core.errors import InputError, UnknownLink
from reference.cases import BUNDLED, HUMANOID, PARITY, disagreement, one_by_one, states
from reference.lagrange_route import gradient
from reference.pinocchio_route import PinocchioRoute
from reference.rerooting import link_names, path_joints, root_link
from reference.small_robots import BRANCH, MIMIC

ROUTES = (
    pytest.param(BUNDLED["ur5"].text, "tool0", "base_link", id="ur5 tip to base"),
    pytest.param(BUNDLED["ur5"].text, "forearm_link", "base_link", id="ur5 middle to base"),
    pytest.param(BUNDLED["ur5"].text, "upper_arm_link", "wrist_2_link", id="ur5 middle to middle"),
    pytest.param(BUNDLED["panda"].text, "panda_hand", "panda_link0", id="panda hand to base"),
    pytest.param(HUMANOID.text, "left_foot", "right_hand", id="left foot to right hand"),
    pytest.param(HUMANOID.text, "right_hand", "left_hand", id="hand to hand"),
    pytest.param(HUMANOID.text, "head", "pelvis", id="head to pelvis"),
    pytest.param(HUMANOID.text, "torso", "right_foot", id="torso to right foot"),
    pytest.param(BRANCH.text, "hand", "head", id="hand to head of the branch"),
    pytest.param(MIMIC.text, "four", "base", id="mimic tip to base"),
    pytest.param(MIMIC.text, "one", "four", id="past mimics whose driver is not on the way"),
)


@pytest.mark.parametrize(("text", "base", "tip"), ROUTES)
class TestRoutes:
    def test_joints_come_in_order_from_base_to_tip(self, text: str, base: str, tip: str) -> None:
        chain = Robot.from_urdf(text).chain(base, tip)
        assert list(chain.joint_names) == path_joints(text, base, tip)

    def test_pose_is_the_tip_seen_from_the_base(self, text: str, base: str, tip: str) -> None:
        chain = Robot.from_urdf(text).chain(base, tip)
        whole = PinocchioRoute(text, root_link(text), tip, joint_names=chain.joint_names)
        q, _, _ = states(chain, 7)

        def seen_from_base(row: np.ndarray, link: str = tip) -> np.ndarray:
            return np.linalg.inv(whole.forward(row, base)) @ whole.forward(row, link)

        assert disagreement(kinematics.forward(chain, q), one_by_one(seen_from_base, q)) <= PARITY
        poses = kinematics.link_poses(chain, q)
        for index, link in enumerate(chain.link_names):
            expected = one_by_one(lambda row, link=link: seen_from_base(row, link), q)
            assert disagreement(poses[:, index], expected) <= PARITY, link

    def test_jacobians_are_those_of_the_rerooted_robot(self, text: str, base: str, tip: str) -> None:
        chain = Robot.from_urdf(text).chain(base, tip)
        reference = PinocchioRoute(text, base, tip, joint_names=chain.joint_names)
        q, qd, _ = states(chain, 7)
        assert disagreement(kinematics.space_jacobian(chain, q), one_by_one(reference.space_jacobian, q)) <= PARITY
        assert disagreement(kinematics.body_jacobian(chain, q), one_by_one(reference.body_jacobian, q)) <= PARITY
        rate = kinematics.body_jacobian_derivative(chain, q, qd)
        assert disagreement(rate, one_by_one(reference.body_jacobian_derivative, q, qd)) <= PARITY

    def test_jacobian_is_the_rate_of_the_pose(self, text: str, base: str, tip: str) -> None:
        chain = Robot.from_urdf(text).chain(base, tip)
        q = states(chain, 1)[0][0]
        slopes = gradient(lambda x: kinematics.forward(chain, x), q)
        for column in range(chain.n):
            rate = slopes[..., column] @ np.linalg.inv(kinematics.forward(chain, q))
            expected = np.array([rate[2, 1], rate[0, 2], rate[1, 0], *rate[:3, 3]])
            assert disagreement(kinematics.space_jacobian(chain, q)[:, column], expected) <= 1e-9


def test_there_and_back_is_the_identity() -> None:
    robot = Robot.from_urdf(HUMANOID.text)
    there, back = robot.chain("left_foot", "right_hand"), robot.chain("right_hand", "left_foot")
    assert there.joint_names == back.joint_names[::-1]
    q, _, _ = states(there, 9)
    product = kinematics.forward(there, q) @ kinematics.forward(back, q[:, ::-1])
    assert disagreement(product, np.broadcast_to(np.eye(4), (9, 4, 4))) <= 1e-12


def test_chains_join_at_any_link() -> None:
    robot = Robot.from_urdf(BUNDLED["ur5"].text)
    whole = robot.chain("base_link", "tool0")
    q, _, _ = states(whole, 5)
    for link in ("shoulder_link", "forearm_link", "wrist_2_link"):
        first, second = robot.chain("base_link", link), robot.chain(link, "tool0")
        assert first.joint_names + second.joint_names == whole.joint_names
        joined = kinematics.forward(first, q[:, : first.n]) @ kinematics.forward(second, q[:, first.n :])
        assert disagreement(kinematics.forward(whole, q), joined) <= 1e-12


def test_links_with_nothing_moving_between_them_are_refused() -> None:
    robot = Robot.from_urdf(BUNDLED["ur5"].text)
    for base, tip in (("wrist_3_link", "tool0"), ("tool0", "tool0")):
        with pytest.raises(InputError, match="no joint moves"):
            robot.chain(base, tip)


def test_unknown_links_are_named() -> None:
    robot = Robot.from_urdf(BUNDLED["ur5"].text)
    for base, tip in (("base_link", "tool"), ("basis", "tool0")):
        with pytest.raises(UnknownLink, match="wrist_3_link"):
            robot.chain(base, tip)


def test_locked_joints_hold_their_value() -> None:
    robot = Robot.from_urdf(BUNDLED["ur5"].text)
    free, held = robot.chain("base_link", "tool0"), robot.chain("base_link", "tool0", fixed={"elbow_joint": 0.7})
    assert held.n == free.n - 1 and "elbow_joint" not in held.joint_names
    q, _, _ = states(held, 5)
    whole = np.insert(q, free.joint_names.index("elbow_joint"), 0.7, axis=1)
    assert disagreement(kinematics.forward(held, q), kinematics.forward(free, whole)) <= 1e-12


@pytest.mark.parametrize("base", ["pelvis", "left_foot", "torso", "head"])
def test_a_tree_may_be_rooted_at_any_link(base: str) -> None:
    tree = Robot.from_urdf(HUMANOID.text).tree(base, "left_hand")
    reference = PinocchioRoute(HUMANOID.text, base, "left_hand", joint_names=tree.joint_names)
    q, _, _ = states(tree, 3)
    poses = kinematics.link_poses(tree, q)
    assert set(tree.link_names) >= set(link_names(HUMANOID.text))
    for index, link in enumerate(tree.link_names):
        expected = one_by_one(lambda row, link=link: reference.forward(row, link), q)
        assert disagreement(poses[:, index], expected) <= PARITY, link
