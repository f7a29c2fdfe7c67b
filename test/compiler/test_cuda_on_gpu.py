"""Runs only on a machine with an NVIDIA GPU and CuPy."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from manipapy_core import dynamics
from manipapy_core.compiler.cuda import device
from manipapy_core.compiler.cuda.diagnosis import diagnose, look
from manipapy_core.errors import NotFiniteError
from reference.cases import BUNDLED, chain_of, disagreement, states
from reference.public_functions import PUBLIC_FUNCTIONS, function_name

FOUND = diagnose(look())
pytestmark = pytest.mark.skipif(not FOUND.used, reason=f"no kernel can run on a GPU here: {FOUND.reason}")

CHAINS = pytest.mark.parametrize("robot", ["ur5", "panda"])


@pytest.fixture
def cupy():
    return importlib.import_module("cupy")


@CHAINS
@pytest.mark.parametrize("function", PUBLIC_FUNCTIONS, ids=function_name)
def test_double_precision_agrees_with_the_cpu(cupy, robot, function):
    chain = chain_of(BUNDLED[robot])
    operands = function.arguments(chain, 1003)
    result = function.call(chain, *map(cupy.asarray, operands))
    assert isinstance(result, cupy.ndarray)
    assert disagreement(cupy.asnumpy(result), function.call(chain, *operands)) <= 1e-11


@CHAINS
@pytest.mark.parametrize("function", [f for f in PUBLIC_FUNCTIONS if f.name != "forward_dynamics"], ids=function_name)
def test_single_precision_follows_double(cupy, robot, function):
    chain = chain_of(BUNDLED[robot])
    operands = [operand.astype(np.float32) for operand in function.arguments(chain, 1003)]
    result = function.call(chain, *map(cupy.asarray, operands))
    truth = function.call(chain, *(operand.astype(np.float64) for operand in operands))
    assert result.dtype == np.float32
    assert np.max(np.abs(cupy.asnumpy(result) - truth)) <= 1e-5 * np.max(np.abs(truth))


def test_columns_give_the_same(cupy):
    chain = chain_of(BUNDLED["ur5"])
    state = states(chain, 1003)
    kernel = device.bind(chain, "inverse_dynamics")
    result = kernel.run(*(cupy.asarray(values.T) for values in state), dynamics.GRAVITY)
    assert disagreement(cupy.asnumpy(result).T, dynamics.inverse_dynamics(chain, *state)) <= 1e-11


def test_bad_numbers_give_the_error_of_the_cpu(cupy):
    chain = chain_of(BUNDLED["ur5"])
    q, _, _ = states(chain, 1003)
    q[700, 2] = np.nan
    with pytest.raises(NotFiniteError) as caught:
        dynamics.gravity_forces(chain, cupy.asarray(q))
    assert caught.value.index == (700, 2)
