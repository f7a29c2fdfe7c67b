"""A path through points that lie close together: a cubic spline with continuous curvature, at rest in neither end."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import InputError
from .blend import without_repeats
from .space import Array


@dataclass(frozen=True, eq=False)
class SplinePath:
    """A natural cubic spline through points, as a function of the length of their polyline."""

    corners: Array
    """[rad or m], shape (points, n), at least two, no neighbours alike."""

    @classmethod
    def through(cls, points: Array) -> SplinePath:
        """Repeated points are taken once."""
        rows = without_repeats(np.asarray(points, dtype=np.float64))
        if len(rows) < 2:
            raise InputError("all points of the path are the same; give at least two that differ")
        return cls(rows)

    @cached_property
    def marks(self) -> Array:
        """Length at each point [rad or m], shape (points,)."""
        return np.append(0.0, np.cumsum(np.linalg.norm(np.diff(self.corners, axis=0), axis=1)))

    @property
    def length(self) -> float:
        return float(self.marks[-1])

    @cached_property
    def bends(self) -> Array:
        """Second derivatives at the points, none at the ends, shape (points, n)."""
        h, rows = np.diff(self.marks), self.corners
        slopes = np.diff(rows, axis=0) / h[:, None]
        inner = len(rows) - 2
        bends = np.zeros_like(rows)
        if inner < 1:
            return bends
        # Forward elimination and back substitution of the three diagonals.
        diagonal, right = 2.0 * (h[1:] + h[:-1]), 6.0 * np.diff(slopes, axis=0)
        for i in range(1, inner):
            factor = h[i] / diagonal[i - 1]
            diagonal[i] -= factor * h[i]
            right[i] -= factor * right[i - 1]
        for i in range(inner - 1, -1, -1):
            bends[i + 1] = (right[i] - h[i + 1] * bends[i + 2]) / diagonal[i]
        return bends

    def evaluate(self, s: Array) -> tuple[Array, Array, Array]:
        """Positions and their first and second derivatives by the length, shape (N, n) each.

        Args:
            s: Lengths [rad or m], shape (N,), from 0 to `length`.
        """
        i = np.clip(np.searchsorted(self.marks, s, side="right") - 1, 0, len(self.marks) - 2)
        h, x = np.diff(self.marks)[i][:, None], (s - self.marks[i])[:, None]
        begin, end, m0, m1 = self.corners[i], self.corners[i + 1], self.bends[i], self.bends[i + 1]
        slope = (end - begin) / h - h * (2.0 * m0 + m1) / 6.0
        third = (m1 - m0) / h
        position = begin + x * (slope + x * (0.5 * m0 + x * third / 6.0))
        return position, slope + x * (m0 + 0.5 * x * third), m0 + x * third

    def grid(self) -> Array:
        """Lengths that resolve every piece, at least 50 in all, from 0 to `length`."""
        per_piece = max(2, -(-50 // (len(self.marks) - 1)))
        shares = np.arange(per_piece) / per_piece
        return np.append((self.marks[:-1, None] + np.diff(self.marks)[:, None] * shares).ravel(), self.length)
