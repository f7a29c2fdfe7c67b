"""Client of a gripper: the action control_msgs/GripperCommand, as of ros2_control and of sim_bridge."""

from __future__ import annotations

from collections.abc import Callable

from action_msgs.msg import GoalStatus
from control_msgs.action import GripperCommand
from rclpy.action import ActionClient

from ..common.names import gripper_action
from .arm import MotionFailed
from .session import NoAnswer, Refused, RosSession

LONGEST = 60.0
"""Longest motion of a gripper [s]."""


class GripperClient:
    """One gripper in the namespace of a session.

    Args:
        session: Whose node is used.
        group: Name of its group in the SRDF.
    """

    def __init__(self, session: RosSession, group: str):
        self._session, self.group = session, group
        self._name = f"{session.namespace}/{gripper_action(group)}"
        self._action = ActionClient(session.node, GripperCommand, self._name)

    def move(
        self, position: float, *, max_effort: float = 0.0, cancel: Callable[[], bool] = lambda: False, seconds: float
    ) -> float:
        """Move the fingers, and return where they are then [rad or m].

        Args:
            position: Of every joint that moves on its own [rad or m].
            max_effort: [N m or N]; 0: that of the gripper.
            cancel: True ends the motion.
            seconds: Timeout for the action to appear and to accept the goal.

        Raises:
            NoAnswer: There is no such gripper.
            Refused: It rejects the goal.
            MotionFailed: The fingers did not get there.
        """
        session = self._session
        if not session.wait_until(self._action.server_is_ready, seconds):
            raise NoAnswer(self._name, seconds, exists=False)
        goal = GripperCommand.Goal()
        goal.command.position, goal.command.max_effort = float(position), float(max_effort)
        sent = session.on_thread(lambda: self._action.send_goal_async(goal))
        if not session.wait_until(sent.done, seconds):
            raise NoAnswer(self._name, seconds, exists=True)
        handle = sent.result()
        if not handle.accepted:
            raise Refused(self._name, "the goal was rejected; the log of the gripper has the reason")
        ended, cancelled = session.on_thread(handle.get_result_async), False

        def over() -> bool:
            nonlocal cancelled
            if cancel() and not cancelled:
                cancelled = True
                session.on_thread(handle.cancel_goal_async)
            return bool(ended.done())

        if not session.wait_until(over, LONGEST):
            session.on_thread(handle.cancel_goal_async)
            raise NoAnswer(self._name, LONGEST, exists=True)
        result = ended.result().result
        if ended.result().status != GoalStatus.STATUS_SUCCEEDED and not cancelled:
            why = "it pushes against something" if result.stalled else "the log of the gripper has the reason"
            raise MotionFailed(0, f"the gripper stopped at {result.position:.4f} instead of {position:.4f}: {why}")
        return float(result.position)
