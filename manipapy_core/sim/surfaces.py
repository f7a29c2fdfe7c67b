"""What is drawn of a world, as plain triangles: shapes of objects and links, each in the frame that moves it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..model.elements import RGBA, Array, Box, Cylinder, Geometry, Link, Sphere
from .scene import Plane, SceneObject, Texture, solid_parts
from .tessellate import Triangles, box_triangles, cylinder_triangles, sphere_triangles

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
    if isinstance(item.shape, Plane):
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
    if isinstance(geometry, Box):
        size = np.asarray(geometry.size)
        # Two sides to an axis, four corners to a side; across it run the other two axes.
        sides = [(size[(axis + 1) % 3], size[(axis + 2) % 3]) for axis in range(3) for _ in range(2)]
        return _placed(box_triangles(), size, np.repeat(sides, 4, axis=0), T_body_shape, rgba, texture)
    if isinstance(geometry, Sphere):
        r = geometry.radius
        return _placed(
            sphere_triangles(), np.full(3, r), math.pi * r * np.array([2.0, 1.0]), T_body_shape, rgba, texture
        )
    if isinstance(geometry, Cylinder):
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
