"""Collision geometry: shapes, the collision body of a robot, its world, and batched collision checks."""

from ..errors import MissingPackage
from .body import RobotBody
from .checker import Checker, RawChecker
from .contact_names import contact_names
from .distance import signed_distance, support
from .fields import Octomap, PointCloud
from .shapes import Box, Capsule, ConvexMesh, Cylinder, Plane, Sphere
from .world import AttachedObject, UnknownObject, World, WorldObject, WorldSnapshot

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
    "Sphere",
    "UnknownObject",
    "World",
    "WorldObject",
    "WorldSnapshot",
    "contact_names",
    "signed_distance",
    "support",
]
