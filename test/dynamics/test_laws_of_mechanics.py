"""Laws that every mechanical system obeys, without a reference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from manipapy_core import Robot, dynamics, kinematics
from reference.cases import ALL_ROBOTS, BUNDLED, HUMANOID, RPRPRR, case_name, chain_of, disagreement, states
from reference.lagrange_route import gradient
from reference.mechanics import potential_energy
from reference.small_robots import COM_OFFSET, MIMIC, PRISMATIC, RobotCase

every_robot = pytest.mark.parametrize("case", ALL_ROBOTS, ids=case_name)
some_robots = pytest.mark.parametrize(
    "case", (BUNDLED["ur5"], BUNDLED["panda"], RPRPRR, MIMIC, COM_OFFSET, PRISMATIC), ids=case_name
)


@every_robot
def test_mass_matrix_is_symmetric_and_positive_definite(case: RobotCase) -> None:
    chain = chain_of(case)
    mass = dynamics.mass_matrix(chain, states(chain, 50)[0])
    np.testing.assert_array_equal(mass, np.swapaxes(mass, -1, -2))
    assert (np.linalg.eigvalsh(mass) > 0).all()


@every_robot
def test_forces_are_inertia_plus_coriolis_plus_gravity(case: RobotCase) -> None:
    chain = chain_of(case)
    q, qd, qdd = states(chain, 20)
    total = np.einsum("bij,bj->bi", dynamics.mass_matrix(chain, q), qdd)
    total += dynamics.coriolis_forces(chain, q, qd) + dynamics.gravity_forces(chain, q)
    assert disagreement(dynamics.inverse_dynamics(chain, q, qd, qdd), total) <= 1e-11


@every_robot
def test_forward_dynamics_undoes_inverse_dynamics(case: RobotCase) -> None:
    chain = chain_of(case)
    q, qd, qdd = states(chain, 20)
    forces = dynamics.inverse_dynamics(chain, q, qd, qdd, joint_friction=True)
    assert disagreement(dynamics.forward_dynamics(chain, q, qd, forces, joint_friction=True), qdd) <= 1e-10


@some_robots
def test_forward_dynamics_undoes_inverse_dynamics_under_load(case: RobotCase) -> None:
    chain = chain_of(case)
    q, qd, qdd = states(chain, 20)
    options = {
        "gravity": (1.0, -2.0, 8.0),
        "wrench_tip": np.random.default_rng(1).uniform(-10, 10, (20, 6)),
        "payload": dynamics.Payload(1.2, (0.1, 0.2, -0.1), 0.01 * np.eye(3)),
    }
    forces = dynamics.inverse_dynamics(chain, q, qd, qdd, **options)
    assert disagreement(dynamics.forward_dynamics(chain, q, qd, forces, **options), qdd) <= 1e-10


@every_robot
def test_coriolis_matrix_times_velocity_is_the_coriolis_force(case: RobotCase) -> None:
    chain = chain_of(case)
    q, qd, _ = states(chain, 20)
    product = np.einsum("bij,bj->bi", dynamics.coriolis_matrix(chain, q, qd), qd)
    assert disagreement(product, dynamics.coriolis_forces(chain, q, qd)) <= 1e-11


@every_robot
def test_coriolis_matrix_is_made_of_christoffel_symbols(case: RobotCase) -> None:
    """Symbols are symmetric in their last two places: C(q, u) w = C(q, w) u. Few other factorisations are."""
    chain = chain_of(case)
    q, u, w = states(chain, 20)
    one = np.einsum("bij,bj->bi", dynamics.coriolis_matrix(chain, q, u), w)
    other = np.einsum("bij,bj->bi", dynamics.coriolis_matrix(chain, q, w), u)
    assert disagreement(one, other) <= 1e-11


@some_robots
def test_rate_of_mass_matrix_minus_twice_coriolis_is_skew(case: RobotCase) -> None:
    chain = chain_of(case)
    q, qd, _ = states(chain, 3)
    for position, velocity in zip(q, qd, strict=True):
        rate = gradient(lambda x: dynamics.mass_matrix(chain, x), position) @ velocity
        coriolis = dynamics.coriolis_matrix(chain, position, velocity)
        assert disagreement(rate, coriolis + coriolis.T) <= 1e-9
        skew = rate - 2 * coriolis
        assert abs(velocity @ skew @ velocity) <= 1e-8


@some_robots
def test_gravity_is_the_slope_of_potential_energy(case: RobotCase) -> None:
    chain, gravity = chain_of(case), np.array([2.0, -3.0, -9.0])

    def potential(q: np.ndarray) -> np.ndarray:
        return np.array(potential_energy(chain, q, gravity))

    for q in states(chain, 3)[0]:
        assert disagreement(dynamics.gravity_forces(chain, q, gravity=gravity), gradient(potential, q)) <= 1e-8


@pytest.mark.parametrize("case", (*BUNDLED.values(), RPRPRR, PRISMATIC, COM_OFFSET), ids=case_name)
def test_mass_matrix_sums_every_bodys_kinetic_energy(case: RobotCase) -> None:
    """M = sum of J_com' G J_com, with J_com built from the screws and G from the chain's own tables."""
    chain = chain_of(case)
    for q in states(chain, 4)[0]:
        total, pose = np.zeros((chain.n, chain.n)), np.eye(4)
        jacobian = kinematics.space_jacobian(chain, q)
        for body in range(chain.n):
            pose = pose @ screw_motion(chain.S[:, body], q[body])
            T_base_com = pose @ chain.M_com[body]
            moved_by = np.where(np.arange(chain.n) <= body, jacobian, 0.0)
            local = inverse_adjoint(T_base_com) @ moved_by
            total += local.T @ chain.G[body] @ local
        assert disagreement(dynamics.mass_matrix(chain, q), total) <= 1e-11


def test_work_of_the_joints_is_the_change_of_energy() -> None:
    """Power: qd' tau = d/dt (kinetic + potential), checked at single states of a branching robot."""
    chain = Robot.from_urdf(HUMANOID.text).chain("left_foot", "right_hand")
    q, qd, qdd = states(chain, 6)
    for position, velocity, acceleration in zip(q, qd, qdd, strict=True):
        tau = dynamics.inverse_dynamics(chain, position, velocity, acceleration)
        slope = gradient(lambda x: dynamics.mass_matrix(chain, x), position) @ velocity
        mass = dynamics.mass_matrix(chain, position)
        power = velocity @ mass @ acceleration + 0.5 * velocity @ slope @ velocity
        power += dynamics.gravity_forces(chain, position) @ velocity
        assert abs(tau @ velocity - power) <= 1e-8 * max(1.0, abs(power))


def screw_motion(screw: np.ndarray, amount: float) -> np.ndarray:
    x, y, z, *linear = screw * amount
    return expm(np.array([[0, -z, y, linear[0]], [z, 0, -x, linear[1]], [-y, x, 0, linear[2]], [0, 0, 0, 0]]))


def inverse_adjoint(pose: np.ndarray) -> np.ndarray:
    rotation, p = pose[:3, :3], pose[:3, 3]
    hat = np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
    result = np.zeros((6, 6))
    result[:3, :3] = result[3:, 3:] = rotation.T
    result[3:, :3] = -rotation.T @ hat
    return result
