"""Meshes in a form that PyBullet reads.

PyBullet reads OBJ and COLLADA, binary STL in some places, and STL text nowhere: it prints a warning and goes on without
the shape. So STL files of both kinds are turned into OBJ here, and what cannot be read is an error.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import MeshNotFound

MESH_FORMATS = (".obj", ".stl", ".dae")
_HEADER, _FACET = 84, 50
"""Bytes before the first triangle of a binary STL file, and bytes per triangle."""
_FACE = re.compile(rb"^\s*f\s+\d", re.MULTILINE)
_VERTEX = re.compile(rb"^\s*vertex\s+(\S+)\s+(\S+)\s+(\S+)\s*$", re.MULTILINE | re.IGNORECASE)


def readable_mesh(path: str, folder: str) -> str:
    """The path itself, or that of a copy in a form that PyBullet reads.

    Args:
        path: An OBJ, COLLADA or STL file.
        folder: Where copies go.

    Raises:
        MeshNotFound: Not there, of another format, or broken.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in MESH_FORMATS:
        raise MeshNotFound(path, f"is in no known format; give one of {', '.join(MESH_FORMATS)}")
    if not os.path.isfile(path):
        raise MeshNotFound(path, "is not there; correct the path")
    if suffix == ".obj" and not _FACE.search(Path(path).read_bytes()):
        raise MeshNotFound(path, "holds no faces; export it again")
    if suffix != ".stl":
        return path
    # Two meshes of one name may come from different folders.
    name = hashlib.sha256(os.fsencode(os.path.abspath(path))).hexdigest()[:16]
    copy = Path(folder) / f"{name}.obj"
    if not copy.exists():
        copy.write_text(_obj(read_stl(path)))
    return str(copy)


def read_stl(path: str) -> NDArray[np.float32]:
    """Corners of the triangles of an STL file, binary or text [m], shape (triangles, 3, 3).

    Raises:
        MeshNotFound: The file is broken.
    """
    data = Path(path).read_bytes()
    count = int.from_bytes(data[80:_HEADER], "little")
    # Text may begin with any word, and binary files with "solid": only the length tells them apart.
    if len(data) == _HEADER + _FACET * count:
        facet = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
        corners = np.frombuffer(data, facet, count, _HEADER)["corners"]
    else:
        numbers = _VERTEX.findall(data)
        try:
            corners = np.array(numbers, dtype=np.float32).reshape(-1, 3, 3)
        except ValueError as error:
            raise MeshNotFound(path, f"is not a complete STL file ({error}); export it again") from error
    if len(corners) == 0 or not np.isfinite(corners).all():
        raise MeshNotFound(path, "holds no triangles, or some that are not finite; export it again")
    return corners


def _obj(corners: NDArray[np.float32]) -> str:
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in corners.reshape(-1, 3)]
    lines += [f"f {first} {first + 1} {first + 2}" for first in range(1, 3 * len(corners), 3)]
    return "\n".join(lines) + "\n"
