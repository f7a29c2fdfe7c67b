"""Frames of a whole robot on `tf` and `tf_static`, for systems without a robot_state_publisher."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from manipapy_core import Robot, lie
from manipapy_core.model import Joint
from manipapy_core.typing import Array

from ..common import qos
from ..common.conversions import pose_from_matrix

TF_QUEUE = 100
"""Queue size of tf2's own broadcaster and listener."""


class FramePublisher:
    """Publishes frames of one robot until it is destroyed.

    Args:
        node: The publisher.
        robot: All of its branches are published.
        prefix: Of every frame name, to distinguish robots.
    """

    def __init__(self, node: Node, robot: Robot, prefix: str = ""):
        self._node, self._prefix = node, prefix
        self._moving = [joint for joint in robot.joints.values() if joint.type.moves]
        self._fixed = [joint for joint in robot.joints.values() if not joint.type.moves]
        self._tf = node.create_publisher(TFMessage, "tf", QoSProfile(depth=TF_QUEUE))
        self._tf_static = node.create_publisher(TFMessage, "tf_static", qos.LATCHED)
        self._tf_static.publish(TFMessage(transforms=self._transforms(self._fixed, {}, Time())))

    def publish(self, state: JointState) -> None:
        """Publish the frames of moving links; joints that the message lacks are left out."""
        known = dict(zip(state.name, state.position, strict=False))
        moving = self._transforms(self._moving, known, state.header.stamp)
        if moving:
            self._tf.publish(TFMessage(transforms=moving))

    def destroy(self) -> None:
        """Stop publishing."""
        self._node.destroy_publisher(self._tf)
        self._node.destroy_publisher(self._tf_static)

    def _transforms(self, joints: Iterable[Joint], known: dict[str, float], stamp: Time) -> list[TransformStamped]:
        transforms = []
        for joint in joints:
            position = _position(joint, known)
            if position is None:
                continue
            message = TransformStamped(child_frame_id=self._prefix + joint.child)
            message.header.frame_id, message.header.stamp = self._prefix + joint.parent, stamp
            pose = pose_from_matrix(joint.T_parent_child @ motion(joint, position))
            place, translation = pose.position, message.transform.translation
            translation.x, translation.y, translation.z = place.x, place.y, place.z
            message.transform.rotation = pose.orientation
            transforms.append(message)
        return transforms


def motion(joint: Joint, position: float) -> Array:
    """Pose of the child frame relative to that at zero, shape (4, 4), at a joint position [rad or m]."""
    if not joint.type.moves:
        return np.eye(4)
    if joint.type.rotates:
        return lie.pose(lie.exp_so3(joint.axis * position), [0.0, 0.0, 0.0])
    return lie.pose(np.eye(3), joint.axis * position)


def _position(joint: Joint, known: dict[str, float]) -> float | None:
    """[rad or m]; None if it is missing or not finite."""
    if not joint.type.moves:
        return 0.0
    if joint.mimic is None:
        value = known.get(joint.name)
    else:
        driver = known.get(joint.mimic.joint)
        value = None if driver is None else joint.mimic.multiplier * driver + joint.mimic.offset
    return value if value is not None and np.isfinite(value) else None
