"""Forces and accelerations agree with Pinocchio on every robot, in any gravity, with wrench and payload."""

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
from reference.pinocchio_route import PinocchioRoute
from reference.small_robots import BRANCH, FIXED_PAYLOAD, MIMIC, PRISMATIC, RobotCase

every_robot = pytest.mark.parametrize("case", ALL_ROBOTS, ids=case_name)
some_robots = pytest.mark.parametrize(
    "case", (BUNDLED["ur5"], BUNDLED["panda"], RPRPRR, BRANCH, MIMIC, FIXED_PAYLOAD, PRISMATIC), ids=case_name
)

PAYLOAD_MASS, PAYLOAD_COM = 2.7, np.array([0.05, -0.12, 0.21])
PAYLOAD_INERTIA = np.array([[0.04, 0.005, -0.003], [0.005, 0.06, 0.008], [-0.003, 0.008, 0.05]])


@every_robot
def test_mass_matrix_is_pinocchios(case: RobotCase) -> None:
    q, _, _ = states(chain_of(case), 11)
    expected = one_by_one(pinocchio_of(case).mass_matrix, q)
    assert disagreement(dynamics.mass_matrix(chain_of(case), q), expected) <= PARITY


@every_robot
def test_coriolis_matrix_is_pinocchios(case: RobotCase) -> None:
    q, qd, _ = states(chain_of(case), 11)
    expected = one_by_one(pinocchio_of(case).coriolis_matrix, q, qd)
    assert disagreement(dynamics.coriolis_matrix(chain_of(case), q, qd), expected) <= PARITY


@every_robot
def test_coriolis_forces_are_pinocchios(case: RobotCase) -> None:
    q, qd, _ = states(chain_of(case), 11)
    expected = one_by_one(pinocchio_of(case).coriolis_forces, q, qd)
    assert disagreement(dynamics.coriolis_forces(chain_of(case), q, qd), expected) <= PARITY


@every_robot
def test_gravity_forces_are_pinocchios(case: RobotCase) -> None:
    q, _, _ = states(chain_of(case), 11)
    expected = one_by_one(pinocchio_of(case).gravity_forces, q)
    assert disagreement(dynamics.gravity_forces(chain_of(case), q), expected) <= PARITY


@every_robot
def test_inverse_dynamics_is_pinocchios(case: RobotCase) -> None:
    q, qd, qdd = states(chain_of(case), 11)
    expected = one_by_one(pinocchio_of(case).inverse_dynamics, q, qd, qdd)
    assert disagreement(dynamics.inverse_dynamics(chain_of(case), q, qd, qdd), expected) <= PARITY


@every_robot
def test_forward_dynamics_is_pinocchios(case: RobotCase) -> None:
    q, qd, tau = states(chain_of(case), 11)
    expected = one_by_one(pinocchio_of(case).forward_dynamics, q, qd, tau)
    assert disagreement(dynamics.forward_dynamics(chain_of(case), q, qd, tau), expected) <= PARITY


@some_robots
@pytest.mark.parametrize("gravity", [(0, 0, 0), (9.81, 0, 0), (0, -9.81, 0), (3.0, -2.0, 7.5)], ids=str)
def test_gravity_may_point_anywhere(case: RobotCase, gravity: tuple[float, float, float]) -> None:
    chain, reference = chain_of(case), pinocchio_of(case, gravity)
    q, qd, qdd = states(chain, 5)
    holding = dynamics.gravity_forces(chain, q, gravity=gravity)
    assert disagreement(holding, one_by_one(reference.gravity_forces, q)) <= PARITY
    moving = dynamics.inverse_dynamics(chain, q, qd, qdd, gravity=gravity)
    assert disagreement(moving, one_by_one(reference.inverse_dynamics, q, qd, qdd)) <= PARITY
    falling = dynamics.forward_dynamics(chain, q, qd, qdd, gravity=gravity)
    assert disagreement(falling, one_by_one(reference.forward_dynamics, q, qd, qdd)) <= PARITY


@some_robots
@pytest.mark.parametrize("loaded", [False, True], ids=["bare", "with payload"])
@pytest.mark.parametrize("pushed", [False, True], ids=["free", "with wrench"])
def test_wrench_and_payload_are_pinocchios(case: RobotCase, loaded: bool, pushed: bool) -> None:
    chain, gravity = chain_of(case), (1.0, 2.0, -9.0)
    reference = pinocchio_of(case, gravity)
    if loaded:
        reference.add_payload(PAYLOAD_MASS, PAYLOAD_COM, PAYLOAD_INERTIA)
    payload = dynamics.Payload(PAYLOAD_MASS, PAYLOAD_COM, PAYLOAD_INERTIA) if loaded else None
    q, qd, qdd = states(chain, 5)
    wrench = np.random.default_rng(9).uniform(-20, 20, (5, 6)) if pushed else None
    options = {"gravity": gravity, "wrench_tip": wrench, "payload": payload}
    rows = (q, qd, qdd) if wrench is None else (q, qd, qdd, wrench)
    forces = dynamics.inverse_dynamics(chain, q, qd, qdd, **options)
    assert disagreement(forces, one_by_one(reference.inverse_dynamics, *rows)) <= PARITY
    accelerations = dynamics.forward_dynamics(chain, q, qd, qdd, **options)
    assert disagreement(accelerations, one_by_one(reference.forward_dynamics, *rows)) <= PARITY


def test_one_wrench_and_one_payload_serve_a_whole_batch() -> None:
    chain = chain_of(RPRPRR)
    q, qd, qdd = states(chain, 12)
    wrench, payload = np.arange(6.0), dynamics.Payload(1.5, (0.1, 0.0, 0.2))
    together = dynamics.inverse_dynamics(chain, q, qd, qdd, wrench_tip=wrench, payload=payload)
    for row in range(12):
        single = dynamics.inverse_dynamics(chain, q[row], qd[row], qdd[row], wrench_tip=wrench, payload=payload)
        assert disagreement(together[row], single) <= 1e-12


class TestTrees:
    """`robot.tree()`: all branches move, none is dropped."""

    tree = Robot.from_urdf(HUMANOID.text).tree(tip="right_hand")
    reference = PinocchioRoute(HUMANOID.text, "pelvis", "right_hand", joint_names=tree.joint_names)

    def test_mass_and_coriolis_matrices(self) -> None:
        q, qd, _ = states(self.tree, 5)
        mass, coriolis = dynamics.mass_matrix(self.tree, q), dynamics.coriolis_matrix(self.tree, q, qd)
        assert disagreement(mass, one_by_one(self.reference.mass_matrix, q)) <= PARITY
        assert disagreement(coriolis, one_by_one(self.reference.coriolis_matrix, q, qd)) <= PARITY

    def test_inverse_and_forward_dynamics_with_a_wrench_on_one_branch(self) -> None:
        q, qd, qdd = states(self.tree, 5)
        wrench = np.random.default_rng(1).uniform(-5, 5, (5, 6))
        forces = dynamics.inverse_dynamics(self.tree, q, qd, qdd, wrench_tip=wrench)
        assert disagreement(forces, one_by_one(self.reference.inverse_dynamics, q, qd, qdd, wrench)) <= PARITY
        moved = dynamics.forward_dynamics(self.tree, q, qd, forces, wrench_tip=wrench)
        assert disagreement(moved, qdd) <= PARITY
        falling = dynamics.forward_dynamics(self.tree, q, qd, qdd)
        assert disagreement(falling, one_by_one(self.reference.forward_dynamics, q, qd, qdd)) <= PARITY

    def test_mimicking_joints_of_a_tree_are_folded_into_their_driver(self) -> None:
        tree = Robot.from_urdf(MIMIC.text).tree(tip="four")
        reference = PinocchioRoute(MIMIC.text, "base", "four", joint_names=tree.joint_names)
        q, qd, qdd = states(tree, 5)
        forces = dynamics.inverse_dynamics(tree, q, qd, qdd)
        assert disagreement(forces, one_by_one(reference.inverse_dynamics, q, qd, qdd)) <= PARITY
        assert disagreement(dynamics.forward_dynamics(tree, q, qd, forces), qdd) <= PARITY
