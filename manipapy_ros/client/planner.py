"""The planner as a program sees it over ROS: plan, move, change the world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from action_msgs.msg import GoalStatus
from manipapy_msgs.action import Move, PlanMotion
from manipapy_msgs.msg import CollisionObject, MotionRequest
from manipapy_msgs.srv import ChangeWorld
from rclpy.action import ActionClient

from .session import PATIENCE, NoAnswer, Refused, RosSession


class PlannerClient:
    """The planner in the namespace of a client.

    Args:
        client: Whose node is used.
    """

    def __init__(self, client: RosSession):
        self.client = client
        self._actions: dict[str, ActionClient] = {}

    def plan(self, request: MotionRequest) -> PlanMotion.Result:
        """A motion, planned only.

        Raises:
            NoAnswer: There is no planner.
            Refused: There is no such motion; the text says why.
        """
        return self._pursue(PlanMotion, "planner/plan_motion", PlanMotion.Goal(request=request), lambda _: None)

    def move(
        self,
        request: MotionRequest,
        *,
        tell: Callable[[str, float], None] = lambda phase, share: None,
        while_moving: Callable[[], bool] = lambda: True,
    ) -> Move.Result:
        """A motion, planned and carried out.

        Args:
            tell: Is told the phase and the share that is done.
            while_moving: Called again and again until the end; when it says no, the motion is cancelled.

        Raises:
            NoAnswer: There is no planner.
            Refused: The arm did not get there; the text says why.
        """

        def listen(feedback: Move.Feedback) -> None:
            tell(feedback.phase, feedback.progress)

        return self._pursue(Move, "planner/move", Move.Goal(request=request), listen, while_moving)

    def change_world(self, operation: int, thing: CollisionObject) -> str:
        """Change what the planner counts with; what was done, in words.

        Raises:
            Refused: The change makes no sense.
        """
        request = ChangeWorld.Request(operation=operation, object=thing)
        answer = self.client.ask(ChangeWorld, "planner/change_world", request)
        if not answer.success:
            raise Refused(f"{self.client.namespace}/planner", answer.message)
        return answer.message

    def _pursue(
        self,
        kind: Any,
        name: str,
        goal: Any,
        listen: Callable[[Any], None],
        while_moving: Callable[[], bool] = lambda: True,
    ) -> Any:
        client, full_name = self.client, f"{self.client.namespace}/{name}"
        if full_name not in self._actions:
            self._actions[full_name] = ActionClient(client.node, kind, full_name)
        action = self._actions[full_name]
        if not client.wait_until(action.server_is_ready, PATIENCE):
            raise NoAnswer(full_name, PATIENCE, exists=False)
        sent = client.on_thread(
            lambda: action.send_goal_async(goal, feedback_callback=lambda message: listen(message.feedback))
        )
        if not client.wait_until(sent.done, PATIENCE):
            raise NoAnswer(full_name, PATIENCE, exists=True)
        handle = sent.result()
        ended = client.on_thread(handle.get_result_async)
        cancelled = False
        try:
            while not client.wait_until(lambda: ended.done() or not (cancelled or while_moving()), PATIENCE):
                pass
            if not ended.done():
                client.on_thread(handle.cancel_goal_async)
                cancelled = True
                client.wait_until(ended.done, PATIENCE)
        except KeyboardInterrupt:
            # The arm is not left moving by somebody who wants no more.
            client.on_thread(handle.cancel_goal_async)
            client.wait_until(ended.done, PATIENCE)
            raise
        if not ended.done():
            raise NoAnswer(full_name, PATIENCE, exists=True)
        answer = ended.result()
        if answer.status != GoalStatus.STATUS_SUCCEEDED and not cancelled:
            raise Refused(full_name, answer.result.text)
        return answer.result
