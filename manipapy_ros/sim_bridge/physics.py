"""The loop of the simulation: commands in, one step, joint states and time out. ROS callbacks never run on it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from manipapy_core import dynamics
from manipapy_core.control import LoopReport, LoopSettings, PeriodicLoop
from manipapy_core.control.loop import enter_realtime
from manipapy_core.sim import CommandRefused, DriveMode, HoldReason, SimRobot, SimWorld

from ..common import qos
from ..common.conversions import split_nanoseconds, time_message
from ..realtime.cdr_templates import Marks, MessageTemplate, time_bytes
from ..realtime.polled_topics import NumbersReader
from .command_input import JointCommandInput
from .truth_log import TruthLog

COMMAND_TOPICS = {
    DriveMode.EFFORT: "forward_effort_controller/commands",
    DriveMode.VELOCITY: "forward_velocity_controller/commands",
    DriveMode.POSITION: "forward_position_controller/commands",
}
"""As of ros2_control's forward_command_controller."""
MODES = tuple(COMMAND_TOPICS)
HEARTBEAT = 0.01
"""While paused, the last joint state is repeated with this period [s]: a paused simulation is not a dead one."""
STEPS_PER_TICK = 20
"""Of a request for many steps, so that the loop can be stopped in between."""
LATE_STEPS = 3
"""Efforts this many steps old are late; on an idle machine they are one or two."""
POLL = 1e-4
"""[s]"""


@dataclass(frozen=True)
class PhysicsSettings:
    """Settings of the simulation loop."""

    joints: tuple[str, ...]
    """Order of commands without names."""
    real_time_factor: float = 1.0
    """Simulated seconds per second."""
    command_source: str = ""
    """Name of the node that may command; empty: the first one that does, until it is silent."""
    clock_every: int = 25
    """Steps between two messages on `clock`."""
    late_effort_timeout: float = 0.2
    """How long simulated time waits for late efforts of a controller [s]."""
    priority: int | None = 70
    """SCHED_FIFO priority, where permitted."""


class Physics:
    """Steps a world at its rate and exchanges messages with one robot.

    A controller on a busy machine may be late. Its last efforts must not be applied for long, but the arm must not be
    held because of the machine either: simulated time waits for late efforts, up to `late_effort_timeout`, and only
    then continues to the timeout that holds the arm.

    Args:
        node: Publisher and subscriber.
        world: Contains the robot.
        robot: The commanded robot.
        settings: Rate and timeout of late efforts.
        truth_log: Record of every step; None: none is kept.
    """

    def __init__(
        self,
        node: Node,
        world: SimWorld,
        robot: SimRobot,
        settings: PhysicsSettings,
        truth_log: TruthLog | None = None,
    ):
        self._node, self._world, self._robot, self._settings = node, world, robot, settings
        self._truth_log = truth_log
        self._commands = JointCommandInput(node, COMMAND_TOPICS, settings.command_source)
        self._states = node.create_publisher(JointState, "joint_states", qos.STATE)
        self._clock = node.create_publisher(Clock, "clock", qos.COMMAND)
        # Drivers of real grippers also publish the joints that follow others.
        self._state_template = _state_template(robot.moving_names)
        self._loop: PeriodicLoop | None = None
        self._numbers = NumbersReader(len(settings.joints))
        self._mode, self._turn = DriveMode.EFFORT, 0
        self._wanted: _Steps | None = None
        self._streaming = False
        """Whether efforts are expected."""
        self._last_command = 0.0
        # Half a step of tolerance: times are sums of steps.
        self._late = (LATE_STEPS - 0.5) * world.time_step
        self._steps_to_clock = 0
        self._heartbeat = 0.0
        self._held = False
        self._prepare()

    def start(self) -> None:
        """Start simulated time."""
        period = self._world.time_step / self._settings.real_time_factor
        spin = min(5e-5, 0.1 * period)
        settings = LoopSettings(period=period, spin=spin, priority=self._settings.priority, phase=0.0)
        self._loop = PeriodicLoop(self._tick, settings, on_failure=self._report, name="physics")
        self._loop.start()

    def _prepare(self) -> None:
        """Compile code and lock memory ahead of the first step."""
        chain = self._robot.chain
        rest = np.zeros(chain.n)
        dynamics.inverse_dynamics(chain, rest, rest, rest)
        dynamics.mass_matrix(chain, rest)
        enter_realtime(None, lock_memory=True)

    def stop(self) -> None:
        """Stop simulated time."""
        if self._loop is not None:
            self._loop.stop()
            self._loop = None

    def destroy(self) -> None:
        """Remove all topics."""
        self.stop()
        self._commands.destroy()
        self._node.destroy_publisher(self._states)
        self._node.destroy_publisher(self._clock)

    def report(self) -> LoopReport | None:
        """Timing of the loop since the last call; None while it is stopped."""
        return self._loop.report() if self._loop is not None else None

    def advance(self, steps: int, proceed: Callable[[], bool]) -> bool:
        """Make steps in the loop while the world is paused, and wait for them.

        Args:
            steps: Count.
            proceed: Called periodically; False leaves out the rest.

        Returns:
            Whether all were made.
        """
        wanted = _Steps(steps)
        self._wanted = wanted
        while not wanted.done.wait(0.05):
            if not proceed() or self._loop is None or not self._loop.running:
                self._wanted = None
                return False
        return True

    # In the loop.

    def _tick(self, now: float) -> None:
        if not self._node.context.ok():
            return
        self._take_commands()
        if self._world.paused:
            self._while_paused(now)
            return
        self._wait_for_late_efforts()
        if self._world.tick():
            self._publish()

    def _while_paused(self, now: float) -> None:
        wanted = self._wanted
        if wanted is not None:
            for _ in range(min(wanted.left, STEPS_PER_TICK)):
                self._world.step()
                self._publish()
                self._take_commands()
                wanted.left -= 1
            if wanted.left == 0:
                self._wanted = None
                self._publish_clock()
                wanted.done.set()
        elif now - self._heartbeat > HEARTBEAT:
            self._heartbeat = now
            self._publish()
            self._publish_clock()

    def _take_commands(self) -> bool:
        """Whether an effort command arrived and was applied."""
        taken, now = False, time.monotonic()
        for mode in MODES if self._world.paused else self._modes_to_poll():
            message = self._commands.newest(mode, now)
            if message is None:
                continue
            try:
                self._robot.command(mode, self._numbers.read(message), self._settings.joints)
            except CommandRefused as refusal:
                text = f"{self._commands.topic(mode)}: {refusal}"
                self._node.get_logger().warning(text, throttle_duration_sec=1.0)
                continue
            self._held, self._last_command = False, self._world.time
            self._streaming = taken = mode is DriveMode.EFFORT
            self._mode = mode
        return taken

    def _modes_to_poll(self) -> tuple[DriveMode, ...]:
        """The mode of the last command and one other: polling takes time, and modes rarely change."""
        self._turn = (self._turn + 1) % len(MODES)
        other = MODES[self._turn]
        return (self._mode,) if other is self._mode else (self._mode, other)

    def _wait_for_late_efforts(self) -> None:
        if not self._streaming or self._world.time - self._last_command < self._late:
            return
        deadline = time.monotonic() + self._settings.late_effort_timeout
        while time.monotonic() < deadline:
            if self._take_commands():
                return
            time.sleep(POLL)
        self._streaming = False

    def _publish(self) -> None:
        state = self._robot.state(mimic=True)
        stamp = time_bytes(*split_nanoseconds(self._world.time_ns))
        numbers = (state.q.tobytes(), state.qd.tobytes(), state.effort.tobytes())
        self._states.publish(self._state_template.filled(stamp, *numbers))
        if self._truth_log is not None:
            self._truth_log.write(self._robot.state())
        self._steps_to_clock -= 1
        if self._steps_to_clock <= 0:
            self._publish_clock()
            self._report_holds()

    def _publish_clock(self) -> None:
        self._steps_to_clock = self._settings.clock_every
        self._clock.publish(Clock(clock=time_message(self._world.time_ns)))

    def _report_holds(self) -> None:
        if self._held:
            return
        status = self._robot.status()
        if HoldReason.OVERSPEED in status.held.values():
            self._held = True
            self._node.get_logger().error(
                f"overspeed: {status.last_trip}; the arm is held until commands arrive that hold it"
            )
            return
        late = [name for name, why in status.held.items() if why is HoldReason.TIMEOUT]
        if late:
            self._held = True
            self._node.get_logger().warning(
                f"no command since {self._last_command:.3f} s of simulated time: "
                f"the arm is held until the next one ({_some(late)})"
            )

    def _report(self, error: Exception) -> None:
        self._node.get_logger().error(
            f"a step of the simulation failed: {type(error).__name__}: {error}", throttle_duration_sec=1.0
        )


class _Steps:
    """A request for steps."""

    def __init__(self, count: int):
        self.left, self.done = count, threading.Event()


def _state_template(names: Sequence[str]) -> MessageTemplate:
    """Template of joint states: stamp, positions, velocities and efforts change."""
    marks, n = Marks(), len(names)
    message = JointState(name=list(names))
    message.header.stamp = marks.time()
    message.position, message.velocity, message.effort = (marks.numbers(n).tolist() for _ in range(3))
    return MessageTemplate(message, marks.changing)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
