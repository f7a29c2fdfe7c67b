"""State of a running robot as `manipapy state` prints it: joints, tip and controller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer
from manipapy_msgs.msg import ControllerStatus
from manipapy_msgs.srv import ComputeFK
from sensor_msgs.msg import JointState

from ..common import qos
from ..realtime.polled_topics import PolledSubscription
from .session import TIMEOUT, NoAnswer

if TYPE_CHECKING:
    from .session import RosSession

COLOURS = {
    ControllerStatus.OK: ("ok", "green"),
    ControllerStatus.SLOW: ("slow", "yellow"),
    ControllerStatus.HOLD: ("hold", "yellow"),
    ControllerStatus.STOP: ("stop", "red"),
}
"""Verdicts of the guard: word and colour."""
STATUS_TIMEOUT = 1.5
"""Longest time between two messages of our controller [s]."""
NO_CONTROLLER = 0.3
"""Without a publisher of its status for so long after model_server has answered, there is no controller of ours [s]."""
STATUS, FORWARD = "controller/status", "model_server/compute_fk"
TITLES = ("joint", "position [rad or m]", "velocity [per s]", "effort [N m or N]")


class StateReport:
    """Reads the state of a robot. Everything is subscribed to at once, and waited for together.

    Args:
        client: In the namespace of the robot.
    """

    def __init__(self, client: RosSession):
        self._client = client
        node = client.node
        self._states: PolledSubscription[JointState] = PolledSubscription(node, JointState, "joint_states", qos.NEWEST)
        self._statuses: PolledSubscription[ControllerStatus] = PolledSubscription(
            node, ControllerStatus, STATUS, qos.NEWEST
        )
        client.service_client(ComputeFK, FORWARD)
        self._status: ControllerStatus | None = None

    def text(self) -> str:
        """Current state as a table, with colours for a terminal."""
        state, pose, status = self._current()
        tip = typer.style(str(pose), fg="yellow") if isinstance(pose, NoAnswer) else _pose_line(pose)
        return "\n".join([f"{self._client.namespace}/joint_states", *_rows(state), tip, *_status_lines(status)])

    def data(self) -> dict[str, Any]:
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
            controller = {"guard": COLOURS.get(status.verdict, (str(status.verdict), ""))[0]}
            controller |= {name: getattr(status, name) for name in names}
        return {"joint_names": list(state.name), **joints, "tip": tip, "controller": controller}

    def _current(self) -> tuple[JointState, ComputeFK.Response | NoAnswer, ControllerStatus | None]:
        """Joint state, pose of the tip, status of our controller if there is one."""
        state: JointState | None = None

        def arrived() -> bool:
            nonlocal state
            state = self._states.newest()
            return state is not None

        if not self._client.wait_until(arrived, TIMEOUT):
            raise NoAnswer(self._states.topic, TIMEOUT, exists=self._states.publishers > 0)
        try:
            pose = self._client.call(ComputeFK, FORWARD, ComputeFK.Request(joint_state=state))
        except NoAnswer as silence:
            pose = silence
        if self._client.wait_until(lambda: self._has_status() or self._statuses.publishers > 0, NO_CONTROLLER):
            self._client.wait_until(self._has_status, STATUS_TIMEOUT)
        return state, pose, self._status

    def _has_status(self) -> bool:
        self._status = self._statuses.newest() or self._status
        return self._status is not None


def _rows(state: JointState) -> list[str]:
    """Lines of the table of joints."""
    columns: Sequence[Sequence[float]] = (state.position, state.velocity, state.effort)
    rows = [TITLES]
    for i, name in enumerate(state.name):
        rows.append((name, *(f"{values[i]:+.4f}" if i < len(values) else "" for values in columns)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(TITLES))]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]


def _pose_line(answer: ComputeFK.Response) -> str:
    if not answer.success:
        return str(answer.message)
    pose = answer.poses[0]
    p, o = pose.pose.position, pose.pose.orientation
    return (
        f"{answer.link_names[0]} in {pose.header.frame_id}: {p.x:+.4f} {p.y:+.4f} {p.z:+.4f} m, "
        f"quaternion {o.x:+.4f} {o.y:+.4f} {o.z:+.4f} {o.w:+.4f}"
    )


def _status_lines(status: ControllerStatus | None) -> list[str]:
    if status is None:
        return ["no controller of manipapy: trajectories go to ros2_control or to a mock"]
    word, colour = COLOURS.get(status.verdict, (str(status.verdict), "red"))
    reason = f" by {status.check}: {status.reason}" if status.reason else ""
    return [
        f"guard {typer.style(word, fg=colour, bold=True)}{reason}",
        f"{status.law}, {status.phase}; {status.rate:.0f} Hz, jitter p99 {status.jitter_p99:.0f} us, "
        f"work p99 {status.work_p99:.0f} us; largest error {1e3 * status.tracking_error:.3f} mrad or mm "
        f"({status.tracking_joint})",
    ]
