"""The robot behind the commands `move` and `state`: its model, its arm, and the services of model_server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np
from manipapy_msgs.msg import ControllerStatus
from manipapy_msgs.srv import ComputeFK, ComputeIK
from rcl_interfaces.srv import GetParameters
from rclpy.qos import qos_profile_sensor_data
from rich.console import Group
from rich.table import Table
from rich.text import Text
from sensor_msgs.msg import JointState

from manipapy_core import Robot
from manipapy_core.errors import InputError
from manipapy_core.model import Chain

from .arm_client import ArmClient, rest_to_rest
from .client import Client, NoAnswer, Refused
from .conversions import positions_by_name

VERDICTS = {
    ControllerStatus.OK: ("ok", "green"),
    ControllerStatus.SLOW: ("slow", "yellow"),
    ControllerStatus.HOLD: ("hold", "yellow"),
    ControllerStatus.STOP: ("stop", "bold red"),
}
COMPILING = 60.0
"""How long the first answer of inverse kinematics may take: the arm is compiled for it [s]."""
STATUS_PATIENCE = 1.5
"""How long to wait for a status before there counts as being no controller of ours [s]."""


class RobotClient:
    """One running robot. Use it in a `with` statement.

    Args:
        namespace: Of its nodes.
    """

    def __init__(self, namespace: str):
        self.client = Client("manipapy", namespace)
        self.arm = ArmClient(self.client)
        self.status: ControllerStatus | None = None
        self._chain: Chain | None = None
        self.client.node.create_subscription(
            ControllerStatus, "controller/status", self._keep_status, qos_profile_sensor_data
        )

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
            names = ["robot", "robot_description", "base_link", "tip_link"]
            request = GetParameters.Request(names=names)
            answer = self.client.ask(GetParameters, "model_server/get_parameters", request)
            robot, text, base, tip = (value.string_value for value in answer.values)
            model = Robot.from_urdf(text or robot, check_meshes=False)
            self._chain = model.chain(base or model.root, tip)
        return self._chain

    def move(self, q_goal: Sequence[float], *, speed: float) -> tuple[float, float]:
        """Move to joint positions [rad or m]; how long it took [s] and the largest error at the end [rad or m]."""
        chain = self.chain
        trajectory = rest_to_rest(chain, self.arm.positions(chain.joint_names), q_goal, speed=speed)
        started = time.monotonic()
        self.arm.move(trajectory)
        duration = time.monotonic() - started
        error = np.abs(self.arm.positions(chain.joint_names) - np.asarray(q_goal)).max()
        return duration, float(error)

    def inverse_kinematics(self, pose: Sequence[float]) -> list[float]:
        """Joint positions [rad or m] for a pose of the tip in the base, nearest to where the arm is.

        Args:
            pose: x, y, z [m], then a quaternion x, y, z, w.
        """
        length = float(np.linalg.norm(pose[3:]))
        if not 0.9 < length < 1.1:
            raise InputError(f"qx qy qz qw has length {length:.3f}; a rotation has length 1")
        request = ComputeIK.Request()
        position, orientation = request.pose.pose.position, request.pose.pose.orientation
        position.x, position.y, position.z = pose[:3]
        orientation.x, orientation.y, orientation.z, orientation.w = (value / length for value in pose[3:])
        request.seed = self.arm.joint_state()
        answer = self.client.ask(ComputeIK, "model_server/compute_ik", request, seconds=COMPILING)
        if not answer.success:
            raise Refused("inverse kinematics", answer.message)
        return positions_by_name(answer.solutions[0], self.chain.joint_names).tolist()

    def table(self) -> Group:
        """Joints, tip and controller as they are now."""
        state = self.arm.joint_state()
        parts: list[Any] = [self._joint_table(state)]
        try:
            answer = self.client.ask(ComputeFK, "model_server/compute_fk", ComputeFK.Request(joint_state=state))
            parts.append(Text(_pose_line(answer) if answer.success else answer.message))
        except NoAnswer as silence:
            parts.append(Text(str(silence), style="yellow"))
        self.client.wait_until(lambda: self.status is not None, STATUS_PATIENCE)
        parts += _status_lines(self.status)
        return Group(*parts)

    def _joint_table(self, state: JointState) -> Table:
        table = Table("joint", "position", "velocity", "effort", title=f"{self.client.namespace}/joint_states")
        for column in table.columns[1:]:
            column.justify = "right"
        for i, name in enumerate(state.name):
            row = [values[i] if i < len(values) else None for values in (state.position, state.velocity, state.effort)]
            table.add_row(name, *("" if value is None else f"{value:+.4f}" for value in row))
        return table

    def _keep_status(self, status: ControllerStatus) -> None:
        self.status = status


def _pose_line(answer: ComputeFK.Response) -> str:
    pose = answer.poses[0]
    p, o = pose.pose.position, pose.pose.orientation
    return (
        f"{answer.link_names[0]} in {pose.header.frame_id}: {p.x:+.4f} {p.y:+.4f} {p.z:+.4f} m, "
        f"quaternion {o.x:+.4f} {o.y:+.4f} {o.z:+.4f} {o.w:+.4f}"
    )


def _status_lines(status: ControllerStatus | None) -> list[Text]:
    if status is None:
        return [Text("no controller of manipapy's: the arm takes trajectories from ros2_control or a mock", "dim")]
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
