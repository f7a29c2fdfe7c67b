"""Formulas differentiated on symbols: right against finite differences, in both modes, and twice."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core.compiler import Input, absolute, clamp, compile_formula, differentiate
from manipapy_core.compiler.differentiation import _forward, _reverse, jacobian
from manipapy_core.compiler.scalar import less, maximum, minimum, select, sincos, sqrt
from manipapy_core.compiler.trace import Program
from manipapy_core.errors import InputError

INPUTS = [Input("x", (3,)), Input("y", (2,))]


def everything(x, y):
    """Every operation that a program has."""
    sine, cosine = sincos(x[0] * y[1])
    return [
        sine / (2.0 + cosine) - x[1],
        sqrt(x[1] * x[1] + y[0] * y[0] + 0.1) * -x[2],
        minimum(x[0], y[0]) + maximum(x[1] * x[1], y[1]) + clamp(x[2], 0.5),
        select(less(x[0], x[1]) & less(y[0], 2.0), x[0] * x[1], 1.0 / (x[2] * x[2] + 1.0)),
        absolute(x[0]) + 3.0,
        7.0,
    ]


def run(formula, shape, x, y):
    out = np.empty((len(x), *shape))
    assert compile_formula("test_formula", INPUTS, shape, formula)(x, y, out)
    return out


@pytest.mark.parametrize("by", ["x", "y"])
def test_derivatives_are_slopes(by):
    rng = np.random.default_rng(4)
    points = {"x": rng.normal(size=(40, 3)), "y": rng.normal(size=(40, 2))}
    width, step = points[by].shape[1], 1e-6
    found = run(differentiate(everything, INPUTS, by), (6, width), **points)
    for k, unit in enumerate(np.eye(width)):
        ends = [run(everything, (6,), **{**points, by: points[by] + s * step * unit}) for s in (1, -1)]
        np.testing.assert_allclose(found[:, :, k], (ends[0] - ends[1]) / (2 * step), atol=1e-8)


def test_both_modes_agree():
    program = Program()
    x, y = program.input("x", 3), program.input("y", 2)
    results = everything(x, y)
    point = np.random.default_rng(1).normal(size=(20, 3)), np.random.default_rng(2).normal(size=(20, 2))
    found = []
    for mode in (_forward, _reverse):

        def rows(x, y, mode=mode):
            return [entry for row in mode(x[0].program, everything(x, y), x) for entry in row]

        found.append(run(rows, (6, 3), *point))
    np.testing.assert_allclose(found[0], found[1], atol=1e-14)
    assert len(jacobian(results, x)) == 6


def test_a_derivative_may_be_differentiated():
    """The Hessian of x0² x1 + sin(x2) y0."""

    def formula(x, y):
        return [x[0] * x[0] * x[1] + sincos(x[2])[0] * y[0]]

    gradient = differentiate(formula, INPUTS, "x")
    x, y = np.array([[0.3, -0.7, 1.1]]), np.array([[2.0, 0.0]])
    hessian = run(differentiate(gradient, INPUTS, "x"), (3, 3), x, y)[0]
    expected = [[2 * -0.7, 2 * 0.3, 0], [2 * 0.3, 0, 0], [0, 0, -2.0 * np.sin(1.1)]]
    np.testing.assert_allclose(hessian, expected, atol=1e-15)


def test_what_cannot_be_differentiated_is_refused():
    with pytest.raises(InputError, match="no input 'z'; its inputs are x, y"):
        differentiate(everything, INPUTS, "z")
    with pytest.raises(InputError, match="truth value"):
        run(differentiate(lambda x, y: [less(x[0], y[0])], INPUTS, "x"), (1, 3), np.ones((1, 3)), np.ones((1, 2)))


def test_a_formula_defined_by_exec_compiles():
    names = {}
    exec("def formula(x, y):\n    return [x[0] * x[0] * y[1]]", names)
    x, y = np.array([[3.0, 0.0, 0.0]]), np.array([[0.0, 2.0]])
    np.testing.assert_allclose(run(differentiate(names["formula"], INPUTS, "x"), (1, 3), x, y), [[[12.0, 0.0, 0.0]]])
