"""The dynamics are linear in the inertial parameters: for identification and adaptive control."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import Robot, dynamics
from reference.cases import (
    ALL_ROBOTS,
    BUNDLED,
    HUMANOID,
    PARITY,
    RPRPRR,
    case_name,
    chain_of,
    disagreement,
    one_by_one,
    pinocchio_of,
    states,
)
from reference.small_robots import BRANCH, MIMIC, RobotCase

every_robot = pytest.mark.parametrize("case", ALL_ROBOTS, ids=case_name)
# Pinocchio counts one body per joint; with mimicking joints the columns belong to other bodies.
WITHOUT_MIMIC = [case for case in ALL_ROBOTS if len(chain_of(case).bodies) == chain_of(case).n]
GRAVITY = (0.5, -3.0, -9.0)


@every_robot
def test_regressor_times_parameters_is_inverse_dynamics(case: RobotCase) -> None:
    chain = chain_of(case)
    q, qd, qdd = states(chain, 11)
    product = dynamics.regressor(chain, q, qd, qdd, gravity=GRAVITY) @ chain.inertial_parameters
    assert disagreement(product, dynamics.inverse_dynamics(chain, q, qd, qdd, gravity=GRAVITY)) <= 1e-11


@pytest.mark.parametrize("case", WITHOUT_MIMIC, ids=case_name)
def test_regressor_and_parameters_are_pinocchios(case: RobotCase) -> None:
    chain, reference = chain_of(case), pinocchio_of(case, GRAVITY)
    q, qd, qdd = states(chain, 7)
    assert disagreement(chain.inertial_parameters, reference.inertial_parameters()) <= PARITY
    expected = one_by_one(reference.regressor, q, qd, qdd)
    assert disagreement(dynamics.regressor(chain, q, qd, qdd, gravity=GRAVITY), expected) <= PARITY


@every_robot
def test_reference_velocity_enters_through_the_coriolis_matrix(case: RobotCase) -> None:
    """Slotine and Li: Y pi = M qdd_ref + C(q, qd) qd_ref + g."""
    chain = chain_of(case)
    q, qd, qdd = states(chain, 7)
    qd_ref = states(chain, 7, seed=1)[1]
    product = dynamics.regressor(chain, q, qd, qdd, qd_ref=qd_ref, gravity=GRAVITY) @ chain.inertial_parameters
    expected = np.einsum("bij,bj->bi", dynamics.mass_matrix(chain, q), qdd)
    expected += np.einsum("bij,bj->bi", dynamics.coriolis_matrix(chain, q, qd), qd_ref)
    expected += dynamics.gravity_forces(chain, q, gravity=GRAVITY)
    assert disagreement(product, expected) <= 1e-11


@pytest.mark.parametrize("case", [RPRPRR, MIMIC], ids=case_name)
def test_reference_velocity_by_polarisation_of_pinocchios_forces(case: RobotCase) -> None:
    """Christoffel's C(u) w is the symmetric form behind c(u) = C(u) u, so it follows from c alone."""
    chain, reference = chain_of(case), pinocchio_of(case, (0.0, 0.0, 0.0))
    q, qd, qd_ref = (values[0] for values in states(chain, 1))
    zero = np.zeros(chain.n)
    mixed = dynamics.regressor(chain, q, qd, zero, qd_ref=qd_ref, gravity=(0, 0, 0)) @ chain.inertial_parameters

    def coriolis(velocity: np.ndarray) -> np.ndarray:
        return reference.coriolis_forces(q, velocity)

    expected = 0.5 * (coriolis(qd + qd_ref) - coriolis(qd) - coriolis(qd_ref))
    assert disagreement(mixed, expected) <= PARITY


def test_masses_of_a_real_motion_can_be_identified() -> None:
    """Least squares on random motion gives back forces on motion never seen, with parameters that differ."""
    chain = chain_of(BUNDLED["ur5"])
    q, qd, qdd = states(chain, 80, seed=1)
    stacked = dynamics.regressor(chain, q, qd, qdd).reshape(-1, chain.inertial_parameters.size)
    forces = dynamics.inverse_dynamics(chain, q, qd, qdd).reshape(-1)
    estimate = np.linalg.lstsq(stacked, forces, rcond=1e-10)[0]
    q, qd, qdd = states(chain, 20, seed=2)
    predicted = dynamics.regressor(chain, q, qd, qdd) @ estimate
    assert disagreement(predicted, dynamics.inverse_dynamics(chain, q, qd, qdd)) <= 1e-8


def test_branches_have_columns_of_their_own() -> None:
    tree = Robot.from_urdf(HUMANOID.text).tree(tip="right_hand")
    q, qd, qdd = states(tree, 5)
    matrix = dynamics.regressor(tree, q, qd, qdd)
    assert matrix.shape == (5, tree.n, 10 * tree.n)
    assert disagreement(matrix @ tree.inertial_parameters, dynamics.inverse_dynamics(tree, q, qd, qdd)) <= 1e-10
    head = [body.joint for body in tree.bodies].index("torso_to_head")
    foot = tree.joint_names.index("pelvis_to_left_thigh")
    assert not matrix[:, foot, 10 * head : 10 * head + 10].any(), "the head does not load the leg's joint"


def test_locked_branch_is_counted_in_the_body_that_carries_it() -> None:
    chain = chain_of(BRANCH)
    masses = chain.inertial_parameters[::10]
    assert disagreement(masses, [4.0 + 1.2 + 0.9, 2.0, 0.5]) <= 1e-12
