"""Static frames of the simulation: where the robot stands in the world, and where its cameras are."""

from __future__ import annotations

from geometry_msgs.msg import TransformStamped
from tf2_msgs.msg import TFMessage

from manipapy_core.model.elements import Array
from manipapy_core.sim import SimRobot, StereoCamera

from .conversions import pose_from_matrix
from .sim_camera import optical_frames


def static_frames(world_frame: str, robot: SimRobot, camera: StereoCamera | None, camera_name: str) -> TFMessage:
    """For the topic `tf_static`; stamps of static transforms are not read."""
    frames = [transform(world_frame, robot.robot.root, robot.T_world_base)]
    if camera is not None:
        left, right = optical_frames(camera_name)
        frames.append(transform(camera.link or world_frame, left, camera.T_mount_left))
        frames.append(transform(left, right, camera.T_left_right))
    return TFMessage(transforms=frames)


def transform(parent: str, child: str, T_parent_child: Array) -> TransformStamped:
    """Pose of a child frame in its parent, shape (4, 4), as tf has it."""
    pose = pose_from_matrix(T_parent_child)
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    p, translation = pose.position, message.transform.translation
    translation.x, translation.y, translation.z = p.x, p.y, p.z
    message.transform.rotation = pose.orientation
    return message
