"""The thread of the controller: joint state in, one tick, command out. ROS callbacks never run on it.

Two clocks are possible. On hardware the loop keeps its own time and ticks every period. In simulation the stamps of
the joint states are the time: a tick is made for every new state, so that a simulation that runs slowly, stands still
or makes single steps finds a controller that does the same; only silence is measured by the clock on the wall.
"""

from __future__ import annotations

import enum
import functools
import time

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from sensor_msgs.msg import JointState

from manipapy_core.control import ArmController, LoopReport, LoopSettings, PeriodicLoop
from manipapy_core.control.loop import Histogram, Spread, enter_realtime

from ..common import qos
from ..common.conversions import JointStateReader
from ..realtime.polled_topics import NumbersPublisher, PolledSubscription
from .collision import ForecastInput, near

EFFORT_TOPIC = "forward_effort_controller/commands"
POSITION_TOPIC = "forward_position_controller/commands"
CLOCK_TREMBLE = 0.005
"""Differences between two readings of a clock that are the machine's doing [s]."""


class ControlMode(enum.Enum):
    """What is sent to the joints."""

    EFFORT = "effort"
    POSITION = "position"


class ControlThread:
    """Runs a controller at its rate between two topics.

    Args:
        node: Whose topics they are.
        controller: The arm's.
        settings: Of the loop.
        simulated: Whether stamps of joint states are the time.
        mode: What is sent.
        forecasts: Of collisions; None: they are not used.
    """

    def __init__(
        self,
        node: Node,
        controller: ArmController,
        settings: LoopSettings,
        *,
        simulated: bool,
        mode: ControlMode,
        forecasts: ForecastInput | None = None,
    ):
        self.controller, self.mode, self.forecasts = controller, mode, forecasts
        self._node, self._settings, self._simulated = node, settings, simulated
        chain = controller.chain
        self._states: PolledSubscription[JointState] = PolledSubscription(node, JointState, "joint_states", qos.NEWEST)
        self._efforts = NumbersPublisher(node, EFFORT_TOPIC, qos.COMMAND, chain.n)
        self._positions = NumbersPublisher(node, POSITION_TOPIC, qos.COMMAND, chain.n)
        self.reader = JointStateReader(chain.joint_names)
        self._patience = controller.settings.guard.state_hold_after
        self._arrival = -np.inf
        self._measured, self._measured_at = 0.0, -np.inf
        """Stamp of the last joint state, as ROS has it and on the clock of the loop [s]."""
        self._loop: PeriodicLoop | None = None
        self._compute = Histogram()
        if settings.lock_memory:
            enter_realtime(None, lock_memory=True)

    def start(self, controller: ArmController) -> None:
        """Begins to control, with a controller that has not ticked yet."""
        self.controller = self._watching(controller)
        self._arrival = self._measured_at = -np.inf
        self._states.newest()  # what came before is no news
        self._loop = PeriodicLoop(self._tick, self._settings, on_failure=self._on_failure, name="control")
        self._loop.start()

    def change(self, mode: ControlMode, controller: ArmController) -> None:
        """Sends something else from now on, with a controller that begins at the measured state.

        What one kind of command did to the arm says nothing about what the other one must begin with.
        """
        self.mode, self.controller = mode, self._watching(controller)

    def stop(self) -> None:
        """Ends the thread; what comes then is for the far side's timeout."""
        if self._loop is not None:
            self._loop.stop()
            self._loop = None

    def destroy(self) -> None:
        """Takes all topics away."""
        self.stop()
        self._states.destroy()
        self._efforts.destroy()
        self._positions.destroy()

    @property
    def stamp(self) -> Time:
        """Of the joint state that the last tick acted on."""
        sec, nanosec = self.reader.stamp
        return Time(sec=sec, nanosec=nanosec)

    @property
    def silence(self) -> float:
        """Time since the last joint state came, on the wall clock [s]; inf if none ever did."""
        return time.monotonic() - self._arrival

    @property
    def sources(self) -> int:
        """How many publish joint states."""
        return self._states.publishers

    def report(self) -> LoopReport | None:
        """How the loop has been doing since the last call; None while it does not run."""
        return self._loop.report() if self._loop is not None else None

    def compute(self) -> Spread:
        """Time that the controller itself took in ticks since the last call [µs]."""
        histogram, self._compute = self._compute, Histogram()
        return histogram.spread()

    def ros_time(self) -> float:
        """Now, on the clock that joint states should be stamped by [s]."""
        return self._measured if self._simulated else time.time()

    def loop_time(self, stamp: float) -> float:
        """A ROS time [s] on the clock of the controller."""
        return stamp if self._simulated else stamp - time.time() + time.monotonic()

    # In the loop.

    def _tick(self, now: float) -> None:
        message, reader = self._states.newest_serialized(), self.reader
        new = message is not None and reader.read(message)
        if new:
            self._arrival = now
            sec, nanosec = reader.stamp
            measured = sec + 1e-9 * nanosec
            new = measured != self._measured
            self._measured = measured
            self._measured_at = self._when_measured(now)
        if self._arrival == -np.inf:
            return
        if self.forecasts is not None:
            self._take_forecast(self.forecasts, now)
        if not self._simulated:
            self._control(now, self._measured_at)
        elif new:
            self._control(self._measured, self._measured)
        elif now - self._arrival > self._patience:
            self._control(self._measured + (now - self._arrival), self._measured)

    def _take_forecast(self, forecasts: ForecastInput, now: float) -> None:
        found = forecasts.poll()
        if found is None:
            return
        stamp, speed, fresh, message = found
        # Joint states without a stamp are taken for new; so are forecasts made from them.
        at = self.loop_time(stamp) if stamp or self._simulated else now
        forecasts.ahead.update(speed, at, world_fresh=fresh, describe=functools.partial(near, message))

    def _watching(self, controller: ArmController) -> ArmController:
        controller.watch_for_collisions(None if self.forecasts is None else self.forecasts.ahead)
        return controller

    def _on_failure(self, error: Exception) -> None:
        self.controller.fail(error)

    def _when_measured(self, now: float) -> float:
        """On the clock of the loop [s]; a driver that does not stamp its states is believed to send them at once."""
        if not self._measured:
            return now
        measured = self.loop_time(self._measured)
        # The two clocks are read one after the other, so the difference trembles; that is no step back in time.
        return max(measured, self._measured_at) if measured > self._measured_at - CLOCK_TREMBLE else measured

    def _control(self, now: float, stamp: float) -> None:
        began = time.monotonic_ns()
        efforts = self.controller.tick(now, self.reader.q, self.reader.qd, stamp)
        self._compute.record(time.monotonic_ns() - began)
        if self.mode is ControlMode.POSITION:
            if self.controller.seen:
                self._positions.publish(self.controller.wanted)
        elif efforts is not None:
            self._efforts.publish(efforts)
