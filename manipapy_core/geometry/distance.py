"""Signed distances and support points of shapes in NumPy: the reference for the machine code.

Points and directions are in the frame of the shape.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..typing import Array
from .fields import Occupancy
from .shapes import Box, Capsule, Convex, ConvexMesh, Cylinder, Plane, Sphere

Shape = Convex | Plane | Occupancy
"""All shapes that an object of a world may have."""


def signed_distance(shape: Shape, points: ArrayLike) -> Array:
    """Distance of points to the surface, negative inside.

    For a convex mesh it is exact inside and on the faces; beyond edges and corners it is the largest distance to a
    face plane, which is never more than the true one. For occupancy it is the distance to the nearest occupied cell
    from any point of the cell that a point is in.

    Args:
        points: [m], shape (..., 3).

    Returns:
        [m], shape (...,).
    """
    x = np.asarray(points, dtype=np.float64)
    if isinstance(shape, Sphere):
        return np.linalg.norm(x, axis=-1) - shape.radius
    if isinstance(shape, Capsule):
        beyond = np.maximum(np.abs(x[..., 2]) - 0.5 * shape.length, 0.0)
        return np.sqrt(x[..., 0] ** 2 + x[..., 1] ** 2 + beyond**2) - shape.radius
    if isinstance(shape, Cylinder):
        across = np.hypot(x[..., 0], x[..., 1]) - shape.radius
        return _outside_or_deepest(np.stack([across, np.abs(x[..., 2]) - 0.5 * shape.length], axis=-1))
    if isinstance(shape, Box):
        return _outside_or_deepest(np.abs(x) - 0.5 * shape.size)
    if isinstance(shape, ConvexMesh):
        return np.max(x @ shape.planes[:, :3].T - shape.planes[:, 3], axis=-1)
    if isinstance(shape, Plane):
        return x @ shape.normal - shape.offset
    return shape.distance(x)


def support(shape: Convex, directions: ArrayLike) -> Array:
    """The point of a convex shape that lies farthest along each direction.

    Args:
        directions: Any length but zero, shape (..., 3).

    Returns:
        [m], shape (..., 3).
    """
    d = np.asarray(directions, dtype=np.float64)
    unit = d / np.linalg.norm(d, axis=-1, keepdims=True)
    if isinstance(shape, Sphere):
        return shape.radius * unit
    if isinstance(shape, Capsule):
        end = np.zeros_like(unit)
        end[..., 2] = np.copysign(0.5 * shape.length, unit[..., 2])
        return end + shape.radius * unit
    if isinstance(shape, Cylinder):
        across = unit * [1.0, 1.0, 0.0]
        length = np.linalg.norm(across, axis=-1, keepdims=True)
        point = shape.radius * across / np.where(length > 0.0, length, 1.0)
        point[..., 2] = np.copysign(0.5 * shape.length, unit[..., 2])
        return point
    if isinstance(shape, Box):
        return np.copysign(0.5 * shape.size, unit)
    if isinstance(shape, ConvexMesh):
        return shape.vertices[np.argmax(unit @ shape.vertices.T, axis=-1)]
    raise InputError(f"{type(shape).__name__} has no farthest point; support takes convex shapes of finite size")


def bounding_radius(shape: Convex) -> float:
    """Radius of a ball about the origin of the frame that holds the shape [m]."""
    if isinstance(shape, Sphere):
        return shape.radius
    if isinstance(shape, Capsule):
        return 0.5 * shape.length + shape.radius
    if isinstance(shape, Cylinder):
        return float(np.hypot(0.5 * shape.length, shape.radius))
    if isinstance(shape, Box):
        return float(np.linalg.norm(0.5 * shape.size))
    return float(np.linalg.norm(shape.vertices, axis=1).max())


def extent(shape: Convex) -> tuple[Array, Array]:
    """Lower and upper corner of the box along the axes of the frame that holds the shape [m]."""
    lower = [support(shape, -np.eye(3)[axis])[axis] for axis in range(3)]
    upper = [support(shape, np.eye(3)[axis])[axis] for axis in range(3)]
    return np.array(lower), np.array(upper)


def _outside_or_deepest(beyond: Array) -> Array:
    """Distance from how far a point lies beyond each pair of opposite faces, last axis."""
    return np.linalg.norm(np.maximum(beyond, 0.0), axis=-1) + np.minimum(beyond.max(axis=-1), 0.0)
