"""Smooth paths in joint space: polylines with rounded corners, and cubic splines.

Around a corner P between directions u and v the path is P + u s + (v − u) r(s), where the ramp r goes over from 0 to s
with a second derivative that rises and falls as a parabola. Direction and curvature are continuous, the path never
leaves the triangle of the corner, and passes it at 3/16 |v − u| times the radius.

Points that are close together are joined by a natural cubic spline.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...errors import InputError
from ...typing import Array
from ..constraints.compiled import LIMIT, PathConstraints
from ..dense_checks import shrink_radii
from ..space import STEP, PlanningSpace
from . import curves

SMALLEST_RADIUS = 1e-5
SAME_POINT = 1e-9
"""Neighbouring corners nearer than this are one [rad or m]."""


@dataclass(frozen=True, eq=False)
class BlendedPath:
    """A path as a function of the length of its polyline."""

    corners: Array
    """[rad or m], shape (points, n), at least two, neighbours differ."""
    radii: Array
    """How far before and after each inner corner the path is curved [rad or m], shape (points - 2,)."""

    @cached_property
    def _measured(self) -> tuple[Array, Array]:
        directions, marks = curves.measured(self.corners)
        return directions, marks

    @property
    def directions(self) -> Array:
        """Unit vectors of the pieces, shape (points - 1, n)."""
        return self._measured[0]

    @property
    def marks(self) -> Array:
        """Length at each corner [rad or m], shape (points,)."""
        return self._measured[1]

    @property
    def length(self) -> float:
        return float(self.marks[-1])

    def evaluate(self, s: Array) -> tuple[Array, Array, Array]:
        """Positions and their first and second derivatives by the length, shape (N, n) each.

        Args:
            s: Lengths [rad or m], shape (N,), from 0 to `length`.
        """
        q, slope, bend = curves.points_at(self.corners, self.directions, self.marks, self.radii, s)
        return q, slope, bend

    def grid(self, per_piece: int = 24, per_corner: int = 16) -> Array:
        """Lengths that resolve every straight and every curved piece, from 0 to `length`."""
        grid: Array = curves.resolving_grid(self.marks, self.radii, per_piece, per_corner)
        return grid


def without_repeats(rows: Array) -> Array:
    """A polyline without repeated neighbours; its ends are kept."""
    keep = np.append(True, np.linalg.norm(np.diff(rows, axis=0), axis=1) > SAME_POINT)
    kept = rows[keep]
    if len(kept) > 1:
        kept[-1] = rows[-1]
    return kept


def largest_radii(corners: Array) -> Array:
    """Half of the shorter neighbouring piece, so that curved pieces do not overlap, shape (points - 2,)."""
    lengths = np.linalg.norm(np.diff(corners, axis=0), axis=1)
    return 0.5 * np.minimum(lengths[1:], lengths[:-1])


def rounded(corners: Array, radius: float) -> BlendedPath:
    """A path with corners rounded alike, as far as their pieces allow; nothing is checked.

    Args:
        corners: [rad or m], shape (points, n).
        radius: How far before and after a corner the path is curved [rad or m].
    """
    rows = without_repeats(np.asarray(corners, dtype=np.float64))
    if len(rows) < 2:
        raise InputError("all points of the path are the same; give at least two that differ")
    return BlendedPath(rows, np.minimum(largest_radii(rows), radius))


def round_corners(
    space: PlanningSpace, corners: Array, *, largest: float = np.inf, constraints: PathConstraints | None = None
) -> BlendedPath:
    """The path with the largest corner radii that is certainly free, given a polyline that is.

    Args:
        corners: A polyline that is certainly free [rad or m], shape (points, n).
        largest: Bound on the radii [rad or m].
        constraints: Keeps them too, given a polyline that does.
    """
    path = BlendedPath(corners, np.minimum(largest_radii(corners), largest))
    thick = space.thicker
    shrink_radii(
        thick.code, space.code, corners, path.directions, path.marks, path.radii, thick.certifying_weights,
        space.certifying_weights, STEP, SMALLEST_RADIUS, space.work(),
    )  # fmt: skip
    if constraints is None or not constraints.on_poses:
        return path
    radii = path.radii.copy()
    pending = np.arange(len(radii))
    while len(pending):
        path = BlendedPath(corners, radii.copy())
        samples = [_corner_samples(space, path, int(corner)) for corner in pending]
        rows = path.evaluate(np.concatenate(samples))[0]
        hits = space.collides(rows) | (constraints.worst(rows) > LIMIT)
        starts = np.append(0, np.cumsum([len(part) for part in samples]))
        blocked = [hits[a:b].any() for a, b in itertools.pairwise(starts)]
        # Close to the corner the curve is within the margin of the corner itself, which is free.
        pending = np.array([corner for corner, bad in zip(pending, blocked) if bad], dtype=np.int64)
        radii[pending] *= 0.5
        pending = pending[radii[pending] > SMALLEST_RADIUS]
    return BlendedPath(corners, radii)


def _corner_samples(space: PlanningSpace, path: BlendedPath, corner: int) -> Array:
    """Lengths along a curved piece, so dense that what is free at them is free in between."""
    fastest = np.abs(path.directions[corner : corner + 2]).max(axis=0)
    radius, mark = path.radii[corner], path.marks[corner + 1]
    count = int(np.ceil(2.0 * radius * float(fastest @ space.certifying_weights))) + 2
    return np.linspace(mark - radius, mark + radius, count)


@dataclass(frozen=True, eq=False)
class SplinePath:
    """A natural cubic spline through points, as a function of the length of their polyline."""

    corners: Array
    """[rad or m], shape (points, n), at least two, neighbours differ."""

    @classmethod
    def through(cls, points: Array) -> SplinePath:
        """Through points; repeated neighbours count once."""
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
