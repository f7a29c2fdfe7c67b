"""Conversions between messages and plain data: joints are matched by name, and times are split, only here."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Pose, PoseStamped
from numpy.typing import ArrayLike, NDArray
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from manipapy_core import lie
from manipapy_core.errors import InputError
from manipapy_core.typing import Array


class MissingJoints(InputError):
    """A joint state without a position for every joint of the arm."""

    def __init__(self, missing: Sequence[str], given: Sequence[str]):
        super().__init__(
            f"no position for {', '.join(missing)}; the joint state has: {', '.join(given) or 'no joints'}"
        )
        self.missing, self.given = tuple(missing), tuple(given)


class MalformedJointState(InputError):
    """A joint state whose arrays contradict each other."""


def to_seconds(time: Time | Duration) -> float:
    """A stamp or a duration as a number [s]."""
    return float(time.sec + 1e-9 * time.nanosec)


def to_nanoseconds(time: Time | Duration) -> int:
    """A stamp or a duration as a number [ns]."""
    return int(time.sec * 1_000_000_000 + time.nanosec)


def split_nanoseconds(nanoseconds: int) -> tuple[int, int]:
    """Fields `sec` and `nanosec` of a time [ns]."""
    return divmod(nanoseconds, 1_000_000_000)


def time_message(nanoseconds: int) -> Time:
    """A time [ns] as a stamp."""
    sec, nanosec = split_nanoseconds(nanoseconds)
    return Time(sec=sec, nanosec=nanosec)


def duration_message(seconds: float) -> Duration:
    """A time [s] as a duration, rounded to nanoseconds."""
    sec, nanosec = split_nanoseconds(round(seconds * 1e9))
    return Duration(sec=sec, nanosec=nanosec)


def positions_by_name(state: JointState, joint_names: Sequence[str]) -> Array:
    """Positions [rad or m] in the order of `joint_names`, shape (n,).

    The message may hold its joints in any order, and other joints as well.

    Raises:
        MalformedJointState: Names and positions differ in number, or a joint is named twice.
        MissingJoints: A requested joint is not in the message.
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
    """Optional numbers of a message in the order of `joint_names`, shape (n,); zeros when there are none.

    Args:
        names: Order of the values.
        what: Name in error messages, such as "velocities".

    Raises:
        MalformedJointState: Names and values differ in number.
        InputError: A number is NaN or infinite.
    """
    if not len(values):
        return np.zeros(len(joint_names))
    if len(values) != len(names):
        raise MalformedJointState(f"{len(values)} {what} for {len(names)} names; give one each, or none")
    value_of = dict(zip(names, values, strict=True))
    numbers = np.array([value_of[name] for name in joint_names], dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise InputError(f"{what} must be finite; got {', '.join(str(value) for value in values)}")
    return numbers


def matrix_from_pose(pose: Pose) -> Array:
    """Homogeneous matrix of a pose message, shape (4, 4).

    Raises:
        InputError: The quaternion does not have length 1.
    """
    o, p = pose.orientation, pose.position
    quaternion = np.array([o.x, o.y, o.z, o.w])
    length = float(np.linalg.norm(quaternion))
    if not abs(length - 1.0) < 1e-3:
        raise InputError(f"the orientation has length {length:.6g}; a rotation is a quaternion of length 1")
    return lie.pose(lie.rotation_from_quaternion(quaternion / length), [p.x, p.y, p.z])


def names_of_joint_state(serialized: bytes) -> tuple[str, ...]:
    """Joints that a serialized joint state names; empty if it cannot be read."""
    try:
        return tuple(deserialize_message(serialized, JointState).name)
    except (RuntimeError, UnicodeDecodeError, MemoryError):
        return ()


class JointStateReader:
    """Reads serialized joint states into the same two arrays, a thousand times a second.

    Deserializing each message would take longer than the control tick. Messages of one publisher differ only in stamp
    and numbers, so the first is deserialized and the layout of the others is compared with it.

    Args:
        joint_names: The joints to read, in this order.
    """

    def __init__(self, joint_names: Sequence[str]):
        self._wanted = tuple(joint_names)
        self._numbers = np.zeros((2, len(self._wanted)))
        self.q, self.qd = self._numbers
        """Positions [rad or m] and velocities [rad/s or m/s], shape (n,) each."""
        self.stamp: tuple[int, int] = (0, 0)
        """Of the last valid message: seconds and nanoseconds."""
        self.problem = ""
        """Why the last message is not valid; empty if it is."""
        self._layout: _Layout | None = None

    def read(self, serialized: bytes) -> bool:
        """Whether the message has positions and velocities of all joints; `problem` names what it lacks."""
        layout = self._layout
        if layout is None or not layout.fits(serialized):
            return self._deserialize(serialized)
        # Numbers that are not finite are passed on: the guard handles them.
        layout.numbers(serialized).take(layout.places, out=self._numbers)
        sec, nanosec = _STAMP.unpack_from(serialized, 4)
        self.stamp = sec, nanosec
        return True

    def _deserialize(self, serialized: bytes) -> bool:
        state = deserialize_message(serialized, JointState)
        self._layout, names = None, list(state.name)
        missing = [name for name in self._wanted if name not in names]
        if missing:
            self.problem = str(MissingJoints(missing, names))
            return False
        size = len(names)
        if len(state.position) != size or len(state.velocity) != size:
            self.problem = (
                f"a joint state has {size} names, {len(state.position)} positions and {len(state.velocity)} "
                "velocities; control needs one of each per joint"
            )
            return False
        places = [names.index(name) for name in self._wanted]
        np.take(np.frombuffer(state.position), places, out=self.q)
        np.take(np.frombuffer(state.velocity), places, out=self.qd)
        self.stamp = (state.header.stamp.sec, state.header.stamp.nanosec)
        self.problem = ""
        self._layout = _Layout.of(serialized, state, places)
        return True


_STAMP, _COUNT = struct.Struct("<iI"), struct.Struct("<I")
_PLAIN_CDR = b"\x00\x01"
"""Encapsulation header of little-endian CDR version 1."""
_AFTER_STAMP = 12


@dataclass(frozen=True)
class _Layout:
    """Layout of the serialized joint states of one publisher."""

    size: int
    """Of the whole message [bytes]."""
    start: int
    """Of the positions. The count of velocities takes the space of one number, then they follow."""
    middle: int
    """End of the positions."""
    end: int
    """Of the velocities."""
    head: bytes
    """Bytes between stamp and positions: frame, names, count of positions."""
    count: bytes
    """Count of velocities."""
    places: NDArray[np.intp]
    """Indices of the read positions and velocities among the numbers from start to end, shape (2, n)."""

    @classmethod
    def of(cls, serialized: bytes, state: JointState, places: Sequence[int]) -> _Layout | None:
        """Layout of a deserialized message; None if it differs from the one described here."""
        at = after_string(_AFTER_STAMP, state.header.frame_id)
        at = aligned(at, 4) + _COUNT.size
        for name in state.name:
            at = after_string(at, name)
        positions, velocities = state.position.tobytes(), state.velocity.tobytes()
        start = aligned(aligned(at, 4) + _COUNT.size, 8)
        middle = start + len(positions)
        end = middle + 8 + len(velocities)
        if not serialized.startswith(_PLAIN_CDR):
            return None
        if serialized[start:middle] != positions or serialized[middle + 8 : end] != velocities:
            return None
        first = np.array(places, dtype=np.intp)
        both = np.stack([first, first + len(state.position) + 1])
        head = serialized[_AFTER_STAMP:start]
        return cls(len(serialized), start, middle, end, head, _COUNT.pack(len(state.velocity)), both)

    def fits(self, serialized: bytes) -> bool:
        """Whether a message differs from the first only in stamp and numbers."""
        return (
            len(serialized) == self.size
            and serialized.startswith(_PLAIN_CDR)
            and serialized.startswith(self.head, _AFTER_STAMP)
            and serialized.startswith(self.count, self.middle)
        )

    def numbers(self, serialized: bytes) -> Array:
        """Positions, one meaningless number, velocities."""
        return np.frombuffer(serialized[self.start : self.end])  # a copy, for alignment


def aligned(offset: int, size: int) -> int:
    """The next offset for a number of this size in a serialized message; offsets count the four bytes of its header."""
    return -(-(offset - 4) // size) * size + 4


def after_string(offset: int, text: str) -> int:
    """Offset behind a string that begins at the next aligned offset."""
    return aligned(offset, 4) + _COUNT.size + len(text.encode()) + 1
