"""Round shapes as fine meshes, for drawing.

PyBullet draws a sphere or cylinder with a dozen edges: a ball of 10 cm would be 2 mm too small between them, in the
depth image too. These unit meshes have enough edges for the error to stay below `ROUNDNESS` of the radius.
"""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..model.elements import Array, Cylinder, Geometry, Mesh, Sphere

SEGMENTS = 64
"""Edges around a circle."""
ROUNDNESS = 1.0 - math.cos(math.pi / SEGMENTS)
"""How far the middle of an edge lies inside the circle, per radius: 1.2e-3."""


class RoundMeshes:
    """A folder with one unit sphere and one unit cylinder, deleted with this object."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="manipapy-shapes-")
        self.sphere = os.path.join(self._folder.name, "sphere.obj")
        self.cylinder = os.path.join(self._folder.name, "cylinder.obj")
        Path(self.sphere).write_text(_obj(sphere_triangles()))
        Path(self.cylinder).write_text(_obj(cylinder_triangles()))

    def replace(self, geometry: Geometry) -> Geometry:
        """The mesh to draw in place of a sphere or cylinder; anything else as it is."""
        if isinstance(geometry, Sphere):
            return Mesh(self.sphere, self.sphere, np.full(3, geometry.radius))
        if isinstance(geometry, Cylinder):
            return Mesh(self.cylinder, self.cylinder, np.array([geometry.radius, geometry.radius, geometry.length]))
        return geometry

    def close(self) -> None:
        """Delete the files; PyBullet has read them by then."""
        self._folder.cleanup()


class Triangles(NamedTuple):
    """A mesh whose corners carry what drawing needs."""

    points: Array
    normals: Array
    """Shape (corners, 3)."""
    texture: Array
    """Place in the texture, 0 to 1, shape (corners, 2)."""
    faces: NDArray[np.intp]
    """Corners of each triangle, counterclockwise seen from outside, shape (triangles, 3)."""


def sphere_triangles() -> Triangles:
    """Sphere of radius 1; its normals make it look round."""
    rings = SEGMENTS // 2
    polar = np.linspace(0.0, math.pi, rings + 1)
    turn = np.linspace(0.0, 2 * math.pi, SEGMENTS + 1)
    points = np.stack(
        [
            np.outer(np.sin(polar), np.cos(turn)),
            np.outer(np.sin(polar), np.sin(turn)),
            np.outer(np.cos(polar), np.ones_like(turn)),
        ],
        axis=-1,
    )
    texture = np.stack(np.broadcast_arrays(turn / (2 * math.pi), (1 - polar / math.pi)[:, None]), axis=-1)
    places = points.reshape(-1, 3)
    return Triangles(places, places, texture.reshape(-1, 2), _grid(rings, SEGMENTS))


def cylinder_triangles() -> Triangles:
    """Cylinder of radius 1 and length 1 about z, centred; its rim is sharp."""
    turn = np.linspace(0.0, 2 * math.pi, SEGMENTS + 1)
    circle = np.stack([np.cos(turn), np.sin(turn), np.zeros_like(turn)], axis=-1)
    up = np.array([0.0, 0.0, 0.5])
    around = turn / (2 * math.pi)
    wall_points = np.concatenate([circle - up, circle + up])
    wall_texture = np.concatenate([np.stack([around, np.full_like(around, height)], axis=-1) for height in (0.0, 1.0)])
    points, normals, texture = [wall_points], [np.concatenate([circle, circle])], [wall_texture]
    # From the bottom ring to the top ring, so the grid runs the other way round than on the sphere.
    faces = [_grid(1, SEGMENTS)[:, ::-1]]
    start = len(wall_points)
    for side in (-1.0, 1.0):
        points.append(np.concatenate([circle + side * up, [side * up]]))
        normals.append(np.tile([0.0, 0.0, side], (SEGMENTS + 2, 1)))
        texture.append(np.concatenate([0.5 + 0.5 * circle[:, :2], [[0.5, 0.5]]]))
        edge = np.arange(SEGMENTS)
        fan = np.stack([edge, edge + 1, np.full(SEGMENTS, SEGMENTS + 1)], axis=-1)
        faces.append(start + (fan if side > 0 else fan[:, ::-1]))
        start += SEGMENTS + 2
    return Triangles(np.concatenate(points), np.concatenate(normals), np.concatenate(texture), np.concatenate(faces))


def box_triangles() -> Triangles:
    """Cube of edge 1, centred; every side shows the whole texture."""
    corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    points, normals = [], []
    for axis in range(3):
        # The next two axes in turn make a right-handed frame with this one.
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for side in (-1.0, 1.0):
            face = np.zeros((4, 3))
            face[:, axis] = 0.5 * side
            face[:, u], face[:, v] = side * corners[:, 0], corners[:, 1]
            points.append(face)
            normals.append(np.tile(side * np.eye(3)[axis], (4, 1)))
    faces = np.concatenate([np.array([[0, 1, 2], [0, 2, 3]]) + 4 * side for side in range(6)])
    return Triangles(np.concatenate(points), np.concatenate(normals), np.tile(corners + 0.5, (6, 1)), faces)


def _grid(rows: int, columns: int) -> NDArray[np.intp]:
    """Triangles between the points of a (rows + 1) × (columns + 1) grid."""
    corner = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).ravel()
    below = corner + columns + 1
    upper = np.stack([corner, below, corner + 1], axis=-1)
    lower = np.stack([corner + 1, below, below + 1], axis=-1)
    return np.concatenate([upper, lower])


def _obj(mesh: Triangles) -> str:
    """As the text of an OBJ file."""
    points, normals, texture, faces = mesh
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in points]
    lines += [f"vt {u:.6g} {v:.6g}" for u, v in texture]
    lines += [f"vn {x:.9g} {y:.9g} {z:.9g}" for x, y, z in normals]
    lines += ["f " + " ".join(f"{corner}/{corner}/{corner}" for corner in face) for face in faces + 1]
    return "\n".join(lines) + "\n"
