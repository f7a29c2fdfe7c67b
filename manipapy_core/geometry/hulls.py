"""Convex hulls by scipy, and their levels: few vertices with a ball around them that covers the rest."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, MissingPackage
from ..jit import njit
from ..typing import Array

if TYPE_CHECKING:
    from .shapes import ConvexMesh

FLAT = 1e-6
"""Points that lie this close to a plane [m] span no volume."""


@dataclass(frozen=True)
class Hull:
    """Corners, face planes (n, offset) and outward triangles of a convex hull."""

    vertices: Array
    planes: Array
    triangles: NDArray[np.int64]


def convex_hull(points: Array) -> Hull:
    """The convex hull of points, shape (points, 3) [m]."""
    if len(points) < 4:
        raise InputError(f"a convex mesh needs at least 4 points that are not in one plane, not {len(points)}")
    centred = points - points.mean(axis=0)
    thickness = np.sqrt(max(0.0, np.linalg.eigvalsh(centred.T @ centred)[0]) / len(points))
    if thickness < FLAT:
        raise InputError(f"the {len(points)} points of a convex mesh lie in one plane; they must span a volume")
    try:
        from scipy.spatial import ConvexHull
    except ImportError:
        raise MissingPackage("scipy", "a convex hull", "collision") from None
    found = ConvexHull(points)
    numbers = np.full(len(points), -1, dtype=np.int64)
    numbers[found.vertices] = np.arange(len(found.vertices))
    triangles = numbers[found.simplices]
    corners = points[found.simplices]
    # Qhull does not order the corners of a face; its equation tells the outside.
    turned = np.einsum(
        "ij,ij->i",
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]),
        found.equations[:, :3],
    )
    triangles[turned < 0] = triangles[turned < 0][:, ::-1]
    planes = np.column_stack([found.equations[:, :3], -found.equations[:, 3]])
    return Hull(points[found.vertices].copy(), _without_repeats(planes), triangles)


def _without_repeats(planes: Array) -> Array:
    """One of the planes of each flat face, which Qhull lists for every triangle."""
    rounded = np.round(planes, 9)
    # Sorting by one number is ten times as fast as by rows; few planes share it by chance, and those are kept.
    ordered = rounded[np.argsort(rounded @ np.array([0.31, 0.43, 0.71, 0.47]), kind="stable")]
    return np.ascontiguousarray(ordered[np.append(True, np.any(np.diff(ordered, axis=0) != 0.0, axis=1))])


def file_digest(filename: str) -> str:
    return hashlib.sha256(Path(filename).read_bytes()).hexdigest()


COARSE_VERTICES, FINE_VERTICES = 32, 1024
"""Of the two levels of a hull. The fine one has all vertices, unless there are more."""
DECIMATION = 2e-5
"""Of a hull with more, the fine level gets vertices until the others lie this close to their hull [m]."""
CORE_STEPS, CORE_DEPTH = 32, 0.6
"""The core is as long as balls of this share of the largest radius about its ends lie inside the hull."""


@dataclass(frozen=True, eq=False)
class HullLevel:
    """Some vertices of a hull, and the ball that added to their hull covers all of it."""

    vertices: Array
    """[m], shape (vertices, 3)."""
    ball: float
    """Radius [m]."""


@dataclass(frozen=True, eq=False)
class HullLevels:
    """What the checker needs of a hull."""

    coarse: HullLevel
    fine: HullLevel
    """The same object as the coarse one if there are few vertices."""
    axes: Array
    """Principal axes as columns, the longest last, shape (3, 3)."""
    core: float
    """Half length of a segment about the origin along the longest axis [m]."""
    filled: float
    """Radius of the balls about that segment that lie inside the hull [m]."""


@functools.lru_cache(maxsize=4096)
def hull_levels(mesh: ConvexMesh) -> HullLevels:
    """Levels and core of a hull; its middle should be the origin."""
    coarse, fine = _levels(mesh.vertices)
    centred = mesh.vertices - mesh.vertices.mean(axis=0)
    axes = np.linalg.eigh(centred.T @ centred)[1]
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] *= -1.0
    normals, offsets = mesh.planes[:, :3], mesh.planes[:, 3]
    core, filled = 0.0, max(0.0, float(offsets.min()))
    for half in np.linspace(0.0, np.abs(mesh.vertices @ axes[:, 2]).max(), CORE_STEPS):
        depth = float(np.min(offsets - half * np.abs(normals @ axes[:, 2])))
        if depth > CORE_DEPTH * filled:
            core = float(half)
    depth = float(np.min(offsets - core * np.abs(normals @ axes[:, 2])))
    return HullLevels(coarse, fine, axes, core, max(0.0, depth))


def _levels(vertices: Array) -> tuple[HullLevel, HullLevel]:
    """A coarse and a fine level: vertices farthest from the hull of those taken so far are taken next."""
    if len(vertices) <= COARSE_VERTICES:
        level = HullLevel(vertices, 0.0)
        return level, level
    from scipy.spatial import ConvexHull

    directions = np.concatenate([np.eye(3), -np.eye(3), np.stack(np.meshgrid(*3 * [[-1.0, 1.0]])).reshape(3, -1).T])
    taken = list(dict.fromkeys(np.argmax(vertices @ directions.T, axis=0).tolist()))
    coarse = None
    while True:
        # Few vertices may lie in one plane, which Qhull refuses unless it may move them by rounding errors.
        hull = ConvexHull(vertices[taken], qhull_options="QJ" if len(taken) < 8 else "Qt")
        heights, highest = _heights(vertices, hull.equations)
        if coarse is None and len(taken) >= COARSE_VERTICES:
            coarse = _level(vertices, taken, hull.simplices, heights, highest)
        if coarse is not None and len(vertices) <= FINE_VERTICES:
            return coarse, HullLevel(vertices, 0.0)
        if coarse is not None and (len(taken) >= FINE_VERTICES or heights.max() <= DECIMATION):
            return coarse, _level(vertices, taken, hull.simplices, heights, highest)
        room = (FINE_VERTICES if coarse is not None else COARSE_VERTICES) - len(taken)
        known = set(taken)
        added = [int(index) for index in _spread(vertices, heights, max(1, min(max(6, len(taken) // 4), room)))]
        added = [index for index in added if index not in known]
        if not added:
            level = HullLevel(vertices, 0.0)
            return coarse or level, level
        taken += added


def _level(
    vertices: Array, taken: list[int], simplices: NDArray[np.int32], heights: Array, highest: NDArray[np.int64]
) -> HullLevel:
    corners, outside = vertices[taken], heights > 0.0
    reach = _farthest(vertices[outside], highest[outside], corners[simplices]) if outside.any() else 0.0
    return HullLevel(corners, reach + ROUNDING)


ROUNDING = 1e-6
"""Added to the ball of a level [m]: far above what the distances to its hull lose."""


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _heights(points: Array, equations: Array) -> tuple[Array, NDArray[np.int64]]:
    """Largest height of each point above the planes (normal, minus offset) of a hull, and which plane that is."""
    heights, highest = np.empty(len(points)), np.empty(len(points), dtype=np.int64)
    for i in range(len(points)):
        most, at = -np.inf, 0
        for k in range(len(equations)):
            height = (
                equations[k, 0] * points[i, 0]
                + equations[k, 1] * points[i, 1]
                + equations[k, 2] * points[i, 2]
                + equations[k, 3]
            )
            if height > most:
                most, at = height, k
        heights[i], highest[i] = most, at
    return heights, highest


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _spread(vertices: Array, heights: Array, count: int) -> NDArray[np.int64]:
    """Some of the vertices that stand out most, not next to each other."""
    added = np.empty(count, dtype=np.int64)
    apart = heights > 1e-9
    for number in range(count):
        index = -1
        for i in range(len(heights)):
            if apart[i] and (index < 0 or heights[i] > heights[index]):
                index = i
        if index < 0:
            return added[:number]
        added[number] = index
        # A bulge of height h over an edge of a round part with radius 5 cm is about this wide: 3 √(0.05 h).
        square = 9.0 * 0.05 * heights[index]
        for i in range(len(heights)):
            a, b, c = (
                vertices[i, 0] - vertices[index, 0],
                vertices[i, 1] - vertices[index, 1],
                vertices[i, 2] - vertices[index, 2],
            )
            if a * a + b * b + c * c <= square:
                apart[i] = False
    return added


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _farthest(points: Array, first: NDArray[np.int64], triangles: Array) -> float:
    """Largest distance of points to the nearest of some triangles (corners, shape (triangles, 3, 3)).

    The first triangle that a point is compared with should be a near one: mostly it shows that another is farther.
    """
    farthest = 0.0
    for i in range(len(points)):
        nearest = np.inf
        for turn in range(-1, len(triangles)):
            t = first[i] if turn < 0 else turn
            square = _square_to_triangle(points[i], triangles[t, 0], triangles[t, 1], triangles[t, 2])
            nearest = min(nearest, square)
            if nearest <= farthest:
                break
        farthest = max(farthest, nearest)
    return farthest**0.5


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _square_to_triangle(p: Array, a: Array, b: Array, c: Array) -> float:
    """Squared distance of a point to a triangle: to its plane if the foot lies inside, else to the nearest edge."""
    nearest = np.inf
    for k in range(3):
        start, end = (a, b) if k == 0 else ((b, c) if k == 1 else (c, a))
        ex, ey, ez = end[0] - start[0], end[1] - start[1], end[2] - start[2]
        dx, dy, dz = p[0] - start[0], p[1] - start[1], p[2] - start[2]
        length = ex * ex + ey * ey + ez * ez
        share = 0.0 if length == 0.0 else min(1.0, max(0.0, (dx * ex + dy * ey + dz * ez) / length))
        dx, dy, dz = dx - share * ex, dy - share * ey, dz - share * ez
        nearest = min(nearest, dx * dx + dy * dy + dz * dz)
    ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    square = nx * nx + ny * ny + nz * nz
    if square < 1e-24:
        return nearest
    wx, wy, wz = p[0] - a[0], p[1] - a[1], p[2] - a[2]
    # Barycentric coordinates of the foot of the perpendicular.
    along_c = (nx * (uy * wz - uz * wy) + ny * (uz * wx - ux * wz) + nz * (ux * wy - uy * wx)) / square
    along_b = (nx * (wy * vz - wz * vy) + ny * (wz * vx - wx * vz) + nz * (wx * vy - wy * vx)) / square
    if along_b >= 0.0 and along_c >= 0.0 and along_b + along_c <= 1.0:
        height = wx * nx + wy * ny + wz * nz
        nearest = min(nearest, height * height / square)
    return nearest


def clustered(points: Array, size: int) -> tuple[Array, Array]:
    """Points in clusters of `size` neighbours one after the other, the last one repeated, and balls around them.

    Returns:
        Points [m], shape (clusters · size, 3); rows of centre and radius [m], shape (clusters, 4).
    """
    filled = np.concatenate([points, np.repeat(points[-1:], -len(points) % size, axis=0)])

    def split(part: Array) -> list[Array]:
        if len(part) <= size:
            return [part]
        longest = np.argmax(np.ptp(part, axis=0))
        ordered = part[np.argsort(part[:, longest], kind="stable")]
        middle = len(part) // size // 2 * size
        return [*split(ordered[:middle]), *split(ordered[middle:])]

    clusters = np.array(split(filled))
    centres = 0.5 * (clusters.min(axis=1) + clusters.max(axis=1))
    radii = np.linalg.norm(clusters - centres[:, None], axis=2).max(axis=1) + ROUNDING
    return clusters.reshape(-1, 3), np.column_stack([centres, radii])


def spread_directions(count: int) -> Array:
    """Unit vectors spread evenly over the sphere (Fibonacci lattice), shape (count, 3)."""
    k = np.arange(count) + 0.5
    z = 1.0 - 2.0 * k / count
    angle = np.pi * (1.0 + 5.0**0.5) * k
    across = np.sqrt(1.0 - z * z)
    return np.column_stack([across * np.cos(angle), across * np.sin(angle), z])
