"""State of a running robot for `manipapy state`: joints, tip and controller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from manipapy_msgs.msg import ControllerStatus
from manipapy_msgs.srv import ComputeFK
from sensor_msgs.msg import JointState

from ..common import qos
from ..realtime.polled_topics import PolledSubscription
from .session import TIMEOUT, NoAnswer

if TYPE_CHECKING:
    from .session import RosSession

VERDICTS = {getattr(ControllerStatus, name): name.lower() for name in ("OK", "SLOW", "HOLD", "STOP")}
STATUS_TIMEOUT = 1.5
"""Longest time between two messages of our controller [s]."""
NO_CONTROLLER = 0.3
"""Without a publisher of its status for so long after model_server has answered, there is no controller of ours [s]."""
STATUS, FORWARD = "controller/status", "model_server/compute_fk"
STATUS_FIELDS = (
    *("check", "reason", "law", "phase", "rate"),
    *("jitter_p99", "work_p99", "tracking_error", "tracking_joint"),
)


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

    def data(self) -> dict[str, Any]:
        """Current state: SI units, quaternion x y z w.

        Raises:
            NoAnswer: There are no joint states.
        """
        state, pose, status = self._current()
        joints = {name: list(getattr(state, name)) for name in ("position", "velocity", "effort")}
        tip: dict[str, Any] = {"error": str(pose) if isinstance(pose, NoAnswer) else pose.message}
        if not isinstance(pose, NoAnswer) and pose.success:
            p, o = pose.poses[0].pose.position, pose.poses[0].pose.orientation
            tip = {"link": pose.link_names[0], "frame": pose.poses[0].header.frame_id}
            tip |= {"position": [p.x, p.y, p.z], "quaternion": [o.x, o.y, o.z, o.w]}
        controller = None
        if status is not None:
            controller = {"guard": VERDICTS.get(status.verdict, str(status.verdict))}
            controller |= {name: getattr(status, name) for name in STATUS_FIELDS}
        known = {"topic": self._states.topic, "joint_names": list(state.name), **joints}
        return {**known, "tip": tip, "controller": controller}

    def destroy(self) -> None:
        """Unsubscribes."""
        self._states.destroy()
        self._statuses.destroy()

    def _current(self) -> tuple[JointState, ComputeFK.Response | NoAnswer, ControllerStatus | None]:
        """Joint state, pose of the tip, status of our controller if there is one."""
        state: JointState | None = None
        self._status = None  # of a controller that has died, an old one would be left

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
