"""Commands of a servo from topics: one client at a time, fresh stamps, finite numbers, known frames and joints."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from control_msgs.msg import JointJog as JogMessage
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Joy

from manipapy_core import lie
from manipapy_core.errors import InputError, ManipapyError
from manipapy_core.polytopes import Axes
from manipapy_core.servoing import JointJog, PoseTarget, ServoCommand, TwistCommand
from manipapy_core.typing import Array

from ..common.conversions import matrix_from_pose, to_seconds
from ..realtime.polled_topics import PolledSubscription
from .joystick import Joystick

COMMANDS = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=8, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Matches reliable and best-effort publishers; several clients may publish at once."""
MOVEIT_NODE = "servo_node"
"""Name of the node whose topics clients of MoveIt Servo expect."""
CLOCK_MISMATCH = 10.0
"""A larger difference between a stamp and the clock of this node means that use_sim_time differs [s]."""
TARGET_SMOOTHING = 0.3
"""Share of a new difference quotient in the estimated velocity of a moving target."""
LONGEST_TARGET_GAP = 0.2
"""Targets farther apart than this are not one moving target [s]."""


class CommandType(enum.IntEnum):
    """As moveit_msgs/srv/ServoCommandType numbers them."""

    JOINT_JOG = 0
    TWIST = 1
    POSE = 2


class CommandInput:
    """Polls all command topics. A client that commands the arm keeps it until it is silent.

    Args:
        node: Owner of the subscriptions.
        joint_names: Of the arm.
        base: Its base link.
        tip: Its tip.
        pose_of: Returns T_base_frame of any other frame now; raises InputError if it is not known.
        joystick: Mapping of a joystick.
        timeout: Silence after which a command ends [s].
    """

    def __init__(
        self,
        node: Node,
        joint_names: Sequence[str],
        base: str,
        tip: str,
        pose_of: Callable[[str], Array],
        joystick: Joystick,
        timeout: float,
    ):
        self.type = CommandType.TWIST
        """What clients of MoveIt's topics send."""
        self.problem = ""
        """Why the last command was refused; empty if it was not."""
        self.ignored = ""
        """Which other client was ignored last; empty while there is none."""
        self._joint_names, self._base, self._tip = tuple(joint_names), base, tip
        self._pose_of, self._joystick, self._timeout = pose_of, joystick, timeout
        self._command: ServoCommand | None = None
        self._arrival = self._ignored_at = -np.inf
        self._client: tuple[str, bytes] | None = None
        self._target: tuple[float, Array, Array] | None = None
        self._topics: list[tuple[str, PolledSubscription[Any], type, CommandType | None]] = []
        for name, kind, required in (
            ("~/twist", TwistStamped, None),
            ("~/joint_jog", JogMessage, None),
            ("~/pose_target", PoseStamped, None),
            (f"{MOVEIT_NODE}/delta_twist_cmds", TwistStamped, CommandType.TWIST),
            (f"{MOVEIT_NODE}/delta_joint_cmds", JogMessage, CommandType.JOINT_JOG),
            (f"{MOVEIT_NODE}/pose_target_cmds", PoseStamped, CommandType.POSE),
            ("joy", Joy, None),
        ):
            polled: PolledSubscription[Any] = PolledSubscription(node, kind, name, COMMANDS)
            self._topics.append((polled.topic, polled, kind, required))

    def destroy(self) -> None:
        """Unsubscribes."""
        for _, polled, _, _ in self._topics:
            polled.destroy()

    def drop(self) -> None:
        """Forgets the command, and lets any client command the arm."""
        self._command, self._client, self._target, self._arrival = None, None, None, -np.inf

    def poll(self, wall: float, ros_now: float) -> ServoCommand | None:
        """The command that holds now; None if there is none, it is too old, or it was refused.

        Args:
            wall: Monotonic time [s].
            ros_now: Time on the clock of stamps [s].
        """
        if self._client is not None and wall - self._arrival > self._timeout:
            self.drop()
        if wall - self._ignored_at > 1.0:
            self.ignored = ""
        for topic, polled, kind, required in self._topics:
            while (taken := polled.take_identified()) is not None:
                message, source = taken
                self._take(topic, source, deserialize_message(message, kind), required, wall, ros_now)
        return self._command

    def _take(
        self, topic: str, source: bytes, message: Any, required: CommandType | None, wall: float, ros_now: float
    ) -> None:
        if isinstance(message, Joy) and not self._joystick.is_enabled(message) and self._client != (topic, source):
            return  # its enabling switch is released
        if self._client not in (None, (topic, source)):
            self.ignored, self._ignored_at = f"commands on {topic} are ignored: another client moves the arm", wall
            return
        self._client, self._arrival = (topic, source), wall
        try:
            if required is not None and required is not self.type:
                raise InputError(
                    f"{topic} is not used: the command type is {self.type.name}; call switch_command_type first"
                )
            self._check_stamp(topic, to_seconds(message.header.stamp), ros_now)
            self._command, self.problem = self._converted(message, wall), ""
        except ManipapyError as error:
            self._command, self._target, self.problem = None, None, f"command refused: {error}"

    def _converted(self, message: Any, wall: float) -> ServoCommand | None:
        if isinstance(message, TwistStamped):
            t = message.twist
            twist = np.array([t.angular.x, t.angular.y, t.angular.z, t.linear.x, t.linear.y, t.linear.z])
            return TwistCommand(twist, self._axes(message.header.frame_id))
        if isinstance(message, Joy):
            found = self._joystick.twist(message)
            return None if found is None else TwistCommand(found, Axes.BASE)
        if isinstance(message, JogMessage):
            return JointJog(self._velocities(message))
        pose = matrix_from_pose(message.pose)
        frame = message.header.frame_id
        if frame == self._tip:
            raise InputError(f"a pose in the tip's own frame {frame!r} runs away from it; give one in {self._base!r}")
        if frame not in ("", self._base):
            pose = self._pose_of(frame) @ pose
        return PoseTarget(pose, self._target_twist(pose, wall))

    def _axes(self, frame: str) -> Axes | Array:
        if frame in ("", self._base):
            return Axes.BASE
        return Axes.TIP if frame == self._tip else np.ascontiguousarray(self._pose_of(frame)[:3, :3])

    def _velocities(self, message: JogMessage) -> Array:
        names = list(message.joint_names)
        unknown = [name for name in names if name not in self._joint_names]
        if unknown:
            raise InputError(f"no joint {', '.join(map(repr, unknown))}; available: {', '.join(self._joint_names)}")
        if message.displacements:
            raise InputError("a joint jog with displacements is not followed; give velocities")
        if len(message.velocities) != len(names):
            raise InputError(f"{len(message.velocities)} velocities for {len(names)} joints; give one each")
        velocities = np.zeros(len(self._joint_names))
        for name, value in zip(names, message.velocities, strict=True):
            velocities[self._joint_names.index(name)] = value
        return velocities

    def _target_twist(self, pose: Array, wall: float) -> Array:
        """Velocity of a target that moves, from its last two poses."""
        last, self._target = self._target, (wall, pose, np.zeros(6))
        if last is None or not 1e-3 < wall - last[0] < LONGEST_TARGET_GAP:
            return np.zeros(6)
        turn = lie.log_so3(pose[:3, :3] @ last[1][:3, :3].T)
        rate = np.concatenate([turn, pose[:3, 3] - last[1][:3, 3]]) / (wall - last[0])
        if np.linalg.norm(rate[3:]) > 1.0 or np.linalg.norm(rate[:3]) > 3.0:
            return np.zeros(6)  # it jumps
        twist = last[2] + TARGET_SMOOTHING * (rate - last[2]) if rate.any() else np.zeros(6)
        self._target = wall, pose, twist
        return twist

    def _check_stamp(self, topic: str, stamp: float, ros_now: float) -> None:
        if stamp == 0.0:
            return
        age = ros_now - stamp
        if abs(age) > CLOCK_MISMATCH:
            raise InputError(f"the stamp on {topic} is {age:.1f} s from now; set use_sim_time alike, or send stamp 0")
        if not -0.5 < age < self._timeout + 0.1:
            raise InputError(f"the stamp on {topic} is {age:.2f} s old; commands are followed for {self._timeout:g} s")
