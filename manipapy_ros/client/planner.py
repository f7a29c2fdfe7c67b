"""Client of the planner: plan, move, change the world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from action_msgs.msg import GoalStatus
from manipapy_msgs.action import Move, PlanMotion
from manipapy_msgs.msg import CollisionObject, MotionRequest
from manipapy_msgs.srv import ChangeWorld
from rclpy.action import ActionClient

from .session import TIMEOUT, NoAnswer, Refused, RosSession


class PlannerClient:
    """The planner in the namespace of a session.

    Args:
        client: Whose node is used.
    """

    def __init__(self, client: RosSession):
        self.client = client
        self._actions: dict[str, ActionClient] = {}

    def plan(self, request: MotionRequest) -> PlanMotion.Result:
        """Plan a motion without executing it.

        Raises:
            NoAnswer: There is no planner.
            Refused: No motion was found; the text has the reason.
        """
        return self._execute(PlanMotion, "planner/plan_motion", PlanMotion.Goal(request=request), lambda _: None)

    def move(
        self,
        request: MotionRequest,
        *,
        progress: Callable[[str, float], None] = lambda phase, share: None,
        while_moving: Callable[[], bool] = lambda: True,
    ) -> Move.Result:
        """Plan a motion and execute it.

        Args:
            progress: Called with the phase and the share of the motion that is done.
            while_moving: Called repeatedly until the end; False cancels the motion.

        Raises:
            NoAnswer: There is no planner.
            Refused: The goal was not reached; the text has the reason.
        """

        def on_feedback(feedback: Move.Feedback) -> None:
            progress(feedback.phase, feedback.progress)

        return self._execute(Move, "planner/move", Move.Goal(request=request), on_feedback, while_moving)

    def change_world(self, operation: int, item: CollisionObject) -> str:
        """Change the planner's world; returns a message that describes the change.

        Raises:
            Refused: An invalid change.
        """
        request = ChangeWorld.Request(operation=operation, object=item)
        answer = self.client.call(ChangeWorld, "planner/change_world", request)
        if not answer.success:
            raise Refused(f"{self.client.namespace}/planner", answer.message)
        return answer.message

    def _execute(
        self,
        kind: Any,
        name: str,
        goal: Any,
        on_feedback: Callable[[Any], None],
        while_moving: Callable[[], bool] = lambda: True,
    ) -> Any:
        client, full_name = self.client, f"{self.client.namespace}/{name}"
        if full_name not in self._actions:
            self._actions[full_name] = ActionClient(client.node, kind, full_name)
        action = self._actions[full_name]
        if not client.wait_until(action.server_is_ready, TIMEOUT):
            raise NoAnswer(full_name, TIMEOUT, exists=False)
        sent = client.on_thread(
            lambda: action.send_goal_async(goal, feedback_callback=lambda message: on_feedback(message.feedback))
        )
        if not client.wait_until(sent.done, TIMEOUT):
            raise NoAnswer(full_name, TIMEOUT, exists=True)
        handle = sent.result()
        asked = [client.on_thread(handle.get_result_async)]

        def ended() -> bool:
            return any(request.done() for request in asked)

        cancelled = False
        try:
            while not client.wait_until(lambda: ended() or not (cancelled or while_moving()), TIMEOUT):
                if not client.wait_until(lambda: ended() or action.server_is_ready(), TIMEOUT):
                    raise NoAnswer(full_name, TIMEOUT, exists=False)
                # Again: a planner that was started in place of the one that has died says that it has no such goal.
                asked.append(client.on_thread(handle.get_result_async))
            if not ended():
                client.on_thread(handle.cancel_goal_async)
                cancelled = True
                client.wait_until(ended, TIMEOUT)
        except KeyboardInterrupt:
            # Ctrl-C must not leave the arm moving.
            client.on_thread(handle.cancel_goal_async)
            client.wait_until(ended, TIMEOUT)
            raise
        if not ended():
            raise NoAnswer(full_name, TIMEOUT, exists=True)
        answer = next(request.result() for request in asked if request.done())
        if answer.status == GoalStatus.STATUS_UNKNOWN:
            raise Refused(full_name, "it was started again meanwhile and does not know the goal")
        if answer.status != GoalStatus.STATUS_SUCCEEDED and not cancelled:
            raise Refused(full_name, answer.result.text)
        return answer.result
