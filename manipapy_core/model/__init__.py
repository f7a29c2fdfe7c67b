"""Robot descriptions: reading, checking and holding them."""

from .chain import Chain, ChainBody, JointLimits
from .elements import (
    BoxGeometry,
    CylinderGeometry,
    Geometry,
    Inertial,
    Joint,
    JointType,
    Link,
    MeshGeometry,
    Mimic,
    Shape,
    SphereGeometry,
)
from .library import bundled_robots
from .limits import MotionLimits
from .robot import Robot

__all__ = [
    "BoxGeometry",
    "Chain",
    "ChainBody",
    "CylinderGeometry",
    "Geometry",
    "Inertial",
    "Joint",
    "JointLimits",
    "JointType",
    "Link",
    "MeshGeometry",
    "Mimic",
    "MotionLimits",
    "Robot",
    "Shape",
    "SphereGeometry",
    "bundled_robots",
]
