"""A capsule around a link: links are long, and a ball around one reaches far beyond its sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..typing import Array
from .parts import Part
from .shapes import Box, Capsule, ConvexMesh, Cylinder

ROUNDING = 1e-6
"""Added to the radius [m]."""


@dataclass(frozen=True, eq=False)
class BoundingCapsule:
    """All points within a radius of a segment."""

    middle: Array
    """Of the segment [m], shape (3,)."""
    half: Array
    """From there to one of its ends [m], shape (3,)."""
    radius: float


def bounding_capsule(parts: Sequence[Part]) -> BoundingCapsule:
    """A capsule that contains all parts, along their longest direction."""
    points, radii = _balls(parts)
    lower, upper = (points - radii[:, None]).min(axis=0), (points + radii[:, None]).max(axis=0)
    centred = points - 0.5 * (lower + upper)
    axis = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    middle = points.mean(axis=0)
    for _ in range(2):  # The axis goes through the middle of what it passes.
        along = (points - middle) @ axis
        across = points - middle - np.outer(along, axis)
        middle = middle + 0.5 * ((across - radii[:, None]).min(axis=0) + (across + radii[:, None]).max(axis=0))
        middle = middle - axis * ((middle - points.mean(axis=0)) @ axis)
    along = (points - middle) @ axis
    off = np.linalg.norm(points - middle - np.outer(along, axis), axis=1)
    radius = float((off + radii).max()) + ROUNDING
    # A ball is inside where its centre is no farther beyond an end than what is left of the radius there.
    left = np.sqrt(np.maximum((radius - radii) ** 2 - off**2, 0.0))
    low, high = float((along + left).min()), float((along - left).max())
    if high < low:
        low = high = 0.5 * (low + high)
    return BoundingCapsule(middle + 0.5 * (low + high) * axis, 0.5 * (high - low) * axis, radius)


def _balls(parts: Sequence[Part]) -> tuple[Array, Array]:
    """Centres and radii of balls whose convex hull contains the parts."""
    points, radii = [], []
    for part in parts:
        shape = part.shape
        if isinstance(shape, ConvexMesh):
            own, radius = shape.vertices, 0.0
        elif isinstance(shape, Box):
            signs = np.array(np.meshgrid(*[[-0.5, 0.5]] * 3)).reshape(3, -1).T
            own, radius = signs * shape.size, 0.0
        elif isinstance(shape, (Capsule, Cylinder)):
            own, radius = np.array([[0.0, 0.0, 0.5], [0.0, 0.0, -0.5]]) * shape.length, shape.radius
        else:
            own, radius = np.zeros((1, 3)), shape.radius
        points.append(part.placed(own))
        radii.append(np.full(len(own), radius))
    return np.concatenate(points), np.concatenate(radii)
