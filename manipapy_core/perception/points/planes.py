"""Removal of tables and floors: RANSAC, then refinement of the plane of the previous frame.

Objects stand on tables: a plane just above another one and over its observed part consists of the top faces of
objects, and is no plane of the result. The points of a plane are those within its own measured noise, see
`DetectedPlane.thickness`: a pen of 8 mm lies on a table that is measured to 2 mm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ...typing import Array
from .detected_plane import MIN_TABLE_AREA, DetectedPlane
from .plane_fit import coverage, least_squares, measured_noise, plane_axes, ransac
from .seen_area import SeenArea
from .voxels import Voxels

FIT_POINTS = 2000
"""Minimum number of points for the least-squares fit, if there are as many."""

SIDE_DEPTH = 0.2
"""Below a table nothing is visible, below the top faces of objects their sides are. Depth that is searched for sides
[m] ..."""
MAX_SIDE_SHARE = 0.3
"""... and how many points may be there, relative to the points in the plane."""
MAX_SPREAD = 0.6
"""Four of five inliers lie within this share of the threshold: those of a table concentrate about the plane, those of
objects that a plane cuts through are spread evenly."""
MIN_COVERAGE = 0.25
"""Share of cells with points below which a plane consists of the top faces of scattered objects."""
MIN_FLOOR_DROP = 0.1
"""Minimum height of a table above the floor [m]."""
MIN_FLOOR_AREA = 0.2
"""A plane below a table must be this large [m²]: the seat of a chair is an obstacle."""
EXTRA_TRIES = 2
"""Planes of top faces per frame that are set aside before the search ends."""
SEEN_THROUGH = 0.02
"""Points farther below a plane than its threshold and this [m] were seen through it."""
TILT_SEARCH = 0.6
"""Largest tilt [rad] of a plane that is reported as tilted too much."""


@dataclass(frozen=True)
class PlaneSettings:
    """Which planes are removed."""

    max_planes: int = 2
    """Planes per frame; 0 keeps tables as obstacles."""
    distance_threshold: float = 0.01
    """Inliers of the fit lie at most this far above or below the plane [m] ..."""
    deviations: float = 2.0
    """... plus this many of their standard deviations. Points are removed within the measured noise of the plane, see
    `DetectedPlane.thickness`, and never farther away than inliers."""
    min_share: float = 0.15
    """Minimum share of the points in a plane; for a plane below others, of the remaining points ..."""
    min_points: int = 150
    """... and minimum number of points."""
    max_tilt: float = 0.12
    """Largest angle between normal and `up` [rad]; π/2 removes walls as well."""
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """Direction of table normals in the base frame."""
    max_below: float = 1.5
    """Points up to this far below the observed part of a plane are removed as well [m]: edges, legs."""
    iterations: int = 120
    """RANSAC iterations."""

    def __post_init__(self) -> None:
        if self.max_planes < 0 or self.min_points < 3 or self.iterations < 1:
            raise InputError("planes: give max_planes >= 0, min_points >= 3 and iterations >= 1")
        if not (0.0 < self.distance_threshold < 1.0 and self.deviations >= 0.0 and self.max_below >= 0.0):
            raise InputError("planes: give 0 < distance_threshold < 1 m, deviations >= 0 and max_below >= 0")
        if not 0.0 <= self.min_share <= 1.0:
            raise InputError(f"planes: min_share is {self.min_share}; give 0 to 1")
        if not 0.0 < self.max_tilt <= math.pi / 2 + 1e-9:
            raise InputError(f"planes: max_tilt is {self.max_tilt} rad; give more than 0 and at most π/2")
        if not np.linalg.norm(self.up) > 0.0:
            raise InputError("planes: up is zero; give a direction")


class PlaneFilter:
    """Removes planes from points, and keeps them as the initial guess for the next frame."""

    def __init__(self, settings: PlaneSettings | None = None):
        self.settings = PlaneSettings() if settings is None else settings
        self._remembered: list[DetectedPlane] = []
        self.tilt: float | None = None
        """Tilt of the largest plane of the last frame [rad], if no plane was found because it is tilted too much."""

    def reset(self) -> None:
        """Drop the known planes, for example after the camera was moved."""
        self._remembered, self.tilt = [], None

    def split(self, voxels: Voxels, viewpoint: ArrayLike) -> tuple[NDArray[np.bool_], tuple[DetectedPlane, ...]]:
        """Which points belong to no plane.

        Args:
            voxels: In the base frame.
            viewpoint: Camera position in the base frame [m], shape (3,).

        Returns:
            One flag per point, True for those that belong to no plane, and the planes.
        """
        settings = self.settings
        self.tilt = None
        xyz = voxels.xyz.astype(np.float64)
        stays = np.ones(len(xyz), np.bool_)
        if settings.max_planes == 0 or len(xyz) < settings.min_points:
            return stays, ()
        origin = np.asarray(viewpoint, dtype=np.float64)
        away = xyz - origin
        noise = voxels.sigma / np.sqrt(np.maximum(np.einsum("ij,ij->i", away, away), 1e-18))
        found = self._search(xyz, voxels, noise, origin)
        for plane in found:
            heights, above = plane.heights(xyz), plane.heights(origin)
            expected = noise * np.abs(heights - above)
            inlier_distance = self._threshold(noise, heights, above)
            stays &= np.abs(heights) > plane.thickness(expected, inlier_distance, voxels.counts)
            under = np.flatnonzero(stays & (heights <= 0.0) & (heights >= -settings.max_below))
            stays[under[plane.covers(xyz[under])]] = False
            stays &= ~_through(plane, xyz, heights < -inlier_distance - SEEN_THROUGH, origin)
        self._remembered = found
        if not found:
            self.tilt = self._too_steep(xyz, voxels, noise, origin)
        return stays, tuple(found)

    def _search(self, xyz: Array, voxels: Voxels, noise: Array, origin: Array) -> list[DetectedPlane]:
        """Planes of the points, remembered ones first."""
        settings, found = self.settings, list[DetectedPlane]()
        rest, set_aside = np.ones(len(xyz), np.bool_), 0
        for known in [*self._remembered, None]:
            while len(found) < settings.max_planes and set_aside <= EXTRA_TRIES:
                # Little of a floor is visible around a table, so its share is relative to the remaining points. A
                # higher plane may be the top face of a box: it must be as large as a table.
                least = max(settings.min_points, int(settings.min_share * np.count_nonzero(rest)))
                plane = self._fit(xyz[rest], voxels.select(rest), noise[rest], origin, least, known)
                if plane is None:
                    break
                lower = all(plane.offset < other.offset - MIN_FLOOR_DROP for other in found)
                if not (found and lower) and plane.coverage < MIN_COVERAGE:
                    break
                if found and lower and plane.area is not None and plane.area.largest_part < MIN_FLOOR_AREA:
                    break
                if plane.support < settings.min_share * len(xyz) and not lower:
                    break
                heights = plane.heights(xyz)
                rest &= np.abs(heights) > self._threshold(noise, heights, plane.heights(origin))
                if any(plane.stands_on(other) for other in found):
                    set_aside += 1
                else:
                    kept = [other for other in found if not other.stands_on(plane)]
                    set_aside += len(found) - len(kept)
                    found = [*kept, plane]
                    under = np.flatnonzero(rest & (heights <= 0.0) & (heights >= -settings.max_below))
                    rest[under[plane.covers(xyz[under])]] = False
                if known is not None:
                    break
        return found

    def _threshold(self, noise: Array, heights: Array, viewpoint_height: Array | float) -> Array:
        """Distance threshold of inliers per point [m].

        Depth noise moves a point along its line of sight: only the component along the normal counts.

        Args:
            noise: Standard deviations divided by the distance from the viewpoint.
            heights: Of the points along the normal, with the same origin as `viewpoint_height` [m].
        """
        settings = self.settings
        return np.asarray(
            settings.distance_threshold + settings.deviations * noise * np.abs(heights - viewpoint_height)
        )

    def _is_top_faces(self, xyz: Array, noise: Array, viewpoint: Array, plane: DetectedPlane) -> bool:
        """Whether it consists of the top faces of objects on a table without texture, which has no depth."""
        heights = plane.heights(xyz)
        threshold = self._threshold(noise, heights, plane.heights(viewpoint))
        under = (heights < -threshold) & (heights > -SIDE_DEPTH) & plane.covers(xyz, 0.0)
        return bool(np.count_nonzero(under) > MAX_SIDE_SHARE * plane.support)

    def _fit(
        self,
        xyz: Array,
        voxels: Voxels,
        noise: Array,
        viewpoint: Array,
        min_support: int,
        known: DetectedPlane | None,
        max_tilt: float | None = None,
    ) -> DetectedPlane | None:
        settings, sigma = self.settings, voxels.sigma
        if len(xyz) < min_support:
            return None
        up = np.asarray(settings.up, dtype=np.float64)
        up = up / np.linalg.norm(up)
        min_cosine = math.cos(settings.max_tilt if max_tilt is None else max_tilt)
        if known is None:
            # A thousand points are enough to find a plane.
            few = np.random.default_rng(0).permutation(len(xyz))[:1000]
            tolerance = (settings.distance_threshold + 0.5 * settings.deviations * sigma[few]).astype(np.float64)
            normal, offset, score = ransac(xyz[few], tolerance, up, min_cosine, settings.iterations)
            if score * len(xyz) < 0.5 * min_support * len(few):
                return None
        else:
            normal, offset = known.normal, known.offset
        # A few thousand points are enough for the fit; only the support is counted over all.
        some = slice(None, None, 1 + len(xyz) // FIT_POINTS)
        for _ in range(3):
            along = xyz[some] @ normal
            near = np.abs(along - offset) <= self._threshold(noise[some], along, viewpoint @ normal)
            if np.count_nonzero(near) * len(xyz) < min_support * len(near):
                return None
            weights = 1.0 / np.maximum(sigma[some][near], 1e-4).astype(np.float64)
            normal, offset = least_squares(xyz[some][near], weights, normal)
        along = xyz @ normal
        share = np.abs(along - offset) / self._threshold(noise, along, viewpoint @ normal)
        near = share <= 1.0
        support = int(np.count_nonzero(near))
        if support < min_support or np.count_nonzero(share <= MAX_SPREAD) < 0.8 * support:
            return None
        if abs(normal @ up) < min_cosine - 1e-9:
            return None
        flat = xyz[near] @ plane_axes(normal)
        # Quantiles: a few outliers at the same height must not enlarge a table.
        sparse = slice(None, None, 1 + support // FIT_POINTS)
        lower, upper = np.quantile(flat[sparse], [0.003, 0.997], axis=0)
        covered = coverage(flat[sparse], lower, upper)
        expected = noise[near][sparse] * np.abs(along[near][sparse] - viewpoint @ normal)
        level = measured_noise(along[near][sparse] - offset, expected, voxels.counts[near][sparse])
        area = SeenArea.of(flat, lower, upper)
        plane = DetectedPlane(normal, offset, support, known is not None, lower, upper, covered, area, level)
        if self._is_top_faces(xyz, noise, viewpoint, plane):
            return None
        return self._merged(plane, known, xyz, noise, viewpoint)

    def _merged(
        self, plane: DetectedPlane, known: DetectedPlane | None, xyz: Array, noise: Array, viewpoint: Array
    ) -> DetectedPlane:
        """The plane with what earlier frames showed of it, except where points below it are visible now."""
        if known is None or known.area is None or plane.area is None:
            return plane
        heights, above = plane.heights(xyz), float(plane.heights(viewpoint))
        below = heights < -self._threshold(noise, heights, above) - SEEN_THROUGH
        before = known.area
        if above > 0.0 and below.any():
            before = before.without(_crossings(plane, xyz[below], viewpoint))
        area = plane.area.union(before)
        index = np.argwhere(area.cells)
        lower, upper = (index.min(axis=0) + area.first, index.max(axis=0) + area.first + 1)
        return replace(plane, lower=lower * area.cell, upper=upper * area.cell, area=area)

    def _too_steep(self, xyz: Array, voxels: Voxels, noise: Array, origin: Array) -> float | None:
        """Tilt of a plane as large as a table that is tilted more than allowed [rad]; None if there is none."""
        if self.settings.max_tilt >= TILT_SEARCH:
            return None
        least = max(self.settings.min_points, int(self.settings.min_share * len(xyz)))
        plane = self._fit(xyz, voxels, noise, origin, least, None, TILT_SEARCH)
        if plane is None or plane.coverage < MIN_COVERAGE or plane.area is None:
            return None
        if plane.area.largest_part < MIN_TABLE_AREA:
            return None
        up = np.asarray(self.settings.up) / np.linalg.norm(self.settings.up)
        tilt = math.acos(min(1.0, abs(float(plane.normal @ up))))
        return tilt if tilt > self.settings.max_tilt else None


def _crossings(plane: DetectedPlane, xyz: Array, viewpoint: Array) -> Array:
    """Where the lines of sight to points below a plane cross it, in its axes [m], shape (points, 2)."""
    above, heights = plane.heights(viewpoint), plane.heights(xyz)
    crossing = viewpoint + (above / (above - heights))[:, None] * (xyz - viewpoint)
    return np.asarray(crossing @ plane.axes)


def _through(plane: DetectedPlane, xyz: Array, below: NDArray[np.bool_], viewpoint: Array) -> NDArray[np.bool_]:
    """Which of the points below a plane would be visible only through it: stereo matches that are wrong."""
    wrong = np.zeros(len(xyz), np.bool_)
    if plane.area is not None and plane.heights(viewpoint) > 0.0 and below.any():
        wrong[below] = plane.area.is_opaque(_crossings(plane, xyz[below], viewpoint))
    return wrong
