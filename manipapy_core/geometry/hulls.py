"""Convex hulls by scipy, and hulls decimated to few vertices with a ball around them that covers the rest."""

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
    thickness = np.linalg.svd(centred, compute_uv=False)[2] / np.sqrt(len(points))
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
    planes = np.unique(np.round(np.column_stack([found.equations[:, :3], -found.equations[:, 3]]), 9), axis=0)
    return Hull(points[found.vertices].copy(), planes, triangles)


def file_digest(filename: str) -> str:
    return hashlib.sha256(Path(filename).read_bytes()).hexdigest()


FEW_VERTICES, MOST_VERTICES = 48, 96
"""The support function visits all of them."""
DECIMATION = 0.001
"""More vertices than few are kept until the others lie this close to their hull [m]."""


@functools.lru_cache(maxsize=2048)
def decimate_hull(mesh: ConvexMesh) -> tuple[Array, float]:
    """Some of the vertices, and the radius of the ball that added to their hull covers the whole mesh [m].

    Those farthest from the hull of the vertices taken so far are taken next. No vertex that is left out lies farther
    from that hull than from a point inside it: Gilbert's algorithm brings that bound close to the true distance.
    """
    vertices = mesh.vertices
    if len(vertices) <= FEW_VERTICES:
        return vertices, 0.0
    from scipy.spatial import ConvexHull

    directions = np.concatenate([np.eye(3), -np.eye(3), np.stack(np.meshgrid(*3 * [[-1.0, 1.0]])).reshape(3, -1).T])
    taken = list(dict.fromkeys(np.argmax(vertices @ directions.T, axis=0).tolist()))
    while True:
        hull = ConvexHull(vertices[taken])
        heights = (vertices @ hull.equations[:, :3].T + hull.equations[:, 3]).max(axis=1)
        enough = len(taken) >= FEW_VERTICES and heights.max() <= DECIMATION
        if enough or len(taken) >= MOST_VERTICES or heights.max() <= 1e-9:
            break
        taken += _spread(vertices, heights, min(6, MOST_VERTICES - len(taken)))
    corners = vertices[taken]
    return corners, float(_distances_to_hull(vertices, corners).max())


def _spread(vertices: Array, heights: Array, count: int) -> list[int]:
    """Some of the vertices that stand out most, not next to each other."""
    added: list[int] = []
    apart = np.ones(len(vertices), dtype=np.bool_)
    while len(added) < count and apart.any():
        index = int(np.argmax(np.where(apart, heights, -1.0)))
        if heights[index] <= 1e-9:
            break
        added.append(index)
        # A bulge of height h over an edge of a round part with radius 5 cm is about this wide.
        width = 3.0 * np.sqrt(0.05 * heights[index])
        apart &= np.linalg.norm(vertices - vertices[index], axis=1) > width
    return added


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _distances_to_hull(points: Array, corners: Array) -> Array:
    """Upper bounds of the distances of points to the hull of the corners (Gilbert's algorithm)."""
    distances = np.empty(len(points))
    for i in range(len(points)):
        px, py, pz = points[i, 0], points[i, 1], points[i, 2]
        x, y, z = corners[0, 0], corners[0, 1], corners[0, 2]
        for _ in range(200):
            ax, ay, az = px - x, py - y, pz - z
            best, height = 0, -np.inf
            for k in range(len(corners)):
                h = ax * corners[k, 0] + ay * corners[k, 1] + az * corners[k, 2]
                if h > height:
                    best, height = k, h
            sx, sy, sz = corners[best, 0] - x, corners[best, 1] - y, corners[best, 2] - z
            gain, square = ax * sx + ay * sy + az * sz, sx * sx + sy * sy + sz * sz
            if gain <= 1e-12 or square == 0.0:
                break
            share = min(gain / square, 1.0)
            x, y, z = x + share * sx, y + share * sy, z + share * sz
        distances[i] = ((px - x) ** 2 + (py - y) ** 2 + (pz - z) ** 2) ** 0.5
    return distances


def spread_directions(count: int) -> Array:
    """Unit vectors spread evenly over the sphere (Fibonacci lattice), shape (count, 3)."""
    k = np.arange(count) + 0.5
    z = 1.0 - 2.0 * k / count
    angle = np.pi * (1.0 + 5.0**0.5) * k
    across = np.sqrt(1.0 - z * z)
    return np.column_stack([across * np.cos(angle), across * np.sin(angle), z])
