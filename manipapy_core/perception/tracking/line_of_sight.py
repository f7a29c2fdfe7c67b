"""Free-space evidence of one frame: whether places are occupied, free or unknown.

Only a ray that passes a place and ends clearly behind it shows that the place is free. Places outside the image, behind
something, or without a measurement are unknown, and obstacles in unknown places are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import lie
from ...typing import Array
from ..stereo.depth import DepthMap

VIRTUAL_SIZE = (120, 160)
"""Rows and columns of the depth image that a point cloud is projected to."""
VIRTUAL_FOCAL = 80.0
"""Its focal length [pixels]: 90° wide."""


@dataclass(frozen=True)
class Evidence:
    """Number of points by what the frame shows at their place."""

    occupied: int
    """A surface was measured there."""
    free: int
    """A surface was measured behind it."""
    occluded: int
    """A surface was measured in front of it."""
    unknown: int
    """No measurement in that direction, or outside the image."""

    @property
    def is_free(self) -> bool:
        """Whether enough points are known, most of them free and almost none occupied.

        There may be little to measure behind an object: a third of its directions is enough.
        """
        known = self.occupied + self.free + self.occluded
        enough = known > 0 and known >= 0.33 * (known + self.unknown)
        return enough and self.free >= 0.6 * known and self.occupied <= 0.15 * known


@dataclass(frozen=True, eq=False)
class LineOfSight:
    """Depth image of one frame and the pose it was taken from."""

    depth: NDArray[np.float32]
    """[m], NaN: not measured, +inf: nothing there; shape (rows, columns)."""
    K: Array
    """Camera matrix of the image, shape (3, 3)."""
    T_base_optical: Array
    """Camera pose, shape (4, 4)."""

    @classmethod
    def of_depth(cls, depth_map: DepthMap, T_base_optical: Array) -> LineOfSight:
        """From a depth image."""
        return cls(depth_map.depth, depth_map.camera.projection[:, :3], T_base_optical)

    @classmethod
    def of_points(cls, points_optical: NDArray[np.float32], T_base_optical: Array) -> LineOfSight:
        """From a point cloud in the optical frame [m], shape (points, 3): the nearest point of each direction."""
        rows, columns = VIRTUAL_SIZE
        K = np.array([[VIRTUAL_FOCAL, 0.0, 0.5 * (columns - 1)], [0.0, VIRTUAL_FOCAL, 0.5 * (rows - 1)], [0, 0, 1.0]])
        depth = np.full(VIRTUAL_SIZE, np.inf, np.float32)
        ahead = points_optical[points_optical[:, 2] > 1e-3]
        u, v = _pixels(ahead.astype(np.float64), K)
        inside = (u >= 0) & (u < columns) & (v >= 0) & (v < rows)
        np.minimum.at(depth, (v[inside], u[inside]), ahead[inside, 2])
        depth[np.isinf(depth)] = np.nan
        return cls(depth, K, T_base_optical)

    def evidence_at(self, points: ArrayLike, margin: float) -> Evidence:
        """Evidence at the places of points.

        Args:
            points: In the base frame [m], shape (points, 3).
            margin: Measured depths within this are a surface at the point [m].
        """
        T = lie.inverse(self.T_base_optical)
        optical = np.asarray(points, dtype=np.float64) @ T[:3, :3].T + T[:3, 3]
        ahead = optical[:, 2] > 1e-3
        u, v = _pixels(np.where(ahead[:, None], optical, [0.0, 0.0, 1.0]), self.K)
        rows, columns = self.depth.shape
        inside = ahead & (u >= 0) & (u < columns) & (v >= 0) & (v < rows)
        z = optical[inside, 2]
        measured = self.depth[v[inside], u[inside]].astype(np.float64)
        with np.errstate(invalid="ignore"):
            free = int(np.count_nonzero(measured > z + margin))
            occupied = int(np.count_nonzero(np.abs(measured - z) <= margin))
            occluded = int(np.count_nonzero(measured < z - margin))
        return Evidence(occupied, free, occluded, len(optical) - free - occupied - occluded)


def _pixels(optical: Array, K: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    with np.errstate(over="ignore"):
        u = np.clip(np.rint(optical[:, 0] / optical[:, 2] * K[0, 0] + K[0, 2]), -1e6, 1e6)
        v = np.clip(np.rint(optical[:, 1] / optical[:, 2] * K[1, 1] + K[1, 2]), -1e6, 1e6)
    return u.astype(np.int64), v.astype(np.int64)
