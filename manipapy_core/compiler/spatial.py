"""Small vectors and matrices over any scalar, as plain lists.

A vector is 3 numbers; a matrix 9, row by row; a symmetric matrix 6: xx, xy, xz, yy, yz, zz. Nothing here allocates
arrays or branches on data, so the same lines run on floats, on whole batches and on traced symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Vector = Sequence[Any]
Matrix = Sequence[Any]
Symmetric = Sequence[Any]

ZERO: Vector = (0.0, 0.0, 0.0)
IDENTITY: Matrix = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


def add(*vectors: Sequence[Any]) -> list[Any]:
    """Elementwise sum; also of matrices."""
    total = list(vectors[0])
    for vector in vectors[1:]:
        total = [a + b for a, b in zip(total, vector)]
    return total


def subtract(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    return [x - y for x, y in zip(a, b)]


def scale(factor: Any, a: Sequence[Any]) -> list[Any]:
    return [factor * x for x in a]


def dot(a: Vector, b: Vector) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> list[Any]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def matvec(A: Matrix, x: Vector) -> list[Any]:
    return [A[3 * r] * x[0] + A[3 * r + 1] * x[1] + A[3 * r + 2] * x[2] for r in range(3)]


def matvec_transposed(A: Matrix, x: Vector) -> list[Any]:
    """A^T x."""
    return [A[c] * x[0] + A[c + 3] * x[1] + A[c + 6] * x[2] for c in range(3)]


def matmul(A: Matrix, B: Matrix) -> list[Any]:
    return [A[3 * r] * B[c] + A[3 * r + 1] * B[c + 3] + A[3 * r + 2] * B[c + 6] for r in range(3) for c in range(3)]


def transpose(A: Matrix) -> list[Any]:
    return [A[3 * c + r] for r in range(3) for c in range(3)]


def column(A: Matrix, c: int) -> list[Any]:
    return [A[c], A[c + 3], A[c + 6]]


def skew(a: Vector) -> list[Any]:
    """The matrix whose product with x is a × x."""
    return [0.0, -a[2], a[1], a[2], 0.0, -a[0], -a[1], a[0], 0.0]


def full(S: Symmetric) -> list[Any]:
    """All nine numbers of a symmetric matrix."""
    return [S[0], S[1], S[2], S[1], S[3], S[4], S[2], S[4], S[5]]


def upper(A: Matrix) -> list[Any]:
    """The six numbers of a matrix that is known to be symmetric."""
    return [A[0], A[1], A[2], A[4], A[5], A[8]]


def symmetric_matvec(S: Symmetric, x: Vector) -> list[Any]:
    return matvec(full(S), x)


def congruence(R: Matrix, S: Symmetric) -> list[Any]:
    """R S R^T as six numbers."""
    A = matmul(R, full(S))

    def entry(r: int, c: int) -> Any:
        return A[3 * r] * R[3 * c] + A[3 * r + 1] * R[3 * c + 1] + A[3 * r + 2] * R[3 * c + 2]

    return [entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2)]


def outer_symmetric(a: Vector, b: Vector) -> list[Any]:
    """The six upper numbers of a b^T, for products known to be symmetric in sum."""
    return [a[0] * b[0], a[0] * b[1], a[0] * b[2], a[1] * b[1], a[1] * b[2], a[2] * b[2]]


def rotate_z(v: Vector, sine: Any, cosine: Any) -> list[Any]:
    return [cosine * v[0] - sine * v[1], sine * v[0] + cosine * v[1], v[2]]


def rotate_z_back(v: Vector, sine: Any, cosine: Any) -> list[Any]:
    return [cosine * v[0] + sine * v[1], cosine * v[1] - sine * v[0], v[2]]


def shift_inertia(mass: Any, moment: Vector, inertia: Symmetric, p: Vector) -> tuple[list[Any], list[Any]]:
    """First moment and rotational inertia about a new origin, from which the old one is seen at p.

    The parallel-axis rule for a body whose first moment (mass times centre) need not be zero:
    I' = I + (2 h·p + m p·p) 1 − p u^T − h p^T with u = h + m p.
    """
    moved = add(moment, scale(mass, p))
    along = dot(moment, p)
    trace = along + along + mass * dot(p, p)
    product = add(outer_symmetric(p, moved), outer_symmetric(moment, p))
    shifted = subtract(inertia, product)
    for diagonal in (0, 3, 5):
        shifted[diagonal] = shifted[diagonal] + trace
    return moved, shifted
