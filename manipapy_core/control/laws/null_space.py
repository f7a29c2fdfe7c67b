"""Damping of the motion that does not move the tip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..positive_definite import cholesky, dot, gram, solve, with_ridge

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
    L = cholesky(with_ridge(gram(A), REGULARISATION))
    x = solve(L, [dot(row, y) for row in A])
    remaining = [y[j] - dot([row[j] for row in A], x) for j in range(n)]
    return [root[j] * remaining[j] for j in range(n)]
