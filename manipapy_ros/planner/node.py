"""The node `planner`: collision-free motions, and the world that they must not touch.

Offers the actions `~/plan_motion` (plan) and `~/move` (plan, execute, monitor, stop and replan), and the services
`~/change_world`, `~/list_objects` and `~/get_world`. Subscribes to `joint_states`, to perceived obstacles on
`obstacles`, to edits of the world on `~/edit_world` and to maps on `octomap_binary` and `~/point_cloud`. Publishes the
world on `~/world` and `~/world_diffs`, and `~/display_path` and `~/world_markers`. The node `move_group` in the same
process is MoveIt's interface to it (`planner/move_group`).
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence

import numpy as np
from manipapy_msgs.msg import MotionRequest
from manipapy_msgs.srv import ChangeWorld, ListObjects
from rclpy.parameter import Parameter
from visualization_msgs.msg import MarkerArray

from manipapy_core import kinematics
from manipapy_core.errors import InputError, ManipapyError
from manipapy_core.geometry import Box, Checker, RobotBody, World, WorldSnapshot, decomposition
from manipapy_core.model import srdf_text
from manipapy_core.model.semantics import group_of, semantics_of
from manipapy_core.motion import PlanResult, PlanStatus, warm_up
from manipapy_core.motion.plan import warm_up_constraints
from manipapy_core.sim import read_scene
from manipapy_core.typing import Array

from ..client.arm import ArmClient
from ..client.session import RosSession
from ..common import qos
from ..common.diagnostics import DiagnosticReport, Level
from ..common.node import ManagedNode
from ..common.params import Param, Values
from ..common.process import end_process, run
from ..common.robot_loader import ROBOT_PARAMETERS, LoadedRobot, compile_kernels
from ..common.world_markers import world_markers
from .actions import PlanningGoals
from .execution import PlannedMotion
from .failure_report import AUTO, FailureReports, report_folder, status_text
from .margins import MARGIN_PARAMETERS, PerceivedMargin
from .markers import path_markers
from .move_group.grippers import GripperGroups
from .move_group.group import PlanningGroups
from .move_group.interface import MoveGroupInterface
from .requests import Defaults, Requests
from .world import PlannerWorld
from .world_inputs import INPUT_PARAMETERS, WorldInputs, unknown_policy
from .world_publisher import PERIOD, WorldPublisher

KEEP, FORGET = "keep", "forget"
PARAMETERS = (
    *ROBOT_PARAMETERS,
    Param("timeout", 5.0, "Default planning timeout [s]", minimum=0.001, maximum=600.0, live=True),
    Param("velocity_scaling", 0.5, "Default share of the velocity limits", minimum=0.001, maximum=1.0, live=True),
    Param("acceleration_scaling", 0.5, "Default share of the acceleration limits", minimum=0.001, maximum=1.0,
          live=True),
    *MARGIN_PARAMETERS,
    *INPUT_PARAMETERS,
    Param("tries", 5, "Default number of motions that `~/move` may plan for one goal", minimum=1, maximum=100,
          live=True),
    Param("scene", "", "Bundled scene or scene file whose objects are in the world from the start"),
    Param("scene_movable", False, "Also add the movable objects of the scene"),
    Param("obstacles.stale_after", 2.0, "Age from which on perceived obstacles are stale [s]", minimum=0.1,
          maximum=3600.0, live=True),
    Param("obstacles.expected", False, "Perception is expected: without messages on obstacles, or while they are "
          "stale, motions are refused and a moving arm is stopped", live=True),
    Param("obstacles.wait", 5.0, "How long a motion waits for a message on obstacles, if they are expected [s]",
          minimum=0.0, maximum=600.0, live=True),
    Param("obstacles.when_stale", KEEP, f"{KEEP} or {FORGET} stale obstacles", live=True),
    Param("move_group", True, "Also offer MoveIt's interface, as the node move_group"),
    Param("failure_reports", AUTO, f"Folder for reports of failed motions (`manipapy replay`); {AUTO}: in the state "
          "folder of the user; empty: none"),
    Param("initial_positions", [], "Joint positions of the named goal home [rad or m]",
          kind=Parameter.Type.DOUBLE_ARRAY),
)  # fmt: skip
SWITCH_INTERVAL = 1e-4
"""Of the interpreter between planning threads and the executor [s]; 5 ms, the default, is a third of what planning
takes."""
DRAW_EVERY = 0.1
"""Between two updates of the markers, at least [s]."""
CHECK_EVERY = 0.5
"""Between two checks for stale obstacles [s]."""
LACKING_EVERY = 10.0
"""Between two warnings that no obstacles have arrived [s]."""


class PlannerNode(ManagedNode):
    """One arm and its world."""

    def __init__(self) -> None:
        super().__init__("planner", PARAMETERS)

    def configure(self, values: Values) -> None:
        """Cover the robot with spheres, compile what planning needs, open actions and services."""
        _check(values)
        model = self._model = self.load_robot(values)
        model.require_collision_meshes()
        began = time.monotonic()
        compile_kernels(model)
        self._world = PlannerWorld(model, lambda: self._motion.positions())
        self._load_scene(str(values["scene"]), bool(values["scene_movable"]))
        checker = Checker(RobotBody.build(model.robot, model.chain), self._world.world)
        warm_up(checker)
        decomposition.warm_up()
        _warm_up_carried(checker)
        warm_up_constraints(checker)
        self._requests = Requests(model, checker, _defaults(values), _named(model, values))
        self._drawn_version, self._drawn = -1, frozenset[str]()
        self._stale = False
        self._path_publisher = self.own(self.create_publisher(MarkerArray, "~/display_path", qos.LATCHED))
        self._world_publisher = self.own(self.create_publisher(MarkerArray, "~/world_markers", qos.LATCHED))
        client = self._client = self.own(RosSession("planner_of", self.get_namespace()))
        arm = ArmClient(client, watcher=self.get_fully_qualified_name(), states=self.resolve_topic_name("joint_states"))
        self._motion = PlannedMotion(
            arm,
            self._requests,
            self._world.snapshot,
            int(values["tries"]),
            PerceivedMargin.of(values),
            self._show,
            self.get_logger().info,
        )
        self._motion.require, self._motion.interruption = self._require_obstacles, self._unseen
        folder = report_folder(str(values["failure_reports"]))
        self._reports = (
            None if folder is None else FailureReports(folder, self._requests, values, self.get_logger().info)
        )
        self._goals = self.own(
            PlanningGoals(self, self._requests, self._motion, lambda: self.is_active, self._show, self._report_failure)
        )
        self.offer(ChangeWorld, "~/change_world", self._change_world, complete=self._add_version)
        self.own(self.create_service(ListObjects, "~/list_objects", self._on_list))
        self._world_messages = self.own(WorldPublisher(self, self._world.world, model.chain.base))
        self._inputs = self.own(
            WorldInputs(self, self._world, self._announce, checker.body, lambda: self._motion.positions())
        )
        self._move_group = self._moveit_interface(model, values) if values["move_group"] else None
        self._drawn_at = -np.inf
        self.every(PERIOD, self._announce)
        self.every(CHECK_EVERY, self._check_obstacles)
        self.get_logger().info(
            f"{model}; {len(self._world.snapshot().objects)} objects; ready after {time.monotonic() - began:.1f} s"
        )

    def _report_failure(
        self, request: MotionRequest, world: WorldSnapshot, reason: str, status: PlanStatus | None
    ) -> None:
        if self._reports is None:
            return
        try:
            start = self._requests.whole_start(request)
            start = self._motion.positions() if start is None else start
        except ManipapyError:
            start = None  # the reason is often that no joint states arrive
        self._reports.write(request, start, world, reason, status_text(status))

    def _moveit_interface(self, model: LoadedRobot, values: Values) -> MoveGroupInterface:
        home = self._requests.named.get("home")
        semantics = semantics_of(model.robot, model.chain, self._requests.checker.body.ignored, home)
        name = str(values["group"]) or group_of(semantics, model.chain)
        grippers = GripperGroups(model.robot, model.chain, self._client)
        checker, frame = self._requests.checker, self._inputs.pose
        groups = PlanningGroups(model, semantics, name, checker, frame, grippers.by_name)
        groups.warm_up()
        parts = (groups, grippers, self._requests, self._motion, self._world, frame)
        return self.own(MoveGroupInterface(self, *parts, srdf_text(semantics), self._announce))

    def deactivate(self) -> None:
        """Bring a moving arm to rest and end all goals."""
        if self._move_group is not None:
            self._move_group.stop()
        self._goals.abandon()

    def check_parameters(self, values: Values, changed: frozenset[str]) -> None:
        """Refuse values that do not exist."""
        _check(values)

    def apply_parameters(self, values: Values, changed: frozenset[str]) -> None:
        """The next goal is planned with the new defaults."""
        self._requests.defaults = _defaults(values)
        self._motion.tries, self._motion.margin = int(values["tries"]), PerceivedMargin.of(values)

    # The world.

    def _load_scene(self, source: str, movable: bool) -> None:
        if source:
            skipped = self._world.load(read_scene(source), movable=movable)
            if skipped:
                self.get_logger().warning(f"objects without a size are not in the world: {', '.join(skipped)}")

    def _change_world(self, request: ChangeWorld.Request, _: ChangeWorld.Response) -> str:
        done = self._world.change(request)
        self._announce()
        return done

    def _add_version(self, response: ChangeWorld.Response) -> None:
        response.version = self._world.snapshot().version

    def _on_list(self, _: ListObjects.Request, response: ListObjects.Response) -> ListObjects.Response:
        self._world.listing(response)
        return response

    def _unseen(self) -> str:
        """Why what is in the way is not known, although perception is expected; empty if it is."""
        silence = time.monotonic() - self._world.perceived_at
        if not self.values["obstacles.expected"] or silence <= float(self.values["obstacles.stale_after"]):
            return ""
        if np.isfinite(silence):
            return f"no message on obstacles for {silence:.1f} s, although perception is expected"
        return "no message on obstacles has arrived, although perception is expected"

    def _require_obstacles(self, cancel: threading.Event) -> None:
        """Wait for perceived obstacles that are not stale, if they are expected; called by planning threads.

        Raises:
            InputError: None have arrived.
        """
        deadline = time.monotonic() + float(self.values["obstacles.wait"])
        while why := self._unseen():
            if cancel.wait(0.05) or time.monotonic() > deadline:
                topic = self.resolve_topic_name("obstacles")
                raise InputError(
                    f"{why} ({topic}): what is in the way is not known; see the diagnostics of perception (camera, "
                    "light, calibration), or set the parameter obstacles.expected to false"
                )

    def _check_obstacles(self) -> None:
        """Report or remove perceived obstacles that are stale."""
        silence = time.monotonic() - self._world.perceived_at
        if self._lacks_obstacles():
            self.get_logger().warning(
                "no message on obstacles yet, although perception is expected; ~/move is refused until one arrives, or "
                "until obstacles.expected is false",
                throttle_duration_sec=LACKING_EVERY,
            )
        stale = np.isfinite(silence) and silence > float(self.values["obstacles.stale_after"])
        if stale and not self._stale:
            forget = self.values["obstacles.when_stale"] == FORGET
            done = f"{self._world.remove_perceived()} removed" if forget else "the last ones are kept in the world"
            self.get_logger().warning(f"no message on obstacles for {silence:.1f} s; {done}")
        self._stale = bool(stale)

    def _lacks_obstacles(self) -> bool:
        lacking = self.values["obstacles.expected"] and not np.isfinite(self._world.perceived_at)
        return bool(self.is_active and lacking)

    def _announce(self) -> None:
        """Publish what has changed in the world."""
        self._world_messages.update()
        if self._move_group is not None:
            self._move_group.update()
        world, now = self._world.snapshot(), time.monotonic()
        if world.version == self._drawn_version or now - self._drawn_at < DRAW_EVERY:
            return
        # Maps have thousands of cubes: without a subscriber they wait, and the next call publishes them.
        if not self._world_publisher.get_subscription_count():
            return
        names = frozenset((*world.objects, *world.attached))
        stamp = self.get_clock().now().to_msg()
        self._world_publisher.publish(world_markers(world, self._drawn - names, self._model.chain.base, stamp))
        self._drawn_version, self._drawn, self._drawn_at = world.version, names, now

    def _show(self, result: PlanResult) -> None:
        """Publish the path of the tip; called by planning threads."""
        rows = result.path if result.trajectory is None else result.trajectory.positions
        if not len(rows):
            return
        tips: Array = kinematics.forward(self._model.chain, rows)[:, :3, 3]
        self._path_publisher.publish(path_markers(tips, self._model.chain.base, self.get_clock().now().to_msg()))

    def diagnose(self) -> DiagnosticReport:
        """Size of the world, and whether perceived obstacles are up to date."""
        world = self._world.snapshot()
        numbers = {"objects": str(len(world.objects)), "attached": str(len(world.attached))}
        if self._lacks_obstacles():
            return DiagnosticReport(Level.ERROR, "perception is expected, but no message on obstacles yet", numbers)
        if self._stale:
            return DiagnosticReport(Level.WARN, "obstacles are stale: no message on obstacles", numbers)
        return DiagnosticReport(Level.OK, "active" if self.is_active else "inactive", numbers)


def _check(values: Values) -> None:
    if values["obstacles.when_stale"] not in (KEEP, FORGET):
        raise InputError(f"obstacles.when_stale is {values['obstacles.when_stale']!r}; choose {KEEP} or {FORGET}")
    PerceivedMargin.of(values)
    unknown_policy(values)


def _warm_up_carried(checker: Checker) -> None:
    """Compile what covers carried objects with spheres, before the first plan with one has to be in time."""
    world, chain = World(), checker.body.chain
    world.add("box", Box(np.full(3, 0.05)), np.eye(4))
    world.attach("box", chain.tip, np.eye(4))
    checker.check(np.zeros(chain.n), snapshot=world.snapshot())


def _defaults(values: Values) -> Defaults:
    return Defaults(*(float(values[name]) for name in Defaults.__dataclass_fields__))


def _named(model: LoadedRobot, values: Values) -> dict[str, Array]:
    home = np.array(values["initial_positions"], dtype=np.float64)
    if not home.size:
        return {}
    if home.shape != (model.chain.n,):
        raise InputError(f"initial_positions has {home.size} numbers; the arm has {model.chain.n} joints")
    return {"home": home}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until it is stopped."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    return run(PlannerNode, argv)


if __name__ == "__main__":
    end_process(main())
