"""L D Lᵀ factors of small positive definite matrices, as straight-line code over any scalar.

Rows are lists; a symmetric matrix is given by its lower triangle, what is right of the diagonal is not read. Nothing
branches on data, so the same lines run on floats and on traced symbols. Without square roots a factorisation takes
fewer operations than Cholesky's, and fewer slow ones.

The rows are eliminated from the last up: of the mass matrix of a tree the leaves go first, so branches stay sparse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Triangle = list[list[Any]]


def solve(S: Sequence[Sequence[Any]], b: Sequence[Any]) -> list[Any]:
    """x of S x = b."""
    return solve_columns(S, [b])[0]


def solve_columns(S: Sequence[Sequence[Any]], columns: Sequence[Sequence[Any]]) -> Triangle:
    """x of S x = b for each column b."""
    L, _, solved = _eliminate(S, columns)
    for x in solved:
        for k, row in enumerate(L):
            for i, factor in enumerate(row):
                x[k] = x[k] - factor * x[i]
    return solved


def inverse_trace(S: Sequence[Sequence[Any]]) -> Any:
    """Trace of the inverse of S: the sum of D y² over the columns y of D⁻¹ L⁻ᵀ."""
    size = len(S)
    _, D, columns = _eliminate(S, [[1.0 if r == c else 0.0 for r in range(size)] for c in range(size)])
    total: Any = 0.0
    for y in columns:
        for entry, pivot in zip(y, D):
            total = total + entry * entry * pivot
    return total


def _eliminate(S: Sequence[Sequence[Any]], columns: Sequence[Sequence[Any]]) -> tuple[Triangle, list[Any], Triangle]:
    """L left of its diagonal, D, and y of Lᵀ D y = b for each column b, where S = Lᵀ D L.

    The columns are eliminated along with the rows, so that each factor is used soon after it is made: a long program
    has more numbers than the processor has registers.
    """
    rest = [list(row[: r + 1]) for r, row in enumerate(S)]
    y = [list(column) for column in columns]
    L: Triangle = [[] for _ in rest]
    for k in reversed(range(len(rest))):
        row = rest[k]
        inverse = 1.0 / row[k]
        for i in range(k):
            factor = row[i] * inverse
            L[k].append(factor)
            for j in range(i + 1):
                rest[i][j] = rest[i][j] - factor * row[j]
            for column in y:
                column[i] = column[i] - factor * column[k]
        for column in y:
            column[k] = column[k] * inverse
    return L, [row[-1] for row in rest], y


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


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Sum of products, as far as the shorter one goes."""
    total: Any = 0.0
    for left, right in zip(a, b):
        total = total + left * right
    return total
