"""Transform buffer: poses of frames at past times, from `tf` and `tf_static`.

tf2's own Python listener exists on ROS distributions only; this one does what cameras need.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque

import numpy as np
from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from tf2_msgs.msg import TFMessage

from manipapy_core import lie
from manipapy_core.errors import InputError
from manipapy_core.trajectory import interpolate_pose
from manipapy_core.typing import Array

from ..realtime.polled_topics import PolledSubscription
from . import qos
from .conversions import to_nanoseconds

QUEUE = 100
"""Queue size of tf2's own listener."""
MOVING = QoSProfile(depth=QUEUE, reliability=ReliabilityPolicy.BEST_EFFORT)
"""No retransmission: the next transform follows soon."""
KEPT = 500
"""Transforms per frame: ten seconds at 50 Hz."""
TOLERANCE_NS = 100_000_000
"""Extrapolation beyond the newest transform that is accepted [ns]: transforms and images do not arrive in order."""


class NoTransform(InputError):
    """A frame that is not connected, or whose pose at the time is not known."""

    def __init__(self, base: str, frame: str, problem: str):
        super().__init__(f"the pose of {frame!r} in {base!r} is not known: {problem}")
        self.base, self.frame = base, frame


class TfBuffer:
    """Transforms received so far; used by one thread.

    Args:
        node: The subscriber.
    """

    def __init__(self, node: Node):
        self._parents: dict[str, str] = {}
        self._fixed: dict[str, Array] = {}
        self._moving: dict[str, deque[tuple[int, Array]]] = {}
        # Polled when a pose is needed: callbacks at the rate of tf would cost as much as the perception.
        latched = QoSProfile(depth=QUEUE, durability=qos.LATCHED.durability)
        self._fixed_messages: PolledSubscription[TFMessage] = PolledSubscription(node, TFMessage, "tf_static", latched)
        self._moving_messages: PolledSubscription[TFMessage] = PolledSubscription(node, TFMessage, "tf", MOVING)

    def destroy(self) -> None:
        """Unsubscribe."""
        self._fixed_messages.destroy()
        self._moving_messages.destroy()

    def pose(self, base: str, frame: str, time_ns: int) -> Array:
        """T_base_frame at a time, shape (4, 4).

        Raises:
            NoTransform: The two are not connected, or their pose at that time is not known.
        """
        self._receive()
        up_base, up_frame = self._to_root(base), self._to_root(frame)
        if up_base[-1] != up_frame[-1]:
            raise NoTransform(base, frame, f"no transform on tf or tf_static connects them (known: {self._known()})")
        shared = set(up_base) & set(up_frame)
        T_base, T_frame = np.eye(4), np.eye(4)
        for up, T in ((up_base, T_base), (up_frame, T_frame)):
            for child in up:
                if child in shared:
                    break
                T[:] = self._at(base, child, time_ns) @ T
        return lie.inverse(T_base) @ T_frame

    def root_of(self, frame: str) -> str:
        """The topmost frame above a frame, itself if it has no parent."""
        self._receive()
        return self._to_root(frame)[-1]

    def _receive(self) -> None:
        for message in self._fixed_messages.all_new():
            self._on_fixed(message)
        for message in self._moving_messages.all_new():
            self._on_moving(message)

    def _at(self, base: str, child: str, time_ns: int) -> Array:
        if child in self._fixed:
            return self._fixed[child]
        samples = self._moving[child]
        times = [time for time, _ in samples]
        if not times[0] - TOLERANCE_NS <= time_ns <= times[-1] + TOLERANCE_NS:
            away = 1e-9 * min(abs(time_ns - times[0]), abs(time_ns - times[-1]))
            raise NoTransform(
                base, child, f"its transforms are {away:.2f} s away from the requested time; check the clocks"
            )
        after = min(bisect_left(times, time_ns), len(times) - 1)
        before = max(after - 1, 0)
        (t0, T0), (t1, T1) = samples[before], samples[after]
        share = min(max((time_ns - t0) / (t1 - t0), 0.0), 1.0) if t1 > t0 else 1.0
        return interpolate_pose(T0, T1, share)

    def _to_root(self, frame: str) -> list[str]:
        path = [frame]
        while path[-1] in self._parents and len(path) <= len(self._parents):
            path.append(self._parents[path[-1]])
        return path

    def _known(self) -> str:
        return ", ".join(sorted({*self._parents, *self._parents.values()})[:12]) or "none"

    def _on_fixed(self, message: TFMessage) -> None:
        for transform in message.transforms:
            self._parents[transform.child_frame_id] = transform.header.frame_id
            self._fixed[transform.child_frame_id] = matrix_of(transform)

    def _on_moving(self, message: TFMessage) -> None:
        for transform in message.transforms:
            child = transform.child_frame_id
            self._parents[child] = transform.header.frame_id
            samples = self._moving.setdefault(child, deque(maxlen=KEPT))
            time_ns = to_nanoseconds(transform.header.stamp)
            if samples and time_ns <= samples[-1][0]:
                if time_ns == samples[-1][0]:
                    continue
                samples.clear()  # simulated time was set back
            samples.append((time_ns, matrix_of(transform)))


def matrix_of(message: TransformStamped) -> Array:
    """Homogeneous matrix, shape (4, 4)."""
    p, o = message.transform.translation, message.transform.rotation
    return lie.pose(lie.rotation_from_quaternion(np.array([o.x, o.y, o.z, o.w])), [p.x, p.y, p.z])
