"""Cholesky factors of small positive matrices, as straight-line code over any scalar.

Rows are lists; a symmetric matrix is given by its lower triangle. Nothing branches on data, so the same lines run on
floats and on traced symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..scalar import sqrt

Triangle = list[list[Any]]


def gram(rows: Sequence[Sequence[Any]]) -> Triangle:
    """A Aᵀ of a matrix given by its rows."""
    return [[dot(rows[r], rows[c]) for c in range(r + 1)] for r in range(len(rows))]


def with_ridge(S: Triangle, share: float) -> Triangle:
    """S with a share of its mean diagonal added to the diagonal: safely positive."""
    ridge = (share / len(S)) * trace(S)
    return [[*row[:-1], row[-1] + ridge] for row in S]


def trace(S: Triangle) -> Any:
    total: Any = 0.0
    for row in S:
        total = total + row[-1]
    return total


def cholesky(S: Triangle) -> Triangle:
    """L with L Lᵀ = S."""
    L: Triangle = []
    for r, entries in enumerate(S):
        row: list[Any] = []
        for c in range(r):
            row.append((entries[c] - dot(row, L[c])) / L[c][c])
        row.append(sqrt(entries[r] - dot(row, row)))
        L.append(row)
    return L


def solve_lower(L: Triangle, b: Sequence[Any]) -> list[Any]:
    """x of L x = b."""
    x: list[Any] = []
    for r, row in enumerate(L):
        x.append((b[r] - dot(row, x)) / row[r])
    return x


def solve(L: Triangle, b: Sequence[Any]) -> list[Any]:
    """x of L Lᵀ x = b."""
    y, size = solve_lower(L, b), len(L)
    x: list[Any] = [0.0] * size
    for r in reversed(range(size)):
        known = dot([L[k][r] for k in range(r + 1, size)], x[r + 1 :])
        x[r] = (y[r] - known) / L[r][r]
    return x


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Sum of products, as far as the shorter one goes."""
    total: Any = 0.0
    for left, right in zip(a, b):
        total = total + left * right
    return total
