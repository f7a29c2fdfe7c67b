"""How far the tip is from a direction in which it cannot move."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import kinematics
from ...compiler.kernels import bind
from ...compiler.scalar import sqrt
from ...model.chain import Chain
from ..kernels import Input, compile_formula
from ..positive_definite import cholesky, dot, gram, solve_lower, trace, with_ridge
from ..state import Array, State

_RIDGE = 1e-9
"""Keeps an exactly singular tip at a large but finite number."""
LOOK_AHEAD = 0.01
"""[s]"""
RISE = 1e-3
"""A smaller relative rise within that time is noise, not an approach."""


def condition_number(n: int, J: Sequence[Any], per_length: Sequence[Any]) -> list[Any]:
    """‖A‖ ‖A⁺‖ / k in the Frobenius norm, with A the Jacobian without units and k = min(6, n).

    1 if the tip moves alike in all directions, infinite if there is one in which it does not. Smooth, and without the
    iterations of a singular value decomposition. An arm of fewer than six joints is judged by the directions that it
    has. Straight-line code over any scalar.

    Args:
        J: Jacobian, angular rows first, 6×n row by row.
        per_length: One over the length that a rotation of one radian is compared with [1/m], one number.
    """
    rows = [[J[n * r + j] * (per_length[0] if r > 2 else 1.0) for j in range(n)] for r in range(6)]
    if n < 6:
        rows = [[row[j] for row in rows] for j in range(n)]
    S = gram(rows)
    size = len(S)
    L = cholesky(with_ridge(S, _RIDGE))
    inverse_trace: Any = 0.0
    for r in range(size):
        column = solve_lower(L, [1.0 if k == r else 0.0 for k in range(size)])
        inverse_trace = inverse_trace + dot(column, column)
    return [sqrt(trace(S) * inverse_trace) * (1.0 / size)]


@functools.cache
def condition_kernel(n: int) -> Any:
    """Compiled `condition_number`: kernel(J, per_length, out)."""
    inputs = [Input("J", (6, n)), Input("per_length", (1,), shared=True)]
    return compile_formula(f"condition_number_{n}", inputs, (1,), functools.partial(condition_number, n))


class ConditionNumber:
    """The condition number of an arm, and where its motion takes it."""

    def __init__(self, chain: Chain):
        self._jacobian: Any = bind(chain, "body_jacobian")
        self._kernel: Any = condition_kernel(chain.n)
        self._per_length = np.array([1.0 / characteristic_length(chain)])
        self._J, self._number, self._ahead = np.zeros((6, chain.n)), np.zeros(1), np.zeros(chain.n)

    def at(self, q: Array) -> float:
        """The number of a configuration."""
        self._jacobian(q, self._J)
        self._kernel(self._J, self._per_length, self._number)
        return float(self._number[0])

    def rises(self, state: State, number: float) -> bool:
        """True if the present motion makes the number larger."""
        np.multiply(state.qd, LOOK_AHEAD, self._ahead)
        np.add(state.q, self._ahead, self._ahead)
        return self.at(self._ahead) > number * (1.0 + RISE)


@functools.lru_cache(maxsize=16)
def characteristic_length(chain: Chain) -> float:
    """Way of the tip per turn of a joint, typical for this arm [m]: it makes the rows of a Jacobian comparable."""
    lower, upper = (np.clip(bound, -math.pi, math.pi) for bound in (chain.limits.lower, chain.limits.upper))
    J: Array = kinematics.body_jacobian(chain, np.random.default_rng(0).uniform(lower, upper, (256, chain.n)))
    angular, linear = float(np.sum(J[:, :3] ** 2)), float(np.sum(J[:, 3:] ** 2))
    return math.sqrt(linear / angular) if angular > 0.0 and linear > 0.0 else 1.0
