"""Surfaces of objects and links as triangles with normals, texture and colour, each in the frame that moves it.

Spheres and cylinders have so many edges that their error is below 0.0013 of the radius.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...model.elements import RGBA, BoxGeometry, CylinderGeometry, Geometry, Link, MeshGeometry, SphereGeometry
from ...model.meshes import load_mesh
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
"""Edges around a circle; their midpoints are inside it by 1 − cos(π / 64) = 0.0012 of the radius."""


def _unit_sphere() -> Triangles:
    return triangles([sphere_patch(1.0, SEGMENTS, SEGMENTS // 2)])


def _unit_cylinder() -> Triangles:
    return triangles(cylinder_patches(1.0, 1.0, SEGMENTS))


GREY: RGBA = (0.7, 0.7, 0.7, 1.0)
"""Default colour of links."""
FLOOR = 8.0
"""Edge of the square drawn for the ground plane [m]."""
EDGE = {Texture.PLAIN: 1.0, Texture.CHECKER: 8.0, Texture.SPECKLE: 0.35, Texture.WOOD: 1.0}
"""Edge of the square that a texture covers [m], so that its detail is the same on small and large objects."""


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles of one body."""

    corners: Array
    """In the frame of the body [m], counterclockwise from outside, shape (triangles, 3, 3)."""
    normals: Array
    """At the corners, shape (triangles, 3, 3)."""
    texture: Array
    """Texture coordinates of the corners, shape (triangles, 3, 2)."""
    colours: NDArray[np.float32]
    """Red, green, blue, 0 to 1, shape (triangles, 3)."""
    patterns: NDArray[np.int32]
    """Index of the texture in `Texture`, shape (triangles,)."""

    @classmethod
    def join(cls, parts: Sequence[Surface]) -> Surface:
        """Concatenates surfaces."""
        names = cls.__dataclass_fields__
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def object_surface(item: SceneObject) -> Surface:
    """Surface of an object in its own frame."""
    if isinstance(item.shape, GroundPlane):
        return _placed(
            triangles([rectangle_patch(1.0, 1.0)]),
            np.full(3, FLOOR),
            np.full(2, FLOOR),
            np.eye(4),
            item.rgba,
            item.texture,
        )
    return Surface.join([_surface(geometry, T, item.rgba, item.texture) for geometry, T in solid_parts(item.shape)])


def link_surface(link: Link) -> Surface:
    """Surface of a link with visuals in its own frame.

    Raises:
        MeshNotFound: A mesh was not found when the robot was read, or cannot be read.
    """
    shapes = link.visuals
    return Surface.join([_surface(s.geometry, s.T_link_shape, s.rgba or GREY, Texture.PLAIN) for s in shapes])


def _surface(geometry: Geometry, T_body_shape: Array, rgba: RGBA, texture: Texture) -> Surface:
    if isinstance(geometry, BoxGeometry):
        size = np.asarray(geometry.size)
        # Two sides per axis and four corners per side, spanned by the other two axes.
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
    assert isinstance(geometry, MeshGeometry)
    return _mesh_surface(geometry, T_body_shape, rgba, texture)


def _mesh_surface(mesh: MeshGeometry, T_body_shape: Array, rgba: RGBA, texture: Texture) -> Surface:
    """Triangles of a mesh file with the colour of the description.

    Triangles are drawn from both sides: the order of the corners is wrong in many files. A texture is projected along
    the axis of the mesh that is nearest to the normal.
    """
    read = load_mesh(mesh.filename, mesh.scale)
    corners = read.points[read.triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1)
    corners, normal = corners[length > 0.0], normal[length > 0.0] / length[length > 0.0, None]
    axes = np.array([[1, 2], [0, 2], [0, 1]])[np.argmax(np.abs(normal), axis=1)]
    flat = np.take_along_axis(corners, np.repeat(axes[:, None], 3, axis=1), axis=2) / EDGE[texture]
    # The second side, with the corners in the other order.
    corners, flat = np.concatenate([corners, corners[:, ::-1]]), np.concatenate([flat, flat[:, ::-1]])
    normals = np.repeat(np.concatenate([normal, -normal])[:, None], 3, axis=1)
    R, p = T_body_shape[:3, :3], T_body_shape[:3, 3]
    return Surface(
        corners @ R.T + p,
        normals @ R.T,
        flat,
        np.tile(np.array(rgba[:3], np.float32), (len(corners), 1)),
        np.full(len(corners), list(Texture).index(texture), np.int32),
    )


def _placed(mesh: Triangles, size: Array, spans: Array, T_body_shape: Array, rgba: RGBA, texture: Texture) -> Surface:
    """Scales and places the triangles of a unit shape.

    Args:
        spans: Length of the whole texture along its two axes [m], shape (2,) or (corners, 2).
    """
    R, p = T_body_shape[:3, :3], T_body_shape[:3, 3]
    count = len(mesh.faces)
    return Surface(
        # Scaling keeps the normals: it is along or uniform across them for boxes, cylinders and spheres.
        (mesh.points * size @ R.T + p)[mesh.faces],
        (mesh.normals @ R.T)[mesh.faces],
        (mesh.texture * spans / EDGE[texture])[mesh.faces],
        np.tile(np.array(rgba[:3], np.float32), (count, 1)),
        np.full(count, list(Texture).index(texture), np.int32),
    )
