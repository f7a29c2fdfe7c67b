"""Every snippet of the dynamics document, with the import line changed and nothing else, and its expected results."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from manipapy_core.compat.dynamics import ManipulatorDynamics
from manipapy_core.compat.kinematics import SerialManipulator
from reference.cases import BUNDLED
from reference.pinocchio_route import PinocchioRoute


@pytest.fixture
def dynamics(robot_file, pybullet):
    """The snippet "Basic set-up"."""
    from manipapy_core.compat.urdf_processor import URDFToSerialManipulator

    # Load a URDF and grab its pre-built dynamics model
    processor = URDFToSerialManipulator("robot.urdf")
    dynamics = processor.dynamics  # instance of ManipulatorDynamics
    assert isinstance(dynamics, ManipulatorDynamics)
    return dynamics


@pytest.fixture(scope="module")
def reference() -> PinocchioRoute:
    return PinocchioRoute(BUNDLED["ur5"].text, "base_link", "tool0")


def test_mass_matrix(dynamics, reference):
    M = dynamics.mass_matrix([0.1, 0.2, 0.3, 0, 0, 0])
    np.testing.assert_allclose(M, reference.mass_matrix([0.1, 0.2, 0.3, 0, 0, 0]), atol=1e-12)


def test_individual_force_terms_inverse_and_forward_dynamics(dynamics, reference):
    q = np.array([0.1, 0.2, 0.3, 0, 0, 0])
    dq = np.array([0.05, 0.1, 0, 0, 0, 0])
    C = dynamics.velocity_quadratic_forces(q, dq)
    G = dynamics.gravity_forces(q)
    np.testing.assert_allclose(C, reference.coriolis_forces(q, dq), atol=1e-12)
    np.testing.assert_allclose(G, reference.gravity_forces(q), atol=1e-12)

    ddq = np.array([1.0, 0.5, 0, 0, 0, 0])
    tau = dynamics.inverse_dynamics(q, dq, ddq, g=[0, 0, -9.81], Ftip=[0, 0, -10, 0, 0, 0])
    expected = reference.inverse_dynamics(q, dq, ddq, wrench_tip=[0, 0, -10, 0, 0, 0])
    np.testing.assert_allclose(tau, expected, atol=1e-12)

    ddq_sim = dynamics.forward_dynamics(q, dq, tau, g=[0, 0, -9.81], Ftip=[0, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(ddq_sim, reference.forward_dynamics(q, dq, tau), rtol=1e-9, atol=1e-9)


def test_equations_of_the_document(dynamics):
    """τ = M θ̈ + C + G + Jᵀ F, term by term, and forward dynamics its inverse."""
    rng = np.random.default_rng(0)
    g, F = [0.3, -0.2, -1.62], rng.normal(size=6)
    for theta, dtheta, ddtheta in rng.uniform(-2, 2, (20, 3, 6)):
        terms = (
            dynamics.mass_matrix(theta) @ ddtheta
            + dynamics.velocity_quadratic_forces(theta, dtheta)
            + dynamics.gravity_forces(theta, g)
            + dynamics.jacobian(theta, frame="body").T @ F
        )
        tau = dynamics.inverse_dynamics(theta, dtheta, ddtheta, g, F)
        np.testing.assert_allclose(tau, terms, atol=1e-11)
        np.testing.assert_allclose(dynamics.forward_dynamics(theta, dtheta, tau, g, F), ddtheta, atol=1e-8)


def test_signatures_of_the_document():
    def parameters(function) -> list[str]:
        signature = inspect.signature(function).parameters.values()
        return [p.name for p in signature if p.name != "self" and p.kind is not p.KEYWORD_ONLY]

    assert issubclass(ManipulatorDynamics, SerialManipulator)
    lists = ["M_list", "omega_list", "r_list", "b_list", "S_list", "B_list", "Glist", "Mlist_per_link"]
    assert parameters(ManipulatorDynamics) == lists
    assert parameters(ManipulatorDynamics.mass_matrix) == ["thetalist"]
    assert parameters(ManipulatorDynamics.partial_derivative) == ["i", "j", "k", "thetalist"]
    assert parameters(ManipulatorDynamics.velocity_quadratic_forces) == ["thetalist", "dthetalist"]
    assert parameters(ManipulatorDynamics.gravity_forces) == ["thetalist", "g"]
    motion = ["thetalist", "dthetalist", "ddthetalist", "g", "Ftip"]
    assert parameters(ManipulatorDynamics.inverse_dynamics) == motion
    assert parameters(ManipulatorDynamics.forward_dynamics) == [*motion[:2], "taulist", *motion[3:]]
    assert inspect.signature(ManipulatorDynamics.gravity_forces).parameters["g"].default is None
    assert inspect.signature(ManipulatorDynamics).parameters["Mlist_per_link"].default is None
