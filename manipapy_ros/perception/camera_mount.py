"""Pose of the camera by parameter instead of tf, and its static transform for others."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from tf2_msgs.msg import TFMessage

from manipapy_core import lie
from manipapy_core.perception import CameraPose
from manipapy_core.typing import Array

from ..common import qos
from ..common.tf_buffer import NoTransform, TfBuffer

DIFFERENT = 0.005
"""Distance of the pose on tf from the given one that is worth a warning [m]."""


class CameraMount:
    """Gives the pose of a camera's frames, and publishes it once on `tf_static`.

    Args:
        node: Publishes and logs.
        pose: Of the camera in a link; None: everything comes from tf.
        base: Link in which poses are given.
    """

    def __init__(self, node: Node, pose: CameraPose | None, frames: TfBuffer, base: str):
        self._node, self._pose, self._frames, self._base = node, pose, frames, base
        self._publisher = None if pose is None else node.create_publisher(TFMessage, "tf_static", qos.LATCHED)
        self._published = False

    def destroy(self) -> None:
        """Stop publishing."""
        if self._publisher is not None:
            self._node.destroy_publisher(self._publisher)

    def at(self, frame: str, time_ns: int) -> Array:
        """T_base_frame at a time, shape (4, 4).

        Raises:
            NoTransform: It is not known.
        """
        pose = self._pose
        if pose is None:
            return self._frames.pose(self._base, frame, time_ns)
        T_base_parent = self._frames.pose(self._base, pose.parent, time_ns)
        T_camera_frame = np.eye(4)
        if pose.child and pose.child != frame:
            # The camera was calibrated with another of its images: the driver knows how they are related.
            T_camera_frame = self._frames.pose(pose.child, frame, time_ns)
        T_parent_frame = pose.T_parent_camera @ T_camera_frame
        if not self._published:
            self._published = True
            self._publish(frame, T_parent_frame, time_ns)
        return T_base_parent @ T_parent_frame

    def _publish(self, frame: str, T_parent_frame: Array, time_ns: int) -> None:
        """The transform to the topmost frame of the camera: a frame of its tree must not get a second parent."""
        assert self._pose is not None and self._publisher is not None
        parent, root = self._pose.parent, self._frames.root_of(frame)
        if root == self._frames.root_of(parent):
            try:
                on_tf = self._frames.pose(parent, frame, time_ns)
            except NoTransform:
                return
            apart = float(np.linalg.norm(on_tf[:3, 3] - T_parent_frame[:3, 3]))
            if apart > DIFFERENT:
                self._node.get_logger().warning(
                    f"tf also has a pose of {frame!r} in {parent!r}, {1e3 * apart:.0f} mm from camera.pose; "
                    "camera.pose is used here, and nothing is published on tf_static"
                )
            return
        T_root_frame = np.eye(4) if root == frame else self._frames.pose(root, frame, time_ns)
        T = T_parent_frame @ lie.inverse(T_root_frame)
        message = TransformStamped(child_frame_id=root)
        message.header.frame_id = parent
        place, turn = message.transform.translation, message.transform.rotation
        place.x, place.y, place.z = T[:3, 3].tolist()
        turn.x, turn.y, turn.z, turn.w = lie.rotation_to_quaternion(T[:3, :3]).tolist()
        self._publisher.publish(TFMessage(transforms=[message]))
        self._node.get_logger().info(f"camera.pose: {root!r} in {parent!r} published on tf_static")
