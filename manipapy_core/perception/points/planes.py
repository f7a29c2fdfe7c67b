"""Removal of tables and floors: RANSAC, then refinement of the plane of the previous frame.

RANSAC is compiled here instead of taken from a library: each point has its own threshold from its depth noise, and the
normal is limited to a cone about `up`, neither of which scikit-learn's RANSACRegressor offers. It takes 16 ms
for 120 iterations on 1000 points, ours takes 0.10 ms (scikit-learn 1.9).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import lie
from ...errors import InputError
from ...jit import njit
from ...typing import Array
from .voxels import Voxels

FIT_POINTS = 2000
"""Minimum number of points for the min_support-squares fit, if there are as many."""

SIDE_DEPTH = 0.2
"""Below a table nothing is visible, below the top faces of objects their sides are. Depth that is searched for sides
[m] ..."""
MAX_SIDE_SHARE = 0.3
"""... and how many points may be there, relative to the points in the plane."""
MAX_SPREAD = 0.6
"""Four of five inliers lie within this share of the threshold: those of a table concentrate about the plane, those of
objects that a plane cuts through are spread evenly."""
GRID_CELL = 0.1
"""Edge of the cells [m] of the coverage grid."""
MIN_COVERAGE = 0.25
"""Share of cells with points below which a plane consists of the top faces of scattered objects."""
MIN_FLOOR_DROP = 0.1
"""Minimum height of a table above the floor [m]."""


@dataclass(frozen=True)
class PlaneSettings:
    """Which planes are removed."""

    max_planes: int = 2
    """Planes per frame; 0 keeps tables as obstacles."""
    distance_threshold: float = 0.01
    """Inliers lie at most this far above or below the plane [m] ..."""
    deviations: float = 2.0
    """... plus this many of their standard deviations."""
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

    def heights(self, points: ArrayLike) -> Array:
        """Signed distance from the plane [m], shape (..., 3) to (...)."""
        return np.asarray(points, dtype=np.float64) @ self.normal - self.offset

    @property
    def axes(self) -> Array:
        """Two unit vectors in the plane, shape (3, 2)."""
        return plane_axes(self.normal)

    def covers(self, points: ArrayLike, margin: float = 0.05) -> NDArray[np.bool_]:
        """Which points lie above or below the observed rectangle, enlarged by `margin` [m]."""
        flat = np.asarray(points, dtype=np.float64) @ self.axes
        return np.asarray(np.all((flat >= self.lower - margin) & (flat <= self.upper + margin), axis=-1))


class PlaneFilter:
    """Removes planes from points, and keeps them as the initial guess for the next frame."""

    def __init__(self, settings: PlaneSettings | None = None):
        self.settings = PlaneSettings() if settings is None else settings
        self._remembered: list[DetectedPlane] = []

    def reset(self) -> None:
        """Drop the known planes, for example after the camera was moved."""
        self._remembered = []

    def split(self, voxels: Voxels, viewpoint: ArrayLike) -> tuple[NDArray[np.bool_], tuple[DetectedPlane, ...]]:
        """Which points belong to no plane.

        Args:
            voxels: In the base frame.
            viewpoint: Camera position in the base frame [m], shape (3,).

        Returns:
            One flag per point, True for those that belong to no plane, and the planes.
        """
        settings = self.settings
        xyz = voxels.xyz.astype(np.float64)
        stays = np.ones(len(xyz), np.bool_)
        if settings.max_planes == 0 or len(xyz) < settings.min_points:
            return stays, ()
        origin = np.asarray(viewpoint, dtype=np.float64)
        away = xyz - origin
        noise = voxels.sigma / np.sqrt(np.maximum(np.einsum("ij,ij->i", away, away), 1e-18))
        found: list[DetectedPlane] = []
        for known in [*self._remembered, None]:
            if len(found) == settings.max_planes:
                break
            while True:
                # Little of a floor is visible around a table, so its share is relative to the remaining points. A
                # higher plane may be the top face of a box: it must be as large as a table.
                rest = int(np.count_nonzero(stays))
                min_support = max(settings.min_points, int(settings.min_share * rest))
                plane = self._fit(xyz[stays], voxels.sigma[stays], noise[stays], origin, min_support, known)
                if plane is None:
                    break
                lower = all(plane.offset < other.offset - MIN_FLOOR_DROP for other in found)
                if not (found and lower) and plane.coverage < MIN_COVERAGE:
                    break
                if plane.support < settings.min_share * len(xyz) and not lower:
                    break
                found.append(plane)
                heights = plane.heights(xyz)
                stays &= np.abs(heights) > self._threshold(noise, heights, plane.heights(origin))
                under = np.flatnonzero(stays & (heights <= 0.0) & (heights >= -settings.max_below))
                stays[under[plane.covers(xyz[under])]] = False
                if known is not None or len(found) == settings.max_planes:
                    break
        self._remembered = found
        return stays, tuple(found)

    def _threshold(self, noise: Array, heights: Array, viewpoint_height: Array | float) -> Array:
        """Distance threshold per point [m].

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
        sigma: NDArray[np.float32],
        noise: Array,
        viewpoint: Array,
        min_support: int,
        known: DetectedPlane | None,
    ) -> DetectedPlane | None:
        settings = self.settings
        if len(xyz) < min_support:
            return None
        if known is None:
            up = np.asarray(settings.up, dtype=np.float64)
            up = up / np.linalg.norm(up)
            # A thousand points are enough to find a plane.
            few = np.random.default_rng(0).permutation(len(xyz))[:1000]
            tolerance = (settings.distance_threshold + 0.5 * settings.deviations * sigma[few]).astype(np.float64)
            normal, offset, score = _ransac(xyz[few], tolerance, up, math.cos(settings.max_tilt), settings.iterations)
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
            normal, offset = _least_squares(xyz[some][near], weights, normal)
        along = xyz @ normal
        share = np.abs(along - offset) / self._threshold(noise, along, viewpoint @ normal)
        near = share <= 1.0
        support = int(np.count_nonzero(near))
        if support < min_support or np.quantile(share[near], 0.8) > MAX_SPREAD:
            return None
        if abs(normal @ np.asarray(settings.up)) < (math.cos(settings.max_tilt) - 1e-9) * np.linalg.norm(settings.up):
            return None
        flat = xyz[near] @ plane_axes(normal)
        # Quantiles: a few outliers at the same height must not enlarge a table.
        lower, upper = np.quantile(flat, [0.003, 0.997], axis=0)
        coverage = _coverage(flat, lower, upper)
        if known is not None:
            lower, upper = np.minimum(lower, known.lower), np.maximum(upper, known.upper)
        plane = DetectedPlane(normal, offset, support, known is not None, lower, upper, coverage)
        return None if known is None and self._is_top_faces(xyz, noise, viewpoint, plane) else plane


def _coverage(flat: Array, lower: Array, upper: Array) -> float:
    """Share of the cells of a rectangle that hold points, shape (points, 2)."""
    inside = np.all((flat >= lower) & (flat <= upper), axis=1)
    cell = np.maximum((upper - lower) / np.maximum(np.ceil((upper - lower) / GRID_CELL), 1.0), 1e-9)
    row, column = ((flat[inside] - lower) / cell * (1.0 - 1e-9)).astype(np.intp).T
    held = np.zeros((row.max(initial=0) + 1, column.max(initial=0) + 1), np.bool_)
    held[row, column] = True
    return float(held.mean())


def plane_axes(normal: Array) -> Array:
    """Two unit vectors normal to a vector, the first as close to x as possible, shape (3, 2)."""
    x = np.array([1.0, 0.0, 0.0]) if abs(normal[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = x - (x @ normal) * normal
    x /= np.linalg.norm(x)
    return np.column_stack([x, lie.hat(normal) @ x])


def _least_squares(xyz: Array, weights: Array, towards: Array) -> tuple[Array, float]:
    """Weighted min_support-squares plane."""
    w = weights**2 / np.sum(weights**2)
    middle = w @ xyz
    centred = xyz - middle
    _, axes = np.linalg.eigh((centred * w[:, None]).T @ centred)
    normal = axes[:, 0] if axes[:, 0] @ towards >= 0.0 else -axes[:, 0]
    return normal, float(normal @ middle)


@njit(cache=True, nogil=True)
def _ransac(xyz, threshold, up, min_cosine, iterations):  # type: ignore[no-untyped-def]
    """The plane through three points with the most inliers."""
    n = xyz.shape[0]
    state = np.uint64(88172645463325252)
    best_normal, best_offset, best_score = np.zeros(3), 0.0, 0
    corners = np.zeros(3, np.int64)
    for _ in range(iterations):
        for k in range(3):
            state ^= state << np.uint64(13)
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            corners[k] = np.int64(state % np.uint64(n))
        a, b, c = xyz[corners[0]], xyz[corners[1]], xyz[corners[2]]
        nx = (b[1] - a[1]) * (c[2] - a[2]) - (b[2] - a[2]) * (c[1] - a[1])
        ny = (b[2] - a[2]) * (c[0] - a[0]) - (b[0] - a[0]) * (c[2] - a[2])
        nz = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        length = math.sqrt(nx * nx + ny * ny + nz * nz)
        if length < 1e-6:
            continue
        cosine = (nx * up[0] + ny * up[1] + nz * up[2]) / length
        if abs(cosine) < min_cosine - 1e-9:
            continue
        if cosine < 0.0:
            length = -length
        nx, ny, nz = nx / length, ny / length, nz / length
        offset = nx * a[0] + ny * a[1] + nz * a[2]
        score = 0
        for i in range(n):
            score += abs(nx * xyz[i, 0] + ny * xyz[i, 1] + nz * xyz[i, 2] - offset) <= threshold[i]
        if score > best_score:
            best_score, best_offset = score, offset
            best_normal[0], best_normal[1], best_normal[2] = nx, ny, nz
    return best_normal, best_offset, best_score
