"""Shapes, the solid body of a robot, its world, and collision checks at millions of configurations a second."""

from .body import RobotBody
from .checker import Checker, RawChecker
from .distance import signed_distance, support
from .fields import Octomap, PointCloud
from .hulls import MissingPackage
from .shapes import Box, Capsule, ConvexMesh, Cylinder, Plane, Sphere
from .world import AttachedObject, Snapshot, UnknownObject, World, WorldObject

__all__ = [
    "AttachedObject",
    "Box",
    "Capsule",
    "Checker",
    "ConvexMesh",
    "Cylinder",
    "MissingPackage",
    "Octomap",
    "Plane",
    "PointCloud",
    "RawChecker",
    "RobotBody",
    "Snapshot",
    "Sphere",
    "UnknownObject",
    "World",
    "WorldObject",
    "signed_distance",
    "support",
]
