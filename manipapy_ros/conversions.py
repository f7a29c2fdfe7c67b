"""The door between messages and arrays: joints are matched by name here and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Pose, PoseStamped
from numpy.typing import ArrayLike, NDArray
from sensor_msgs.msg import JointState

from manipapy_core import lie
from manipapy_core.errors import InputError

Array = NDArray[np.float64]


class MissingJoints(InputError):
    """A joint state that does not tell where every joint of the arm is."""

    def __init__(self, missing: Sequence[str], given: Sequence[str]):
        super().__init__(
            f"no position for {', '.join(missing)}; the joint state has: {', '.join(given) or 'no joints'}"
        )
        self.missing, self.given = tuple(missing), tuple(given)


class MalformedJointState(InputError):
    """A joint state whose arrays contradict each other."""


def positions_by_name(state: JointState, joint_names: Sequence[str]) -> Array:
    """Positions [rad or m] in the order of `joint_names`, shape (n,).

    The message may hold its joints in any order and hold others besides.

    Raises:
        MalformedJointState: Names and positions differ in number, or a joint is named twice.
        MissingJoints: A joint asked for is not in the message.
        InputError: A position is NaN or infinite.
    """
    if len(state.name) != len(state.position):
        raise MalformedJointState(
            f"the joint state has {len(state.name)} names and {len(state.position)} positions; "
            "it needs one position per name"
        )
    position_of = dict(zip(state.name, state.position, strict=True))
    if len(position_of) != len(state.name):
        repeated = sorted({name for name in state.name if list(state.name).count(name) > 1})
        raise MalformedJointState(f"the joint state names {', '.join(repeated)} more than once")
    missing = [name for name in joint_names if name not in position_of]
    if missing:
        raise MissingJoints(missing, state.name)
    q = np.array([position_of[name] for name in joint_names], dtype=np.float64)
    if not np.isfinite(q).all():
        bad = [f"{name} = {value}" for name, value in zip(joint_names, q, strict=True) if not np.isfinite(value)]
        raise InputError(f"joint positions must be finite; got {', '.join(bad)}")
    return q


def pose_from_matrix(T: ArrayLike) -> Pose:
    """Pose message of a homogeneous matrix, shape (4, 4)."""
    T = np.asarray(T, dtype=np.float64)
    pose = Pose()
    pose.position.x, pose.position.y, pose.position.z = T[:3, 3].tolist()
    quaternion = lie.rotation_to_quaternion(T[:3, :3]).tolist()
    pose.orientation.x, pose.orientation.y, pose.orientation.z, pose.orientation.w = quaternion
    return pose


def stamped_pose(T_frame_link: ArrayLike, frame: str, like: JointState) -> PoseStamped:
    """Pose in `frame`, with the time of the joint state that it was computed from."""
    message = PoseStamped(pose=pose_from_matrix(T_frame_link))
    message.header.frame_id = frame
    message.header.stamp = like.header.stamp
    return message
