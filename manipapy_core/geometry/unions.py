"""Signed distances to the union of the parts of a link, for many points at once.

The planes of all mesh parts stand in one table in the frame of the link: a link of sixty parts costs one call of
compiled code, which leaves a part as soon as one of its planes shows that it does not decide.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..jit import njit
from ..typing import Array
from .parts import Part
from .shapes import ConvexMesh


class PartUnion:
    """The union of some parts."""

    def __init__(self, parts: Sequence[Part]):
        self.parts = tuple(parts)
        meshes = [index for index, part in enumerate(parts) if isinstance(part.shape, ConvexMesh)]
        self._meshes = np.array(meshes, dtype=np.int64)
        self._others = [(index, part) for index, part in enumerate(parts) if index not in meshes]
        tables = [_placed_planes(parts[index]) for index in meshes]
        self._planes = np.concatenate([np.empty((0, 4)), *tables])
        self._ends = np.cumsum([len(table) for table in tables], dtype=np.int64)

    def distance(self, points: Array) -> Array:
        """Signed distance of points (count, 3) [m]; inside, never deeper than the truth."""
        return self.nearest(points)[0]

    def nearest(self, points: Array) -> tuple[Array, NDArray[np.int64]]:
        """Signed distances [m] and the parts that they are of, by number."""
        distances, slots = _least_heights(points, self._planes, self._ends)
        nearest = np.append(self._meshes, -1)[slots]
        for index, part in self._others:
            own = part.signed_distance(points)
            closer = own < distances
            distances[closer], nearest[closer] = own[closer], index
        return distances, nearest

    def within(self, points: Array, distances: Array) -> NDArray[np.bool_]:
        """Which points (count, 3) have at most the given signed distance, one per part [m], to one of the parts."""
        found: NDArray[np.bool_] = _below_one(points, self._planes, self._ends, distances[self._meshes])
        for index, part in self._others:
            left = np.flatnonzero(~found)
            found[left] = part.signed_distance(points[left]) <= distances[index]
        return found


def _placed_planes(part: Part) -> Array:
    """Face planes of a mesh part in the frame of the link."""
    assert isinstance(part.shape, ConvexMesh)
    normals = part.shape.planes[:, :3] @ part.T_frame_shape[:3, :3].T
    return np.column_stack([normals, part.shape.planes[:, 3] + normals @ part.centre])


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _least_heights(points: Array, planes: Array, ends: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """Per point: the least over parts of the largest height above the planes of a part, and that part; -1 for none."""
    least, nearest = np.full(len(points), np.inf), np.full(len(points), -1, dtype=np.int64)
    first = np.zeros(len(ends), dtype=np.int64)
    for p in range(1, len(ends)):
        first[p] = ends[p - 1]
    deciding = first.copy()
    for i in range(len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        for p in range(len(ends)):
            # Of neighbouring points, the same plane often shows that a part is farther than another one.
            k = deciding[p]
            most = planes[k, 0] * x + planes[k, 1] * y + planes[k, 2] * z - planes[k, 3]
            if most >= least[i]:
                continue
            for k in range(first[p], ends[p]):
                height = planes[k, 0] * x + planes[k, 1] * y + planes[k, 2] * z - planes[k, 3]
                if height > most:
                    most, deciding[p] = height, k
                    if most >= least[i]:
                        break
            if most < least[i]:
                least[i], nearest[i] = most, p
    return least, nearest


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _below_one(points: Array, planes: Array, ends: NDArray[np.int64], limits: Array) -> NDArray[np.bool_]:
    """Which points lie no higher than its limit above all planes of one part."""
    found = np.zeros(len(points), dtype=np.bool_)
    first = np.zeros(len(ends), dtype=np.int64)
    for p in range(1, len(ends)):
        first[p] = ends[p - 1]
    deciding, last = first.copy(), 0
    for i in range(len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        for turn in range(-1, len(ends)):
            p = last if turn < 0 else turn  # neighbouring points are often at the same part
            if p >= len(ends):
                break
            k, limit, below = deciding[p], limits[p], True
            if planes[k, 0] * x + planes[k, 1] * y + planes[k, 2] * z - planes[k, 3] > limit:
                continue
            for k in range(first[p], ends[p]):
                if planes[k, 0] * x + planes[k, 1] * y + planes[k, 2] * z - planes[k, 3] > limit:
                    below, deciding[p] = False, k
                    break
            if below:
                found[i], last = True, p
                break
    return found
