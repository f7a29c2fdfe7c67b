"""How far a goal of the action FollowJointTrajectory is, sent to its client without the cost of a message object."""

from __future__ import annotations

from collections.abc import Sequence

from builtin_interfaces.msg import Duration, Time
from control_msgs.action import FollowJointTrajectory
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

from manipapy_core.control import Status

from .serialized import Marks, MessageTemplate, motion_bytes, time_bytes
from .trajectory_messages import point

GOAL_ID = 16
"""[bytes]"""
FEEDBACK = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""As clients of actions subscribe."""


class FeedbackPublisher:
    """Publishes on the topic that clients of an action get their feedback from.

    rclpy's own way makes four message objects for each feedback, with the interpreter's lock that the control loop
    waits for.

    Args:
        node: Whose action it is.
        action: Its name.
        joint_names: Of the arm.
    """

    def __init__(self, node: Node, action: str, joint_names: Sequence[str]):
        self._node = node
        kind = FollowJointTrajectory.Impl.FeedbackMessage
        self._publisher = node.create_publisher(kind, f"{action}/_action/feedback", FEEDBACK)
        n, marks, message = len(joint_names), Marks(), kind()
        message.goal_id.uuid = marks.bytes(GOAL_ID)
        feedback = message.feedback
        feedback.joint_names = list(joint_names)
        feedback.header.stamp = marks.time()
        feedback.desired = point(*(marks.numbers(n) for _ in range(3)))
        feedback.actual = point(marks.numbers(n), marks.numbers(n))
        feedback.error = point(marks.numbers(n), marks.numbers(n))
        for part in (feedback.desired, feedback.actual, feedback.error):
            elapsed = marks.time()
            part.time_from_start = Duration(sec=elapsed.sec, nanosec=elapsed.nanosec)
        self._template = MessageTemplate(message, marks.changing)

    def publish(self, goal_id: bytes, status: Status, stamp: Time) -> None:
        """Tells the client of a goal what the arm does.

        Args:
            goal_id: Number of the goal, 16 bytes.
            status: Of the controller.
            stamp: Of the joint state behind it.
        """
        seconds, fraction = divmod(status.goal_time, 1.0)
        elapsed = time_bytes(int(seconds), int(fraction * 1e9))
        self._publisher.publish(
            self._template.filled(
                goal_id,
                time_bytes(stamp.sec, stamp.nanosec),
                *motion_bytes(status),
                *(elapsed,) * 3,
            )
        )

    def destroy(self) -> None:
        """Ends the topic."""
        self._node.destroy_publisher(self._publisher)
