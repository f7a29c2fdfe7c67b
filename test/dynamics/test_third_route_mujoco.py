"""MuJoCo, with its own URDF reader and its own algorithms, agrees as well; it also knows damping."""

from __future__ import annotations

import pytest

from manipapy_core import dynamics, kinematics
from reference.cases import BUNDLED, PARITY, RPRPRR, case_name, chain_of, disagreement, one_by_one, states
from reference.mujoco_route import MujocoRoute
from reference.small_robots import BRANCH, DAMPED, FIXED_PAYLOAD, MIMIC, NON_UNIT_AXIS, ROTATED_INERTIA, RobotCase

robots = pytest.mark.parametrize(
    "case",
    (*BUNDLED.values(), RPRPRR, BRANCH, FIXED_PAYLOAD, MIMIC, NON_UNIT_AXIS, ROTATED_INERTIA, DAMPED),
    ids=case_name,
)


def mujoco_of(case: RobotCase) -> MujocoRoute:
    names = chain_of(case).joint_names
    return MujocoRoute(case.text, case.base, case.tip, joint_names=names, fixed=case.fixed)


@robots
def test_pose_mass_matrix_and_forces(case: RobotCase) -> None:
    chain, reference = chain_of(case), mujoco_of(case)
    q, qd, qdd = states(chain, 5)
    assert disagreement(kinematics.forward(chain, q), one_by_one(reference.forward, q)) <= PARITY
    assert disagreement(dynamics.mass_matrix(chain, q), one_by_one(reference.mass_matrix, q)) <= PARITY
    forces = dynamics.inverse_dynamics(chain, q, qd, qdd)
    assert disagreement(forces, one_by_one(reference.inverse_dynamics, q, qd, qdd)) <= PARITY


@pytest.mark.parametrize("case", [*BUNDLED.values(), DAMPED], ids=case_name)
def test_damping(case: RobotCase) -> None:
    chain, reference = chain_of(case), mujoco_of(case)
    q, qd, qdd = states(chain, 5)
    viscous = chain.damping * qd
    expected = one_by_one(lambda *row: reference.inverse_dynamics(*row, joint_friction=True), q, qd, qdd)
    dry = dynamics.inverse_dynamics(chain, q, qd, qdd, joint_friction=True) - chain.friction * sign(qd)
    assert disagreement(dry, expected) <= PARITY
    assert disagreement(expected - dynamics.inverse_dynamics(chain, q, qd, qdd), viscous) <= PARITY


def sign(values):
    return (values > 0) * 1.0 - (values < 0) * 1.0


def test_free_motion_with_damping_is_mujocos() -> None:
    chain, reference = chain_of(DAMPED), mujoco_of(DAMPED)
    q, qd, tau = states(chain, 5)
    moved = dynamics.forward_dynamics(chain, q, qd, tau + chain.friction * sign(qd), joint_friction=True)
    assert disagreement(moved, one_by_one(reference.forward_dynamics, q, qd, tau)) <= PARITY
