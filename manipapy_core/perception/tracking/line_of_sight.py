"""What a frame says about places in space: something is there, nothing is there, or it was not seen.

Only a line of sight that goes through a place and ends clearly behind it says that the place is empty. Places outside
the picture, behind something, or where nothing was measured are unknown, and unknown places keep what was in them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import lie
from ...typing import Array
from ..stereo.depth import DepthMap

VIRTUAL_SIZE = (120, 160)
"""Rows and columns of the picture that loose points are drawn into."""
VIRTUAL_FOCAL = 80.0
"""Its focal length [pixels]: 90° wide."""


@dataclass(frozen=True)
class Evidence:
    """How many of some points are seen to be what."""

    occupied: int
    """Something was measured there."""
    empty: int
    """Looked through."""
    hidden: int
    """Behind something."""
    unknown: int
    """Nothing was measured in that direction, or it is not in the picture."""

    @property
    def seen_empty(self) -> bool:
        """Whether enough of the thing was looked for, most of that was looked through, and next to nothing was hit.

        Behind a thing there may be little that a camera can measure: a third of its directions is enough to tell.
        """
        known = self.occupied + self.empty + self.hidden
        looked_for = known > 0 and known >= 0.33 * (known + self.unknown)
        return looked_for and self.empty >= 0.6 * known and self.occupied <= 0.15 * known


@dataclass(frozen=True, eq=False)
class LineOfSight:
    """The lines of sight of one frame."""

    depth: NDArray[np.float32]
    """[m], NaN where nothing was measured, +inf where nothing is; shape (rows, columns)."""
    K: Array
    """Of the picture, shape (3, 3)."""
    T_base_optical: Array
    """Pose of the camera, shape (4, 4)."""

    @classmethod
    def of_depth(cls, depth_map: DepthMap, T_base_optical: Array) -> LineOfSight:
        """From a picture."""
        return cls(depth_map.depth, depth_map.camera.projection[:, :3], T_base_optical)

    @classmethod
    def of_points(cls, points_optical: NDArray[np.float32], T_base_optical: Array) -> LineOfSight:
        """From loose points in the camera's frame [m], shape (points, 3): the nearest one of each direction."""
        rows, columns = VIRTUAL_SIZE
        K = np.array([[VIRTUAL_FOCAL, 0.0, 0.5 * (columns - 1)], [0.0, VIRTUAL_FOCAL, 0.5 * (rows - 1)], [0, 0, 1.0]])
        depth = np.full(VIRTUAL_SIZE, np.inf, np.float32)
        ahead = points_optical[points_optical[:, 2] > 1e-3]
        u, v = _pixels(ahead.astype(np.float64), K)
        inside = (u >= 0) & (u < columns) & (v >= 0) & (v < rows)
        np.minimum.at(depth, (v[inside], u[inside]), ahead[inside, 2])
        depth[np.isinf(depth)] = np.nan
        return cls(depth, K, T_base_optical)

    def look_at(self, points: ArrayLike, margin: float) -> Evidence:
        """What is known about places.

        Args:
            points: In the base frame [m], shape (points, 3).
            margin: Depths within this count as a hit [m].
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
            empty = int(np.count_nonzero(measured > z + margin))
            occupied = int(np.count_nonzero(np.abs(measured - z) <= margin))
            hidden = int(np.count_nonzero(measured < z - margin))
        return Evidence(occupied, empty, hidden, len(optical) - empty - occupied - hidden)


def _pixels(optical: Array, K: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    with np.errstate(over="ignore"):
        u = np.clip(np.rint(optical[:, 0] / optical[:, 2] * K[0, 0] + K[0, 2]), -1e6, 1e6)
        v = np.clip(np.rint(optical[:, 1] / optical[:, 2] * K[1, 1] + K[1, 2]), -1e6, 1e6)
    return u.astype(np.int64), v.astype(np.int64)
