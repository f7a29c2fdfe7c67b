"""float32 in, float32 out, with the digits float32 can give."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import dynamics
from reference.cases import BUNDLED, RPRPRR, case_name, chain_of, states
from reference.public_functions import PUBLIC_FUNCTIONS, PublicFunction, function_name
from reference.small_robots import MIMIC, RobotCase

robots = pytest.mark.parametrize("case", (BUNDLED["ur5"], RPRPRR, MIMIC), ids=case_name)
DIRECT = [function for function in PUBLIC_FUNCTIONS if function.name != "forward_dynamics"]

DIRECT_BOUND = 1e-5
"""Largest error relative to the largest entry of the result: some hundred roundings of 6e-8."""
SOLVED_BOUND = 1e-4
"""Forward dynamics solves M qdd = tau - bias: the force that is left over, relative to the largest force."""


@robots
@pytest.mark.parametrize("function", DIRECT, ids=function_name)
def test_float32_follows_float64(case: RobotCase, function: PublicFunction) -> None:
    chain = chain_of(case)
    rounded = [operand.astype(np.float32) for operand in function.arguments(chain, 200)]
    single = function.call(chain, *rounded)
    double = function.call(chain, *(operand.astype(np.float64) for operand in rounded))
    assert single.dtype == np.float32 and double.dtype == np.float64
    assert np.max(np.abs(single - double)) <= DIRECT_BOUND * np.max(np.abs(double))


@robots
def test_float32_accelerations_satisfy_the_equations_of_motion(case: RobotCase) -> None:
    chain = chain_of(case)
    q, qd, tau = (values.astype(np.float32) for values in states(chain, 200))
    single = dynamics.forward_dynamics(chain, q, qd, tau)
    assert single.dtype == np.float32
    forces = dynamics.inverse_dynamics(chain, *(values.astype(np.float64) for values in (q, qd, single)))
    bias = dynamics.inverse_dynamics(chain, *(values.astype(np.float64) for values in (q, qd, 0 * qd)))
    assert np.max(np.abs(forces - tau)) <= SOLVED_BOUND * max(np.max(np.abs(bias)), np.max(np.abs(tau)))


@pytest.mark.parametrize("function", PUBLIC_FUNCTIONS, ids=function_name)
@pytest.mark.parametrize("shape", [(), (1,), (9,), (2, 3), (0,)], ids=str)
def test_shapes_in_single_precision(function: PublicFunction, shape: tuple[int, ...]) -> None:
    chain = chain_of(RPRPRR)
    operands = [
        operand.reshape(*shape, chain.n).astype(np.float32)
        for operand in function.arguments(chain, int(np.prod(shape)))
    ]
    result = function.call(chain, *operands)
    assert result.dtype == np.float32
    assert result.shape == (*shape, *function.tail(chain))


@pytest.mark.parametrize("function", [f for f in PUBLIC_FUNCTIONS if len(f.operands) > 1], ids=function_name)
def test_one_double_among_the_operands_makes_the_result_double(function: PublicFunction) -> None:
    chain = chain_of(RPRPRR)
    operands = function.arguments(chain, 9)
    operands[0] = operands[0].astype(np.float32)
    result = function.call(chain, *operands)
    assert result.dtype == np.float64
    operands[0] = operands[0].astype(np.float64)
    np.testing.assert_array_equal(result, function.call(chain, *operands))


def test_wrench_and_payload_in_single_precision() -> None:
    chain = chain_of(BUNDLED["ur5"])
    q, qd, qdd = states(chain, 50)
    wrench = np.random.default_rng(0).uniform(-20, 20, (50, 6))
    payload = dynamics.Payload(2.0, (0.1, 0.0, 0.2), 0.01 * np.eye(3))
    double = dynamics.inverse_dynamics(chain, q, qd, qdd, wrench_tip=wrench, payload=payload)
    narrow = (values.astype(np.float32) for values in (q, qd, qdd))
    single = dynamics.inverse_dynamics(chain, *narrow, wrench_tip=wrench.astype(np.float32), payload=payload)
    assert single.dtype == np.float32
    assert np.max(np.abs(single - double)) <= 1e-5 * np.max(np.abs(double))


@pytest.mark.parametrize("bad", [np.nan, np.inf, 3e38], ids=str)
def test_nonsense_is_found_in_single_precision_too(bad: float) -> None:
    chain = chain_of(RPRPRR)
    for count in (1, 9):
        q, qd, qdd = (values.astype(np.float32) for values in states(chain, count))
        qd[-1, 2] = bad
        with pytest.raises(ValueError, match="qd"):
            dynamics.inverse_dynamics(chain, q, qd, qdd)
