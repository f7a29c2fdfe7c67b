"""MoveIt's path constraints as those of the planner."""

from __future__ import annotations

import numpy as np
from moveit_msgs.msg import Constraints, MoveItErrorCodes
from moveit_msgs.msg import OrientationConstraint as OrientationMessage
from moveit_msgs.msg import PositionConstraint as PositionMessage

from manipapy_core.errors import InputError
from manipapy_core.geometry import Box, Cylinder, Sphere
from manipapy_core.motion.constraints.description import (
    Constraint,
    JointConstraint,
    OrientationConstraint,
    OrientationError,
    PositionConstraint,
    Region,
)
from manipapy_core.typing import Array

from ...common.conversions import to_nanoseconds
from ...common.object_messages import pose_of
from .constraints import BOX, SPHERE, read_constraints, rotation_of
from .error_codes import refused_as
from .group import PlanningGroup

INVALID = MoveItErrorCodes.INVALID_MOTION_PLAN
LEAST_TOLERANCE = 1e-4
"""Smallest tolerance of an orientation [rad]."""


def path_constraints(message: Constraints, group: PlanningGroup, q: Array) -> list[Constraint]:
    """The constraints that a whole motion keeps.

    Args:
        q: Joint positions at the start [rad or m], shape (n,).

    Raises:
        RequestRefused: A constraint that is invalid, or two that contradict each other.
        UnknownLink: There is no such link.
    """
    checked = read_constraints(message, group, q, INVALID)
    if checked.empty:
        return []
    with refused_as(INVALID):
        joints = [
            JointConstraint(name, 0.5 * (low + high), 0.5 * (high - low), 0.5 * (high - low))
            for name, (low, high) in checked.bands.items()
        ]
        positions = [_position(item, group, q) for item in message.position_constraints]
        orientations = [_orientation(item, group, q) for item in message.orientation_constraints]
    return [*joints, *positions, *orientations]


def _frame(header: object, group: PlanningGroup, q: Array) -> tuple[str, Array]:
    """The link that poses are given in, and their shift to it, shape (4, 4); other frames are taken as they are now."""
    name = header.frame_id  # type: ignore[attr-defined]
    if name in ("", group.chain.base):
        return "", np.eye(4)
    if name in group.chain.link_names:
        return name, np.eye(4)
    return "", group.T_base_frame(name, q, to_nanoseconds(header.stamp))  # type: ignore[attr-defined]


def _position(message: PositionMessage, group: PlanningGroup, q: Array) -> PositionConstraint:
    frame, T = _frame(message.header, group, q)
    region, offset = message.constraint_region, message.target_point_offset
    poses = [T @ pose_of(pose) for pose in region.primitive_poses] or [T] * len(region.primitives)
    shapes: list[tuple[Region, Array]] = []
    for primitive, pose in zip(region.primitives, poses, strict=True):
        sizes = list(primitive.dimensions)
        shape: Region
        if primitive.type == BOX:
            shape = Box(np.array(sizes[:3]))
        elif primitive.type == SPHERE:
            shape = Sphere(sizes[0])
        else:
            shape = Cylinder(sizes[1], sizes[0])
        shapes.append((shape, pose))
    return PositionConstraint(message.link_name, shapes, (offset.x, offset.y, offset.z), frame)


def _orientation(message: OrientationMessage, group: PlanningGroup, q: Array) -> OrientationConstraint:
    frame, T = _frame(message.header, group, q)
    error = OrientationError(message.parameterization)
    if error is OrientationError.ROTATION_VECTOR and not np.allclose(T[:3, :3], np.eye(3)):
        raise InputError(
            f"the rotation vector of {message.link_name!r} is given in {message.header.frame_id!r}, which is no link; "
            "give it in a link of the robot"
        )
    tolerance = np.array(
        [message.absolute_x_axis_tolerance, message.absolute_y_axis_tolerance, message.absolute_z_axis_tolerance]
    )
    R = T[:3, :3] @ rotation_of(message.orientation, message.link_name)
    return OrientationConstraint(message.link_name, R, np.maximum(tolerance, LEAST_TOLERANCE), error, frame)
