"""The node `servo`: moves the arm by streams of twists, joint velocities or pose targets, inside all limits.

Takes `~/twist`, `~/joint_jog`, `~/pose_target` and `joy`, and what clients of MoveIt Servo send: `servo_node/` with
`delta_twist_cmds`, `delta_joint_cmds`, `pose_target_cmds`, `switch_command_type`, `pause_servo`, `start_servo`,
`stop_servo`. Publishes `~/status` and `servo_node/status`, and to the controller short trajectories that end at rest.
Objects of the planner's world, attached ones and the arm itself are kept clear of; without a planner, `obstacles`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from manipapy_msgs.msg import ControllerStatus
from moveit_msgs.msg import ServoStatus as StatusMessage
from moveit_msgs.srv import ServoCommandType
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from manipapy_core.compiler import kernels_of
from manipapy_core.control import LoopSettings, PeriodicLoop
from manipapy_core.control.loop import Histogram
from manipapy_core.geometry import Checker, RobotBody, World
from manipapy_core.servoing import ArmServo, ServoSettings, ServoStatus
from manipapy_core.typing import Array

from ..common import qos
from ..common.conversions import JointStateReader
from ..common.diagnostics import DiagnosticReport, Level
from ..common.node import ManagedNode
from ..common.params import Param, Values
from ..common.process import below_loop, end_process, run
from ..common.robot_loader import ROBOT_PARAMETERS, compile_kernels
from ..common.tf_buffer import TfBuffer
from ..common.world_follower import WORLD_PARAMETERS, WorldOrObstacles
from ..realtime.polled_topics import PolledSubscription
from .inputs import MOVEIT_NODE, CommandInput, CommandType
from .joystick import JOYSTICK_PARAMETERS, Joystick
from .output import CODES, TrajectoryOutput

PARAMETERS = (
    *ROBOT_PARAMETERS,
    *WORLD_PARAMETERS,
    *JOYSTICK_PARAMETERS,
    Param("rate", 250.0, "Cycles per second [Hz]", minimum=50.0, maximum=1000.0),
    Param("command_timeout", 0.1, "Silence after which a command ends [s]", minimum=0.01, maximum=2.0),
    Param("command_topic", "controller/joint_stream", "Topic for trajectories of the controller"),
    Param("controller_status", "controller/status", "Status topic of the controller"),
    Param("linear_speed", 0.5, "Highest commanded speed of the tip [m/s]", minimum=0.001, maximum=5.0),
    Param("angular_speed", 1.5, "Highest commanded speed of the tip [rad/s]", minimum=0.001, maximum=20.0),
    Param("velocity_scaling", 1.0, "Share of the joints' velocity limits", minimum=0.01, maximum=1.0),
    Param("acceleration_scaling", 1.0, "Share of the joints' acceleration and jerk limits", minimum=0.01, maximum=1.0),
    Param("influence", 0.12, "Distance within which obstacles slow down an approach [m]", minimum=0.02, maximum=1.0),
    Param("security", 0.01, "Distance that is kept to obstacles [m]", minimum=0.005, maximum=0.2),
)  # fmt: skip
PRIORITY = 60
"""Priority of SCHED_FIFO, where permitted: below the loops of simulation and control."""
STATE_TIMEOUT = 0.1
"""Age of the last joint state above which the arm is not moved [s]."""
MAX_CATCH_UP = 8
"""Cycles that are computed at once after a delay; after a longer one the servo starts again."""
FOLLOW_TOLERANCE = 0.1
"""Distance between command and arm above which it does not follow [rad or m]."""
MOVING = 0.05
"""Joint speed above which the arm is moved by something else [rad/s or m/s]."""
PAUSE = 0.35
"""Silence of the client after which an arm that did not follow is tried again [s]; longer than the controller's."""
STATUS_EVERY = 0.05
"""Longest time between two messages on status [s]."""


class ServoNode(ManagedNode):
    """Moves one arm while the node is active."""

    realtime = True
    lean_executor = True
    udp_transport = True
    executor_priority = below_loop(PRIORITY)

    def __init__(self) -> None:
        super().__init__("servo", PARAMETERS)

    def configure(self, values: Values) -> None:
        """Build the body of the arm, compile a cycle, open all topics."""
        model = self.load_robot(values)
        model.require_collision_meshes()
        compile_kernels(model)
        chain = model.chain
        self._chain, self._simulated = chain, bool(self.get_parameter("use_sim_time").value)
        names = ("linear_speed", "angular_speed", "velocity_scaling", "acceleration_scaling", "influence", "security")
        settings = ServoSettings(**{name: float(values[name]) for name in names})
        self._servo = ArmServo(Checker(RobotBody.build(model.robot, chain), World()), settings)
        self._servo.warm_up()
        self._reader = JointStateReader(chain.joint_names)
        self._tf = self.own(TfBuffer(self))
        self._world = self.own(WorldOrObstacles(self, values, model))
        self._states: PolledSubscription[JointState] = self.own(
            PolledSubscription(self, JointState, "joint_states", qos.NEWEST)
        )
        self._verdicts: PolledSubscription[ControllerStatus] = self.own(
            PolledSubscription(self, ControllerStatus, str(values["controller_status"]), qos.NEWEST)
        )
        self._timeout = float(values["command_timeout"])
        self._commands = self.own(
            CommandInput(
                self, chain.joint_names, chain.base, chain.tip, self._pose_of, Joystick.of(values), self._timeout
            )
        )
        self._output = self.own(TrajectoryOutput(self, str(values["command_topic"]), chain.joint_names))
        self._status_publishers = [
            self.own(self.create_publisher(StatusMessage, name, qos.STATE))
            for name in ("~/status", f"{MOVEIT_NODE}/status")
        ]
        for name in ("~/pause", f"{MOVEIT_NODE}/pause_servo"):
            self.offer(SetBool, name, self._pause)
        self.offer(Trigger, f"{MOVEIT_NODE}/start_servo", lambda *_: self._set_paused(False))
        self.offer(Trigger, f"{MOVEIT_NODE}/stop_servo", lambda *_: self._set_paused(True))
        self.own(self.create_service(ServoCommandType, f"{MOVEIT_NODE}/switch_command_type", self._switch))
        self._loop: PeriodicLoop | None = None
        self.get_logger().info(f"{model}; {values['rate']:g} cycles per second to {values['command_topic']}")

    def activate(self) -> None:
        """Start the loop; the arm moves with the next command."""
        self._period = 1.0 / float(self.values["rate"])
        self._paused = self._engaged = False
        self._arrival = self._status_at = self._commanded_at = -np.inf
        self._measured = self._reached = 0.0
        self._refusal, self._last = "", (StatusMessage.NO_WARNING, "")
        self._compute = Histogram()
        self._commands.drop()
        settings = LoopSettings(period=self._period, spin=0.0, priority=PRIORITY, lock_memory=False)
        self._loop = PeriodicLoop(self._cycle, settings, on_failure=self._report, name="servo")
        self._loop.start()

    def deactivate(self) -> None:
        """Stop the loop; the arm ends the trajectory that was sent last, at rest."""
        if self._loop is not None:
            self._loop.stop()
            self._loop = None

    def diagnose(self) -> DiagnosticReport:
        """The last status and the compute time of cycles."""
        if not self.is_active:
            return DiagnosticReport(Level.OK, "inactive")
        spread, self._compute = self._compute.spread(), Histogram()
        values = {"cycle p50 [us]": f"{spread.p50:.0f}", "cycle p99 [us]": f"{spread.p99:.0f}"}
        code, text = self._last
        if self._world.follower.problem:
            return DiagnosticReport(Level.WARN, self._world.follower.problem, values)
        return DiagnosticReport(Level.WARN if code == StatusMessage.INVALID else Level.OK, text, values)

    # In the loop.

    def _cycle(self, wall: float) -> None:
        began = time.monotonic_ns()
        message = self._states.newest_serialized()
        if message is not None and self._reader.read(message):
            sec, nanosec = self._reader.stamp
            self._arrival, self._measured = wall, sec + 1e-9 * nanosec
        now = self._measured if self._simulated else time.time()
        command = self._commands.poll(wall, now)
        if command is not None:
            last, self._commanded_at = self._commanded_at, wall
            if wall - last > PAUSE:
                self._refusal = ""
        refusal = self._why_not(wall)
        if refusal:
            command = None
        if not self._engaged and command is not None and not command.is_zero:
            self._engage(now)
            refusal = refusal or self._refusal
        status, text = ServoStatus.IDLE, ServoStatus.IDLE.value
        if self._engaged:
            status, text = self._move(command, now)
        self._compute.record(time.monotonic_ns() - began)
        problem = refusal or self._commands.problem or self._commands.ignored
        code = StatusMessage.INVALID if refusal or self._commands.problem else CODES.get(status, 0)
        self._publish_status(wall, code, f"{text}; {problem}" if problem else text)

    def _why_not(self, wall: float) -> str:
        """Why the arm is not moved; empty if it may be."""
        if wall - self._arrival > STATE_TIMEOUT:
            return self._reader.problem or f"no joint states on {self._states.topic}"
        verdict = self._verdicts.newest()
        if verdict is not None and verdict.verdict >= ControllerStatus.HOLD and self._engaged:
            self._disengage(f"the controller holds the arm: {verdict.reason}")
        return "paused" if self._paused else self._refusal

    def _engage(self, now: float) -> None:
        """Takes the arm from where it is, if it is at rest."""
        if np.abs(self._reader.qd).max() > MOVING:
            self._refusal = "the arm is moved by something else; the client must pause before it is tried again"
            return
        self._servo.reset(np.clip(self._reader.q, self._chain.limits.lower, self._chain.limits.upper))
        self._servo.set_world(self._world.snapshot())
        self._engaged, self._reached = True, now

    def _disengage(self, why: str) -> None:
        self._engaged, self._refusal = False, f"{why}; pause the commands, then continue"

    def _move(self, command: object, now: float) -> tuple[ServoStatus, str]:
        """Cycles until the command reaches now, and the newest one sent."""
        servo, status = self._servo, ServoStatus.IDLE
        if now - self._reached > MAX_CATCH_UP * self._period or now < self._reached - 0.5:
            if not servo.at_rest:
                self._disengage("the loop was delayed, or the clock jumped")
                return ServoStatus.STOPPING, ServoStatus.STOPPING.value
            self._reached = now
        if np.abs(self._reader.q - servo.q).max() > FOLLOW_TOLERANCE:
            self._disengage("the arm does not follow; is the controller active, and no other goal executed?")
            return ServoStatus.STOPPING, ServoStatus.STOPPING.value
        servo.set_world(self._world.snapshot())
        step = None
        while self._reached <= now:
            step = servo.step(command, self._period)  # type: ignore[arg-type]
            self._reached += self._period
        if step is None:
            return status, self._last[1].partition(";")[0]
        times, states = servo.trajectory()
        self._output.publish(self._reached - self._period, times, states)
        if servo.at_rest and command is None:
            self._engaged = False
        return step.status, step.text

    def _publish_status(self, wall: float, code: int, text: str) -> None:
        changed = (code, text.partition(":")[0]) != (self._last[0], self._last[1].partition(":")[0])
        if not changed and wall - self._status_at < STATUS_EVERY:
            return
        if code == StatusMessage.INVALID and changed:
            self.get_logger().warning(text, throttle_duration_sec=1.0)
        self._last, self._status_at = (int(code), text), wall
        for publisher in self._status_publishers:
            publisher.publish(StatusMessage(code=int(code), message=text))

    def _report(self, error: Exception) -> None:
        self.get_logger().error(f"a cycle failed: {type(error).__name__}: {error}", throttle_duration_sec=1.0)
        self._disengage(f"a cycle failed: {error}")

    # Frames and world.

    def _pose_of(self, frame: str) -> Array:
        """T_base_frame of a link, or of a frame on tf."""
        chain = self._chain
        if frame in chain.link_names:
            return kernels_of(chain).link_poses.run(self._reader.q.copy())[chain.link_names.index(frame)]
        now = self._measured if self._simulated else time.time()
        return self._tf.pose(chain.base, frame, round(now * 1e9))

    # Services.

    def _pause(self, request: SetBool.Request, _: SetBool.Response) -> str:
        return self._set_paused(bool(request.data))

    def _set_paused(self, paused: bool) -> str:
        self._paused = paused
        return "the arm comes to rest; commands are ignored" if paused else "commands are followed"

    def _switch(
        self, request: ServoCommandType.Request, response: ServoCommandType.Response
    ) -> ServoCommandType.Response:
        response.success = self.is_active and request.command_type in list(CommandType)
        if response.success:
            self._commands.type = CommandType(request.command_type)
        else:
            self.get_logger().warning(f"no command type {request.command_type}, or the servo is not active")
        return response


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until it is stopped."""
    return run(ServoNode, argv)


if __name__ == "__main__":
    end_process(main())
