"""Client that brings an arm to rest, or ends a stop of the guard: services only, so that it is ready soon."""

from __future__ import annotations

from collections.abc import Callable

from action_msgs.srv import CancelGoal
from std_srvs.srv import Trigger

from manipapy_core.errors import InputError

from ..common.names import TRAJECTORY_CONTROLLER
from .session import TIMEOUT, NoAnswer, Refused, RosSession

OURS = "controller"
CONTROLLERS = (OURS, TRAJECTORY_CONTROLLER)
"""Nodes that accept trajectories, ours first."""
CANCEL = f"{TRAJECTORY_CONTROLLER}/follow_joint_trajectory/_action/cancel_goal"


class StopClient:
    """Commands to whichever controller the arm has: ours, or ros2_control's joint_trajectory_controller.

    Args:
        client: In the namespace of the arm. Clients of the services are created at once, so that a later command does
            not wait for their discovery.
    """

    def __init__(self, client: RosSession):
        self._client = client
        for name in ("hold", "reset"):
            client.service_client(Trigger, f"{OURS}/{name}")
        client.service_client(CancelGoal, CANCEL)

    def hold(self, seconds: float = TIMEOUT) -> str:
        """Bring the arm to rest; returns a message that describes how.

        Raises:
            NoAnswer: There is no controller.
            Refused: It refuses.
        """
        if self._is_ours("hold", seconds):
            return self._trigger("hold", seconds)
        # Zero id and zero time stand for all goals; a cancelled trajectory controller holds.
        answer = self._client.call(CancelGoal, CANCEL, CancelGoal.Request(), seconds=seconds)
        return f"{len(answer.goals_canceling)} goal(s) of {TRAJECTORY_CONTROLLER} cancelled; it holds"

    def reset(self, seconds: float = TIMEOUT) -> str:
        """End a stop of the guard; returns the controller's message.

        Raises:
            InputError: The controller is one of ros2_control.
            NoAnswer: There is no controller.
            Refused: It refuses.
        """
        if not self._is_ours("reset", seconds):
            raise InputError(f"{TRAJECTORY_CONTROLLER} has no reset; clear the fault at its driver or pendant")
        return self._trigger("reset", seconds)

    def _is_ours(self, name: str, seconds: float) -> bool:
        """Whether the arm has a controller of ours; otherwise it has one of ros2_control."""
        ours: Callable[[], bool] = self._client.service_client(Trigger, f"{OURS}/{name}").service_is_ready
        other: Callable[[], bool] = self._client.service_client(CancelGoal, CANCEL).service_is_ready
        if not self._client.wait_until(lambda: ours() or other(), seconds):
            wanted = " or ".join(f"{self._client.namespace}/{controller}" for controller in CONTROLLERS)
            raise NoAnswer(f"the controller {wanted}", seconds, exists=False)
        return ours()

    def _trigger(self, name: str, seconds: float) -> str:
        answer = self._client.call(Trigger, f"{OURS}/{name}", Trigger.Request(), seconds=seconds)
        if not answer.success:
            raise Refused(f"{self._client.namespace}/{OURS}/{name}", answer.message)
        return answer.message or "done"
