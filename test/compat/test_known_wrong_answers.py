"""Known errors of ManipulaPy: the same calls here agree with Pinocchio."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from manipapy_core import lie
from manipapy_core.compat.dynamics import CACHED_CONFIGURATIONS
from manipapy_core.compat.urdf_processor import URDFToSerialManipulator
from reference.cases import ALL_ROBOTS, BUNDLED, case_name, disagreement
from reference.pinocchio_route import PinocchioRoute
from reference.urdf_writing import joint, link, robot

SERIAL = [case for case in ALL_ROBOTS if "<mimic" not in case.text or case.name in BUNDLED]
PARITY = 1e-10
TINY = (1e-6, 0, 0, 1e-6, 0, 1e-6)


def processor_of(text: str) -> URDFToSerialManipulator:
    return URDFToSerialManipulator(text, use_pybullet_limits=False)


def states(n: int, count: int = 8):
    return np.random.default_rng(n).uniform(-2.0, 2.0, (count, 3, n))


@pytest.mark.parametrize("case", SERIAL, ids=case_name)
def test_results_agree_with_pinocchio(case):
    """CoM offsets counted once, mass behind fixed joints and on branches, massless links, exact velocity terms,
    prismatic joints, turned inertia frames: all of them in these robots."""
    tip = case.tip if case.name in ("branch", "dual_ur5e") else None  # their two branches are equally long
    processor = URDFToSerialManipulator(case.text, use_pybullet_limits=False, tip_link=tip)
    arm, chain = processor.dynamics, processor.chain
    reference = PinocchioRoute(case.text, chain.base, chain.tip, joint_names=chain.joint_names)
    for q, qd, qdd in states(chain.n):
        assert disagreement(arm.forward_kinematics(q), reference.forward(q)) < PARITY
        assert disagreement(arm.jacobian(q), reference.space_jacobian(q)) < PARITY
        assert disagreement(arm.jacobian(q, "body"), reference.body_jacobian(q)) < PARITY
        assert disagreement(arm.mass_matrix(q), reference.mass_matrix(q)) < PARITY
        assert disagreement(arm.velocity_quadratic_forces(q, qd), reference.coriolis_forces(q, qd)) < PARITY
        assert disagreement(arm.gravity_forces(q), reference.gravity_forces(q)) < PARITY
        wrench = qdd.sum() * np.arange(1.0, 7.0)
        tau = arm.inverse_dynamics(q, qd, qdd, [0, 0, -9.81], wrench)
        assert disagreement(tau, reference.inverse_dynamics(q, qd, qdd, wrench)) < PARITY


def test_mass_at_a_centre_of_mass_offset_counts_once():
    text = robot(
        "bob",
        link("base"),
        link("rod", 2.0, com=(0.7, 0, 0), inertia=TINY),
        joint("swing", "revolute", "base", "rod", axis=(0, 1, 0)),
    )
    dynamics = processor_of(text).dynamics
    assert dynamics.mass_matrix([0.3])[0, 0] == pytest.approx(2.0 * 0.7**2 + 1e-6)
    assert dynamics.gravity_forces([0.0])[0] == pytest.approx(-2.0 * 9.81 * 0.7)


def test_link_without_inertial_is_massless():
    parts = [link("base"), link("rod"), link("tool", 0.5, com=(0.1, 0, 0), inertia=TINY)]
    joints = [
        joint("swing", "revolute", "base", "rod", axis=(0, 1, 0)),
        joint("mount", "fixed", "rod", "tool", xyz=(1, 0, 0)),
    ]
    processor = processor_of(robot("light", *parts, *joints))
    assert processor.dynamics.mass_matrix([0.3])[0, 0] == pytest.approx(0.5 * 1.1**2 + 1e-6)
    assert processor.robot_data["Glist"][0][5, 5] == pytest.approx(0.5)


def test_partial_derivative_is_exact():
    """Against differences of the mass matrix, which have seven digits, and against Pinocchio's velocity terms."""
    dynamics = processor_of(BUNDLED["ur5"].text).dynamics
    for theta, dtheta, _ in states(6, 4):
        tensor = np.array(
            [[[dynamics.partial_derivative(i, j, k, theta) for k in range(6)] for j in range(6)] for i in range(6)]
        )
        for k, unit in enumerate(1e-6 * np.eye(6)):
            slope = (dynamics.mass_matrix(theta + unit) - dynamics.mass_matrix(theta - unit)) / 2e-6
            np.testing.assert_allclose(tensor[:, :, k], slope, atol=1e-8)
        # Christoffel symbols of the first kind: c_i = Σ (∂_k M_ij - ½ ∂_i M_jk) θ̇_j θ̇_k
        forces = np.einsum("ijk,j,k->i", tensor, dtheta, dtheta) - 0.5 * np.einsum("jki,j,k->i", tensor, dtheta, dtheta)
        np.testing.assert_allclose(dynamics.velocity_quadratic_forces(theta, dtheta), forces, atol=1e-12)


def test_results_are_copies():
    dynamics = processor_of(BUNDLED["ur5"].text).dynamics
    theta = np.full(6, 0.3)
    first = dynamics.mass_matrix(theta)
    kept = first.copy()
    first[...] = 0.0
    np.testing.assert_array_equal(dynamics.mass_matrix(theta), kept)
    before = dynamics.partial_derivative(0, 1, 1, theta)
    theta[:] = 0.9
    assert dynamics.partial_derivative(0, 1, 1, theta) != before
    assert not np.array_equal(dynamics.mass_matrix(theta), kept)


def test_caches_are_bounded():
    dynamics = processor_of(BUNDLED["ur5"].text).dynamics
    rng = np.random.default_rng(0)

    def use(count: int) -> None:
        for theta in rng.uniform(-2, 2, (count, 6)):
            dynamics.mass_matrix(theta)
            dynamics.partial_derivative(0, 1, 2, theta)

    use(2 * CACHED_CONFIGURATIONS)
    tracemalloc.start()
    try:
        use(20 * CACHED_CONFIGURATIONS)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 4 * CACHED_CONFIGURATIONS * (6**3 + 6**2) * 8


def test_tip_wrench_is_in_the_end_effector_frame():
    """A force along an axis of the tip gives the same torque in every configuration; in the base frame it would not."""
    text = robot(
        "lever",
        link("base"),
        link("bar", 1.0, inertia=TINY),
        link("tip"),
        joint("swing", "revolute", "base", "bar", axis=(0, 0, 1)),
        joint("mount", "fixed", "bar", "tip", xyz=(1.0, 0, 0)),
    )
    dynamics = processor_of(text).dynamics
    for angle in np.linspace(-2, 2, 9):
        tau = dynamics.inverse_dynamics([angle], [0.0], [0.0], [0, 0, -9.81], [0, 0, 0, 0, 3.0, 0])
        assert tau[0] == pytest.approx(3.0)


@pytest.mark.parametrize("name", ["ur5", "panda", "gen3"])
def test_inverse_kinematics_converges_quadratically(name):
    """With error and Jacobian in one frame a close start takes a few steps; with mixed frames it does not converge."""
    arm = processor_of(BUNDLED[name].text).serial_manipulator
    lower, upper = np.array(arm.joint_limits).T
    rng = np.random.default_rng(1)
    steps = []
    for _ in range(60):
        goal = rng.uniform(np.maximum(0.8 * lower, -2.5), np.minimum(0.8 * upper, 2.5))
        T = arm.forward_kinematics(goal)
        theta, success, iterations = arm.iterative_inverse_kinematics(T, goal + rng.uniform(-0.2, 0.2, len(goal)))
        assert success and np.all(theta >= lower) and np.all(theta <= upper)
        remaining = lie.log_se3(lie.inverse(arm.forward_kinematics(theta)) @ T)
        assert np.linalg.norm(remaining[:3]) <= 1e-6 and np.linalg.norm(remaining[3:]) <= 1e-6
        steps.append(iterations)
    assert np.median(steps) <= 6


def test_inverse_kinematics_reports_failure():
    arm = processor_of(BUNDLED["ur5"].text).serial_manipulator
    far = np.eye(4)
    far[:3, 3] = 5.0
    theta, success, iterations = arm.iterative_inverse_kinematics(far, np.zeros(6), max_iterations=40)
    assert not success and iterations == 41 and np.all(np.isfinite(theta))


def test_smart_and_robust_inverse_kinematics_need_no_start():
    arm = processor_of("ur5").serial_manipulator
    T = arm.forward_kinematics([0.4, -1.0, 1.2, -0.5, 0.7, 0.1])
    robust = arm.robust_inverse_kinematics(T, eomg=1e-6, ev=1e-6)
    assert robust[3] in ("workspace_heuristic", "random")
    for theta, success in (arm.smart_inverse_kinematics(T)[:2], robust[:2], arm.trac_ik(T, eomg=1e-6, ev=1e-6)[:2]):
        assert success
        np.testing.assert_allclose(arm.forward_kinematics(theta), T, atol=1e-5)
    far = T.copy()
    far[:3, 3] *= 10.0
    assert not arm.smart_inverse_kinematics(far)[1]
    assert arm.robust_inverse_kinematics(far)[1:4:2] == (False, "none (failed)")
