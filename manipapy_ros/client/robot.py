"""The robot behind the commands `plan`, `move` and `state`: its model, its arm, its planner."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np
from manipapy_msgs.action import PlanMotion
from manipapy_msgs.msg import ControllerStatus, MotionRequest
from manipapy_msgs.srv import ComputeFK
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import qos_profile_sensor_data
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text
from sensor_msgs.msg import JointState

from manipapy_core.model import Chain

from ..common.conversions import positions_by_name
from ..common.robot_loader import (
    ROBOT_PARAMETERS,
    LoadedRobot,
    robot_from_parameters,
    robot_from_text,
    wait_for_description,
    with_folder,
)
from .arm import ArmClient
from .planner import PlannerClient
from .session import TIMEOUT, NoAnswer, RosSession

VERDICTS = {
    ControllerStatus.OK: ("ok", "green"),
    ControllerStatus.SLOW: ("slow", "yellow"),
    ControllerStatus.HOLD: ("hold", "yellow"),
    ControllerStatus.STOP: ("stop", "bold red"),
}
STATUS_TIMEOUT = 1.5
"""Longest time between two messages of our controller [s]."""
NO_CONTROLLER = 0.3
"""Without a publisher of its status for so long after model_server has answered, there is no controller of ours [s]."""
STATUS, FORWARD = "controller/status", "model_server/compute_fk"


class RobotClient:
    """One running robot. Use it in a `with` statement.

    Args:
        namespace: Of its nodes.
    """

    def __init__(self, namespace: str):
        self.client = RosSession("manipapy", namespace)
        self.arm = ArmClient(self.client)
        self.status: ControllerStatus | None = None
        self._chain: Chain | None = None
        self.client.node.create_subscription(ControllerStatus, STATUS, self._keep_status, qos_profile_sensor_data)

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
        return PlannerClient(self.client).plan(request)

    def move(self, request: MotionRequest, progress: Callable[[str, float], None]) -> tuple[str, float]:
        """Plan and move; returns the result's text and the largest joint error at the end [rad or m].

        Args:
            progress: Called with the phase and the share of the motion that is done.

        Raises:
            NoAnswer: There is no planner.
            Refused: The goal was not reached; the text has the reason.
        """
        result = PlannerClient(self.client).move(request, progress=progress)
        error = np.zeros(1)
        if request.kind == MotionRequest.JOINTS:
            wanted = positions_by_name(request.joints, self.chain.joint_names)
            error = self.arm.positions(self.chain.joint_names) - wanted
        return result.text, float(np.abs(error).max())

    def table(self) -> Group:
        """Current state of joints, tip and controller."""
        state, pose, status = self._current()
        tip = Text(str(pose), style="yellow") if isinstance(pose, NoAnswer) else Text(_pose_line(pose))
        return Group(self._joint_table(state), tip, *_status_lines(status))

    def state(self) -> dict[str, Any]:
        """The same as data: SI units, quaternion x y z w."""
        state, pose, status = self._current()
        joints = {name: list(getattr(state, name)) for name in ("position", "velocity", "effort")}
        tip: dict[str, Any] = {"error": str(pose) if isinstance(pose, NoAnswer) else pose.message}
        if not isinstance(pose, NoAnswer) and pose.success:
            p, o = pose.poses[0].pose.position, pose.poses[0].pose.orientation
            tip = {"link": pose.link_names[0], "frame": pose.poses[0].header.frame_id}
            tip |= {"position": [p.x, p.y, p.z], "quaternion": [o.x, o.y, o.z, o.w]}
        controller = None
        if status is not None:
            names = ("check", "reason", "law", "phase", "rate", "jitter_p99", "work_p99", "tracking_error")
            controller = {"guard": VERDICTS.get(status.verdict, (str(status.verdict), ""))[0]}
            controller |= {name: getattr(status, name) for name in names}
        return {"joint_names": list(state.name), **joints, "tip": tip, "controller": controller}

    def _current(self) -> tuple[JointState, ComputeFK.Response | NoAnswer, ControllerStatus | None]:
        """Joint state, pose of the tip, status of our controller if there is one; all are waited for together."""
        self.client.service_client(ComputeFK, FORWARD)
        state = self.arm.joint_state()
        try:
            pose = self.client.call(ComputeFK, FORWARD, ComputeFK.Request(joint_state=state))
        except NoAnswer as silence:
            pose = silence
        if not self.client.wait_until(lambda: self.status is not None or self._has_controller(), NO_CONTROLLER):
            return state, pose, None
        self.client.wait_until(lambda: self.status is not None, STATUS_TIMEOUT)
        return state, pose, self.status

    def _has_controller(self) -> bool:
        return self.client.node.count_publishers(STATUS) > 0

    def _joint_table(self, state: JointState) -> Table:
        # escaped, or units in brackets are taken for colours and vanish
        columns = map(escape, ("joint", "position [rad or m]", "velocity [per s]", "effort [N m or N]"))
        table = Table(*columns, title=f"{self.client.namespace}/joint_states")
        table.columns[0].no_wrap = True  # where the window is narrow, headings are broken, not names
        for column in table.columns[1:]:
            column.justify = "right"
        for i, name in enumerate(state.name):
            row = [values[i] if i < len(values) else None for values in (state.position, state.velocity, state.effort)]
            table.add_row(name, *("" if value is None else f"{value:+.4f}" for value in row))
        return table

    def _keep_status(self, status: ControllerStatus) -> None:
        self.status = status


def _pose_line(answer: ComputeFK.Response) -> str:
    if not answer.success:
        return str(answer.message)
    pose = answer.poses[0]
    p, o = pose.pose.position, pose.pose.orientation
    return (
        f"{answer.link_names[0]} in {pose.header.frame_id}: {p.x:+.4f} {p.y:+.4f} {p.z:+.4f} m, "
        f"quaternion {o.x:+.4f} {o.y:+.4f} {o.z:+.4f} {o.w:+.4f}"
    )


def _status_lines(status: ControllerStatus | None) -> list[Text]:
    if status is None:
        return [Text("no controller of manipapy: trajectories go to ros2_control or to a mock", "dim")]
    word, colour = VERDICTS.get(status.verdict, (str(status.verdict), "red"))
    reason = f" by {status.check}: {status.reason}" if status.reason else ""
    return [
        Text.assemble(("guard ", "dim"), (word, colour), reason),
        Text(
            f"{status.law}, {status.phase}; {status.rate:.0f} Hz, jitter p99 {status.jitter_p99:.0f} us, "
            f"work p99 {status.work_p99:.0f} us; largest error {1e3 * status.tracking_error:.3f} mrad or mm "
            f"({status.tracking_joint})"
        ),
    ]
