"""Commands of the web page to a servo: one message each, as long as a servo listens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from control_msgs.msg import JointJog
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node

from manipapy_core.draw import ServoCommands
from manipapy_core.errors import InputError
from manipapy_core.typing import Array

from ..common import qos
from ..common.conversions import pose_from_matrix


class ServoClient:
    """Publishes poses, twists and joint velocities, with stamp 0: the servo takes the time of arrival.

    Args:
        node: Owner of the publishers.
        joint_names: Of the arm.
        base: Link in whose axes poses and twists are given.
    """

    def __init__(self, node: Node, joint_names: Sequence[str], base: str):
        self._node, self._names, self._base = node, list(joint_names), base
        self._pose, self._twist, self._jog = (
            node.create_publisher(kind, f"servo/{name}", qos.COMMAND)
            for name, kind in (("pose_target", PoseStamped), ("twist", TwistStamped), ("joint_jog", JointJog))
        )
        self.commands = ServoCommands(pose=self.send_pose, twist=self.send_twist, joints=self.send_joints)

    def send_pose(self, T_base_tip: Array) -> None:
        """Send a pose of the tip, shape (4, 4)."""
        message = PoseStamped(pose=pose_from_matrix(T_base_tip))
        message.header.frame_id = self._base
        self._send(self._pose, message)

    def send_twist(self, twist: Array) -> None:
        """Send a twist of the tip in base axes, angular first [rad/s, m/s], shape (6,)."""
        message = TwistStamped()
        message.header.frame_id = self._base
        angular, linear = message.twist.angular, message.twist.linear
        angular.x, angular.y, angular.z, linear.x, linear.y, linear.z = np.asarray(twist, dtype=np.float64).tolist()
        self._send(self._twist, message)

    def send_joints(self, velocities: Array) -> None:
        """Send joint velocities [rad/s or m/s], shape (n,)."""
        self._send(self._jog, JointJog(joint_names=self._names, velocities=np.asarray(velocities).tolist()))

    def destroy(self) -> None:
        """Destroys the publishers."""
        for publisher in (self._pose, self._twist, self._jog):
            self._node.destroy_publisher(publisher)

    def _send(self, publisher: Any, message: Any) -> None:
        if publisher.get_subscription_count() == 0:
            raise InputError(f"no servo listens on {publisher.topic_name}; start one: manipapy up --servo")
        publisher.publish(message)
