"""Mesh files: found, read and written.

A description may come over the network, so a mesh reference is never trusted: it is followed into the folder of the
description, into the given package folders and into the ament index, and nowhere else. Files are read by trimesh,
which is imported when the first mesh is read.
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

from ..errors import InputError, MeshNotFound, MissingPackage
from ..typing import Array
from .tessellation import Triangles

_PACKAGE_NAME = re.compile(r"\w[\w.-]*", re.ASCII)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class _Folder:
    """A folder that meshes may be read from."""

    path: str
    follow_links: bool
    """Whether a symbolic link inside it may lead out of it."""

    def holds(self, path: str) -> bool:
        if self.follow_links:
            return _is_inside(os.path.abspath(path), os.path.abspath(self.path))
        return _is_inside(os.path.realpath(path), os.path.realpath(self.path))


def _is_inside(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder


class MeshFinder:
    """Resolves the mesh references of one description to file names."""

    def __init__(self, description_folder: str | None, package_paths: Sequence[str | os.PathLike[str]] = ()) -> None:
        """Fix the folders that may be read.

        Args:
            description_folder: Where relative references start; None when the description is a text.
            package_paths: Package folders, or folders that contain them.

        Raises:
            InputError: A package path is not a folder.
        """
        if isinstance(package_paths, (str, os.PathLike)):
            raise InputError(f"package_paths is {package_paths!r}; give a list of folders, also for a single one")
        self._packages = [os.path.abspath(path) for path in package_paths]
        for path in self._packages:
            if not os.path.isdir(path):
                raise InputError(f"package_paths holds {path!r}, which is not a folder; correct or remove it")
        starts = [os.path.abspath(description_folder)] if description_folder is not None else []
        self._starts = starts + self._packages
        prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
        self._shares = [os.path.join(os.path.abspath(prefix), "share") for prefix in prefixes if prefix]
        # `colcon build --symlink-install` makes every installed file a link into the source tree. The user
        # built and sourced that workspace, so its links are followed; `..` still cannot leave it.
        self._folders = [_Folder(path, follow_links=False) for path in self._starts]
        self._folders += [_Folder(path, follow_links=True) for path in self._shares]

    def find(self, uri: str) -> str:
        """Absolute path of the file behind a mesh reference.

        Args:
            uri: `package://name/path`, `file:///path`, or a path relative to the description.

        Raises:
            MeshNotFound: Missing, or outside the folders that may be read; lists the searched paths.
        """
        candidates, cure = self._candidates(uri)
        refused = [path for path in candidates if not any(folder.holds(path) for folder in self._folders)]
        for path in candidates:
            if path not in refused and os.path.isfile(path):
                return os.path.abspath(path)
        if refused:
            raise MeshNotFound(
                uri,
                f"leads to {os.path.realpath(refused[0])}, outside the folder of the description, the "
                "package paths and the ament index; add its folder to package_paths, or move the file",
            )
        searched = ", ".join(candidates) or "nowhere, no folder is known"
        raise MeshNotFound(uri, f"file not found, searched: {searched}; {cure}, or pass check_meshes=False")

    def _candidates(self, uri: str) -> tuple[list[str], str]:
        """Places where the file may be, best first, and the cure when it is in none of them."""
        scheme = _SCHEME.match(uri)
        rest = uri[scheme.end() :] if scheme else uri
        kind = scheme.group(1).lower() if scheme else ""
        if kind == "package":
            package, _, path = rest.partition("/")
            if not _PACKAGE_NAME.fullmatch(package) or not path:
                raise MeshNotFound(uri, "is not of the form package://name/path; correct it")
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
        return [os.path.normpath(os.path.join(start, uri)) for start in self._starts], cure

    def _in_package(self, package: str, path: str) -> list[str]:
        folders = []
        for given in self._packages:
            if os.path.basename(given) == package:
                folders.append(given)
            folders.append(os.path.join(given, package))
        folders += [os.path.join(share, package) for share in self._shares]
        return [os.path.normpath(os.path.join(folder, path)) for folder in folders]


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """The triangles of a mesh file."""

    points: Array
    """[m], shape (points, 3)."""
    triangles: NDArray[np.int64]
    """Points of each triangle, shape (triangles, 3)."""


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
        raise MeshNotFound(filename, "file not found; correct the path, or pass package_paths to Robot.from_urdf")
    try:
        import trimesh
    except ImportError:
        raise MissingPackage("trimesh", f"mesh {filename!r}", "collision") from None
    try:
        loaded: Any = trimesh.load(filename, force="mesh", process=False)
        points = np.array(loaded.vertices, dtype=np.float64).reshape(-1, 3)
        triangles = np.array(loaded.faces, dtype=np.int64).reshape(-1, 3)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, ImportError, OSError, SyntaxError) as error:
        # trimesh and its parsers report broken files, unknown formats and missing readers by any of these.
        raise MeshNotFound(filename, f"cannot be read ({error}); export it again as binary STL") from error
    if len(triangles) == 0:
        raise MeshNotFound(filename, "is broken or holds no triangles; export it again as binary STL")
    if not np.isfinite(points).all():
        raise MeshNotFound(filename, "has coordinates that are not finite; export it again as binary STL")
    return TriangleMesh(points * np.asarray(scale, dtype=np.float64), triangles)


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
