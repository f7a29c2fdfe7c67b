"""Tables and floors: found by RANSAC, remembered from frame to frame, and taken out of the points."""

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

ENOUGH = 2000
"""Points that planes are fitted to, at least."""

LID = 0.2
"""Below a table nothing is seen; below the lids of things are their sides. How deep is looked [m] ..."""
SIDES = 0.3
"""... and how many points may be there, by the number of points in the plane."""
UNEVEN = 0.6
"""Four of five points of a plane lie within this share of its thickness: those of a table gather about its middle, but
those of things through which a plane is laid fill it evenly."""
SQUARE = 0.1
"""Edge of squares [m] ..."""
SCATTERED = 0.25
"""... of which a table is seen in more than this share; what is level in fewer are the lids of scattered things."""
BELOW = 0.1
"""A floor lies at least so far below a table [m]."""


@dataclass(frozen=True)
class PlaneSettings:
    """Which planes are taken out."""

    most: int = 2
    """At most so many per frame; 0 keeps tables as obstacles."""
    thickness: float = 0.01
    """Points this far above or below count to the plane [m] ..."""
    deviations: float = 2.0
    """... and so many standard deviations of their own more."""
    least_share: float = 0.15
    """A plane holds at least this share of the points, one below others of those that they leave ..."""
    least_points: int = 150
    """... and at least so many."""
    tilt: float = 0.12
    """Largest angle between its normal and `up` [rad]; π/2 takes out walls as well."""
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """Which way tables face, in the base frame."""
    below: float = 1.5
    """What lies below a plane's seen part by up to this counts to it as well [m]: edges, legs, what stands under it."""
    tries: int = 120
    """Planes that are tried before the best one is taken."""

    def __post_init__(self) -> None:
        if self.most < 0 or self.least_points < 3 or self.tries < 1:
            raise InputError("planes: give most >= 0, least_points >= 3 and tries >= 1")
        if not (0.0 < self.thickness < 1.0 and self.deviations >= 0.0 and self.below >= 0.0):
            raise InputError("planes: give 0 < thickness < 1 m, deviations >= 0 and below >= 0")
        if not 0.0 <= self.least_share <= 1.0:
            raise InputError(f"planes: least_share is {self.least_share}; give 0 to 1")
        if not 0.0 < self.tilt <= math.pi / 2 + 1e-9:
            raise InputError(f"planes: tilt is {self.tilt} rad; give more than 0 and at most π/2")
        if not np.linalg.norm(self.up) > 0.0:
            raise InputError("planes: up is zero; give a direction")


@dataclass(frozen=True, eq=False)
class PlaneFound:
    """A plane: normal · x = offset."""

    normal: Array
    """Unit vector towards `up`, shape (3,)."""
    offset: float
    """[m]"""
    support: int
    """Points that lie in it."""
    remembered: bool
    """Found where the last frame had it, without a search."""
    lower: Array
    upper: Array
    """Corners of the rectangle that was seen of it, along `axes` [m], shape (2,)."""
    cover: float
    """Share of the rectangle's squares of 10 cm in which it was seen."""

    def heights(self, points: ArrayLike) -> Array:
        """Above the plane [m], shape (..., 3) to (...)."""
        return np.asarray(points, dtype=np.float64) @ self.normal - self.offset

    @property
    def axes(self) -> Array:
        """Two unit vectors in the plane, shape (3, 2)."""
        return plane_axes(self.normal)

    def covers(self, points: ArrayLike, margin: float = 0.05) -> NDArray[np.bool_]:
        """Which points lie above or below the part that was seen, or at most `margin` [m] beside it."""
        flat = np.asarray(points, dtype=np.float64) @ self.axes
        return np.asarray(np.all((flat >= self.lower - margin) & (flat <= self.upper + margin), axis=-1))


class PlaneFilter:
    """Takes planes out of points, and remembers them for the next frame."""

    def __init__(self, settings: PlaneSettings | None = None):
        self.settings = PlaneSettings() if settings is None else settings
        self._remembered: list[PlaneFound] = []

    def forget(self) -> None:
        """Search anew in the next frame, such as after the camera was moved."""
        self._remembered = []

    def split(self, voxels: Voxels, eye: ArrayLike) -> tuple[NDArray[np.bool_], tuple[PlaneFound, ...]]:
        """Which points belong to no plane.

        Args:
            voxels: In the base frame.
            eye: Where the camera is, in the base frame [m], shape (3,).

        Returns:
            One flag per point, True for those that stay, and the planes.
        """
        chosen = self.settings
        xyz = voxels.xyz.astype(np.float64)
        stays = np.ones(len(xyz), np.bool_)
        if chosen.most == 0 or len(xyz) < chosen.least_points:
            return stays, ()
        origin = np.asarray(eye, dtype=np.float64)
        away = xyz - origin
        noise = voxels.sigma / np.sqrt(np.maximum(np.einsum("ij,ij->i", away, away), 1e-18))
        found: list[PlaneFound] = []
        for memory in [*self._remembered, None]:
            if len(found) == chosen.most:
                break
            while True:
                # Of a floor little is seen around a table, so its share is that of what the table leaves. What lies
                # higher may be the lid of a box: it must be as large as a table.
                rest = int(np.count_nonzero(stays))
                least = max(chosen.least_points, int(chosen.least_share * rest))
                plane = self._fit(xyz[stays], voxels.sigma[stays], noise[stays], origin, least, memory)
                if plane is None:
                    break
                lower = all(plane.offset < other.offset - BELOW for other in found)
                if not (found and lower) and plane.cover < SCATTERED:
                    break
                if plane.support < chosen.least_share * len(xyz) and not lower:
                    break
                found.append(plane)
                heights = plane.heights(xyz)
                stays &= np.abs(heights) > self._thickness(noise, heights, plane.heights(origin))
                under = np.flatnonzero(stays & (heights <= 0.0) & (heights >= -chosen.below))
                stays[under[plane.covers(xyz[under])]] = False
                if memory is not None or len(found) == chosen.most:
                    break
        self._remembered = found
        return stays, tuple(found)

    def _thickness(self, noise: Array, heights: Array, eye_height: Array | float) -> Array:
        """Depth noise moves a point along its line of sight: only its share across the plane counts.

        Args:
            noise: Standard deviations by the distance from the eye.
            heights: Of the points and of the eye along the normal, from anywhere [m].
        """
        chosen = self.settings
        return np.asarray(chosen.thickness + chosen.deviations * noise * np.abs(heights - eye_height))

    def _is_lids(self, xyz: Array, noise: Array, eye: Array, plane: PlaneFound) -> bool:
        """Whether it is made of the upper sides of things that stand on a table without texture, which is not seen."""
        heights = plane.heights(xyz)
        thick = self._thickness(noise, heights, plane.heights(eye))
        under = (heights < -thick) & (heights > -LID) & plane.covers(xyz, 0.0)
        return bool(np.count_nonzero(under) > SIDES * plane.support)

    def _fit(
        self,
        xyz: Array,
        sigma: NDArray[np.float32],
        noise: Array,
        eye: Array,
        least: int,
        memory: PlaneFound | None,
    ) -> PlaneFound | None:
        chosen = self.settings
        if len(xyz) < least:
            return None
        if memory is None:
            up = np.asarray(chosen.up, dtype=np.float64)
            up = up / np.linalg.norm(up)
            # A thousand points tell a plane as well as all of them.
            few = np.random.default_rng(0).permutation(len(xyz))[:1000]
            tolerance = (chosen.thickness + 0.5 * chosen.deviations * sigma[few]).astype(np.float64)
            normal, offset, score = _ransac(xyz[few], tolerance, up, math.cos(chosen.tilt), chosen.tries)
            if score * len(xyz) < 0.5 * least * len(few):
                return None
        else:
            normal, offset = memory.normal, memory.offset
        # A few thousand points fit as well as all of them; only the support is counted over all.
        some = slice(None, None, 1 + len(xyz) // ENOUGH)
        for _ in range(3):
            along = xyz[some] @ normal
            near = np.abs(along - offset) <= self._thickness(noise[some], along, eye @ normal)
            if np.count_nonzero(near) * len(xyz) < least * len(near):
                return None
            weights = 1.0 / np.maximum(sigma[some][near], 1e-4).astype(np.float64)
            normal, offset = _least_squares(xyz[some][near], weights, normal)
        along = xyz @ normal
        share = np.abs(along - offset) / self._thickness(noise, along, eye @ normal)
        near = share <= 1.0
        support = int(np.count_nonzero(near))
        if support < least or np.quantile(share[near], 0.8) > UNEVEN:
            return None
        if abs(normal @ np.asarray(chosen.up)) < (math.cos(chosen.tilt) - 1e-9) * np.linalg.norm(chosen.up):
            return None
        flat = xyz[near] @ plane_axes(normal)
        # A few strays of another surface at the same height shall not make a table larger.
        lower, upper = np.quantile(flat, [0.003, 0.997], axis=0)
        cover = _cover(flat, lower, upper)
        if memory is not None:
            lower, upper = np.minimum(lower, memory.lower), np.maximum(upper, memory.upper)
        plane = PlaneFound(normal, offset, support, memory is not None, lower, upper, cover)
        return None if memory is None and self._is_lids(xyz, noise, eye, plane) else plane


def _cover(flat: Array, lower: Array, upper: Array) -> float:
    """Share of the squares in a rectangle that hold points, shape (points, 2)."""
    inside = np.all((flat >= lower) & (flat <= upper), axis=1)
    square = np.maximum((upper - lower) / np.maximum(np.ceil((upper - lower) / SQUARE), 1.0), 1e-9)
    row, column = ((flat[inside] - lower) / square * (1.0 - 1e-9)).astype(np.intp).T
    held = np.zeros((row.max(initial=0) + 1, column.max(initial=0) + 1), np.bool_)
    held[row, column] = True
    return float(held.mean())


def plane_axes(normal: Array) -> Array:
    """Two unit vectors across a normal, the first as near to x as can be, shape (3, 2)."""
    x = np.array([1.0, 0.0, 0.0]) if abs(normal[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = x - (x @ normal) * normal
    x /= np.linalg.norm(x)
    return np.column_stack([x, lie.hat(normal) @ x])


def _least_squares(xyz: Array, weights: Array, towards: Array) -> tuple[Array, float]:
    """Plane through points, each with the weight of its certainty."""
    w = weights**2 / np.sum(weights**2)
    middle = w @ xyz
    centred = xyz - middle
    _, axes = np.linalg.eigh((centred * w[:, None]).T @ centred)
    normal = axes[:, 0] if axes[:, 0] @ towards >= 0.0 else -axes[:, 0]
    return normal, float(normal @ middle)


@njit(cache=True, nogil=True)
def _ransac(xyz, thick, up, least_cosine, tries):  # type: ignore[no-untyped-def]
    """The plane through three points that most points lie in."""
    n = xyz.shape[0]
    state = np.uint64(88172645463325252)
    best_normal, best_offset, best_score = np.zeros(3), 0.0, 0
    corners = np.zeros(3, np.int64)
    for _ in range(tries):
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
        if abs(cosine) < least_cosine - 1e-9:
            continue
        if cosine < 0.0:
            length = -length
        nx, ny, nz = nx / length, ny / length, nz / length
        offset = nx * a[0] + ny * a[1] + nz * a[2]
        score = 0
        for i in range(n):
            score += abs(nx * xyz[i, 0] + ny * xyz[i, 1] + nz * xyz[i, 2] - offset) <= thick[i]
        if score > best_score:
            best_score, best_offset = score, offset
            best_normal[0], best_normal[1], best_normal[2] = nx, ny, nz
    return best_normal, best_offset, best_score
