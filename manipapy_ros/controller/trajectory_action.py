"""Goals of the controller, from the action FollowJointTrajectory and from a topic.

Every goal is accepted, because a rejection carries no reason; one that cannot be executed is then aborted with code and
reason. A timer polls the outcomes that the control loop sets, so that no callback waits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from builtin_interfaces.msg import Time
from control_msgs.action import FollowJointTrajectory
from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from rclpy.subscription import Subscription
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage

from manipapy_core.control import (
    ArmController,
    ControllerBusy,
    ErrorCode,
    GoalRefused,
    GoalStatus,
    Outcome,
    ValidatedGoal,
)
from manipapy_core.errors import ManipapyError
from manipapy_core.trajectory import JointTrajectory

from ..common.conversions import to_seconds
from ..common.deferred_action import DeferredActionServer, not_used
from ..common.heartbeat import HeartbeatMonitor
from ..common.node import NotActive
from .trajectory_messages import FeedbackPublisher, tolerances_from_goal, trajectory_from_message

ACTION = "~/follow_joint_trajectory"
KEEP_RESULTS = 120
"""How long results are kept for clients [s]."""


@dataclass(frozen=True, eq=False)
class _ActiveGoal:
    goal: ValidatedGoal
    handle: ServerGoalHandle | None
    """None for goals of the topic."""


class TrajectoryFollower(Protocol):
    """Executes trajectories: the control thread, or a mock arm."""

    @property
    def controller(self) -> ArmController: ...

    @property
    def stamp(self) -> Time:
        """Stamp of the last joint state."""

    def loop_time(self, stamp: float) -> float:
        """A ROS time [s] on the clock of the controller."""


class TrajectoryGoals:
    """Accepts goals, sends feedback and results.

    Args:
        node: Owner of the action and the topic.
        thread: Executes the goals.
        is_active: Whether goals may be executed.
        heartbeat_timeout: Time without a heartbeat after which a monitored goal ends [s].
        streams: Whether to subscribe to streams of short trajectories.
    """

    def __init__(
        self,
        node: Node,
        thread: TrajectoryFollower,
        is_active: Callable[[], bool],
        *,
        heartbeat_timeout: float = math.inf,
        streams: bool = True,
    ):
        self._node, self._thread, self._is_active = node, thread, is_active
        self._goals: list[_ActiveGoal] = []
        self._server = DeferredActionServer(
            node,
            FollowJointTrajectory,
            ACTION,
            execute_callback=not_used,
            goal_callback=self._respond,
            handle_accepted_callback=self._on_goal,
            cancel_callback=self._on_cancel,
            result_timeout=KEEP_RESULTS,
        )
        self._feedback = FeedbackPublisher(node, ACTION, thread.controller.chain.joint_names)
        self._topic = node.create_subscription(TrajectoryMessage, "~/joint_trajectory", self._on_message, 1)
        self._stream: Subscription | None = None
        if streams:
            self._stream = node.create_subscription(TrajectoryMessage, "~/joint_stream", self._on_stream, 1)
        self._streamed: ValidatedGoal | None = None
        # Without a timeout no client is monitored, and nothing is subscribed to.
        self._heartbeats = HeartbeatMonitor(node, heartbeat_timeout) if math.isfinite(heartbeat_timeout) else None

    def destroy(self) -> None:
        """Ends all goals and destroys action and topic."""
        self.abandon("the controller is shutting down")
        self._node.destroy_subscription(self._topic)
        if self._stream is not None:
            self._node.destroy_subscription(self._stream)
        if self._heartbeats is not None:
            self._heartbeats.destroy()
        self._feedback.destroy()
        self._server.destroy()

    def abandon(self, reason: str) -> None:
        """Aborts every goal that still runs."""
        for entry in self._goals:
            entry.goal.ending.settle(Outcome(GoalStatus.ABORTED, ErrorCode.INVALID_GOAL, reason))
        self.settle()

    def settle(self) -> None:
        """Sends results of goals that have ended and feedback of the one that runs; called by a timer."""
        if not self._goals:
            return
        self._end_unmonitored()
        try:
            status = self._thread.controller.status()
        except ControllerBusy:
            return  # goals are settled once ticks end again
        for entry in list(self._goals):
            outcome = entry.goal.outcome
            if outcome is not None:
                self._goals.remove(entry)
                self._end(entry.handle, outcome)
            elif entry.handle is not None and status.goal is entry.goal:
                self._feedback.publish(bytes(entry.handle.goal_id.uuid), status, self._thread.stamp)

    def _end_unmonitored(self) -> None:
        """Brings the arm to rest if the heartbeats of its goal have stopped."""
        if self._heartbeats is None:
            return
        self._heartbeats.update()
        for entry in self._goals:
            sender = None if entry.handle is None else self._heartbeats.lost(bytes(entry.handle.goal_id.uuid))
            if sender is not None and entry.goal.outcome is None:
                text = f"no heartbeat of {sender} for {self._heartbeats.silence:g} s; the arm is held"
                entry.goal.ending.settle(Outcome(GoalStatus.ABORTED, ErrorCode.INVALID_GOAL, text))
                self._thread.controller.cancel(entry.goal)

    def _respond(self, goal: FollowJointTrajectory.Goal) -> GoalResponse:
        """Whether a goal is accepted; a rejection carries no reason."""
        return GoalResponse.ACCEPT

    def _on_goal(self, handle: ServerGoalHandle) -> None:
        handle.execute()
        goal = handle.request
        try:
            active = self._submit(goal.trajectory, goal)
        except GoalRefused as refusal:
            self._end(handle, refusal.outcome())
        except ManipapyError as error:
            self._end(handle, Outcome(GoalStatus.ABORTED, ErrorCode.INVALID_GOAL, str(error)))
        else:
            self._goals.append(_ActiveGoal(active, handle))

    def _on_message(self, message: TrajectoryMessage) -> None:
        try:
            if not message.points:
                # By convention an empty trajectory stops the arm.
                self._thread.controller.hold()
                return
            self._goals.append(_ActiveGoal(self._submit(message, None), None))
        except ManipapyError as error:
            self._node.get_logger().error(f"trajectory not executed: {error}")

    def _on_stream(self, message: TrajectoryMessage) -> None:
        log = self._node.get_logger()
        last = None if self._streamed is None else self._streamed.outcome
        if last is not None and last.status is GoalStatus.ABORTED:
            log.warning(f"stream not executed: {last.text}", throttle_duration_sec=2.0)
        try:
            self._streamed = self._thread.controller.stream(self._trajectory(message))
        except ManipapyError as error:
            self._streamed = None
            log.error(f"stream not executed: {error}", throttle_duration_sec=2.0)

    def _submit(self, message: TrajectoryMessage, goal: FollowJointTrajectory.Goal | None) -> ValidatedGoal:
        tolerances = None if goal is None else tolerances_from_goal(goal)
        return self._thread.controller.submit(self._trajectory(message), tolerances)

    def _trajectory(self, message: TrajectoryMessage) -> JointTrajectory:
        if not self._is_active():
            raise NotActive(self._node.get_fully_qualified_name())
        stamp = to_seconds(message.header.stamp)
        start = None if stamp == 0.0 else self._thread.loop_time(stamp)
        return trajectory_from_message(message, start)

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        for entry in self._goals:
            if entry.handle is handle:
                self._thread.controller.cancel(entry.goal)
                return CancelResponse.ACCEPT
        return CancelResponse.REJECT

    def _end(self, handle: ServerGoalHandle | None, outcome: Outcome) -> None:
        log = self._node.get_logger()
        if outcome.succeeded:
            log.info("goal reached")
        elif handle is None and outcome.status is GoalStatus.PREEMPTED:
            log.debug(outcome.text)  # a stream of trajectories on the topic
        else:
            log.warning(f"goal {outcome.status.value}: {outcome.text}")
        if handle is not None:
            result = FollowJointTrajectory.Result(error_code=int(outcome.code), error_string=outcome.text)
            cancelled = outcome.status is GoalStatus.CANCELED
            self._server.finish(handle, result, succeeded=outcome.succeeded, cancelled=cancelled)
