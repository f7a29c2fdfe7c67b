"""The planner's two actions: plan, and plan and move."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from manipapy_msgs.action import Move, PlanMotion
from manipapy_msgs.msg import MotionRequest
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node

from manipapy_core.errors import ManipapyError
from manipapy_core.geometry import WorldSnapshot
from manipapy_core.motion import PlanPhase, PlanResult, PlanStatus

from ..client.session import GivenUp
from ..common.bounds import check_size
from ..common.node import NotActive
from .execution import MotionOutcome, PlannedMotion
from .goal_threads import TOO_MANY, GoalThreads
from .requests import FAILURE, Requests, result_message

Report = Callable[[MotionRequest, WorldSnapshot, str, PlanStatus | None], None]


class Busy(ManipapyError):
    """Too many goals at the same time."""


class PlanningGoals:
    """Runs the goals of both actions.

    Args:
        node: Whose actions they are.
        requests: Plans.
        motion: Executes plans.
        is_active: Whether goals are accepted.
        show: Called with every path that was found.
        report: Called with the request, the world, the reason and the status of a motion that failed.
    """

    def __init__(
        self,
        node: Node,
        requests: Requests,
        motion: PlannedMotion,
        is_active: Callable[[], bool],
        show: Callable[[PlanResult], None],
        report: Report = lambda request, world, reason, status: None,
    ):
        self._report = report
        self._node, self._requests, self._motion = node, requests, motion
        self._is_active, self._show = is_active, show
        self._threads = GoalThreads(node, "planning")
        self._servers = {
            kind: self._threads.server(kind, name, work)
            for kind, name, work in ((PlanMotion, "~/plan_motion", self._plan), (Move, "~/move", self._move))
        }

    def destroy(self) -> None:
        """End every goal and remove the actions."""
        self.abandon()
        for server in self._servers.values():
            server.destroy()

    def abandon(self) -> None:
        """Cancel every goal and wait for its thread; a moving arm is brought to rest."""
        self._threads.cancel(wait=True)

    # On the threads.

    def _plan(self, handle: ServerGoalHandle, cancel: threading.Event) -> None:
        def progress(phase: PlanPhase, cost: float) -> None:
            handle.publish_feedback(PlanMotion.Feedback(phase=phase.value, best_cost=cost))

        try:
            self._check_accepted()
            check_size(handle.request)
            request, world = handle.request.request, self._motion.snapshot()
            start = self._requests.whole_start(request)
            q_now = self._motion.positions(cancel) if start is None else start
            result = self._requests.plan(request, q_now, world, cancel, progress)
        except GivenUp as error:
            status = PlanStatus.CANCELLED if cancel.is_set() else None
            code = FAILURE if status is None else status.moveit_code
            self._finish(handle, PlanMotion.Result(error_code=code, text=str(error)), status)
            return
        except ManipapyError as error:
            self._finish(handle, PlanMotion.Result(error_code=FAILURE, text=str(error)), None)
            return
        self._finish(handle, result_message(result, self._requests.model.chain.joint_names), result.status)
        self._show(result)

    def _move(self, handle: ServerGoalHandle, cancel: threading.Event) -> None:
        def feedback(phase: str, progress: float, attempt: int) -> None:
            handle.publish_feedback(Move.Feedback(phase=phase, progress=progress, attempt=attempt))

        if not self._motion.moving.acquire(blocking=False):
            text = "another motion is active; cancel it, or wait for its end"
            self._finish(handle, Move.Result(error_code=FAILURE, text=text), None)
            return
        try:
            self._check_accepted()
            check_size(handle.request)
            request = self._requests.bound(handle.request.request)
            outcome = self._motion.execute(request, handle.request.tries, cancel, feedback)
        except ManipapyError as error:
            outcome = MotionOutcome(None, str(error))
        finally:
            self._motion.moving.release()
        code = FAILURE if outcome.status is None else outcome.status.moveit_code
        result = Move.Result(
            error_code=code,
            text=outcome.text,
            planned=outcome.planned,
            obstacle_margin=outcome.margin,
            reached=self._motion.reached(),
        )
        self._finish(handle, result, outcome.status)

    def _check_accepted(self) -> None:
        if not self._is_active():
            raise NotActive(self._node.get_fully_qualified_name())
        if self._threads.too_many:
            raise Busy(TOO_MANY)

    def _finish(self, handle: ServerGoalHandle, result: Any, status: PlanStatus | None) -> None:
        server = self._servers[PlanMotion if isinstance(result, PlanMotion.Result) else Move]
        world = self._motion.snapshot()
        if status is not PlanStatus.SUCCESS:
            self._node.get_logger().warning(result.text)
        server.finish(
            handle,
            result,
            succeeded=status is PlanStatus.SUCCESS,
            cancelled=status is PlanStatus.CANCELLED,
        )
        if status not in (PlanStatus.SUCCESS, PlanStatus.CANCELLED):
            self._report(handle.request.request, world, result.text, status)
