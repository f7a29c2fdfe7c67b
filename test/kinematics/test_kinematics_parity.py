"""Poses, Jacobians and their rates agree with Pinocchio on every robot."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import Robot, kinematics
from reference.cases import (
    ALL_ROBOTS,
    HUMANOID,
    PARITY,
    case_name,
    chain_of,
    disagreement,
    one_by_one,
    pinocchio_of,
    states,
)
from reference.pinocchio_route import PinocchioRoute
from reference.small_robots import NON_UNIT_AXIS, UNIT_AXIS_TWIN, RobotCase

every_robot = pytest.mark.parametrize("case", ALL_ROBOTS, ids=case_name)


@every_robot
def test_forward_is_pinocchios(case: RobotCase) -> None:
    q, _, _ = states(chain_of(case), 11)
    assert disagreement(kinematics.forward(chain_of(case), q), one_by_one(pinocchio_of(case).forward, q)) <= PARITY


@every_robot
def test_poses_of_all_links_are_pinocchios(case: RobotCase) -> None:
    chain, reference = chain_of(case), pinocchio_of(case)
    q, _, _ = states(chain, 5)
    poses = kinematics.link_poses(chain, q)
    assert poses.shape == (5, len(chain.link_names), 4, 4)
    for index, link in enumerate(chain.link_names):
        expected = one_by_one(lambda row, link=link: reference.forward(row, link), q)
        assert disagreement(poses[:, index], expected) <= PARITY, link


@every_robot
def test_jacobians_are_pinocchios(case: RobotCase) -> None:
    chain, reference = chain_of(case), pinocchio_of(case)
    q, _, _ = states(chain, 11)
    assert disagreement(kinematics.space_jacobian(chain, q), one_by_one(reference.space_jacobian, q)) <= PARITY
    assert disagreement(kinematics.body_jacobian(chain, q), one_by_one(reference.body_jacobian, q)) <= PARITY


@every_robot
def test_jacobian_derivatives_are_pinocchios(case: RobotCase) -> None:
    chain, reference = chain_of(case), pinocchio_of(case)
    q, qd, _ = states(chain, 11)
    space = kinematics.space_jacobian_derivative(chain, q, qd)
    body = kinematics.body_jacobian_derivative(chain, q, qd)
    assert disagreement(space, one_by_one(reference.space_jacobian_derivative, q, qd)) <= PARITY
    assert disagreement(body, one_by_one(reference.body_jacobian_derivative, q, qd)) <= PARITY


def test_length_of_an_axis_does_not_matter() -> None:
    q = states(chain_of(NON_UNIT_AXIS), 5)[0]
    long, unit = chain_of(NON_UNIT_AXIS), chain_of(UNIT_AXIS_TWIN)
    assert disagreement(kinematics.forward(long, q), kinematics.forward(unit, q)) <= 1e-14


def test_whole_turns_of_a_continuous_joint_change_nothing() -> None:
    chain = chain_of(next(case for case in ALL_ROBOTS if case.name == "continuous"))
    q = states(chain, 5)[0]
    turned = q + np.where(np.isinf(chain.limits.upper), 2 * np.pi * 3, 0.0)
    assert disagreement(kinematics.forward(chain, turned), kinematics.forward(chain, q)) <= 1e-13


def test_far_away_angles_keep_their_digits() -> None:
    case = next(case for case in ALL_ROBOTS if case.name == "continuous")
    chain, reference = chain_of(case), pinocchio_of(case)
    q = np.array([[1e4, 0.3], [-3e4, -0.7], [9.9e4, 1.0]])
    assert disagreement(kinematics.forward(chain, q), one_by_one(reference.forward, q)) <= PARITY


class TestTrees:
    """`robot.tree()`: every movable joint is free, the tip is one link among many."""

    tree = Robot.from_urdf(HUMANOID.text).tree(tip="right_hand")
    reference = PinocchioRoute(HUMANOID.text, "pelvis", "right_hand", joint_names=tree.joint_names)

    def test_every_movable_joint_is_free(self) -> None:
        assert self.tree.n == self.reference.model.nv == 11
        assert set(self.tree.joint_names) == set(list(self.reference.model.names)[1:])

    def test_every_link_is_where_pinocchio_puts_it(self) -> None:
        q, _, _ = states(self.tree, 7)
        poses = kinematics.link_poses(self.tree, q)
        for index, link in enumerate(self.tree.link_names):
            expected = one_by_one(lambda row, link=link: self.reference.forward(row, link), q)
            assert disagreement(poses[:, index], expected) <= PARITY, link

    def test_other_branches_do_not_move_the_tip(self) -> None:
        q, qd, _ = states(self.tree, 7)
        jacobian = kinematics.body_jacobian(self.tree, q)
        assert disagreement(jacobian, one_by_one(self.reference.body_jacobian, q)) <= PARITY
        for name in ("torso_to_head", "pelvis_to_left_thigh"):
            assert not jacobian[:, :, self.tree.joint_names.index(name)].any()
        rate = kinematics.space_jacobian_derivative(self.tree, q, qd)
        assert disagreement(rate, one_by_one(self.reference.space_jacobian_derivative, q, qd)) <= PARITY
