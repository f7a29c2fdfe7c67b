"""The node `sim_bridge`: a robot in a physics simulation behind the topics of ros2_control.

Publishes `joint_states` at every step and `clock`; subscribes to commands on `forward_effort_controller/commands`,
`forward_velocity_controller/commands` and `forward_position_controller/commands`; publishes the poses of objects on
`~/ground_truth`. Offers `~/reset`, `~/pause`, `~/step`, `~/spawn`, `~/remove`, and for grippers the action
`gripper_action_controller/gripper_cmd`. A stereo camera is optional.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from manipapy_msgs.srv import RemoveObject, SpawnObject, StepSimulation
from rclpy.parameter import Parameter
from std_srvs.srv import SetBool, Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray

from manipapy_core.errors import InputError
from manipapy_core.model.assumptions import summary
from manipapy_core.model.meshes import MeshFinder
from manipapy_core.sim import DEFAULT_SIMULATOR, DriveSettings, ResumePolicy, Scene, SimWorld, read_scene

from ..common import qos
from ..common.conversions import time_message
from ..common.diagnostics import DiagnosticReport, Level
from ..common.names import MAX_REAL_TIME_FACTOR, MIN_REAL_TIME_FACTOR
from ..common.node import ManagedNode
from ..common.params import Param, Values
from ..common.process import below_loop, end_process, run
from ..common.robot_loader import ROBOT_PARAMETERS, LoadedRobot
from .camera import CAMERA_PARAMETERS, SimCamera
from .gripper import PERIOD, gripper_actions
from .objects import GroundTruth, object_from_request, static_frames
from .physics import Physics, PhysicsSettings
from .truth_log import TruthLog

PARAMETERS = (
    *ROBOT_PARAMETERS,
    Param("joints", [], "Order of commands; empty: the joints from base_link to tip_link",
          kind=Parameter.Type.STRING_ARRAY),
    Param("initial_positions", [], "Initial positions of these joints [rad or m]; empty: nearest to zero",
          kind=Parameter.Type.DOUBLE_ARRAY),
    Param("scene", "", "Bundled scene or scene file; empty: the robot alone"),
    Param("time_step", 0.001, "Length of a step of the physics [s]", minimum=1e-4, maximum=0.02),
    Param("real_time_factor", 1.0, "Simulated seconds per second", minimum=MIN_REAL_TIME_FACTOR,
          maximum=MAX_REAL_TIME_FACTOR),
    Param("clock_every", 25, "Steps between two messages on clock", minimum=1, maximum=1000),
    Param("command_timeout", 0.02, "Age from which on an effort is replaced by a hold [s]", minimum=0.002,
          maximum=10.0),
    Param("effort_rise_time", 0.01, "Shortest time in which a commanded effort rises to its limit [s]; 0: at once",
          minimum=0.0, maximum=1.0),
    Param("overspeed", 1.04, "Share of the velocity limit above which commanded efforts trip the drive, which then "
          "holds the arm; 0: no limit", minimum=0.0, maximum=100.0),
    Param("command_source", "", "Name of the node whose commands are taken, such as controller; empty: the first one "
          "that commands, until it is silent"),
    Param("late_effort_timeout", 0.2, "How long simulated time waits for late efforts [s]", minimum=0.0, maximum=1.0),
    Param("priority", 70, "SCHED_FIFO priority, where permitted; 0: none", minimum=0, maximum=99),
    Param("start_paused", False, "Start paused; ~/pause resumes, ~/step makes single steps"),
    Param("simulator", "", "Physics engine: mujoco or pybullet; empty: mujoco, or the other one if it is missing"),
    Param("gui", False, "Show the window of the physics engine"),
    Param("world_frame", "world", "Name of the frame of ground truth"),
    Param("ground_truth_rate", 10.0, "Messages on ~/ground_truth per second [Hz]", minimum=0.1, maximum=100.0),
    Param("truth_log", "", "File for the true joint positions and velocities of every step; empty: none"),
    *CAMERA_PARAMETERS,
)  # fmt: skip
MAX_STEPS = 100_000
"""Of one request to ~/step."""


class SimBridgeNode(ManagedNode):
    """One world with one robot; time runs while the node is active."""

    realtime = True
    lean_executor = True
    udp_transport = True

    def __init__(self) -> None:
        super().__init__("sim_bridge", PARAMETERS)

    def configure(self, values: Values) -> None:
        """Build the world and open all topics."""
        paths = list(values["package_paths"])
        robot = self.load_description(values)
        scene = read_scene(str(values["scene"]), package_paths=paths) if values["scene"] else Scene("empty")
        model = LoadedRobot.of(robot, values)
        model.require_collision_meshes()
        joints = tuple(values["joints"]) or model.chain.joint_names
        masses = [assumption for assumption in robot.assumptions if assumption.quantity == "mass"]
        if masses:
            self.get_logger().warning(summary(masses))
        self.executor_priority = below_loop(int(values["priority"]) or None)
        simulator, step = str(values["simulator"]), float(values["time_step"])
        self._world = self.own(SimWorld(time_step=step, simulator=simulator, gui=bool(values["gui"])))
        used = self._world.simulator.value
        if used != (simulator or DEFAULT_SIMULATOR.value):
            self.get_logger().warning(f"{simulator or DEFAULT_SIMULATOR.value} is not installed; {used} simulates")
        self._meshes = MeshFinder(None, paths)
        self._fill(model, scene, joints, values)
        path = str(values["truth_log"])
        truth_log = self.own(TruthLog(path, self._sim_robot.joint_names)) if path else None
        settings = _physics_settings(joints, values)
        self._physics = self.own(Physics(self, self._world, self._sim_robot, settings, truth_log))
        grippers = gripper_actions(self, self._sim_robot, joints, lambda: self._world.time)
        self._grippers = [self.own(gripper) for gripper in grippers]
        if grippers:
            self.every(PERIOD, self._update_grippers)
        self._truth = GroundTruth(self._world, str(values["world_frame"]))
        self._truth_publisher = self.own(self.create_lifecycle_publisher(MarkerArray, "~/ground_truth", 1))
        self.every(1.0 / float(values["ground_truth_rate"]), self._publish_truth)
        self._camera: SimCamera | None = None
        if values["camera.enabled"]:
            self._camera = self.own(SimCamera(self, self._world, self._sim_robot, values))
        camera = self._camera.description if self._camera is not None else None
        self._frames = static_frames(str(values["world_frame"]), self._sim_robot, camera, str(values["camera.name"]))
        self._frame_publisher = self.own(self.create_lifecycle_publisher(TFMessage, "tf_static", qos.LATCHED))
        self.offer(Trigger, "~/reset", self._reset, only_active=False)
        self.offer(SetBool, "~/pause", self._pause, only_active=False)
        self.offer(StepSimulation, "~/step", self._step)
        self.offer(SpawnObject, "~/spawn", self._spawn, only_active=False)
        self.offer(RemoveObject, "~/remove", self._remove, only_active=False)
        self.get_logger().info(f"{robot.name} in scene {scene.name!r} by {used}, commands for {', '.join(joints)}")

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
        for gripper in self._grippers:
            gripper.abandon()
        self._physics.stop()

    def _fill(self, model: LoadedRobot, scene: Scene, joints: Sequence[str], values: Values) -> None:
        self._world.load_scene(scene)
        positions = list(values["initial_positions"])
        if positions and len(positions) != len(joints):
            raise InputError(f"initial_positions has {len(positions)} numbers for {len(joints)} joints; give one each")
        # A controller that returns takes over from the hold: it starts from the measured state.
        drive = DriveSettings(
            command_timeout=float(values["command_timeout"]),
            resume=ResumePolicy.COMMAND,
            effort_rise_time=float(values["effort_rise_time"]),
            overspeed=float(values["overspeed"]) or math.inf,
        )
        # Joints outside the arm are held where the other nodes take them to be.
        free = model.robot.free_joints
        start = {name: position for name, position in model.chain.locked if name in free}
        start |= dict(zip(joints, positions, strict=True)) if positions else {}
        self._sim_robot = self._world.add_robot(model.robot, T_world_base=scene.T_world_base, q=start, settings=drive)
        if values["start_paused"]:
            self._world.pause()

    # Services.

    def _reset(self, _: Trigger.Request, __: Trigger.Response) -> str:
        self._world.reset()
        return "robot and objects are back at their initial poses; simulated time continues"

    def _pause(self, request: SetBool.Request, _: SetBool.Response) -> str:
        if request.data:
            self._world.pause()
            return f"paused at {self._world.time:.3f} s"
        self._world.resume()
        return f"running from {self._world.time:.3f} s on"

    def _step(self, request: StepSimulation.Request, response: StepSimulation.Response) -> str:
        if not self._world.paused:
            raise InputError("simulated time is running; pause it first (~/pause with data: true)")
        if not 1 <= request.steps <= MAX_STEPS:
            raise InputError(f"{request.steps} steps were requested; give 1 to {MAX_STEPS}")
        if not self._physics.advance(request.steps, self.context.ok):
            raise InputError("the simulation was stopped before all steps were made")
        response.time = time_message(self._world.time_ns)
        return f"{self._world.time:.3f} s"

    def _spawn(self, request: SpawnObject.Request, _: SpawnObject.Response) -> str:
        self._world.spawn(object_from_request(request, self._meshes))
        return f"{request.name} added"

    def _remove(self, request: RemoveObject.Request, _: RemoveObject.Response) -> str:
        self._world.remove(request.name)
        return f"{request.name} removed"

    def _update_grippers(self) -> None:
        for gripper in self._grippers:
            gripper.update()

    # Publishing.

    def _publish_truth(self) -> None:
        if self.is_active:
            self._truth_publisher.publish(self._truth.message())

    def diagnose(self) -> DiagnosticReport:
        """Rate of the simulation, and commands that were late or refused."""
        loop, drive, world = self._physics.report(), self._sim_robot.status(), self._world
        values = {
            "simulated time [s]": f"{world.time:.3f}",
            "paused": str(world.paused).lower(),
            "command timeouts": str(drive.timeouts),
            "overspeed trips": str(drive.trips),
            "last trip": drive.last_trip,
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


def _physics_settings(joints: tuple[str, ...], values: Values) -> PhysicsSettings:
    return PhysicsSettings(
        joints=joints,
        real_time_factor=float(values["real_time_factor"]),
        clock_every=int(values["clock_every"]),
        command_source=str(values["command_source"]),
        late_effort_timeout=float(values["late_effort_timeout"]),
        priority=int(values["priority"]) or None,
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until it is stopped."""
    return run(SimBridgeNode, argv)


if __name__ == "__main__":
    end_process(main())
