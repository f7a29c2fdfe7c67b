"""Conversion of trajectory messages and tolerances, and the feedback of the action FollowJointTrajectory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Duration, Time
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance as ToleranceMessage
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage
from trajectory_msgs.msg import JointTrajectoryPoint

from manipapy_core.control import ErrorCode, GoalRefused, GoalTolerances, JointTolerance, Status
from manipapy_core.trajectory import JointTrajectory
from manipapy_core.typing import Array

from ..common.conversions import split_nanoseconds, to_seconds
from ..realtime.cdr_templates import Marks, MessageTemplate, motion_bytes, time_bytes

GOAL_ID = 16
"""Length of a goal id [bytes]."""
FEEDBACK = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=10, reliability=ReliabilityPolicy.RELIABLE)
"""QoS of the feedback topic of actions."""


class FeedbackPublisher:
    """Publishes the feedback of an action from a serialized template.

    rclpy makes four message objects for each feedback, while the control loop waits for the interpreter lock (GIL).

    Args:
        node: Owner of the action.
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
        """Publishes the feedback of a goal.

        Args:
            goal_id: 16 bytes.
            status: Of the controller.
            stamp: Of the joint state of that status.
        """
        elapsed = time_bytes(*split_nanoseconds(round(status.goal_time * 1e9)))
        self._publisher.publish(
            self._template.filled(
                goal_id,
                time_bytes(stamp.sec, stamp.nanosec),
                *motion_bytes(status),
                *(elapsed,) * 3,
            )
        )

    def destroy(self) -> None:
        """Destroys the publisher."""
        self._node.destroy_publisher(self._publisher)


MAX_TRAJECTORY = 50_000
"""Points of a trajectory."""


def trajectory_from_message(message: TrajectoryMessage, start_time: float | None) -> JointTrajectory:
    """Converts a trajectory message; its values are validated by the controller.

    Args:
        start_time: On the clock of the controller [s]; None for now.

    Raises:
        GoalRefused: Efforts, no positions, or points with different fields.
    """
    points = message.points
    if len(points) > MAX_TRAJECTORY:
        raise _invalid(f"the trajectory has {len(points)} points, at most {MAX_TRAJECTORY} are taken; give fewer")
    for index, point in enumerate(points):
        if len(point.effort):
            raise _invalid(f"point {index} has efforts; give positions, and velocities and accelerations if known")
    joints = len(message.joint_names)
    positions = _rows("positions", points, joints)
    if positions is None and points:
        raise _invalid("a trajectory needs positions; velocities alone do not define a goal")
    return JointTrajectory(
        [to_seconds(point.time_from_start) for point in points],
        np.zeros((0, joints)) if positions is None else positions,
        _rows("velocities", points, joints),
        _rows("accelerations", points, joints),
        joint_names=message.joint_names,
        start_time=start_time,
    )


def tolerances_from_goal(goal: FollowJointTrajectory.Goal) -> GoalTolerances:
    """Tolerances of a goal: 0 is the default, a negative value switches the check off.

    Raises:
        GoalRefused: Tolerances that this controller does not check.
    """
    if goal.multi_dof_trajectory.joint_names or goal.multi_dof_trajectory.points:
        raise _invalid("joints with several degrees of freedom are not supported; leave multi_dof_trajectory empty")
    if goal.component_path_tolerance or goal.component_goal_tolerance:
        raise _invalid("component tolerances are for joints with several degrees of freedom; leave them empty")
    allowed = to_seconds(goal.goal_time_tolerance)
    return GoalTolerances(
        path=[_tolerance(message) for message in goal.path_tolerance],
        goal=[_tolerance(message) for message in goal.goal_tolerance],
        goal_time=-1.0 if allowed < 0.0 else allowed,
    )


def point(
    q: Array | None = None, qd: Array | None = None, qdd: Array | None = None, effort: Array | None = None
) -> JointTrajectoryPoint:
    """A trajectory point from arrays of shape (n,)."""
    fields = {"positions": q, "velocities": qd, "accelerations": qdd, "effort": effort}
    return JointTrajectoryPoint(**{name: values.tolist() for name, values in fields.items() if values is not None})


def _rows(field: str, points: Sequence[JointTrajectoryPoint], joints: int) -> Array | None:
    """One row per point; None if no point has this field."""
    rows = [getattr(point, field) for point in points]
    if not any(rows):
        return None
    for index, row in enumerate(rows):
        if len(row) != joints:
            raise _invalid(f"point {index} has {len(row)} {field} for {joints} joints; give one each, in every point")
    return np.frombuffer(b"".join(row.tobytes() for row in rows), dtype=np.float64).reshape(len(rows), joints)


def _tolerance(message: ToleranceMessage) -> JointTolerance:
    if message.acceleration > 0.0:
        raise _invalid(f"an acceleration tolerance (joint {message.name!r}) is not checked here; set it to 0")
    return JointTolerance(message.name, message.position, message.velocity)


def _invalid(text: str) -> GoalRefused:
    return GoalRefused(ErrorCode.INVALID_GOAL, text)
