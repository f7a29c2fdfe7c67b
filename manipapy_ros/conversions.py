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


def optional_by_name(names: Sequence[str], values: Sequence[float], joint_names: Sequence[str], what: str) -> Array:
    """Numbers of a message that may be left out, in the order of `joint_names`, shape (n,); zeros when there are none.

    Args:
        names: Order of the values.
        what: For messages, such as "velocities".

    Raises:
        MalformedJointState: Names and values differ in number.
        InputError: A number is NaN or infinite.
    """
    if not len(values):
        return np.zeros(len(joint_names))
    if len(values) != len(names):
        raise MalformedJointState(f"{len(values)} {what} for {len(names)} names; give one each, or none at all")
    value_of = dict(zip(names, values, strict=True))
    numbers = np.array([value_of[name] for name in joint_names], dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise InputError(f"{what} must be finite; got {', '.join(str(value) for value in values)}")
    return numbers


def matrix_from_pose(pose: Pose) -> Array:
    """Homogeneous matrix of a pose message, shape (4, 4).

    Raises:
        InputError: The quaternion is not of length one.
    """
    o, p = pose.orientation, pose.position
    quaternion = np.array([o.x, o.y, o.z, o.w])
    length = float(np.linalg.norm(quaternion))
    if not abs(length - 1.0) < 1e-3:
        raise InputError(f"the orientation has length {length:.6g}; a rotation is a quaternion of length 1")
    return lie.pose(lie.rotation_from_quaternion(quaternion / length), [p.x, p.y, p.z])


class JointStateReader:
    """Reads one joint state after the other into the same two arrays, a thousand times a second.

    Args:
        joint_names: The joints that are wanted, in this order.
    """

    def __init__(self, joint_names: Sequence[str]):
        self._wanted = tuple(joint_names)
        self.q = np.zeros(len(self._wanted))
        """Positions [rad or m], shape (n,)."""
        self.qd = np.zeros(len(self._wanted))
        """Velocities [rad/s or m/s], shape (n,)."""
        self.problem = ""
        """Why the last message could not be read; empty if it could."""
        self._names: list[str] = []
        self._places = np.zeros(len(self._wanted), dtype=np.intp)

    def read(self, state: JointState) -> bool:
        """Whether the message says where all joints are and how fast; `problem` tells what it lacks."""
        if state.name != self._names and not self._find(state.name):
            return False
        size = len(self._names)
        if len(state.position) != size or len(state.velocity) != size:
            self.problem = (
                f"a joint state has {size} names, {len(state.position)} positions and {len(state.velocity)} "
                "velocities; control needs one of each per joint"
            )
            return False
        # Numbers that are not finite are passed on: the guard knows what to do about them.
        np.take(np.frombuffer(state.position), self._places, out=self.q)
        np.take(np.frombuffer(state.velocity), self._places, out=self.qd)
        self.problem = ""
        return True

    def _find(self, names: Sequence[str]) -> bool:
        missing = [name for name in self._wanted if name not in names]
        if missing:
            self.problem = str(MissingJoints(missing, names))
            return False
        self._names = list(names)
        self._places[:] = [self._names.index(name) for name in self._wanted]
        return True
