"""Derivatives of the dynamics agree with Pinocchio's, with automatic differentiation and with finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import dynamics, kinematics
from manipapy_core.compiler import differentiate, mechanism_of
from manipapy_core.compiler.kernels import RECIPES, compiled
from manipapy_core.compiler.trace import Signature
from manipapy_core.errors import InputError
from reference.cases import (
    ALL_ROBOTS,
    BUNDLED,
    PARITY,
    RPRPRR,
    case_name,
    chain_of,
    disagreement,
    one_by_one,
    pinocchio_of,
    states,
)
from reference.small_robots import BRANCH, DAMPED, MIMIC, RobotCase

without_mimics = pytest.mark.parametrize("case", [case for case in ALL_ROBOTS if case is not MIMIC], ids=case_name)
some_robots = pytest.mark.parametrize("case", (BUNDLED["ur5"], BUNDLED["panda"], RPRPRR, BRANCH, MIMIC), ids=case_name)
PAYLOAD = dynamics.Payload(2.7, (0.05, -0.12, 0.21), ((0.04, 0.005, 0.0), (0.005, 0.06, 0.0), (0.0, 0.0, 0.05)))
STEP = 1e-6


def slope(function, x: np.ndarray) -> np.ndarray:
    """Central differences of a function of shape (..., n) by the last axis of x."""
    columns = [(function(x + STEP * unit) - function(x - STEP * unit)) / (2.0 * STEP) for unit in np.eye(x.shape[-1])]
    return np.stack(columns, axis=-1)


@without_mimics
def test_inverse_dynamics_derivatives_are_pinocchios(case: RobotCase) -> None:
    q, qd, qdd = states(chain_of(case), 7)
    found = dynamics.inverse_dynamics_derivatives(chain_of(case), q, qd, qdd)
    expected = one_by_one(pinocchio_of(case).inverse_dynamics_derivatives, q, qd, qdd)
    for block, name in enumerate(("q", "qd", "qdd")):
        assert disagreement(found[name], expected[:, block]) <= PARITY


@without_mimics
def test_forward_dynamics_derivatives_are_pinocchios(case: RobotCase) -> None:
    q, qd, tau = states(chain_of(case), 7)
    found = dynamics.forward_dynamics_derivatives(chain_of(case), q, qd, tau)
    expected = one_by_one(pinocchio_of(case).forward_dynamics_derivatives, q, qd, tau)
    for block, name in enumerate(("q", "qd", "tau")):
        assert disagreement(found[name], expected[:, block]) <= PARITY


@some_robots
def test_automatic_differentiation_gives_the_same(case: RobotCase) -> None:
    """Of inverse dynamics with a wrench and a payload, by every input."""
    chain = chain_of(case)
    recipe, mechanism = RECIPES["inverse_dynamics_wrench_payload"], mechanism_of(chain)
    signature, formula = recipe.signature("inverse_dynamics", mechanism), recipe.formula(mechanism)
    q, qd, qdd = states(chain, 5)
    wrench = np.random.default_rng(2).uniform(-20, 20, (5, 6))
    names = ("q", "qd", "qdd", "wrench_tip", "payload")
    expected = dynamics.inverse_dynamics_derivatives(chain, q, qd, qdd, by=names, wrench_tip=wrench, payload=PAYLOAD)
    for name in names:
        width = next(argument.width for argument in signature.inputs if argument.name == name)
        derivative = compiled(
            Signature(f"by_{name}", signature.inputs, (chain.n, width)), differentiate(formula, signature.inputs, name)
        )
        found = derivative.run(q, qd, qdd, dynamics.GRAVITY, wrench, PAYLOAD.parameters)
        assert disagreement(found, expected[name]) <= PARITY


@some_robots
def test_derivatives_are_the_slopes_of_the_public_functions(case: RobotCase) -> None:
    chain = chain_of(case)
    q, qd, x = states(chain, 4)
    wrench = np.random.default_rng(3).uniform(-20, 20, (4, 6))
    options = {"wrench_tip": wrench, "payload": PAYLOAD, "gravity": (1.0, -2.0, -9.0), "joint_friction": True}
    for function, derivatives in (
        (dynamics.inverse_dynamics, dynamics.inverse_dynamics_derivatives),
        (dynamics.forward_dynamics, dynamics.forward_dynamics_derivatives),
    ):
        last = "qdd" if function is dynamics.inverse_dynamics else "tau"
        found = derivatives(chain, q, qd, x, by=("q", "qd", last, "wrench_tip"), **options)
        expected = {
            "q": slope(lambda q, f=function: f(chain, q, qd, x, **options), q),
            "qd": slope(lambda qd, f=function: f(chain, q, qd, x, **options), qd),
            last: slope(lambda x, f=function: f(chain, q, qd, x, **options), x),
            "wrench_tip": slope(lambda w, f=function: f(chain, q, qd, x, **{**options, "wrench_tip": w}), wrench),
        }
        for name, values in expected.items():
            assert disagreement(found[name], values) <= 1e-6, name


def test_friction_adds_damping_only() -> None:
    chain = chain_of(DAMPED)
    q, qd, qdd = states(chain, 3)
    plain = dynamics.inverse_dynamics_derivatives(chain, q, qd, qdd, by="qd")["qd"]
    rubbing = dynamics.inverse_dynamics_derivatives(chain, q, qd, qdd, by="qd", joint_friction=True)["qd"]
    np.testing.assert_allclose(rubbing - plain, np.broadcast_to(np.diag(chain.damping), plain.shape), atol=1e-12)


@some_robots
def test_efforts_are_linear_in_inertial_parameters_and_payload(case: RobotCase) -> None:
    chain = chain_of(case)
    q, qd, qdd = states(chain, 5)
    found = dynamics.inverse_dynamics_derivatives(chain, q, qd, qdd, by=("inertial_parameters", "payload"))
    efforts = dynamics.inverse_dynamics(chain, q, qd, qdd)
    assert disagreement(found["inertial_parameters"] @ chain.inertial_parameters, efforts) <= PARITY
    held = dynamics.inverse_dynamics(chain, q, qd, qdd, payload=PAYLOAD) - efforts
    assert disagreement(found["payload"] @ PAYLOAD.parameters, held) <= PARITY


def test_accelerations_by_payload_are_slopes() -> None:
    chain = chain_of(BUNDLED["panda"])
    q, qd, tau = states(chain, 3)
    found = dynamics.forward_dynamics_derivatives(chain, q, qd, tau, by="payload", payload=PAYLOAD)["payload"]
    heavier, lighter = (dynamics.Payload(2.7 + s * STEP, PAYLOAD.com, PAYLOAD.inertia) for s in (1, -1))
    change = (heavier.parameters - lighter.parameters) / (2 * STEP)
    expected = dynamics.forward_dynamics(chain, q, qd, tau, payload=heavier)
    expected = (expected - dynamics.forward_dynamics(chain, q, qd, tau, payload=lighter)) / (2 * STEP)
    assert disagreement(found @ change, expected) <= 1e-6


@some_robots
def test_jacobian_partials_are_slopes_and_sum_to_the_time_derivative(case: RobotCase) -> None:
    chain = chain_of(case)
    q, qd, _ = states(chain, 4)
    for frame in ("space", "body"):
        jacobian, partials, rate = (
            getattr(kinematics, f"{frame}_jacobian{suffix}") for suffix in ("", "_partials", "_derivative")
        )
        found = partials(chain, q)
        assert disagreement(found, slope(lambda q, f=jacobian: f(chain, q), q)) <= 1e-7
        assert disagreement(np.einsum("bijk,bk->bij", found, qd), rate(chain, q, qd)) <= PARITY


def test_single_precision_and_batches() -> None:
    chain = chain_of(BUNDLED["ur5"])
    q, qd, qdd = states(chain, 6)
    whole = dynamics.inverse_dynamics_derivatives(chain, q, qd, qdd)["q"]
    single = dynamics.inverse_dynamics_derivatives(chain, *(x.astype(np.float32) for x in (q, qd, qdd)))["q"]
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, whole, rtol=2e-4, atol=2e-3)
    shaped = dynamics.inverse_dynamics_derivatives(chain, *(x.reshape(2, 3, 6) for x in (q, qd, qdd)))["q"]
    np.testing.assert_allclose(shaped.reshape(6, 6, 6), whole, atol=1e-12)


def test_a_bad_call_is_refused() -> None:
    chain = chain_of(BUNDLED["ur5"])
    zero = np.zeros(6)
    with pytest.raises(InputError, match="no derivative by 'tau'; choose of q, qd, qdd"):
        dynamics.inverse_dynamics_derivatives(chain, zero, zero, zero, by="tau")
    with pytest.raises(InputError, match="qd"):
        dynamics.forward_dynamics_derivatives(chain, zero, [np.nan] * 6, zero)
