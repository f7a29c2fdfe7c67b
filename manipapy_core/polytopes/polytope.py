"""`Polytope`: a convex set by its corners, its half-spaces and its surface, of any dimension up to three."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, ShapeError
from ..typing import Array
from .joint_set import JointSet, farthest_point


@dataclass(frozen=True, eq=False)
class Source:
    """Where a polytope comes from: all matrix · y + offset with y in a joint set."""

    matrix: Array
    """Shape (d, n)."""
    offset: Array
    """Shape (d,)."""
    joints: JointSet


@dataclass(frozen=True)
class Ball:
    """A ball."""

    centre: Array
    radius: float


@dataclass(frozen=True, eq=False)
class Polytope:
    """A bounded convex set in d = 1, 2 or 3 dimensions; it may be flat, a point, or empty."""

    vertices: Array
    """Corners, shape (corners, d). A flat set of dimension two has them in order around it."""
    triangles: NDArray[np.int64]
    """Of the surface, outward by the right-hand rule; of the set itself where it is a flat piece of space; numbers
    of vertices, shape (triangles, 3). None in one dimension."""
    dimension: int
    """Of the set itself: less than d if it is flat, 0 for a point, -1 if it is empty."""
    measure: float
    """Volume, area or length in its own dimension."""
    preimages: Array
    """A y of the joint set for every corner, shape (corners, n)."""
    source: Source
    normals: Array = field(repr=False)
    """Unit normals of the half-spaces normals · x ≤ offsets that meet in the set, shape (faces, d). Flat sets have
    pairs of opposite ones."""
    offsets: Array = field(repr=False)
    """Shape (faces,)."""
    checked: bool = True
    """False where the first hull failed its check and was computed again in rotated coordinates."""

    @property
    def d(self) -> int:
        """Dimension of the space that it lies in."""
        return len(self.source.offset)

    @property
    def is_empty(self) -> bool:
        return self.dimension < 0

    @property
    def is_flat(self) -> bool:
        """Not empty, but without volume in its space."""
        return 0 <= self.dimension < self.d

    @property
    def volume(self) -> float:
        """In the space that it lies in: zero if it is flat or empty."""
        return self.measure if self.dimension == self.d else 0.0

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper corner of the box around it, each of shape (d,)."""
        self._require_points("bounds")
        return self.vertices.min(axis=0), self.vertices.max(axis=0)

    @cached_property
    def centroid(self) -> Array:
        """Centre of its volume (or area, or length), shape (d,)."""
        self._require_points("a centroid")
        if self.dimension < 2 or not len(self.triangles):
            return self.vertices.mean(axis=0)
        inside = self.vertices.mean(axis=0)
        corners = self.vertices[self.triangles] - inside
        if self.dimension == 3:
            weights = np.einsum("ti,ti->t", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))
            return inside + weights @ corners.sum(axis=1) / (4.0 * weights.sum())
        sides = corners[:, 1:] - corners[:, :1]
        gram = np.einsum("tij,tkj->tik", sides, sides)
        weights = np.sqrt(np.maximum(gram[:, 0, 0] * gram[:, 1, 1] - gram[:, 0, 1] ** 2, 0.0))
        return inside + weights @ corners.sum(axis=1) / (3.0 * weights.sum())

    def support(self, direction: ArrayLike) -> Array:
        """The corner that lies farthest along a direction (d,)."""
        self._require_points("a farthest point")
        return self.vertices[int(np.argmax(self.vertices @ self._points(direction)))]

    def contains(self, points: ArrayLike, tolerance: float = 1e-9) -> NDArray[np.bool_]:
        """Which points (..., d) are in the set, faces included."""
        x = self._points(points)
        if self.is_empty:
            return np.zeros(x.shape[:-1], dtype=bool)
        return (x @ self.normals.T <= self.offsets + tolerance).all(axis=-1)

    def margin(self, points: ArrayLike) -> float:
        """Capacity margin: the least distance of any of the points to any face, negative for a point outside.

        With the corners of a required polytope as points it is how much the requirement may grow.

        Args:
            points: Shape (..., d).
        """
        x = self._points(points)
        if self.is_empty:
            return -np.inf
        return float((self.offsets - x @ self.normals.T).min())

    @cached_property
    def largest_ball(self) -> Ball:
        """The largest ball inside (Chebyshev); its radius is zero if the set is flat."""
        self._require_points("a largest ball")
        if self.dimension < self.d:
            return Ball(self.centroid, 0.0)
        lower, upper = self.bounds
        most = 0.5 * float((upper - lower).min())
        # Moved to its own box, so that the numbers are of the size of the set.
        rows = np.column_stack([self.normals, np.ones(len(self.normals))])
        joints = JointSet(np.r_[lower, 0.0], np.r_[upper, most * (1.0 + 1e-9)], rows, self.offsets)
        best = farthest_point(joints, np.r_[np.zeros(self.d), 1.0])
        assert best is not None, "a polytope with volume holds a ball"
        return Ball(best[:-1], float(best[-1]))

    def _points(self, points: ArrayLike) -> Array:
        x = np.asarray(points, dtype=np.float64)
        if x.shape[-1:] != (self.d,):
            raise ShapeError("points", f"(..., {self.d})", x.shape)
        return x

    def _require_points(self, what: str) -> None:
        if self.is_empty:
            raise InputError(f"an empty polytope has no {what}; check `is_empty` first")


def empty_polytope(source: Source) -> Polytope:
    d, n = source.matrix.shape
    return Polytope(
        np.zeros((0, d)), np.zeros((0, 3), np.int64), -1, 0.0, np.zeros((0, n)), source, np.zeros((0, d)), np.zeros(0)
    )
