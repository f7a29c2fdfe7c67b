"""Surfaces of objects and links as triangles with normals, texture and colour, each in the frame that moves it.

PyBullet draws a sphere or cylinder with a dozen edges: a ball of 10 cm would be 2 mm too small between them, in the
depth image too. `RoundMeshes` gives it unit meshes with enough edges for the error to stay below `ROUNDNESS` of the
radius.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...model.elements import RGBA, BoxGeometry, CylinderGeometry, Geometry, Link, MeshGeometry, SphereGeometry
from ...model.meshes import write_obj
from ...model.tessellation import (
    Triangles,
    box_patches,
    cylinder_patches,
    rectangle_patch,
    sphere_patch,
    triangles,
)
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
        write_obj(self.sphere, _unit_sphere())
        write_obj(self.cylinder, _unit_cylinder())

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


def _unit_sphere() -> Triangles:
    return triangles([sphere_patch(1.0, SEGMENTS, SEGMENTS // 2)])


def _unit_cylinder() -> Triangles:
    return triangles(cylinder_patches(1.0, 1.0, SEGMENTS))


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
        return _placed(
            triangles([rectangle_patch(1.0, 1.0)]),
            np.full(3, FLOOR),
            np.full(2, FLOOR),
            np.eye(4),
            item.rgba,
            item.texture,
        )
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
        return _placed(
            triangles(box_patches(np.ones(3))), size, np.repeat(sides, 4, axis=0), T_body_shape, rgba, texture
        )
    if isinstance(geometry, SphereGeometry):
        r = geometry.radius
        return _placed(_unit_sphere(), np.full(3, r), math.pi * r * np.array([2.0, 1.0]), T_body_shape, rgba, texture)
    if isinstance(geometry, CylinderGeometry):
        r, length = geometry.radius, geometry.length
        around = np.array([2.0 * math.pi * r, length])
        return _placed(_unit_cylinder(), np.array([r, r, length]), around, T_body_shape, rgba, texture)
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
