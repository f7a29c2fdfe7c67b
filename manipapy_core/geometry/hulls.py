"""Convex hulls and mesh files, by scipy and trimesh, which load when they are first needed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ManipapyError

Array = NDArray[np.float64]

FLAT = 1e-6
"""Points that lie this close to a plane [m] span no volume."""


class MissingPackage(ManipapyError, ImportError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, purpose: str, extra: str = "collision"):
        super().__init__(f"{purpose} needs the package {package!r}; pip install 'manipapy[{extra}]' brings it")
        self.package, self.purpose, self.extra = package, purpose, extra


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
        raise MissingPackage("scipy", "a convex hull") from None
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


def read_mesh(filename: str, scale: Array) -> Array:
    """Points of a mesh file (STL, OBJ, DAE and what else trimesh reads) [m], shape (points, 3)."""
    try:
        import trimesh
    except ImportError:
        raise MissingPackage("trimesh", f"mesh {filename!r}") from None
    if not Path(filename).is_file():
        raise InputError(f"mesh {filename!r} is not there; give package_paths to Robot.from_urdf, or correct the file")
    try:
        loaded: Any = trimesh.load(filename, force="mesh", process=False)
        points = np.array(loaded.vertices, dtype=np.float64).reshape(-1, 3)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, ImportError) as error:
        # trimesh reports broken files, unknown endings and missing readers by any of these
        raise InputError(f"mesh {filename!r} cannot be read: {error}; export it again as binary STL") from error
    if len(points) == 0:
        raise InputError(f"mesh {filename!r} is empty; export it again")
    return points * scale


def file_digest(filename: str) -> str:
    return hashlib.sha256(Path(filename).read_bytes()).hexdigest()
