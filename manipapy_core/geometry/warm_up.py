"""A world with an object of every shape: checking it once loads all compiled code that any world needs."""

from __future__ import annotations

import numpy as np

from .. import kinematics
from ..lie import pose
from ..typing import Array
from .body import RobotBody
from .distance import Shape
from .fields import MAX_DISTANCE, Octomap, PointCloud
from .shapes import Box, Capsule, ConvexMesh, Cylinder, Plane, Sphere
from .world import World

MOST_SHARE = 0.6
"""Of the distance to which clouds and octomaps reach: radius of the largest sphere for which they are used."""
DISTANCE = 0.3
"""Of the objects from the given point [m]: some are near the arm, so that exact distances are needed as well."""
VERTICES = 300
"""Of the mesh: far more than of the levels of a hull, which are compiled too."""


def every_shape(body: RobotBody, q: Array) -> World:
    """Objects about the tip of an arm at joint positions q, shape (n,)."""
    position = kinematics.forward(body.chain, q)[:3, 3]
    largest = max((float(group.spheres[:, 3].max()) for group in body.groups if len(group.spheres)), default=0.0)
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(VERTICES, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    cells = (0.02 * rng.integers(-2, 3, size=(20, 3))).astype(np.float64)
    shapes: list[Shape] = [
        Box(np.full(3, 0.1)),
        Sphere(0.05),
        Cylinder(0.05, 0.1),
        Capsule(0.05, 0.1),
        ConvexMesh(0.05 * directions),
    ]
    if largest < MOST_SHARE * MAX_DISTANCE:
        # A robot with larger spheres, padded ones too, cannot use them.
        shapes += [PointCloud(cells), Octomap(cells, np.full(len(cells), 0.02))]
    world = World()
    world.add("floor", Plane(offset=-5.0))
    for number, shape in enumerate(shapes):
        angle = 2.0 * np.pi * number / len(shapes)
        place = position + DISTANCE * np.array([np.cos(angle), np.sin(angle), 0.5])
        world.add(f"{type(shape).__name__} {number}", shape, pose(translation=place))
    return world
