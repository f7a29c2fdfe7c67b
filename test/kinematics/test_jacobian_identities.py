"""Jacobians against finite differences of the poses, and screw axes against matrix exponentials."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm, logm

from manipapy_core import kinematics, lie
from reference.cases import ALL_ROBOTS, BUNDLED, RPRPRR, case_name, chain_of, disagreement, states
from reference.lagrange_route import gradient
from reference.small_robots import BRANCH, CONTINUOUS, FIXED_PAYLOAD, MIMIC, PRISMATIC, RobotCase

SERIAL = (*BUNDLED.values(), RPRPRR, PRISMATIC, CONTINUOUS, FIXED_PAYLOAD, BRANCH)
DIFFERENCE = 1e-9
"""What a five-point stencil over float64 poses of a few metres can resolve."""

serial_robots = pytest.mark.parametrize("case", SERIAL, ids=case_name)
moving_robots = pytest.mark.parametrize("case", (*SERIAL, MIMIC), ids=case_name)


def twist_of(matrix: np.ndarray) -> np.ndarray:
    """(angular, linear) of a 4x4 matrix of se(3)."""
    return np.array([matrix[2, 1], matrix[0, 2], matrix[1, 0], *matrix[:3, 3]])


def screw_matrix(screw: np.ndarray) -> np.ndarray:
    """se(3) matrix of an (angular, linear) screw axis."""
    x, y, z, *linear = screw
    return np.array([[0, -z, y, linear[0]], [z, 0, -x, linear[1]], [-y, x, 0, linear[2]], [0, 0, 0, 0]])


@moving_robots
def test_space_jacobian_is_the_rate_of_the_pose(case: RobotCase) -> None:
    chain = chain_of(case)
    for q in states(chain, 3, seed=1)[0]:
        slopes = gradient(lambda x: kinematics.forward(chain, x), q)
        inverse = np.linalg.inv(kinematics.forward(chain, q))
        expected = np.stack([twist_of(slopes[..., k] @ inverse) for k in range(chain.n)], axis=1)
        assert disagreement(kinematics.space_jacobian(chain, q), expected) <= DIFFERENCE


@moving_robots
def test_body_jacobian_is_the_rate_of_the_pose_seen_from_the_tip(case: RobotCase) -> None:
    chain = chain_of(case)
    for q in states(chain, 3, seed=2)[0]:
        slopes = gradient(lambda x: kinematics.forward(chain, x), q)
        inverse = np.linalg.inv(kinematics.forward(chain, q))
        expected = np.stack([twist_of(inverse @ slopes[..., k]) for k in range(chain.n)], axis=1)
        assert disagreement(kinematics.body_jacobian(chain, q), expected) <= DIFFERENCE


@moving_robots
def test_jacobian_derivatives_are_the_rates_of_the_jacobians(case: RobotCase) -> None:
    chain = chain_of(case)
    pairs = (
        (kinematics.space_jacobian, kinematics.space_jacobian_derivative),
        (kinematics.body_jacobian, kinematics.body_jacobian_derivative),
    )
    q, qd, _ = states(chain, 3, seed=3)
    for jacobian, derivative in pairs:
        for position, velocity in zip(q, qd, strict=True):
            slope = gradient(lambda x, jacobian=jacobian: jacobian(chain, x), position)
            assert disagreement(derivative(chain, position, velocity), slope @ velocity) <= DIFFERENCE


@moving_robots
def test_tip_acceleration_follows_from_both_jacobians(case: RobotCase) -> None:
    """d(V_space)/dt = Ad(T) d(V_body)/dt, since ad_V V = 0: links the two derivatives to each other."""
    chain = chain_of(case)
    q, qd, qdd = (values[0] for values in states(chain, 1, seed=4))
    space = kinematics.space_jacobian(chain, q) @ qdd + kinematics.space_jacobian_derivative(chain, q, qd) @ qd
    body = kinematics.body_jacobian(chain, q) @ qdd + kinematics.body_jacobian_derivative(chain, q, qd) @ qd
    assert disagreement(lie.adjoint(kinematics.forward(chain, q)) @ body, space) <= 1e-11


@serial_robots
def test_product_of_space_exponentials_is_forward(case: RobotCase) -> None:
    chain = chain_of(case)
    for q in states(chain, 4, seed=5)[0]:
        pose = np.eye(4)
        for screw, position in zip(chain.S.T, q, strict=True):
            pose = pose @ expm(screw_matrix(screw) * position)
        assert disagreement(pose @ chain.M, kinematics.forward(chain, q)) <= 1e-12


@serial_robots
def test_product_of_body_exponentials_is_forward(case: RobotCase) -> None:
    chain = chain_of(case)
    for q in states(chain, 4, seed=6)[0]:
        pose = chain.M
        for screw, position in zip(chain.B.T, q, strict=True):
            pose = pose @ expm(screw_matrix(screw) * position)
        assert disagreement(pose, kinematics.forward(chain, q)) <= 1e-12


@serial_robots
def test_home_is_forward_at_zero_and_screws_are_the_jacobians_there(case: RobotCase) -> None:
    chain = chain_of(case)
    zero = np.zeros(chain.n)
    assert disagreement(kinematics.forward(chain, zero), chain.M) <= 1e-12
    assert disagreement(kinematics.space_jacobian(chain, zero), chain.S) <= 1e-12
    assert disagreement(kinematics.body_jacobian(chain, zero), chain.B) <= 1e-12


@pytest.mark.parametrize("case", ALL_ROBOTS, ids=case_name)
def test_poses_are_rigid_motions(case: RobotCase) -> None:
    chain = chain_of(case)
    poses = kinematics.link_poses(chain, states(chain, 9, seed=7)[0])
    rotations = poses[..., :3, :3]
    assert (
        disagreement(rotations @ np.swapaxes(rotations, -1, -2), np.broadcast_to(np.eye(3), rotations.shape)) <= 1e-13
    )
    assert (np.linalg.det(rotations) > 0).all()
    assert (poses[..., 3, :] == [0.0, 0.0, 0.0, 1.0]).all()


def test_small_motion_is_the_jacobian_times_the_step() -> None:
    chain = chain_of(BUNDLED["ur5"])
    q = states(chain, 1, seed=8)[0][0]
    step = 1e-6 * np.arange(1, chain.n + 1)
    moved = np.linalg.inv(kinematics.forward(chain, q)) @ kinematics.forward(chain, q + step)
    twist = twist_of(np.real(logm(moved)))
    assert np.linalg.norm(twist - kinematics.body_jacobian(chain, q) @ step) <= 1e-9
