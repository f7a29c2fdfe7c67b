"""Goals of the mocked joint_trajectory_controller: what the real one rejects, ignores and does not know of.

As joint_trajectory_controller 4.42 of Jazzy does with its default parameters (docs/hardware.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from control_msgs.action import FollowJointTrajectory
from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage

from manipapy_core.control import ErrorCode, GoalStatus, Outcome
from manipapy_core.control.execution.validation import REST_VELOCITY

from ..common.conversions import to_seconds
from ..controller.trajectory_action import TrajectoryFollower, TrajectoryGoals

CANCELLED = Outcome(GoalStatus.CANCELED, ErrorCode.SUCCESSFUL, "")


class HaltingArm(TrajectoryFollower, Protocol):
    """An arm that can stop within a cycle."""

    def halt(self) -> None:
        """Stops the arm where it is, without deceleration."""


class ControllerGoals(TrajectoryGoals):
    """Goals by action and by topic, rejected where joint_trajectory_controller rejects them.

    A rejected goal has no result: the reason is in the log alone. There are no heartbeats and no streams; an empty
    trajectory on the topic is an error and does not stop the arm, any other replaces the motion of the goal that runs,
    which ends with it. The result of a cancelled goal is empty.

    Args:
        node: Owner of the action and the topic.
        arm: Executes the goals.
        is_active: Whether goals may be executed.
        decelerate: Whether a cancelled goal ends with a deceleration; otherwise the arm stops at once.
    """

    def __init__(self, node: Node, arm: HaltingArm, is_active: Callable[[], bool], *, decelerate: bool):
        super().__init__(node, arm, is_active, streams=False)
        self._arm, self._decelerate = arm, decelerate

    def _respond(self, goal: FollowJointTrajectory.Goal) -> GoalResponse:
        return GoalResponse.REJECT if self._is_refused(goal.trajectory) else GoalResponse.ACCEPT

    def _on_message(self, message: TrajectoryMessage) -> None:
        if self._is_refused(message):
            return
        running = next(
            (entry for entry in self._goals if entry.handle is not None and entry.goal.outcome is None), None
        )
        super()._on_message(message)
        if running is not None and self._goals[-1] is not running:
            self._goals.remove(running)
            self._goals[-1] = replace(self._goals[-1], handle=running.handle)

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        response = super()._on_cancel(handle)
        if response is CancelResponse.ACCEPT and not self._decelerate:
            for entry in self._goals:
                entry.goal.ending.settle(CANCELLED)
            self._arm.halt()
        return response

    def _end(self, handle: ServerGoalHandle | None, outcome: Outcome) -> None:
        super()._end(handle, CANCELLED if outcome.status is GoalStatus.CANCELED else outcome)

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
    fast = [name for name, velocity in zip(names, last.velocities) if abs(velocity) > REST_VELOCITY]
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
