"""The node `sim_bridge`: a robot in PyBullet behind the topics of ros2_control.

Publishes `joint_states` at every step and `clock`; takes commands on `forward_effort_controller/commands`,
`forward_velocity_controller/commands` and `forward_position_controller/commands`; shows where objects are on
`~/ground_truth`. Offers `~/reset`, `~/pause`, `~/step`, `~/spawn`, `~/remove`. A stereo camera is optional.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from manipapy_msgs.srv import RemoveObject, SpawnObject, StepSimulation
from rclpy.clock import Clock, ClockType
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from manipapy_core import Robot
from manipapy_core.errors import InputError, ManipapyError
from manipapy_core.model.meshes import MeshFinder
from manipapy_core.sim import DriveSettings, ResumePolicy, Scene, SimWorld, read_scene

from ..common import qos
from ..common.diagnostics import DiagnosticReport, Diagnostics, Level
from ..common.names import FASTEST_PACE, SLOWEST_PACE
from ..common.node import ManagedNode, NotActive, below_loop, run
from ..common.params import Param, Value
from .camera import CAMERA_PARAMETERS, SimCamera
from .objects import GroundTruth, object_from_request, static_frames
from .physics import Physics, PhysicsSettings

PARAMETERS = (
    Param("robot", "ur5", "A bundled robot by name, or the path of a URDF or xacro file"),
    Param("base_link", "", "Foot of the arm; empty: the root of the description"),
    Param("tip_link", "tool0", "End of the arm: commands are for the joints between the two, in this order"),
    Param("joints", [], "Order of commands, instead of that", kind=Parameter.Type.STRING_ARRAY),
    Param("initial_positions", [], "Of `joints` [rad or m]; empty: nearest to zero", kind=Parameter.Type.DOUBLE_ARRAY),
    Param("scene", "", "A bundled scene by name, or the path of a scene file; empty: nothing but the robot"),
    Param("package_paths", [], "Where package:// references of meshes may lead", kind=Parameter.Type.STRING_ARRAY),
    Param("time_step", 0.001, "Length of a step of the physics [s]", minimum=1e-4, maximum=0.02),
    Param("real_time_factor", 1.0, "Simulated seconds per second", minimum=SLOWEST_PACE, maximum=FASTEST_PACE),
    Param("clock_every", 25, "Steps between two messages on clock", minimum=1, maximum=1000),
    Param("command_timeout", 0.02, "Efforts older than this are replaced by a hold [s]", minimum=0.002, maximum=10.0),
    Param("patience", 0.2, "How long simulated time waits for late efforts [s]", minimum=0.0, maximum=1.0),
    Param("priority", 70, "Of SCHED_FIFO, where permitted; 0: ordinary", minimum=0, maximum=99),
    Param("start_paused", False, "Time stands still until ~/pause or ~/step"),
    Param("gui", False, "Show PyBullet's window"),
    Param("world_frame", "world", "Name of the frame of ground truth"),
    Param("ground_truth_rate", 10.0, "Messages on ~/ground_truth per second [Hz]", minimum=0.1, maximum=100.0),
    *CAMERA_PARAMETERS,
)
MOST_STEPS = 100_000


class SimBridgeNode(ManagedNode):
    """One world with one robot, from configure to cleanup; time runs while the node is active."""

    prompt = True
    frugal = True
    datagrams = True

    def __init__(self) -> None:
        super().__init__("sim_bridge", PARAMETERS)
        self._world: SimWorld | None = None

    def configure(self, values: dict[str, Value]) -> None:
        """Build the world and open all topics."""
        paths = list(values["package_paths"])
        robot = Robot.from_urdf(str(values["robot"]), package_paths=paths, check_meshes=False)
        for warning in robot.warnings:
            self.get_logger().warning(warning)
        scene = read_scene(str(values["scene"]), package_paths=paths) if values["scene"] else Scene("nothing")
        joints = self._joints(robot, values)
        self.executor_priority = below_loop(int(values["priority"]) or None)
        world = SimWorld(time_step=float(values["time_step"]), gui=bool(values["gui"]))
        try:
            self._fill(world, robot, scene, joints, values)
        except ManipapyError:
            world.close()
            raise
        self._world, self._meshes = world, MeshFinder(None, paths)
        self._physics = Physics(self, world, self._sim_robot, self._physics_settings(joints, values))
        self._truth = GroundTruth(world, str(values["world_frame"]))
        self._truth_publisher = self.create_lifecycle_publisher(MarkerArray, "~/ground_truth", 1)
        self._truth_timer = self.create_timer(
            1.0 / float(values["ground_truth_rate"]), self._publish_truth, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self._camera = SimCamera(self, world, self._sim_robot, values) if values["camera.enabled"] else None
        seen_by = self._camera.description if self._camera is not None else None
        self._frames = static_frames(str(values["world_frame"]), self._sim_robot, seen_by, str(values["camera.name"]))
        self._frame_publisher = self.create_lifecycle_publisher(TFMessage, "tf_static", qos.LATCHED)
        self._diagnostics = Diagnostics(self, robot.name, self._report)
        self._offer_services()
        self.get_logger().info(f"{robot.name} in scene {scene.name!r}, commands for {', '.join(joints)}")

    def activate(self) -> None:
        """Let time run."""
        self._frame_publisher.publish(self._frames)
        self._physics.start()
        if self._camera is not None:
            self._camera.start()

    def deactivate(self) -> None:
        """Stop time."""
        if self._camera is not None:
            self._camera.stop()
        self._physics.stop()

    def cleanup(self) -> None:
        """Give everything back."""
        if self._camera is not None:
            self._camera.close()
        self._physics.destroy()
        self._diagnostics.destroy()
        self.destroy_timer(self._truth_timer)
        for publisher in (self._truth_publisher, self._frame_publisher):
            self.destroy_lifecycle_publisher(publisher)
        for service in self._services_offered:
            self.destroy_service(service)
        assert self._world is not None
        self._world.close()
        self._world = None

    def _joints(self, robot: Robot, values: dict[str, Value]) -> tuple[str, ...]:
        if values["joints"]:
            return tuple(values["joints"])
        joints = robot.chain(str(values["base_link"]) or robot.root, str(values["tip_link"])).joint_names
        if not joints:
            raise InputError("no joint moves between base_link and tip_link; set them to the two ends of the arm")
        return joints

    def _fill(
        self, world: SimWorld, robot: Robot, scene: Scene, joints: Sequence[str], values: dict[str, Value]
    ) -> None:
        world.load_scene(scene)
        positions = list(values["initial_positions"])
        if positions and len(positions) != len(joints):
            raise InputError(f"initial_positions has {len(positions)} numbers for {len(joints)} joints; give one each")
        # A controller that comes back takes over from the hold: it starts from the measured state by itself.
        drive = DriveSettings(command_timeout=float(values["command_timeout"]), resume=ResumePolicy.COMMAND)
        start = dict(zip(joints, positions)) if positions else None
        self._sim_robot = world.add_robot(robot, T_world_base=scene.T_world_base, q=start, settings=drive)
        if values["start_paused"]:
            world.pause()

    def _physics_settings(self, joints: tuple[str, ...], values: dict[str, Value]) -> PhysicsSettings:
        return PhysicsSettings(
            joints=joints,
            real_time_factor=float(values["real_time_factor"]),
            clock_every=int(values["clock_every"]),
            patience=float(values["patience"]),
            priority=int(values["priority"]) or None,
        )

    def _offer_services(self) -> None:
        offered = (
            (Trigger, "~/reset", self._on_reset),
            (SetBool, "~/pause", self._on_pause),
            (StepSimulation, "~/step", self._on_step),
            (SpawnObject, "~/spawn", self._on_spawn),
            (RemoveObject, "~/remove", self._on_remove),
        )
        self._services_offered = [
            self.create_service(kind, name, self._guarded(answer)) for kind, name, answer in offered
        ]

    def _guarded(self, answer: Callable[[Any, Any], str]) -> Callable[[Any, Any], Any]:
        """Turns the user's mistakes into answers that say why."""

        def respond(request: Any, response: Any) -> Any:
            try:
                response.message = answer(request, response)
                response.success = True
            except ManipapyError as error:
                response.success, response.message = False, str(error)
            return response

        return respond

    def _on_reset(self, _: Trigger.Request, __: Trigger.Response) -> str:
        self._open_world().reset()
        return "everything is back where it started; simulated time goes on"

    def _on_pause(self, request: SetBool.Request, _: SetBool.Response) -> str:
        world = self._open_world()
        if request.data:
            world.pause()
            return f"paused at {world.time:.3f} s"
        world.resume()
        return f"running from {world.time:.3f} s on"

    def _on_step(self, request: StepSimulation.Request, response: StepSimulation.Response) -> str:
        world = self._open_world()
        if not self.is_active:
            raise NotActive(self.get_fully_qualified_name())
        if not world.paused:
            raise InputError("simulated time is running; pause it first (~/pause with data: true)")
        if not 1 <= request.steps <= MOST_STEPS:
            raise InputError(f"{request.steps} steps were asked for; give 1 to {MOST_STEPS}")
        if not self._physics.advance(request.steps, self.context.ok):
            raise InputError("the simulation was stopped before all steps were made")
        response.time.sec, response.time.nanosec = divmod(world.time_ns, 1_000_000_000)
        return f"{world.time:.3f} s"

    def _on_spawn(self, request: SpawnObject.Request, _: SpawnObject.Response) -> str:
        self._open_world().spawn(object_from_request(request, self._meshes))
        return f"{request.name} is there"

    def _on_remove(self, request: RemoveObject.Request, _: RemoveObject.Response) -> str:
        self._open_world().remove(request.name)
        return f"{request.name} is gone"

    def _open_world(self) -> SimWorld:
        if self._world is None:
            raise NotActive(self.get_fully_qualified_name())
        return self._world

    def _publish_truth(self) -> None:
        if self.is_active:
            self._truth_publisher.publish(self._truth.message())

    def _report(self) -> DiagnosticReport:
        loop, drive, world = self._physics.report(), self._sim_robot.status(), self._open_world()
        values = {
            "simulated time [s]": f"{world.time:.3f}",
            "paused": str(world.paused).lower(),
            "command timeouts": str(drive.timeouts),
            "refused commands": str(drive.refusals),
            "last refusal": drive.last_refusal,
        }
        if loop is None:
            return DiagnosticReport(Level.OK, "inactive", values)
        values |= {
            "steps per second [Hz]": f"{loop.rate:.1f}",
            "skipped steps": str(loop.missed),
            "lateness p99 [us]": f"{loop.lateness.p99:.0f}",
            "work p99 [us]": f"{loop.work.p99:.0f}",
        }
        if loop.failure is not None:
            return DiagnosticReport(Level.ERROR, f"a step failed: {loop.failure}", values)
        if loop.missed > 0.05 * max(loop.ticks, 1):
            return DiagnosticReport(
                Level.WARN, f"slower than real time: {loop.missed} of {loop.ticks} steps skipped", values
            )
        return DiagnosticReport(Level.OK, "paused" if world.paused else "running", values)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until it is stopped."""
    return run(SimBridgeNode, argv)


if __name__ == "__main__":
    sys.exit(main())
