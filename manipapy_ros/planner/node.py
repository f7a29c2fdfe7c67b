"""The node `planner`: collision-free motions to goals, and the world that they must not touch.

Offers the actions `~/plan_motion` (plan) and `~/move` (plan, execute, watch, stop and plan anew), and the services
`~/change_world` and `~/list_objects`. Takes `joint_states`, obstacles that cameras see on `obstacles`, and, where
moveit_msgs is installed, objects on `collision_object`. Publishes `~/display_path` and `~/world_markers`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from manipapy_msgs.msg import ObstacleArray
from manipapy_msgs.srv import ChangeWorld, ListObjects
from rclpy.clock import Clock, ClockType
from rclpy.parameter import Parameter
from visualization_msgs.msg import MarkerArray

from manipapy_core import kinematics
from manipapy_core.errors import InputError, ManipapyError
from manipapy_core.geometry import Checker, RobotBody
from manipapy_core.motion import PlanResult, warm_up
from manipapy_core.sim import read_scene
from manipapy_core.typing import Array

from ..client.arm import ArmClient
from ..client.session import RosSession
from ..common import qos
from ..common.diagnostics import DiagnosticReport, Diagnostics, Level
from ..common.node import ManagedNode, NotActive, run
from ..common.params import Param, Value
from ..common.robot_loader import DESCRIPTION_PARAMETERS, LoadedRobot, NoDescription, compile_kernels, from_parameters
from ..common.tf_buffer import TfBuffer
from . import moveit_objects
from .actions import PlanningGoals
from .execution import PlannedMotion
from .markers import path_markers, world_markers
from .requests import Defaults, Requests
from .world import PlannerWorld

KEEP, FORGET = "keep", "forget"
PARAMETERS = (
    *DESCRIPTION_PARAMETERS,
    Param("timeout", 5.0, "For planning, unless a goal says otherwise [s]", minimum=0.001, maximum=600.0),
    Param("velocity_scaling", 0.5, "Share of the velocity limits, likewise", minimum=0.001, maximum=1.0),
    Param("acceleration_scaling", 0.5, "Share of the acceleration limits, likewise", minimum=0.001, maximum=1.0),
    Param("padding", 0.01, "Distance to obstacles that is kept, likewise [m]", minimum=0.0, maximum=0.5),
    Param("tries", 5, "Motions that `~/move` may plan for one goal", minimum=1, maximum=100),
    Param("scene", "", "A bundled scene or a scene file whose objects are in the world from the start"),
    Param("scene_movable", False, "Also those objects of the scene that can be moved"),
    Param("obstacles.stale_after", 2.0, "Silence on obstacles that is too long [s]", minimum=0.1, maximum=3600.0),
    Param("obstacles.when_stale", KEEP, f"Then: {KEEP} counting with what was seen last, or {FORGET} it"),
    Param("initial_positions", [], "Joint positions that the name home stands for", kind=Parameter.Type.DOUBLE_ARRAY),
)
HAND_OVER = 1e-4
"""How long planning threads and the executor keep the interpreter from each other [s]; 5 ms, the default, is a third
of what planning takes."""
DRAW_EVERY = 0.5
"""How often the world is drawn if it has changed, and looked at for stale obstacles [s]."""


class PlannerNode(ManagedNode):
    """One arm and its world, from configure to cleanup."""

    def __init__(self) -> None:
        super().__init__("planner", PARAMETERS)

    def configure(self, values: dict[str, Value]) -> None:
        """Cover the robot with spheres, compile what planning needs, open actions and services."""
        model = from_parameters(values)
        if model is None:
            raise NoDescription("the parameter robot, which the planner needs,")
        if values["obstacles.when_stale"] not in (KEEP, FORGET):
            raise InputError(f"obstacles.when_stale is {values['obstacles.when_stale']!r}; choose {KEEP} or {FORGET}")
        began = time.monotonic()
        compile_kernels(model)
        self._model, self._values = model, values
        self._world = PlannerWorld(model, lambda: self._motion.positions())
        self._load_scene(str(values["scene"]), bool(values["scene_movable"]))
        checker = Checker(RobotBody.build(model.robot, model.chain), self._world.world)
        warm_up(checker)
        requests = Requests(model, checker, _defaults(values), _named(model, values))
        self._drawn_version, self._drawn = -1, frozenset[str]()
        self._stale = False
        self._path_publisher = self.create_publisher(MarkerArray, "~/display_path", qos.LATCHED)
        self._world_publisher = self.create_publisher(MarkerArray, "~/world_markers", qos.LATCHED)
        self._client = RosSession("planner_of", self.get_namespace())
        arm = ArmClient(
            self._client, watcher=self.get_fully_qualified_name(), states=self.resolve_topic_name("joint_states")
        )
        self._motion = PlannedMotion(
            arm, requests, self._world.snapshot, int(values["tries"]), self._show, self.get_logger().info
        )
        self._goals = PlanningGoals(self, requests, self._motion, lambda: self.is_active, self._show)
        self._services_offered = [
            self.create_service(ChangeWorld, "~/change_world", self._on_change),
            self.create_service(ListObjects, "~/list_objects", self._on_list),
        ]
        self._subscriptions_made = [
            self.create_subscription(ObstacleArray, "obstacles", self._on_obstacles, qos.NEWEST)
        ]
        self._frames: TfBuffer | None = None
        self._listen_to_moveit()
        self._timer = self.create_timer(DRAW_EVERY, self._look_around, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._diagnostics = Diagnostics(self, model.robot.name, self._diagnosis)
        chain = model.chain
        self.get_logger().info(
            f"{model.robot.name}: {chain.base} → {chain.tip}, {len(self._world.snapshot().objects)} objects; "
            f"ready after {time.monotonic() - began:.1f} s"
        )

    def deactivate(self) -> None:
        """Bring a moving arm to rest and end all goals."""
        self._goals.abandon()

    def cleanup(self) -> None:
        """Give everything back."""
        self._goals.destroy()
        self._client.close()
        self._diagnostics.destroy()
        self.destroy_timer(self._timer)
        for subscription in self._subscriptions_made:
            self.destroy_subscription(subscription)
        if self._frames is not None:
            self._frames.destroy()
        for service in self._services_offered:
            self.destroy_service(service)
        for publisher in (self._path_publisher, self._world_publisher):
            self.destroy_publisher(publisher)

    # The world.

    def _load_scene(self, source: str, movable: bool) -> None:
        if source:
            skipped = self._world.load(read_scene(source), movable=movable)
            if skipped:
                self.get_logger().warning(f"left out of the world, because they have no size: {', '.join(skipped)}")

    def _on_change(self, request: ChangeWorld.Request, response: ChangeWorld.Response) -> ChangeWorld.Response:
        try:
            if not self.is_active:
                raise NotActive(self.get_fully_qualified_name())
            response.message = self._world.change(request)
            response.success = True
        except ManipapyError as error:
            response.success, response.message = False, str(error)
        response.version = self._world.snapshot().version
        return response

    def _on_list(self, _: ListObjects.Request, response: ListObjects.Response) -> ListObjects.Response:
        self._world.listing(response)
        return response

    def _on_obstacles(self, message: ObstacleArray) -> None:
        if not self.is_active:
            return
        try:
            self._world.see(message)
        except InputError as error:
            self.get_logger().warning(f"obstacles not taken over: {error}", throttle_duration_sec=5.0)

    def _listen_to_moveit(self) -> None:
        """Objects as programs for MoveIt publish them, where their message is installed."""
        kind = moveit_objects.message_type()
        if kind is None:
            return
        frames = self._frames = TfBuffer(self)
        self._moveit = moveit_objects.MoveItObjects(
            self._world.world,
            lambda name, time_ns: self._world.frame(name, frames, time_ns or self.get_clock().now().nanoseconds),
        )
        self._subscriptions_made.append(
            self.create_subscription(kind, moveit_objects.TOPIC, self._on_moveit_object, moveit_objects.QUEUE)
        )

    def _on_moveit_object(self, message: Any) -> None:
        try:
            if not self.is_active:
                raise NotActive(self.get_fully_qualified_name())
            self.get_logger().info(f"{moveit_objects.TOPIC}: {self._moveit.take_over(message)}")
        except ManipapyError as error:
            self.get_logger().warning(f"{moveit_objects.TOPIC}: {message.id!r} was not taken over: {error}")

    def _look_around(self) -> None:
        """Deal with obstacles nobody talks about any more, and draw what has changed."""
        silence = time.monotonic() - self._world.seen_at
        stale = np.isfinite(silence) and silence > float(self._values["obstacles.stale_after"])
        if stale and not self._stale:
            forget = self._values["obstacles.when_stale"] == FORGET
            done = f"{self._world.forget_seen()} forgotten" if forget else "what was seen last is kept in the world"
            self.get_logger().warning(f"nothing came on obstacles for {silence:.1f} s; {done}")
        self._stale = bool(stale)
        world = self._world.snapshot()
        if world.version == self._drawn_version:
            return
        names = frozenset((*world.objects, *world.attached))
        stamp = self.get_clock().now().to_msg()
        self._world_publisher.publish(world_markers(world, self._drawn - names, self._model.chain.base, stamp))
        self._drawn_version, self._drawn = world.version, names

    def _show(self, result: PlanResult) -> None:
        """Publish the way of the tip; called by planning threads."""
        rows = result.path if result.trajectory is None else result.trajectory.positions
        if not len(rows):
            return
        tips: Array = kinematics.forward(self._model.chain, rows)[:, :3, 3]
        self._path_publisher.publish(path_markers(tips, self._model.chain.base, self.get_clock().now().to_msg()))

    def _diagnosis(self) -> DiagnosticReport:
        world = self._world.snapshot()
        numbers = {"objects": str(len(world.objects)), "attached": str(len(world.attached))}
        if self._stale:
            return DiagnosticReport(Level.WARN, "obstacles are stale: nothing comes from the cameras", numbers)
        return DiagnosticReport(Level.OK, "ready" if self.is_active else "not active", numbers)


def _defaults(values: dict[str, Value]) -> Defaults:
    return Defaults(*(float(values[name]) for name in Defaults.__dataclass_fields__))


def _named(model: LoadedRobot, values: dict[str, Value]) -> dict[str, Array]:
    home = np.array(values["initial_positions"], dtype=np.float64)
    if not home.size:
        return {}
    if home.shape != (model.chain.n,):
        raise InputError(f"initial_positions has {home.size} numbers; the arm has {model.chain.n} joints")
    return {"home": home}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until it is stopped."""
    sys.setswitchinterval(HAND_OVER)
    return run(PlannerNode, argv)


if __name__ == "__main__":
    sys.exit(main())
