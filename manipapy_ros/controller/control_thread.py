"""The control thread: takes a joint state, runs one tick, sends the command. No ROS callback runs on it.

There are two clocks. On hardware the loop ticks every period of the monotonic clock. In simulation the stamps of the
joint states are the time: there is one tick for every new state, so that the controller keeps pace with a simulation
that runs slowly, is paused or makes single steps; only the age of missing joint states is measured by the wall clock.
"""

from __future__ import annotations

import enum
import functools
import time

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node

from manipapy_core.control import ArmController, LoopReport, LoopSettings, PeriodicLoop
from manipapy_core.control.loop import Histogram, Spread, enter_realtime

from ..common import qos
from ..common.conversions import JointStateReader
from ..realtime.polled_topics import NumbersPublisher
from .collision import ForecastInput, near
from .state_input import StateInput

EFFORT_TOPIC = "forward_effort_controller/commands"
POSITION_TOPIC = "forward_position_controller/commands"
CLOCK_JITTER = 0.005
"""Largest error of the offset between two clocks that are read one after the other [s]."""


class ControlMode(enum.Enum):
    """Command interface."""

    EFFORT = "effort"
    POSITION = "position"


class ControlThread:
    """Runs a controller between `joint_states` and the command topics.

    Args:
        node: Owner of the topics.
        controller: Of the arm.
        settings: Of the loop.
        simulated: Whether stamps of joint states are the time.
        mode: Command interface.
        forecasts: Collision forecasts; None: not used.
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
        self.states = StateInput(node, chain.joint_names)
        self._efforts = NumbersPublisher(node, EFFORT_TOPIC, qos.COMMAND, chain.n)
        self._positions = NumbersPublisher(node, POSITION_TOPIC, qos.COMMAND, chain.n)
        self._state_timeout = controller.settings.guard.state_hold_after
        self._arrival = -np.inf
        self._measured, self._measured_at = 0.0, -np.inf
        """Stamp of the last joint state, in ROS time and on the clock of the loop [s]."""
        self._loop: PeriodicLoop | None = None
        self._compute = Histogram()
        if settings.lock_memory:
            enter_realtime(None, lock_memory=True)

    def start(self, controller: ArmController) -> None:
        """Starts the loop, with a controller that has not ticked yet."""
        self.controller = self._with_forecasts(controller)
        self._arrival = self._measured_at = -np.inf
        self.states.drop()
        self._loop = PeriodicLoop(self._tick, self._settings, on_failure=self._on_failure, name="control")
        self._loop.start()

    def change(self, mode: ControlMode, controller: ArmController) -> None:
        """Changes the command interface, with a new controller that starts at the measured state.

        Commands of one interface give no initial value for the other.
        """
        self.mode, self.controller = mode, self._with_forecasts(controller)

    def stop(self) -> None:
        """Ends the thread; from then on the far side holds the arm by its command timeout."""
        if self._loop is not None:
            self._loop.stop()
            self._loop = None

    def destroy(self) -> None:
        """Ends the thread and destroys all topics."""
        self.stop()
        self.states.destroy()
        self._efforts.destroy()
        self._positions.destroy()

    @property
    def stamp(self) -> Time:
        """Stamp of the joint state of the last tick."""
        sec, nanosec = self.reader.stamp
        return Time(sec=sec, nanosec=nanosec)

    @property
    def silence(self) -> float:
        """Wall time since the last joint state arrived [s]; inf if none has."""
        return time.monotonic() - self._arrival

    @property
    def reader(self) -> JointStateReader:
        """The last joint state."""
        return self.states.reader

    def report(self) -> LoopReport | None:
        """Timing of the loop since the last call; None while it does not run."""
        return self._loop.report() if self._loop is not None else None

    def compute(self) -> Spread:
        """Compute time of the controller per tick since the last call [µs]."""
        histogram, self._compute = self._compute, Histogram()
        return histogram.spread()

    def ros_time(self) -> float:
        """Now, on the clock of the stamps of joint states [s]."""
        return self._measured if self._simulated else time.time()

    def loop_time(self, stamp: float) -> float:
        """A ROS time [s] on the clock of the controller."""
        return stamp if self._simulated else stamp - time.time() + time.monotonic()

    # In the loop.

    def _tick(self, now: float) -> None:
        states, reader = self.states, self.states.reader
        new = states.poll(now)
        if new:
            if states.changed and self._arrival > -np.inf:
                self.controller.change_source()
                self._measured_at = -np.inf
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
        elif now - self._arrival > self._state_timeout:
            self._control(self._measured + (now - self._arrival), self._measured)

    def _take_forecast(self, forecasts: ForecastInput, now: float) -> None:
        found = forecasts.poll()
        if found is None:
            return
        stamp, speed, fresh, trajectory, message = found
        # Joint states without a stamp count as measured on arrival; so do forecasts made from them.
        at = self.loop_time(stamp) if stamp or self._simulated else now
        forecasts.ahead.update(
            speed, at, world_fresh=fresh, trajectory=trajectory, describe=functools.partial(near, message)
        )

    def _with_forecasts(self, controller: ArmController) -> ArmController:
        controller.watch_for_collisions(None if self.forecasts is None else self.forecasts.ahead)
        return controller

    def _on_failure(self, error: Exception) -> None:
        self.controller.fail(error)

    def _when_measured(self, now: float) -> float:
        """Time of measurement on the clock of the loop [s]; for joint states without a stamp, that of their arrival."""
        if not self._measured:
            return now
        measured = self.loop_time(self._measured)
        # The two clocks are read one after the other, so their offset jitters; that is no step back in time.
        return max(measured, self._measured_at) if measured > self._measured_at - CLOCK_JITTER else measured

    def _control(self, now: float, stamp: float) -> None:
        began = time.monotonic_ns()
        states = self.states
        efforts = self.controller.tick(now, states.reader.q, states.reader.qd, stamp, disputed=states.disputed)
        self._compute.record(time.monotonic_ns() - began)
        if efforts is None:
            return
        if self.mode is ControlMode.POSITION:
            self._positions.publish(self.controller.q_ref)
        else:
            self._efforts.publish(efforts)
