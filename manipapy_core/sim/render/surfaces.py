"""Round shapes as fine meshes, for drawing.

PyBullet draws a sphere or cylinder with a dozen edges: a ball of 10 cm would be 2 mm too small between them, in the
depth image too. These unit meshes have enough edges for the error to stay below `ROUNDNESS` of the radius.

What is drawn of a world, as plain triangles: shapes of objects and links, each in the frame that moves it.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...model.elements import RGBA, BoxGeometry, CylinderGeometry, Geometry, Link, MeshGeometry, SphereGeometry
from ...typing import Array
from ..scene import GroundPlane, SceneObject, Texture, solid_parts

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
        if isinstance(geometry, SphereGeometry):
            return MeshGeometry(self.sphere, self.sphere, np.full(3, geometry.radius))
        if isinstance(geometry, CylinderGeometry):
            return MeshGeometry(
                self.cylinder, self.cylinder, np.array([geometry.radius, geometry.radius, geometry.length])
            )
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


GREY: RGBA = (0.7, 0.7, 0.7, 1.0)
"""Of links without a colour."""
FLOOR = 8.0
"""Edge of the square that is drawn for an endless plane [m]."""
EDGE = {Texture.PLAIN: 1.0, Texture.CHECKER: 8.0, Texture.SPECKLE: 0.35, Texture.WOOD: 1.0}
"""Edge of the square that a texture covers [m], so that its detail is as fine on small things as on large ones."""


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles that move together."""

    corners: Array
    """In the frame of the body [m], counterclockwise seen from outside, shape (triangles, 3, 3)."""
    normals: Array
    """At the corners, shape (triangles, 3, 3)."""
    texture: Array
    """Place of the corners in the texture, 0 to 1, shape (triangles, 3, 2)."""
    colours: NDArray[np.float32]
    """Red, green, blue, 0 to 1, shape (triangles, 3)."""
    patterns: NDArray[np.int32]
    """Number of the texture in the order of `Texture`, shape (triangles,)."""

    @classmethod
    def join(cls, parts: Sequence[Surface]) -> Surface:
        """All in one."""
        names = cls.__dataclass_fields__
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def object_surface(item: SceneObject) -> Surface | None:
    """Of an object, in its own frame; None if it has a mesh, which only PyBullet reads."""
    if isinstance(item.shape, GroundPlane):
        return _placed(_floor(), np.full(3, FLOOR), np.full(2, FLOOR), np.eye(4), item.rgba, item.texture)
    parts = [_surface(geometry, T, item.rgba, item.texture) for geometry, T in solid_parts(item.shape)]
    return _all(parts)


def link_surface(link: Link) -> Surface | None:
    """Of a link with something to see, in its own frame; None if it has a mesh."""
    shapes = link.visuals
    return _all([_surface(s.geometry, s.T_link_shape, s.rgba or GREY, Texture.PLAIN) for s in shapes])


def _all(parts: Sequence[Surface | None]) -> Surface | None:
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return Surface.join(known) if known else None


def _surface(geometry: Geometry, T_body_shape: Array, rgba: RGBA, texture: Texture) -> Surface | None:
    if isinstance(geometry, BoxGeometry):
        size = np.asarray(geometry.size)
        # Two sides to an axis, four corners to a side; across it run the other two axes.
        sides = [(size[(axis + 1) % 3], size[(axis + 2) % 3]) for axis in range(3) for _ in range(2)]
        return _placed(box_triangles(), size, np.repeat(sides, 4, axis=0), T_body_shape, rgba, texture)
    if isinstance(geometry, SphereGeometry):
        r = geometry.radius
        return _placed(
            sphere_triangles(), np.full(3, r), math.pi * r * np.array([2.0, 1.0]), T_body_shape, rgba, texture
        )
    if isinstance(geometry, CylinderGeometry):
        r, length = geometry.radius, geometry.length
        around = np.array([2.0 * math.pi * r, length])
        return _placed(cylinder_triangles(), np.array([r, r, length]), around, T_body_shape, rgba, texture)
    return None


def _placed(mesh: Triangles, size: Array, spans: Array, T_body_shape: Array, rgba: RGBA, texture: Texture) -> Surface:
    """Triangles of a unit shape where and as large as they are.

    Args:
        spans: What the texture's whole width and height would cover [m], shape (2,) or (corners, 2).
    """
    R, p = T_body_shape[:3, :3], T_body_shape[:3, 3]
    count = len(mesh.faces)
    return Surface(
        # Sizes stretch along the axes that normals of boxes and cylinders point along or are equal across.
        (mesh.points * size @ R.T + p)[mesh.faces],
        (mesh.normals @ R.T)[mesh.faces],
        (mesh.texture * spans / EDGE[texture])[mesh.faces],
        np.tile(np.array(rgba[:3], np.float32), (count, 1)),
        np.full(count, list(Texture).index(texture), np.int32),
    )


def _floor() -> Triangles:
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    points = np.column_stack([corners - 0.5, np.zeros(4)])
    return Triangles(points, np.tile([0.0, 0.0, 1.0], (4, 1)), corners, np.array([[0, 1, 2], [0, 2, 3]]))
