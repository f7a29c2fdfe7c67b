"""Convex parts of links and carried objects, placed in the frame of the body that they move with."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .. import lie
from ..jit import njit
from ..model import elements
from ..model.meshes import load_mesh
from ..typing import Array
from .decomposition import FINE_TOLERANCE, MOST_FINE_PARTS, decompose
from .distance import bounding_radius, extent, signed_distance
from .free_space import FINE
from .shapes import Box, Capsule, Convex, ConvexMesh, Cylinder, Sphere

LinkShapes = Mapping[str, Sequence[Sequence[Convex]]]
"""Convex solids of each collision shape of each link, in the frame of the shape."""
BALL_STEPS = 150
"""Towards the centre of a ball around parts."""


@dataclass(frozen=True, eq=False)
class Part:
    """A convex shape and its pose in the frame of a body."""

    shape: Convex
    T_frame_shape: Array
    """[m], shape (4, 4)."""

    @property
    def centre(self) -> Array:
        return self.T_frame_shape[:3, 3]

    @property
    def bound(self) -> float:
        """Radius of the ball about the centre that contains the part [m]."""
        return bounding_radius(self.shape)

    def local(self, points: Array) -> Array:
        """Points of the frame in the shape's own frame."""
        return (points - self.centre) @ self.T_frame_shape[:3, :3]

    def placed(self, points: Array) -> Array:
        """Points of the shape in the frame of the body."""
        return points @ self.T_frame_shape[:3, :3].T + self.centre

    def signed_distance(self, points: Array) -> Array:
        """Of points (count, 3) [m]; in little memory however many faces a mesh has."""
        if isinstance(self.shape, ConvexMesh):
            return _largest_height(self.local(points), self.shape.planes)
        return signed_distance(self.shape, self.local(points))

    def farthest_from(self, point: Array) -> Array:
        """The point of the part that is farthest from a given one."""
        p, shape = self.local(point), self.shape
        if isinstance(shape, ConvexMesh):
            far = shape.vertices[np.argmax(np.linalg.norm(shape.vertices - p, axis=1))]
        elif isinstance(shape, Box):
            far = -np.copysign(0.5 * shape.size, p)
        elif isinstance(shape, Cylinder):
            across = np.hypot(p[0], p[1])
            far = np.array([0.0, 0.0, -np.copysign(0.5 * shape.length, p[2])])
            far[:2] = -shape.radius * p[:2] / across if across > 0.0 else (shape.radius, 0.0)
        else:
            half = 0.5 * shape.length if isinstance(shape, Capsule) else 0.0
            far = np.array([0.0, 0.0, -np.copysign(half, p[2])])
            away = far - p
            length = np.linalg.norm(away)
            far = far + shape.radius * (away / length if length > 0.0 else np.array([1.0, 0.0, 0.0]))
        return self.placed(far)

    def sharp_points(self, count: int) -> Array:
        """Points that stick out most, corners and rims, each the farthest from a point around the part."""
        away = np.random.default_rng(2).normal(size=(count, 3))
        away *= -self.bound / np.linalg.norm(away, axis=1, keepdims=True)
        if isinstance(self.shape, ConvexMesh):
            vertices = self.shape.vertices
            squares = np.sum(vertices**2, axis=1) - 2.0 * away @ self.T_frame_shape[:3, :3] @ vertices.T
            return self.placed(vertices[np.argmax(squares, axis=1)])
        return np.array([self.farthest_from(self.centre + start) for start in away])

    def corners(self) -> Array:
        """Of the box around the part along its own axes, in the frame of the body, shape (8, 3)."""
        lower, upper = extent(self.shape)
        return self.placed(np.stack(np.meshgrid(*zip(lower, upper)), axis=-1).reshape(-1, 3))


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _largest_height(points: Array, planes: Array) -> Array:
    heights = np.empty(len(points))
    for i in range(len(points)):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        most = -np.inf
        for k in range(len(planes)):
            height = planes[k, 0] * x + planes[k, 1] * y + planes[k, 2] * z - planes[k, 3]
            if height > most:
                most = height
        heights[i] = most
    return heights


def enclosing_ball(parts: Sequence[Part]) -> tuple[Array, float]:
    """Centre and radius [m] of a ball around all parts, within a few percent of the smallest.

    Badoiu and Clarkson, "Smaller core-sets for balls", 2003: ever shorter steps towards the farthest point.
    """
    return _enclosing_ball(tuple(parts))


@functools.lru_cache(maxsize=256)
def _enclosing_ball(parts: tuple[Part, ...]) -> tuple[Array, float]:
    others = [part for part in parts if not isinstance(part.shape, ConvexMesh)]
    meshes = [part.placed(part.shape.vertices) for part in parts if isinstance(part.shape, ConvexMesh)]
    corners = np.concatenate([np.empty((0, 3)), *meshes])
    centre = np.mean([part.centre for part in parts], axis=0)
    if not others:
        centre, radius = _ball_around(corners, centre)
        return centre, float(radius)
    best, radius = centre, np.inf
    for step in range(2, BALL_STEPS):
        found = [part.farthest_from(centre) for part in others]
        if len(corners):
            found.append(corners[np.argmax(np.sum((corners - centre) ** 2, axis=1))])
        far = max(found, key=lambda p: float(np.linalg.norm(p - centre)))
        reach = float(np.linalg.norm(far - centre))
        if reach < radius:
            best, radius = centre, reach
        centre = centre + (far - centre) / step
    return best, radius


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _ball_around(corners: Array, centre: Array) -> tuple[Array, float]:
    """The same for points alone: robots of many meshes have hundreds of such balls."""
    centre, best, least = centre.copy(), centre.copy(), np.inf
    for step in range(2, BALL_STEPS):
        far, most = 0, -1.0
        for i in range(len(corners)):
            x, y, z = corners[i, 0] - centre[0], corners[i, 1] - centre[1], corners[i, 2] - centre[2]
            square = x * x + y * y + z * z
            if square > most:
                far, most = i, square
        if most < least:
            best[:], least = centre, most
        centre += (corners[far] - centre) / step
    return best, np.sqrt(least)


def centred_part(shape: Convex, T_frame_shape: Array) -> Part:
    """A part with its frame in its middle: the origin of a mesh may lie far outside it."""
    if isinstance(shape, ConvexMesh):
        centred, T_shape_centred = _centred(shape)
        return Part(centred, T_frame_shape @ T_shape_centred)
    return Part(shape, np.array(T_frame_shape))


@functools.lru_cache(maxsize=1024)
def _centred(mesh: ConvexMesh) -> tuple[ConvexMesh, Array]:
    """One object for a mesh that several links have: what is computed for it is kept by its identity."""
    lower, upper = extent(mesh)
    middle = 0.5 * (lower + upper)
    return mesh.moved(-middle), lie.pose(translation=middle)


def convex_of(geometry: elements.Geometry) -> Convex | None:
    """The convex solid of a geometry, for a mesh the convex hull of its points; None for one without size."""
    if isinstance(geometry, elements.MeshGeometry):
        return ConvexMesh(load_mesh(geometry.filename or geometry.uri, geometry.scale).points)
    if not elements.has_size(geometry):
        return None
    if isinstance(geometry, elements.BoxGeometry):
        return Box(geometry.size)
    if isinstance(geometry, elements.CylinderGeometry):
        return Cylinder(geometry.radius, geometry.length)
    return Sphere(geometry.radius)


def convex_parts(geometry: elements.Geometry, *, fine: bool = False) -> list[Convex]:
    """Convex solids that cover a collision shape and follow its concave places; none for one without size.

    Args:
        fine: Follow them to less than a millimetre, as links need that pass each other this close.
    """
    if isinstance(geometry, elements.MeshGeometry):
        mesh = load_mesh(geometry.filename or geometry.uri, geometry.scale)
        if fine:
            return [*decompose(mesh, tolerance=FINE_TOLERANCE, most_parts=MOST_FINE_PARTS, grid=FINE)]
        return [*decompose(mesh)]
    solid = convex_of(geometry)
    return [] if solid is None else [solid]
