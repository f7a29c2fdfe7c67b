"""Robot descriptions: reading, checking and holding them."""

from .arms import Arm, Gripper, arm_chain, find_arms
from .assumptions import Assumption
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
from .robot_folder import RobotFolder
from .semantics import group_chain
from .srdf import (
    DisabledPair,
    EndEffector,
    JointGroup,
    SemanticDescription,
    UnknownGroup,
    VirtualJoint,
    disabled_pairs,
    read_srdf,
    srdf_text,
)

__all__ = [
    "Arm",
    "Assumption",
    "BoxGeometry",
    "Chain",
    "ChainBody",
    "CylinderGeometry",
    "DisabledPair",
    "EndEffector",
    "Geometry",
    "Gripper",
    "Inertial",
    "Joint",
    "JointGroup",
    "JointLimits",
    "JointType",
    "Link",
    "MeshGeometry",
    "Mimic",
    "MotionLimits",
    "Robot",
    "RobotFolder",
    "SemanticDescription",
    "Shape",
    "SphereGeometry",
    "UnknownGroup",
    "VirtualJoint",
    "arm_chain",
    "bundled_robots",
    "disabled_pairs",
    "find_arms",
    "group_chain",
    "read_srdf",
    "srdf_text",
]
