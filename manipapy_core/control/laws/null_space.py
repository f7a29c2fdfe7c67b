"""Damping of the motion that does not move the tip."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ...compiler.scalar import sqrt
from ..kernels import Input, compile_formula

REGULARISATION = 1e-6
"""Of J Jᵀ, relative to its mean diagonal: a singular tip direction slowly becomes null motion."""


def null_damping(n: int, J: Sequence[Any], qd: Sequence[Any], root: Sequence[Any]) -> list[Any]:
    """B^½ (1 − Aᵀ (A Aᵀ + ε)⁻¹ A) B^½ qd with A = J B^−½: straight-line code over any scalar.

    The matrix in front of qd is symmetric and positive, so a torque against it only ever takes energy; a projection
    of torques that is not symmetric could give some.

    Args:
        J: Body Jacobian, 6×n row by row.
        qd: Joint velocities, n numbers.
        root: Square roots of the joint inertias B, n numbers.
    """
    A = [[J[n * r + j] / root[j] for j in range(n)] for r in range(6)]
    y = [root[j] * qd[j] for j in range(n)]
    gram = [[_dot(A[r], A[c]) for c in range(r + 1)] for r in range(6)]
    size = sum((gram[r][r] for r in range(1, 6)), gram[0][0])
    for r in range(6):
        gram[r][r] = gram[r][r] + (REGULARISATION / 6.0) * size
    x = _solve(gram, [_dot(row, y) for row in A])
    remaining = [y[j] - _dot([A[r][j] for r in range(6)], x) for j in range(n)]
    return [root[j] * remaining[j] for j in range(n)]


@functools.cache
def null_damping_kernel(n: int) -> Any:
    """Compiled `null_damping`: kernel(J, qd, root, out)."""
    inputs = [Input("J", (6, n)), Input("qd", (n,)), Input("root", (n,))]
    return compile_formula(f"null_damping_{n}", inputs, (n,), functools.partial(null_damping, n))


def _solve(S: list[list[Any]], b: list[Any]) -> list[Any]:
    """Solves S x = b by Cholesky; S is the lower triangle of a positive matrix."""
    size = len(b)
    L: list[list[Any]] = []
    for r in range(size):
        row: list[Any] = []
        for c in range(r):
            row.append((S[r][c] - _dot(row, L[c][:c])) / L[c][c])
        row.append(sqrt(S[r][r] - _dot(row, row)))
        L.append(row)
    y: list[Any] = []
    for r in range(size):
        y.append((b[r] - _dot(L[r][:r], y)) / L[r][r])
    x: list[Any] = [0.0] * size
    for r in reversed(range(size)):
        known = _dot([L[k][r] for k in range(r + 1, size)], x[r + 1 :])
        x[r] = (y[r] - known) / L[r][r]
    return x


def _dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    total: Any = 0.0
    for left, right in zip(a, b):
        total = total + left * right
    return total
