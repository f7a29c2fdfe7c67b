"""Robot descriptions: reading, checking and holding them."""

from .chain import Chain, ChainBody, JointLimits
from .elements import Box, Cylinder, Geometry, Inertial, Joint, JointType, Link, Mesh, Mimic, Shape, Sphere
from .limits import MotionLimits
from .locate import bundled_robots
from .robot import Robot

__all__ = [
    "Box",
    "Chain",
    "ChainBody",
    "Cylinder",
    "Geometry",
    "Inertial",
    "Joint",
    "JointLimits",
    "JointType",
    "Link",
    "Mesh",
    "Mimic",
    "MotionLimits",
    "Robot",
    "Shape",
    "Sphere",
    "bundled_robots",
]
