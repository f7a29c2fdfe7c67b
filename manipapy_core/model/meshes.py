"""Mesh files: found, read and written.

A reference is followed only where `packages` allows it. Files are read by trimesh, which is imported when the first
mesh is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import MeshNotFound, MissingPackage
from ..typing import Array
from .packages import PACKAGE_NAME, PackageSearch
from .tessellation import Triangles

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.ASCII | re.IGNORECASE)


class MeshFinder:
    """Resolves the mesh references of one description to file names."""

    def __init__(
        self,
        description: str | None,
        package_paths: Sequence[str | os.PathLike[str]] = (),
        search: PackageSearch | None = None,
    ) -> None:
        """Fix the folders that may be read.

        Args:
            description: The description's folder or file, where relative references start; None for a text.
            package_paths: Package folders, or folders that contain them.
            search: A search for the same description that exists already.

        Raises:
            InputError: A package path is not a folder.
        """
        self._search = search or PackageSearch(description, package_paths)
        self.assumed: dict[str, str] = {}
        """Packages that were not found, with the folder in which their files were found all the same."""

    def find(self, uri: str) -> str:
        """Absolute path of the file behind a mesh reference.

        Args:
            uri: `package://name/path`, `model://name/path`, `file:///path`, or a path relative to the description.

        Raises:
            MeshNotFound: Missing, or outside the folders that may be read; lists the searched paths.
        """
        candidates, cure = self._candidates(uri)
        refused = [path for path in candidates if not self._search.allows(path)]
        for path in candidates:
            if path not in refused and os.path.isfile(path):
                return os.path.abspath(path)
        if refused:
            raise MeshNotFound(
                uri,
                f"leads to {os.path.realpath(refused[0])}, outside the folder of the description, the "
                "package paths and the ROS packages; add its folder to package_paths, or move the file",
            )
        searched = ", ".join(candidates) or "nowhere, no folder is known"
        raise MeshNotFound(uri, f"file not found, searched: {searched}; {cure}")

    def _candidates(self, uri: str) -> tuple[list[str], str]:
        """Places where the file may be, best first, and the cure when it is in none of them."""
        scheme = _SCHEME.match(uri)
        rest = uri[scheme.end() :] if scheme else uri
        kind = scheme.group(1).lower() if scheme else ""
        if kind in ("package", "model"):
            package, _, path = rest.lstrip("/").partition("/")
            if not PACKAGE_NAME.fullmatch(package) or not path:
                raise MeshNotFound(uri, f"is not of the form {kind}://name/path; correct it")
            cure = f"pass package_paths=[the folder of package {package!r}, or the folder that contains it]"
            return self._in_package(package, path), cure
        if kind == "file":
            host, _, path = rest.partition("/")
            if host not in ("", "localhost"):
                raise MeshNotFound(uri, f"names the host {host!r}; only local files are read, write file:///...")
            return [os.path.normpath("/" + unquote(path))], "correct the path"
        if kind:
            raise MeshNotFound(uri, f"has the unknown scheme {kind}://; use package://, file:// or a relative path")
        if os.path.isabs(uri):
            return [os.path.normpath(uri)], "correct the path"
        cure = "correct the path (it is relative to the description) or pass package_paths"
        starts = [*self._search.starts, *self._search.given]
        return [os.path.normpath(os.path.join(start, uri)) for start in starts], cure

    def _in_package(self, package: str, path: str) -> list[str]:
        places = [os.path.normpath(os.path.join(folder.path, path)) for folder in self._search.packages(package)]
        if any(os.path.isfile(place) for place in places):
            return places
        # A package that was copied under another name: its meshes/ beside urdf/ are still where they were.
        parts = os.path.normpath(path).split(os.sep)
        for first in range(len(parts)):
            for folder in self._search.inside_own_trees:
                place = os.path.join(folder, *parts[first:])
                if ".." not in parts and os.path.isfile(place) and self._search.allows(place):
                    self.assumed[package] = folder
                    return [*places, place]
        return places or [os.path.normpath(os.path.join(given, package, path)) for given in self._search.given]


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """The triangles of a mesh file."""

    points: Array
    """[m], shape (points, 3)."""
    triangles: NDArray[np.int64]
    """Points of each triangle, shape (triangles, 3)."""

    @property
    def corners(self) -> Array:
        """Corners of each triangle [m], shape (triangles, 3, 3)."""
        return self.points[self.triangles]


def load_mesh(filename: str, scale: ArrayLike = 1.0) -> TriangleMesh:
    """Read a mesh file: STL, OBJ, COLLADA and the other formats of trimesh.

    Args:
        filename: As `MeshFinder.find` returns it.
        scale: Of the coordinates, one number or one per axis.

    Raises:
        MeshNotFound: Missing, broken or without triangles.
        MissingPackage: trimesh is not installed.
    """
    if not os.path.isfile(filename):
        raise MeshNotFound(
            filename,
            "was not found when the robot was read, but is needed now; pass package_paths to Robot.from_urdf",
        )
    found = _binary_stl(filename) or _collada(filename)
    if found is not None:
        return _checked(filename, *found, scale)
    try:
        import trimesh
    except ImportError:
        raise MissingPackage("trimesh", f"mesh {filename!r}", "collision") from None
    try:
        loaded: Any = trimesh.load(filename, force="mesh", process=False)
        points = np.array(loaded.vertices, dtype=np.float64).reshape(-1, 3)
        triangles = np.array(loaded.faces, dtype=np.int64).reshape(-1, 3)
    except Exception as error:  # parsers of other people raise anything on a broken file, collada.DaeError among it
        raise MeshNotFound(
            filename, f"cannot be read ({str(error)[:200] or type(error).__name__}); export it again as binary STL"
        ) from error
    return _checked(filename, points, triangles, scale)


def _checked(filename: str, points: Array, triangles: NDArray[np.int64], scale: ArrayLike) -> TriangleMesh:
    if len(triangles) == 0:
        raise MeshNotFound(filename, "is broken or holds no triangles; export it again as binary STL")
    if not np.isfinite(points).all():
        raise MeshNotFound(filename, "has coordinates that are not finite; export it again as binary STL")
    _check_triangles(filename, triangles, len(points))
    return TriangleMesh(points * np.asarray(scale, dtype=np.float64), triangles)


def _check_triangles(filename: str, triangles: NDArray[np.int64], count: int) -> None:
    """A negative number would count from the end."""
    if triangles.size and not 0 <= triangles.min() <= triangles.max() < count:
        raise MeshNotFound(filename, "has triangles of points that do not exist; export it again as binary STL")


def _binary_stl(filename: str) -> tuple[Array, NDArray[np.int64]] | None:
    """Points and triangles of a binary STL file; None if it is not one.

    Not by trimesh, whose import takes 1.2 s of CPU time beyond that of NumPy and SciPy; nearly all collision meshes are
    such files.
    """
    size = os.path.getsize(filename)
    with open(filename, "rb") as file:
        head = file.read(84)
        count = int.from_bytes(head[80:], "little")
        if len(head) < 84 or not filename.lower().endswith(".stl") or size != 84 + 50 * count:
            return None
        rows = np.fromfile(file, dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    return rows["corners"].astype(np.float64).reshape(-1, 3), np.arange(3 * count, dtype=np.int64).reshape(-1, 3)


def _collada(filename: str) -> tuple[Array, NDArray[np.int64]] | None:
    """Points and triangles of all geometry nodes of a COLLADA scene; None if it is not such a file.

    By pycollada, which trimesh reads these files by, without the import of trimesh.
    """
    if not filename.lower().endswith(".dae"):
        return None
    try:
        import collada
    except ImportError:
        return None
    points: list[Array] = [np.empty((0, 3))]
    triangles: list[NDArray[np.int64]] = [np.empty((0, 3), dtype=np.int64)]
    count = 0
    try:
        document = collada.Collada(filename, ignore=[collada.DaeError])
        for geometry in document.scene.objects("geometry"):
            for primitive in geometry.primitives():
                if hasattr(primitive, "triangleset"):  # polygons
                    primitive = primitive.triangleset()
                if not isinstance(primitive, collada.triangleset.BoundTriangleSet) or primitive.vertex_index is None:
                    continue  # lines
                own = np.asarray(primitive.vertex_index, dtype=np.int64).reshape(-1, 3)
                points.append(np.asarray(primitive.vertex, dtype=np.float64))
                _check_triangles(filename, own, len(points[-1]))
                triangles.append(own + count)
                count += len(points[-1])
    except MeshNotFound:
        raise
    except Exception:  # parsers of other people raise anything; trimesh then says what it makes of the file
        return None
    return np.concatenate(points), np.concatenate(triangles)


def write_obj(filename: str, mesh: TriangleMesh | Triangles) -> None:
    """Write an OBJ file, with normals and texture coordinates if the mesh has them.

    Not by trimesh, whose import takes 1.8 s of CPU time where this takes 0.02 s for a simulation's round shapes; its
    writer also leaves texture coordinates out of meshes without a material.
    """
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in mesh.points]
    if isinstance(mesh, Triangles):
        lines += [f"vt {u:.9g} {v:.9g}" for u, v in mesh.texture]
        lines += [f"vn {x:.9g} {y:.9g} {z:.9g}" for x, y, z in mesh.normals]
        lines += ["f " + " ".join(f"{i}/{i}/{i}" for i in face) for face in mesh.faces + 1]
    else:
        lines += [f"f {i} {j} {k}" for i, j, k in mesh.triangles + 1]
    with open(filename, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
