"""The node `viewer`: the arm, its goal and all markers on a web page, with buttons that plan and move.

Takes `joint_states`, `controller/status`, `controller/controller_state` and the markers of planner, perception and
capability. The page is served on this machine only, unless the parameter host says otherwise.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from control_msgs.msg import JointTrajectoryControllerState
from manipapy_msgs.msg import ControllerStatus, MotionRequest
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from manipapy_core.draw import ArmView, Commands
from manipapy_core.errors import InputError
from manipapy_core.typing import Array

from ..client.arm import ArmClient
from ..client.goal_text import plan_text
from ..client.planner import PlannerClient
from ..client.session import RosSession
from ..common import qos
from ..common.conversions import positions_by_name
from ..common.node import ManagedNode, run
from ..common.params import Param, Value
from ..common.robot_loader import DESCRIPTION_PARAMETERS, NoDescription, compile_kernels, from_parameters
from ..controller.trajectory_messages import seconds
from ..realtime.polled_topics import PolledSubscription
from .markers import MarkerScene

PARAMETERS = (
    *DESCRIPTION_PARAMETERS,
    Param("host", "127.0.0.1", "Address of the page; whoever reaches it can move the arm"),
    Param("port", 8080, "Of the page; the next free one is taken if it is in use", minimum=1, maximum=65535),
    Param("rate", 20.0, "Pictures per second, while somebody looks [Hz]", minimum=1.0, maximum=60.0),
    Param("speed", 0.5, "Share of the limits that motions from the page use", minimum=0.01, maximum=1.0),
)
MARKERS = {
    "planner/display_path": qos.LATCHED,
    "planner/world_markers": qos.LATCHED,
    "perception/obstacle_markers": qos.STATE,
    "capability/polytope_markers": qos.STATE,
}
"""What is drawn besides the arm."""


class ViewerNode(ManagedNode):
    """One page for one arm, from configure to cleanup."""

    def __init__(self) -> None:
        super().__init__("viewer", PARAMETERS)

    def configure(self, values: dict[str, Value]) -> None:
        """Open the page; it shows the arm once the node is active."""
        model = from_parameters(values)
        if model is None:
            raise NoDescription("the parameter robot, which viewer needs,")
        compile_kernels(model)
        self._chain, self._rate, self._speed = model.chain, float(values["rate"]), float(values["speed"])
        # Asking others and listening to them must not wait for each other.
        self._client = RosSession("viewer_client", self.get_namespace())
        self._arm, self._planner = ArmClient(self._client), PlannerClient(self._client)
        commands = Commands(plan=self._plan, move=self._move, hold=self._hold, reset=self._arm.reset)
        self._moving = threading.Event()
        self._wish_to_stop = threading.Event()
        self._view = ArmView(model.robot, model.chain, commands, host=str(values["host"]), port=int(values["port"]))
        frames = {link: f"/arm/{link}" for link in model.chain.link_names}
        self._markers = MarkerScene(self._view.server.scene, frames, self.get_logger().warning)
        self._states: PolledSubscription[JointState] = PolledSubscription(self, JointState, "joint_states", qos.NEWEST)
        self._errors: PolledSubscription[JointTrajectoryControllerState] = PolledSubscription(
            self, JointTrajectoryControllerState, "controller/controller_state", qos.NEWEST
        )
        self._listening = [
            self.create_subscription(ControllerStatus, "controller/status", self._on_status, qos.NEWEST),
            *(
                self.create_subscription(MarkerArray, topic, self._on_markers(topic), profile)
                for topic, profile in MARKERS.items()
            ),
        ]
        self._seen_once = False
        # Not a log line: whatever the level is, the user wants to know.
        print(f"{model.robot.name} in the browser: {self._view.url}", flush=True)

    def activate(self) -> None:
        """Show the arm from now on."""
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._show_on, name="view", daemon=True)
        self._thread.start()

    def deactivate(self) -> None:
        """Let the page stand still."""
        self._ending.set()
        self._thread.join()

    def cleanup(self) -> None:
        """Close the page."""
        self._wish_to_stop.set()
        self._view.close()
        self._client.close()
        self._states.destroy()
        self._errors.destroy()
        for subscription in self._listening:
            self.destroy_subscription(subscription)

    # What is shown.

    def _show_on(self) -> None:
        while not self._ending.wait(1.0 / self._rate):
            state, errors = self._states.newest(), self._errors.newest()
            if not self._view.watched and self._seen_once:
                continue
            if state is not None:
                self._show(positions_by_name(state, self._chain.joint_names))
            if errors is not None and len(errors.error.positions):
                largest = float(np.abs(errors.error.positions).max())
                self._view.plot_error(seconds(errors.header.stamp), largest)
            self._markers.forget_old()

    def _show(self, q: Array) -> None:
        self._view.show(q)
        if not self._seen_once:
            self._view.goal.set_goal(q)
            self._view.show_status("here it is; no word from its controller yet")
            self._seen_once = True

    def _on_status(self, status: ControllerStatus) -> None:
        verdicts = {getattr(ControllerStatus, name): name for name in ("OK", "SLOW", "HOLD", "STOP")}
        text = f"**{verdicts.get(status.verdict, status.verdict)}** · {status.law} · {status.rate:.0f} Hz"
        self._view.show_status(f"{text}\n\n{status.reason}" if status.reason else text)

    def _on_markers(self, topic: str) -> Any:
        return lambda markers: self._markers.take(topic, markers)

    # What the buttons do, each in a thread of its own.

    def _request(self, q: Array) -> MotionRequest:
        request = MotionRequest(kind=MotionRequest.JOINTS, velocity_scaling=self._speed)
        request.acceleration_scaling = self._speed
        request.joints = JointState(name=list(self._chain.joint_names), position=q.tolist())
        return request

    def _plan(self, q: Array) -> str:
        return plan_text(self._planner.plan(self._request(q)))

    def _move(self, q: Array) -> str:
        if self._moving.is_set():
            raise InputError("the arm is on its way; hold it first")
        self._moving.set()
        self._wish_to_stop.clear()
        try:
            result = self._planner.move(self._request(q), while_moving=lambda: not self._wish_to_stop.is_set())
        finally:
            self._moving.clear()
        return str(result.text)

    def _hold(self) -> str:
        self._wish_to_stop.set()
        return self._arm.hold()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until it is stopped."""
    return run(ViewerNode, argv)


if __name__ == "__main__":
    sys.exit(main())
