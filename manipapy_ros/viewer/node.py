"""The node `viewer`: the arm, its goal, the scene and all markers on a web page, with buttons that plan, move and jog.

Subscribes to `joint_states`, `controller/status`, the `controller_state` of our controller or of ros2_control's,
`servo/status`, the planner's world, the true poses of simulated objects, and the markers of planner, perception and
capability; while their switches are on, to a camera image and a point cloud. Links to the pages of other robots come
from `/diagnostics`. With the page's switch Servo the arm follows the gizmo: its poses go to `servo/pose_target`, and
jogs to `servo/twist` and `servo/joint_jog`. Law, gains and speed are set through the parameters of the controller,
boxes are added to the simulation and to the planner's world. The page is served on this machine only, unless the
parameter host names another address, and only to visitors with the token in the address that the node prints. With
`read_only` it has neither buttons nor links.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from control_msgs.msg import JointTrajectoryControllerState
from manipapy_msgs.msg import ControllerStatus, MotionRequest
from moveit_msgs.msg import ServoStatus
from rclpy.exceptions import InvalidHandle
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from manipapy_core import lie
from manipapy_core.draw import ArmStatus, ArmView, Commands, WebAccess
from manipapy_core.errors import InputError
from manipapy_core.geometry import WorldSnapshot
from manipapy_core.typing import Array

from ..client.goal_text import plan_text
from ..client.planner import PlannerClient
from ..client.session import RosSession
from ..client.stop_client import CONTROLLERS, StopClient
from ..common import qos
from ..common.conversions import positions_by_name, to_seconds
from ..common.diagnostics import DiagnosticReport, Level
from ..common.node import ManagedNode
from ..common.object_messages import PERCEIVED
from ..common.params import Param, Values
from ..common.process import end_process, run
from ..common.robot_loader import ROBOT_PARAMETERS, compile_kernels
from ..common.world_follower import WORLD_PARAMETERS, WorldFollower
from ..common.world_markers import world_markers
from ..realtime.polled_topics import PolledSubscription
from .box_client import BoxClient
from .other_pages import PAGE, OtherPages
from .servo_client import ServoClient
from .topic_layers import TopicLayers
from .tuning_client import TuningClient

PARAMETERS = (
    *ROBOT_PARAMETERS,
    *WORLD_PARAMETERS,
    Param("host", "127.0.0.1", "Address of the page; machines that reach it can move the arm with its token"),
    Param("token", "", "Token in the address of the page; empty: a random one"),
    Param("require_token", True, "Whether a visitor needs the token; always so if other machines reach the page"),
    Param("allowed_hosts", [], "Further host names under which the page may be opened",
          kind=Parameter.Type.STRING_ARRAY),
    Param("read_only", False, "The page shows the arm and has no buttons"),
    Param("image_topic", "left/image_rect", "Camera image, shown while its switch is on"),
    Param("points_topic", "points2", "Point cloud, shown while its switch is on"),
    Param("port", 8080, "Port of the page; the next free one is taken if it is in use", minimum=1, maximum=65535),
    Param("rate", 30.0, "Updates per second while the page is open [Hz]", minimum=1.0, maximum=60.0, live=True),
    Param("speed", 0.5, "Share of the limits used by motions from the page", minimum=0.01, maximum=1.0, live=True),
)  # fmt: skip
KNOWN, KNOWN_OF_SCENE = "Known objects", "Known objects of the scene"
PERCEIVED_LAYER, CARRIED = "Perceived obstacles", "Carried objects"
WORLD_LAYERS = {
    KNOWN: (True, "Objects that the planner was told of"),
    KNOWN_OF_SCENE: (False, "Those that the simulation has as well: they would hide its colours"),
    PERCEIVED_LAYER: (True, "Obstacles from cameras, as the planner avoids them"),
    CARRIED: (True, "Attached to a link"),
}
"""Layers of the planner's world: whether they are shown at first, and what is drawn."""
SIMULATED_FRAME = "world"
"""Of the poses of simulated objects."""
SHORTEST_PAUSE = 1e-3
"""Between two updates that take longer than their period [s], for the other threads."""
GROWN = 0.002
"""Objects of the world are drawn so much larger than those of the scene [m], so that the two do not flicker."""
VERDICTS = {getattr(ControllerStatus, name): name.lower() for name in ("OK", "SLOW", "HOLD", "STOP")}


class ViewerNode(ManagedNode):
    """One page for one arm."""

    def __init__(self) -> None:
        super().__init__("viewer", PARAMETERS)

    def configure(self, values: Values) -> None:
        """Open the page; it shows the arm once the node is active."""
        model = self.load_robot(values)
        compile_kernels(model)
        self._chain = model.chain
        # Service calls and subscriptions must not wait for each other.
        client = self.own(RosSession("viewer_client", self.get_namespace()))
        self._stop_client, self._planner = StopClient(client), PlannerClient(client)
        self._servo = self.own(ServoClient(self, model.chain.joint_names, model.chain.base))
        commands = Commands(
            plan=self._plan,
            move=self._move,
            hold=self._hold,
            reset=self._stop_client.reset,
            servo=self._servo.commands,
            tuning=TuningClient(client, model.chain, self._set_speed).commands,
            boxes=BoxClient(client, self._planner, self._base_in_simulation).commands,
        )
        self._moving = threading.Event()
        self._stop_motion = threading.Event()
        host = str(values["host"])
        access = WebAccess(
            host,
            token=str(values["token"]) or None,
            require_token=bool(values["require_token"]),
            allowed_hosts=list(values["allowed_hosts"]),
        )
        shown = None if values["read_only"] else commands
        self._world = self.own(WorldFollower.of(self, values, model.chain.base))
        self._view = self.own(
            ArmView(
                model.robot,
                model.chain,
                shown,
                host=host,
                port=int(values["port"]),
                access=access,
                world=self._world.snapshot,
                title=" ".join(filter(None, (self.get_namespace().strip("/"), model.robot.name))),
                warn=self.get_logger().warning,
            )
        )
        for name, (visible, hint) in WORLD_LAYERS.items():
            self._view.layers.add(name, visible=visible, hint=hint)
        image, points = str(values["image_topic"]), str(values["points_topic"])
        self._topics = self.own(TopicLayers(self, self._view, model.chain.base, image, points))
        self._states: PolledSubscription[JointState] = self.own(
            PolledSubscription(self, JointState, "joint_states", qos.NEWEST)
        )
        self._errors: list[PolledSubscription[JointTrajectoryControllerState]] = [
            self.own(PolledSubscription(self, JointTrajectoryControllerState, f"{name}/controller_state", qos.NEWEST))
            for name in CONTROLLERS
        ]
        self.own(self.create_subscription(ControllerStatus, "controller/status", self._on_status, qos.NEWEST))
        self.own(self.create_subscription(ServoStatus, "servo/status", self._on_servo_status, qos.NEWEST))
        self._others = self.own(OtherPages(self, self._view.url))
        self._drawn, self._drawn_names = WorldSnapshot(), dict[str, str]()
        self._drawn_scene = frozenset[str]()
        self._motion_speed: float | None = None
        self._shown_once = False
        # Printed whatever the log level is.
        print(f"{model.robot.name} in the browser: {self._view.url}", flush=True)

    def activate(self) -> None:
        """Show the arm on a thread."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._show_on, name="view", daemon=True)
        self._thread.start()

    def deactivate(self) -> None:
        """Freeze the page."""
        self._stop.set()
        self.join(self._thread)

    def cleanup(self) -> None:
        """End a motion that the page started."""
        self._stop_motion.set()

    # Drawing.

    def _show_on(self) -> None:
        due = time.monotonic()
        # By deadlines: with a pause after the work, the rate would fall short by the time of the work.
        while not self._stop.wait(max(due - time.monotonic(), SHORTEST_PAUSE)):
            due = max(due + 1.0 / float(self.values["rate"]), time.monotonic())
            try:
                self._show_once()
            except InvalidHandle:
                if not self._stop.is_set():
                    raise
                return  # a late thread of a process that ends

    def _show_once(self) -> None:
        # Also without a page: one that is opened later shows it at once.
        self._show_world()
        if not self.values["read_only"]:  # the other pages may have buttons
            self._view.status.show_links(self._others.addresses())
        self._topics.update()
        state, errors = self._states.newest(), [reader.newest() for reader in self._errors]
        if not self._view.watched and self._shown_once:
            return
        if state is not None:
            self._show(positions_by_name(state, self._chain.joint_names))
        for message in errors:
            if message is not None and len(message.error.positions):
                largest = float(np.abs(message.error.positions).max())
                self._view.status.plot_tracking(to_seconds(message.header.stamp), largest)

    def _show(self, q: Array) -> None:
        self._view.show(q)
        if not self._shown_once:
            self._view.goal.set_goal(q)
            self._view.status.show_text("no status from a controller of manipapy")
            self._shown_once = True

    def _show_world(self) -> None:
        world, scene = self._world.snapshot(), self._topics.scene_names
        if world is self._drawn and scene == self._drawn_scene:
            return
        layers = dict.fromkeys(world.objects, KNOWN) | dict.fromkeys(scene & set(world.objects), KNOWN_OF_SCENE)
        layers |= {name: PERCEIVED_LAYER for name in world.objects if name.startswith(PERCEIVED)}
        layers |= dict.fromkeys(world.attached, CARRIED)
        moved = {name for name, layer in layers.items() if self._drawn_names.get(name, layer) != layer}
        stamp = self.get_clock().now().to_msg()
        for layer in WORLD_LAYERS:
            changed = WorldSnapshot(
                _changed(world.objects, self._drawn.objects, layers, layer, moved),
                _changed(world.attached, self._drawn.attached, layers, layer, moved),
            )
            gone = [name for name, old in self._drawn_names.items() if old == layer and layers.get(name) != layer]
            markers = world_markers(changed, [*gone, *changed.objects, *changed.attached], self._chain.base, stamp)
            self._view.markers.take(layer, markers.markers, self._view.layers[layer], grown_by=GROWN)
        self._drawn, self._drawn_names, self._drawn_scene = world, layers, scene

    def diagnose(self) -> DiagnosticReport:
        """Address of the page, and whether the planner's world is up to date."""
        values = {PAGE: self._view.url, "world version": str(self._world.snapshot().version)}
        if self._world.problem:
            return DiagnosticReport(Level.WARN, self._world.problem, values)
        return DiagnosticReport(Level.OK, "active" if self.is_active else "inactive", values)

    def _on_status(self, status: ControllerStatus) -> None:
        shown = ArmStatus(
            verdict=VERDICTS.get(status.verdict, str(status.verdict)),
            reason=status.reason,
            check=status.check,
            law=status.law,
            phase=status.phase,
            rate=status.rate,
            speed=status.speed_scaling,
            warning=status.collision_warning,
        )
        self._view.status.show(shown)
        self._view.status.plot_timing(to_seconds(status.header.stamp), status.jitter_p99, status.work_p99)
        if self._view.tuning is not None:
            self._view.tuning.show_law(status.law)

    def _on_servo_status(self, status: ServoStatus) -> None:
        if self._view.servo is not None:
            self._view.servo.show_status(status.message)

    # Buttons, each on a thread of its own.

    def _set_speed(self, share: float) -> None:
        self._motion_speed = share

    def _base_in_simulation(self) -> Array:
        """T_world_base of the simulation; the base stands in the origin if its pose is not known."""
        T_base_world = self._view.pose_of_frame(SIMULATED_FRAME)
        return np.eye(4) if T_base_world is None else lie.inverse(T_base_world)

    def _request(self, q: Array) -> MotionRequest:
        speed = float(self.values["speed"]) if self._motion_speed is None else self._motion_speed
        request = MotionRequest(kind=MotionRequest.JOINTS, velocity_scaling=speed, acceleration_scaling=speed)
        request.joints = JointState(name=list(self._chain.joint_names), position=q.tolist())
        return request

    def _plan(self, q: Array) -> str:
        return plan_text(self._planner.plan(self._request(q)))

    def _move(self, q: Array) -> str:
        if self._moving.is_set():
            raise InputError("the arm is moving; hold it first")
        self._moving.set()
        self._stop_motion.clear()
        try:
            result = self._planner.move(self._request(q), while_moving=lambda: not self._stop_motion.is_set())
        finally:
            self._moving.clear()
        return str(result.text)

    def _hold(self) -> str:
        self._stop_motion.set()
        if self._view.servo is not None:
            self._view.servo.stop()
        return self._stop_client.hold()


def _changed(
    items: Mapping[str, Any], drawn: Mapping[str, Any], layers: dict[str, str], layer: str, moved: set[str]
) -> dict[str, Any]:
    """Objects of a layer that are not drawn there as they are now; `moved` are new in their layer."""
    return {
        name: item
        for name, item in items.items()
        if layers[name] == layer and (name in moved or drawn.get(name) is not item)
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until it is stopped."""
    return run(ViewerNode, argv)


if __name__ == "__main__":
    end_process(main())
