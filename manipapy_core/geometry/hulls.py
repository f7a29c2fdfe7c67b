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


MOST_VERTICES = 48
"""The support function visits all of them."""


@functools.lru_cache(maxsize=512)
def decimate_hull(mesh: ConvexMesh) -> tuple[Array, float]:
    """At most `MOST_VERTICES` corners, and the radius of the ball that added to their hull covers the whole mesh [m].

    The corners are spread over the mesh by always taking the one farthest from those taken. No corner that is left
    out lies farther from the hull of the others than from the nearest of them; a few steps of Gilbert's algorithm
    bring that bound close to the true distance.
    """
    vertices = mesh.vertices
    if len(vertices) <= MOST_VERTICES:
        return vertices, 0.0
    taken = [int(np.argmax(np.linalg.norm(vertices - vertices.mean(axis=0), axis=1)))]
    nearest = np.linalg.norm(vertices - vertices[taken[0]], axis=1)
    while len(taken) < MOST_VERTICES:
        taken.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, np.linalg.norm(vertices - vertices[taken[-1]], axis=1))
    corners = vertices[taken]
    points = corners[np.argmin(np.linalg.norm(vertices[:, None] - corners, axis=2), axis=1)]
    for _ in range(200):
        ends = corners[np.argmax((vertices - points) @ corners.T, axis=1)]
        step = ends - points
        square = np.sum(step * step, axis=1)
        share = np.sum((vertices - points) * step, axis=1) / np.where(square > 0.0, square, 1.0)
        points = points + np.clip(share, 0.0, 1.0)[:, None] * step
    return corners, float(np.linalg.norm(vertices - points, axis=1).max())
