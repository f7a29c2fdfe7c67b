"""Messages of MoveIt's clients for tests: goals, objects, and what a refusal must say."""

from __future__ import annotations

import numpy as np
from moveit_msgs.msg import CollisionObject, Constraints, JointConstraint, OrientationConstraint, PositionConstraint
from moveit_msgs.msg import MoveItErrorCodes as Code
from shape_msgs.msg import SolidPrimitive

from manipapy_core import lie
from manipapy_ros.common.conversions import pose_from_matrix
from ros_arm import JOINTS


def joint_goal(q, names=JOINTS, tolerance: float = 1e-3) -> Constraints:
    rows = [
        JointConstraint(joint_name=name, position=float(value), tolerance_above=tolerance, tolerance_below=tolerance)
        for name, value in zip(names, q)
    ]
    return Constraints(joint_constraints=rows)


def position(place, radius: float = 1e-3, link: str = "tool0", frame: str = "base_link") -> PositionConstraint:
    message = PositionConstraint(link_name=link)
    message.header.frame_id = frame
    message.constraint_region.primitives = [SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[radius])]
    message.constraint_region.primitive_poses = [pose_from_matrix(lie.pose(translation=place))]
    return message


def orientation(R, tolerance=(1e-3, 1e-3, 1e-3), link: str = "tool0", kind: int = 0) -> OrientationConstraint:
    message = OrientationConstraint(link_name=link, parameterization=kind)
    message.header.frame_id = "base_link"
    message.orientation = pose_from_matrix(lie.pose(R)).orientation
    message.absolute_x_axis_tolerance, message.absolute_y_axis_tolerance, message.absolute_z_axis_tolerance = tolerance
    return message


def pose_goal(T, radius: float = 1e-3, tolerance=(1e-3, 1e-3, 1e-3), link: str = "tool0") -> Constraints:
    return Constraints(
        position_constraints=[position(T[:3, 3], radius, link)],
        orientation_constraints=[orientation(T[:3, :3], tolerance, link)],
    )


def box(name: str, size, place, **fields) -> CollisionObject:
    message = CollisionObject(id=name, **{"operation": CollisionObject.ADD, **fields})
    message.header.frame_id = "base_link"
    message.pose = pose_from_matrix(lie.pose(translation=place))
    message.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=list(size))]
    return message


def end_of(response) -> np.ndarray:
    assert response.error_code.val == Code.SUCCESS, response.error_code.message
    message = response.trajectory.joint_trajectory
    order = [list(message.joint_names).index(name) for name in JOINTS]
    return np.array(message.points[-1].positions)[order]


def refused(code, expected: int, *words: str) -> None:
    assert code.val == expected, (code.val, code.message)
    for word in words:
        assert word in code.message
