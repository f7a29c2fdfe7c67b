"""The tracer: what it folds, merges and drops, and that the program computes what Python does."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manipapy_core.compiler.scalar import sincos, sqrt
from manipapy_core.compiler.trace import Input, Kernel, Program, Signature, trace

NUMBERS = st.floats(-10, 10).map(lambda x: round(x, 3))


def run(kernel: Kernel, values: dict[str, list[float]]) -> list[float]:
    """Interprets a kernel on floats."""
    results: dict[int, float] = {}
    operations = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "neg": lambda a: -a,
        "sin": math.sin,
        "cos": math.cos,
        "sqrt": math.sqrt,
    }
    for index in kernel.order:
        op, *operands = kernel.nodes[index]
        if op == "const":
            results[index] = operands[0]
        elif op == "input":
            results[index] = values[operands[0]][operands[1]]
        else:
            results[index] = operations[op](*(results[operand] for operand in operands))
    return [results[index] for index in kernel.outputs]


def polynomial_and_trigonometry(x, y):
    s, c = sincos(x[0] * y[0] - 1.5)
    first = (x[0] + 2.0) * (x[1] - y[1]) - 3.0 * (-x[1]) + 0.0 * y[0]
    second = (1.0 / (2.0 + c)) * s - (-y[0]) + sqrt(x[1] * x[1] + 1.0)
    third = (0.0 - x[0]) - (y[1] - y[1]) + x[1] / 4.0 + (5.0 - y[0]) + -(x[0] - y[0])
    return [first, second, third, 7.0]


SIGNATURE = Signature("example", (Input("x", (2,)), Input("y", (2,), shared=True)), (4,))


@given(st.lists(NUMBERS, min_size=2, max_size=2), st.lists(NUMBERS, min_size=2, max_size=2))
def test_a_traced_program_computes_what_python_does(x, y):
    kernel = trace(SIGNATURE, polynomial_and_trigonometry)
    expected = polynomial_and_trigonometry(x, y)
    np.testing.assert_allclose(run(kernel, {"x": x, "y": y}), expected, rtol=1e-13, atol=1e-13)


def test_equal_terms_are_computed_once():
    signature = Signature("twice", (Input("x", (2,)),), (2,))
    kernel = trace(signature, lambda x: [x[0] * x[1] + 1.0, x[1] * x[0] + 1.0])
    assert kernel.operations == 2
    assert kernel.outputs[0] == kernel.outputs[1]


def test_zeros_and_ones_cost_nothing():
    signature = Signature("idle", (Input("x", (1,)),), (3,))
    kernel = trace(signature, lambda x: [x[0] * 1.0 + 0.0, x[0] * 0.0, 0.0 - (-x[0])])
    assert kernel.operations == 0


def test_what_no_output_needs_is_dropped():
    signature = Signature("dead", (Input("x", (2,)),), (1,))

    def algorithm(x):
        _unused = sincos(x[1])
        return [x[0] + 1.0]

    kernel = trace(signature, algorithm)
    assert not any(kernel.nodes[index][0] in ("sin", "cos") for index in kernel.order)


def test_what_follows_from_shared_inputs_alone_is_uniform():
    kernel = trace(SIGNATURE, lambda x, y: [y[0] * y[1], x[0] * (y[0] + 1.0), 0.0, x[1]])
    uniform = {kernel.nodes[index][0] for index in kernel.uniform if index in kernel.order}
    assert {"mul", "add"} <= uniform
    assert kernel.outputs[0] in kernel.uniform
    assert kernel.outputs[1] not in kernel.uniform


def test_numpy_numbers_on_the_left_defer_to_the_symbol():
    program = Program()
    (x,) = program.input("x", 1)
    for value in (np.float64(2.0) * x, np.float64(2.0) + x, np.float64(2.0) - x):
        assert value.program is program


def test_a_wrong_number_of_outputs_is_our_own_bug():
    with pytest.raises(AssertionError):
        trace(SIGNATURE, lambda x, y: [x[0]])
