"""Joint sets: bounds and linear inequalities, and the same scaled to the unit box for the linear programs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, ManipapyError, ShapeError
from ..jit import njit
from ..typing import Array


class NotSolved(ManipapyError):
    """A computation did not converge: the numbers are too badly scaled."""

    def __init__(self, what: str, cure: str):
        super().__init__(f"{what}; {cure}")
        self.what, self.cure = what, cure


@dataclass(frozen=True, eq=False)
class UnitSet:
    """A joint set in coordinates t with −1 ≤ t ≤ 1 and A t ≤ b, every row of A with an absolute sum of at most 1."""

    centre: Array
    """y = centre + half · t, shape (n,)."""
    half: Array
    A: Array
    """Rows that can bind, shape (k, n)."""
    b: Array
    kept: NDArray[np.int64]
    """Indices of those rows in the joint set, shape (k,)."""
    scale: Array
    """Divisor of each row, shape (k,)."""
    empty: bool
    """True if one row or bound alone can never be met."""


@dataclass(frozen=True, eq=False)
class JointSet:
    """All y with lower ≤ y ≤ upper and A y ≤ b, in whatever unit y has: velocities, displacements, efforts."""

    lower: Array
    """Shape (n,); finite."""
    upper: Array
    """Shape (n,); finite. Below `lower` the set is empty."""
    A: Array
    """Shape (k, n); k may be 0."""
    b: Array
    """Shape (k,)."""

    def __post_init__(self) -> None:
        lower, upper = np.array(self.lower, dtype=np.float64), np.array(self.upper, dtype=np.float64)
        A, b = np.array(self.A, dtype=np.float64), np.array(self.b, dtype=np.float64)
        n = lower.shape[0] if lower.ndim == 1 else -1
        if n < 1:
            raise ShapeError("lower", "(n,) with n ≥ 1", lower.shape)
        if A.size == 0:
            A = np.zeros((0, n))
        if upper.shape != (n,) or A.shape[1:] != (n,) or b.shape != (len(A),):
            for name, value, shape in (("upper", upper, (n,)), ("A", A, (len(A), n)), ("b", b, (len(A),))):
                if value.shape != shape:
                    raise ShapeError(name, str(shape), value.shape)
        for name, value in (("lower", lower), ("upper", upper), ("A", A), ("b", b)):
            if not isfinite(value.sum()):
                raise InputError(f"{name} of a joint set has elements that are not finite; give every joint a bound")
            object.__setattr__(self, name, value)

    @classmethod
    def box(cls, lower: ArrayLike, upper: ArrayLike) -> JointSet:
        """Bounds alone."""
        low = np.asarray(lower, dtype=np.float64)
        return cls(low, np.asarray(upper, dtype=np.float64), np.zeros((0, low.shape[-1])), np.zeros(0))

    def with_rows(self, A: ArrayLike, b: ArrayLike) -> JointSet:
        """The same set with more rows A y ≤ b."""
        rows = np.asarray(A, dtype=np.float64).reshape(-1, len(self.lower))
        return JointSet(self.lower, self.upper, np.concatenate([self.A, rows]), np.concatenate([self.b, np.ravel(b)]))

    @property
    def n(self) -> int:
        return len(self.lower)

    def contains(self, y: ArrayLike, tolerance: float = 1e-9) -> NDArray[np.bool_]:
        """Which points (..., n) are in the set."""
        points = np.asarray(y, dtype=np.float64)
        inside = ((points >= self.lower - tolerance) & (points <= self.upper + tolerance)).all(axis=-1)
        return inside & (points @ self.A.T <= self.b + tolerance).all(axis=-1)

    @cached_property
    def unit(self) -> UnitSet:
        """Scaled, without rows that the box implies, alone or with one other row."""
        centre, half = 0.5 * (self.lower + self.upper), 0.5 * (self.upper - self.lower)
        empty = bool((half < 0.0).any())
        half = np.maximum(half, 0.0)
        if not len(self.A):
            return UnitSet(centre, half, self.A, self.b, np.zeros(0, np.int64), self.b, empty)
        A = self.A * half
        b = self.b - self.A @ centre
        reach = np.abs(A).sum(axis=1)
        # A row without coefficients holds for all y or for none.
        still = reach <= 1e-14 * (np.abs(self.A).max(axis=1, initial=0.0) + 1e-300)
        size = np.where(still, 1.0, reach)
        share = b / size
        empty = empty or bool((share[~still] < -1.0 - 1e-12).any() or (b[still] < -1e-12).any())
        kept = np.flatnonzero(~still & (share < 1.0))
        if len(kept) > 1:
            kept = kept[_not_implied(A[kept] / size[kept, None], share[kept], size[kept])]
        return UnitSet(centre, half, A[kept] / size[kept, None], share[kept], kept, size[kept], empty)


@njit(cache=True, nogil=True)
def _not_implied(A, b, scale):  # type: ignore[no-untyped-def]
    """Numbers of the rows that no other row and the unit box together imply."""
    k, n = A.shape
    needed = np.ones(k, dtype=np.bool_)
    for j in range(k):
        for i in range(k):
            # With a factor f > 0 for row i: max of (A_j − f A_i) t over the box, plus f b_i, is at most b_j.
            if i == j or not needed[i]:
                continue
            for factor in (1.0, scale[i] / scale[j]):
                left = b[j] - factor * b[i]
                for c in range(n):
                    left -= abs(A[j, c] - factor * A[i, c])
                    if left < 0.0:
                        break
                if left >= 0.0:
                    needed[j] = False
                    break
            if not needed[j]:
                break
    return np.flatnonzero(needed)


def farthest_point(joints: JointSet, direction: ArrayLike) -> Array | None:
    """The point of a set that lies farthest along a direction (n,), or None if the set is empty."""
    from .simplex import EMPTY, OPTIMAL, maximise, memory

    unit = joints.unit
    if unit.empty:
        return None
    t = np.empty(joints.n)
    c = np.asarray(direction, dtype=np.float64) * unit.half
    size = np.abs(c).max()
    status = maximise(c / size if size > 0.0 else c, unit.A, unit.b, t, *memory(joints.n, len(unit.b)))
    if status == EMPTY:
        return None
    if status != OPTIMAL:
        raise NotSolved("a linear program did not converge", "remove rows that are nearly multiples of each other")
    return unit.centre + unit.half * t
