"""The robot behind the commands `plan`, `move` and `state`: its model, its arm, its planner.

The parts that a command needs are imported and created by it alone: each import and each endpoint takes time before
anything is printed.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from manipapy_msgs.msg import MotionRequest

from .arm import ArmClient
from .session import TIMEOUT, RosSession

if TYPE_CHECKING:
    from manipapy_msgs.action import PlanMotion

    from manipapy_core.model import Chain


class RobotClient:
    """One running robot. Use it in a `with` statement.

    Args:
        namespace: Of its nodes.
    """

    def __init__(self, namespace: str):
        self.client = RosSession("manipapy", namespace)
        self.arm = ArmClient(self.client)
        self._chain: Chain | None = None

    def __enter__(self) -> RobotClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()

    @property
    def chain(self) -> Chain:
        """The arm that model_server was configured with."""
        if self._chain is None:
            from rcl_interfaces.srv import GetParameters
            from rclpy.parameter import parameter_value_to_python

            from ..common.robot_loader import (
                ROBOT_PARAMETERS,
                LoadedRobot,
                robot_from_parameters,
                robot_from_text,
                wait_for_description,
                with_folder,
            )

            # rclpy's service does not answer for lists that are not set: those of ROBOT_PARAMETERS are for meshes.
            names = [row.name for row in ROBOT_PARAMETERS if row.kind is None]
            request = GetParameters.Request(names=names)
            answer = self.client.call(GetParameters, "model_server/get_parameters", request)
            values = dict(zip(names, map(parameter_value_to_python, answer.values), strict=True))
            values = with_folder({**values, "package_paths": []})
            robot = robot_from_parameters(values)
            if robot is None:
                robot = robot_from_text(wait_for_description(self.client.node, TIMEOUT, lambda: False), values)
            self._chain = LoadedRobot.of(robot, values).chain
        return self._chain

    def plan(self, request: MotionRequest) -> PlanMotion.Result:
        """Plan a motion.

        Raises:
            NoAnswer: There is no planner.
            Refused: No motion was found; the text has the reason.
        """
        from .planner import PlannerClient

        return PlannerClient(self.client).plan(request)

    def move(self, request: MotionRequest, progress: Callable[[str, float], None]) -> tuple[str, float]:
        """Plan and move; returns the result's text and the largest joint error at the end [rad or m].

        Args:
            progress: Called with the phase and the share of the motion that is done.

        Raises:
            NoAnswer: There is no planner.
            Refused: The goal was not reached; the text has the reason.
        """
        from ..common.conversions import positions_by_name
        from .planner import PlannerClient

        result = PlannerClient(self.client).move(request, progress=progress)
        if request.kind != MotionRequest.JOINTS:
            return result.text, 0.0
        wanted = positions_by_name(request.joints, request.joints.name)
        error = self.arm.positions(request.joints.name) - wanted
        return result.text, float(abs(error).max())
