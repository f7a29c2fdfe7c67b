"""A detected table or floor: where it is, what was seen of it, and how thick its noise makes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...typing import Array
from .plane_fit import plane_axes
from .seen_area import SeenArea

THICKNESS_MARGIN, THICKNESS_DEVIATIONS = 0.003, 3.0
"""Points within this distance of a plane [m] plus this many of its measured standard deviations belong to it ..."""
LITTLE_NOISE, MUCH_NOISE = np.array([0.0020, 0.0040]), np.array([0.0026, 0.0060])
"""... if the measured standard deviation of the plane and that of a pixel by the depth model are at most the first
values [m]. From the second ones on noise forms groups, and the distance is that of inliers; objects within it are left
to `find_subthreshold_objects`."""
MIN_COUNT = 4
"""A voxel with fewer pixels has the noise of a pixel."""
MAX_OBJECT_HEIGHT = 0.3
"""A plane up to this far above another one [m] ..."""
MIN_OVERLAP = 0.5
"""... that has this share of its area above it consists of the top faces of objects that stand there ..."""
MIN_TABLE_AREA = 0.25
"""... unless it is as large as a table [m²], and larger than the one below."""


@dataclass(frozen=True, eq=False)
class DetectedPlane:
    """A plane: normal · x = offset."""

    normal: Array
    """Unit vector towards `up`, shape (3,)."""
    offset: float
    """[m]"""
    support: int
    """Number of inliers."""
    remembered: bool
    """Refined from the previous frame, without RANSAC."""
    lower: Array
    upper: Array
    """Corners of its observed rectangle, along `axes` [m], shape (2,)."""
    coverage: float
    """Share of the rectangle's cells of 10 cm with inliers."""
    area: SeenArea | None = None
    """Its observed part; if not given, the rectangle."""
    noise: float = 1.0
    """Measured standard deviation of its points, as a multiple of that of the depth model."""

    def heights(self, points: ArrayLike) -> Array:
        """Signed distance from the plane [m], shape (..., 3) to (...)."""
        return np.asarray(points, dtype=np.float64) @ self.normal - self.offset

    @property
    def axes(self) -> Array:
        """Two unit vectors in the plane, shape (3, 2)."""
        return plane_axes(self.normal)

    def thickness(self, sigma: ArrayLike, inlier_distance: ArrayLike, counts: ArrayLike = MIN_COUNT) -> Array:
        """Voxels within this distance belong to the plane [m].

        Args:
            sigma: Standard deviation of a pixel along the normal by the depth model [m].
            inlier_distance: Distance within which points are inliers of the fit [m].
            counts: Pixels per voxel.
        """
        share = np.where(np.asarray(counts) < MIN_COUNT, max(self.noise, 1.0), self.noise)
        thin = THICKNESS_MARGIN + THICKNESS_DEVIATIONS * share * np.asarray(sigma)
        noise = np.asarray(sigma)[..., None] * [self.noise, 1.0]
        blend = np.clip(((noise - LITTLE_NOISE) / (MUCH_NOISE - LITTLE_NOISE)).max(axis=-1), 0.0, 1.0)
        wide = np.asarray(inlier_distance)
        return np.asarray(np.minimum((1.0 - blend) * thin + blend * wide, wide))

    def covers(self, points: ArrayLike, margin: float = 0.05) -> NDArray[np.bool_]:
        """Which points lie above or below the observed part, enlarged by `margin` [m]."""
        flat = np.asarray(points, dtype=np.float64) @ self.axes
        if self.area is not None:
            return self.area.covers(flat, margin)
        return np.asarray(np.all((flat >= self.lower - margin) & (flat <= self.upper + margin), axis=-1))

    def stands_on(self, other: DetectedPlane) -> bool:
        """Whether it consists of the top faces of objects that stand on another plane."""
        if self.area is None or other.area is None:
            return False
        if not 0.0 < self.offset - other.offset < MAX_OBJECT_HEIGHT:
            return False
        if self.area.largest_part >= MIN_TABLE_AREA and self.support > other.support:
            return False
        return self.area.overlap(other.area) >= MIN_OVERLAP
