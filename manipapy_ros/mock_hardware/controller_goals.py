"""Goals of the mocked joint_trajectory_controller: what the real one rejects, ignores and does not know of.

As joint_trajectory_controller 4.42 of Jazzy does with its default parameters (docs/hardware.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from control_msgs.action import FollowJointTrajectory
from rclpy.action import GoalResponse
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage

from ..common.conversions import to_seconds
from ..controller.trajectory_action import TrajectoryFollower, TrajectoryGoals

END_VELOCITY = float(np.finfo(np.float32).eps)
"""Largest velocity of a joint in the last point [rad/s or m/s]."""


class ControllerGoals(TrajectoryGoals):
    """Goals by action and by topic, rejected where joint_trajectory_controller rejects them.

    A rejected goal has no result: the reason is in the log alone. There are no heartbeats and no streams; an empty
    trajectory on the topic is an error and does not stop the arm.

    Args:
        node: Owner of the action and the topic.
        arm: Executes the goals.
        is_active: Whether goals may be executed.
    """

    def __init__(self, node: Node, arm: TrajectoryFollower, is_active: Callable[[], bool]):
        super().__init__(node, arm, is_active, streams=False)

    def _respond(self, goal: FollowJointTrajectory.Goal) -> GoalResponse:
        return GoalResponse.REJECT if self._is_refused(goal.trajectory) else GoalResponse.ACCEPT

    def _on_message(self, message: TrajectoryMessage) -> None:
        if not self._is_refused(message):
            super()._on_message(message)

    def _is_refused(self, message: TrajectoryMessage) -> bool:
        reason = refusal(
            message, self._thread.controller.chain.joint_names, 1e-9 * self._node.get_clock().now().nanoseconds
        )
        if not self._is_active():
            reason = "the controller is not active"
        if reason is not None:
            self._node.get_logger().error(f"trajectory refused: {reason}")
        return reason is not None


def refusal(message: TrajectoryMessage, joint_names: Sequence[str], now: float) -> str | None:
    """Why joint_trajectory_controller refuses a trajectory; None if it does not.

    Args:
        joint_names: Of the controller.
        now: ROS time [s].
    """
    names = list(message.joint_names)
    unknown = [name for name in names if name not in joint_names]
    if unknown or len(names) != len(joint_names):
        return f"its joints are {', '.join(names) or 'none'}; the controller has {', '.join(joint_names)}"
    if not message.points:
        return "it has no points"
    last = message.points[-1]
    fast = [name for name, velocity in zip(names, last.velocities) if abs(velocity) > END_VELOCITY]
    if fast:
        return f"{', '.join(fast)} would still move at the end"
    start = to_seconds(message.header.stamp)
    if start != 0.0 and start + to_seconds(last.time_from_start) < now:
        return "it ends in the past"
    before = 0.0
    for number, point in enumerate(message.points):
        elapsed = to_seconds(point.time_from_start)
        if number > 0 and elapsed <= before:
            return f"point {number} is not later than the one before it"
        before = elapsed
        if len(point.positions) != len(names):
            return f"point {number} has {len(point.positions)} positions for {len(names)} joints"
        for what, values in (("velocities", point.velocities), ("accelerations", point.accelerations)):
            if len(values) not in (0, len(names)):
                return f"point {number} has {len(values)} {what} for {len(names)} joints"
        if len(point.effort) > 0:
            return f"point {number} has efforts, and the controller commands positions"
    return None
