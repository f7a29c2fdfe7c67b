"""Goals of the controller: the action FollowJointTrajectory and the topic for trajectories, one book for both.

A goal is always accepted, because a rejection cannot say why; one that cannot be executed is then aborted with code
and reason. The control loop leaves the outcome of a goal where a timer finds it, so that nothing here ever waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from builtin_interfaces.msg import Time
from control_msgs.action import FollowJointTrajectory
from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
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

from ..common.conversions import to_seconds
from ..common.deferred_action import DeferredActionServer, not_used
from ..common.heartbeat import HeartbeatMonitor
from ..common.node import NotActive
from .trajectory_messages import FeedbackPublisher, tolerances_from_goal, trajectory_from_message

ACTION = "~/follow_joint_trajectory"
KEEP_RESULTS = 120
"""How long a client may take to ask for a result [s]."""


@dataclass(frozen=True, eq=False)
class _Entry:
    plan: ValidatedGoal
    handle: ServerGoalHandle | None
    """None for goals of the topic."""


class TrajectoryFollower(Protocol):
    """Executes trajectories: the control thread, or a mocked arm."""

    @property
    def controller(self) -> ArmController: ...

    @property
    def stamp(self) -> Time:
        """Of the last joint state."""

    def loop_time(self, stamp: float) -> float:
        """A ROS time [s] on the clock of the controller."""


class TrajectoryGoals:
    """Takes goals, tells clients how they go, and how they ended.

    Args:
        node: Whose action and topic they are.
        thread: What executes them.
        is_active: Whether goals are welcome.
        watcher_silence: How long one who watches over a goal may say nothing [s].
    """

    def __init__(
        self, node: Node, thread: TrajectoryFollower, is_active: Callable[[], bool], *, watcher_silence: float
    ):
        self._node, self._thread, self._is_active = node, thread, is_active
        self._book: list[_Entry] = []
        self._server = DeferredActionServer(
            node,
            FollowJointTrajectory,
            ACTION,
            execute_callback=not_used,
            goal_callback=lambda _: GoalResponse.ACCEPT,
            handle_accepted_callback=self._on_goal,
            cancel_callback=self._on_cancel,
            result_timeout=KEEP_RESULTS,
        )
        self._feedback = FeedbackPublisher(node, ACTION, thread.controller.chain.joint_names)
        self._topic = node.create_subscription(TrajectoryMessage, "~/joint_trajectory", self._on_message, 1)
        self._watchers = HeartbeatMonitor(node, watcher_silence)

    def destroy(self) -> None:
        """Takes action and topic away."""
        self.abandon("the controller is going away")
        self._node.destroy_subscription(self._topic)
        self._watchers.destroy()
        self._feedback.destroy()
        self._server.destroy()

    def abandon(self, reason: str) -> None:
        """Ends every goal that still runs."""
        for entry in self._book:
            entry.plan.ending.settle(Outcome(GoalStatus.ABORTED, ErrorCode.INVALID_GOAL, reason))
        self.settle()

    def settle(self) -> None:
        """Reports what has ended, and feedback of what runs; to be called some fifty times a second."""
        if not self._book:
            return
        self._end_unwatched()
        try:
            status = self._thread.controller.status()
        except ControllerBusy:
            return  # goals are settled when the loop has its processor again
        for entry in list(self._book):
            outcome = entry.plan.outcome
            if outcome is not None:
                self._book.remove(entry)
                self._end(entry.handle, outcome)
            elif entry.handle is not None and status.goal is entry.plan:
                self._feedback.publish(bytes(entry.handle.goal_id.uuid), status, self._thread.stamp)

    def _end_unwatched(self) -> None:
        """Brings the arm to rest if the one who watched over its goal is gone."""
        self._watchers.update()
        for entry in self._book:
            who = None if entry.handle is None else self._watchers.lost(bytes(entry.handle.goal_id.uuid))
            if who is not None and entry.plan.outcome is None:
                silence = f"silent for {self._watchers.silence:g} s"
                text = f"{who}, which watched over this motion, has been {silence}; the arm is held"
                entry.plan.ending.settle(Outcome(GoalStatus.ABORTED, ErrorCode.INVALID_GOAL, text))
                self._thread.controller.cancel(entry.plan)

    def _on_goal(self, handle: ServerGoalHandle) -> None:
        handle.execute()
        goal = handle.request
        try:
            plan = self._submit(goal.trajectory, goal)
        except GoalRefused as refusal:
            self._end(handle, refusal.outcome())
        except ManipapyError as error:
            self._end(handle, Outcome(GoalStatus.ABORTED, ErrorCode.INVALID_GOAL, str(error)))
        else:
            self._book.append(_Entry(plan, handle))

    def _on_message(self, message: TrajectoryMessage) -> None:
        try:
            if not message.points:
                # By convention an empty trajectory stops the arm.
                self._thread.controller.hold()
                return
            self._book.append(_Entry(self._submit(message, None), None))
        except ManipapyError as error:
            self._node.get_logger().error(f"trajectory not executed: {error}")

    def _submit(self, message: TrajectoryMessage, goal: FollowJointTrajectory.Goal | None) -> ValidatedGoal:
        if not self._is_active():
            raise NotActive(self._node.get_fully_qualified_name())
        stamp = to_seconds(message.header.stamp)
        start = None if stamp == 0.0 else self._thread.loop_time(stamp)
        tolerances = None if goal is None else tolerances_from_goal(goal)
        return self._thread.controller.submit(trajectory_from_message(message, start), tolerances)

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        for entry in self._book:
            if entry.handle is handle:
                self._thread.controller.cancel(entry.plan)
                return CancelResponse.ACCEPT
        return CancelResponse.REJECT

    def _end(self, handle: ServerGoalHandle | None, outcome: Outcome) -> None:
        log = self._node.get_logger()
        if outcome.succeeded:
            log.info("goal reached")
        else:
            log.warning(f"goal {outcome.status.value}: {outcome.text}")
        if handle is not None:
            result = FollowJointTrajectory.Result(error_code=int(outcome.code), error_string=outcome.text)
            cancelled = outcome.status is GoalStatus.CANCELED
            self._server.finish(handle, result, succeeded=outcome.succeeded, cancelled=cancelled)
