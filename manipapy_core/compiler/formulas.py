"""Small formulas of the control loop as machine code.

A NumPy call on six numbers takes about a microsecond, whatever it computes. A formula of a hundred operations written
over plain scalars and traced by the robot compiler takes less than one such call, and reads like the formula it is.

Traced code cannot branch on data. Absolute value, limit and switch are defined here, by the
larger and the smaller of two numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .function import FLOAT64
from .kernels import compiled
from .scalar import maximum, minimum, sqrt
from .trace import Input, Signature

__all__ = [
    "Input",
    "absolute",
    "clamp",
    "compile_formula",
    "compile_per_joint",
    "largest",
    "positive_part",
    "switch",
]

UNLIMITED = 1e50
"""Stands for an infinite limit: kernels refuse infinity."""


def compile_formula(
    name: str,
    inputs: Sequence[Input],
    output_shape: tuple[int, ...],
    formula: Callable[..., Iterable[Any]],
) -> Any:
    """A builtin called as kernel(inputs…, out) on C-contiguous float64 arrays; False if an input is not finite.

    Args:
        name: Part of the name of the cached file.
        inputs: What the formula takes; arrays may hold any number of configurations, one row each.
        output_shape: Per configuration.
        formula: Straight-line code over any scalar; gets one flat list of numbers per input. A function of this
            library is loaded from the cache without tracing it; one from elsewhere is traced in every process.
    """
    return compiled(Signature(name, tuple(inputs), output_shape), formula).entries(FLOAT64).batch


def compile_per_joint(
    name: str,
    n: int,
    inputs: Sequence[str],
    rows: int,
    formula: Callable[..., Any],
    *,
    scalars: Sequence[str] = (),
) -> Any:
    """A formula for one joint, compiled for n: a builtin called as kernel(inputs…, [scalars], out).

    Args:
        inputs: Names of what each joint has one number of; arrays of shape (n,).
        rows: How many numbers the formula gives per joint; `out` has shape (rows, n), or (n,) for one.
        formula: Takes one number per input, then the scalars; returns a number, or a tuple if there are several rows.
        scalars: Names of what all joints share; one array of that length.
    """

    def all_joints(*values: Sequence[Any]) -> list[Any]:
        shared = values[len(inputs)] if scalars else ()
        results = [formula(*(value[j] for value in values[: len(inputs)]), *shared) for j in range(n)]
        return results if rows == 1 else [result[row] for row in range(rows) for result in results]

    arguments = [Input(label, (n,)) for label in inputs]
    if scalars:
        arguments.append(Input("scalars", (len(scalars),)))
    return compile_formula(f"{name}_{n}", arguments, (n,) if rows == 1 else (rows, n), all_joints)


def absolute(x: Any) -> Any:
    """|x|."""
    return maximum(x, -x)


def positive_part(x: Any) -> Any:
    """x above zero, else zero."""
    return maximum(x, 0.0)


def clamp(x: Any, most: Any) -> Any:
    """x between −most and most; exactly x if it is."""
    return minimum(maximum(x, -most), most)


def largest(values: Iterable[Any]) -> Any:
    """The largest of some numbers."""
    return functools.reduce(maximum, values)


def switch(x: Any) -> Any:
    """1 for x above zero, 0 below, one half at zero."""
    return 0.5 + 0.5 * x / sqrt(x * x + 1e-200)
