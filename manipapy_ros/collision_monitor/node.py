"""The node `collision_monitor`: forecasts collisions of an arm in the planner's world.

Subscribes to `joint_states`, the planner's world and the controller's path ahead, and publishes `~/forecast`, which the
guard of the controller uses. It runs in its own process, so that the forecast takes no time of the 1 kHz loop. Every
motion of the arm is covered: planned motions, trajectories sent directly to the controller, guidance by hand.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from manipapy_msgs.msg import CollisionForecast as ForecastMessage
from manipapy_msgs.msg import PathAhead
from sensor_msgs.msg import JointState

from manipapy_core.control import LoopSettings, PeriodicLoop
from manipapy_core.control.loop import Histogram
from manipapy_core.geometry import RobotBody
from manipapy_core.motion import CollisionForecast, CollisionForecaster, ForecastSettings, PathPreview
from manipapy_core.trajectory import BrakingLimits

from ..common import qos
from ..common.conversions import JointStateReader
from ..common.diagnostics import DiagnosticReport, Level
from ..common.node import ManagedNode
from ..common.params import Param, Values
from ..common.process import below_loop, end_process, run
from ..common.robot_loader import ROBOT_PARAMETERS
from ..common.world_follower import WORLD_PARAMETERS, WorldFollower
from ..realtime.polled_topics import PolledSubscription

PARAMETERS = (
    *ROBOT_PARAMETERS,
    Param("rate", 100.0, "Forecasts per second [Hz]", minimum=1.0, maximum=500.0),
    Param("reaction_time", 0.05, "Time from a joint state to the effort that reacts to its forecast [s]",
          minimum=1e-3, maximum=1.0),
    Param("margin", 0.005, "Distance to objects that is kept [m]; 0.4 of it along a trajectory that is followed",
          minimum=1e-3, maximum=0.2),
    Param("self_margin", 0.0041, "Distance between links that is kept [m]; 0.4 of it likewise",
          minimum=1e-4, maximum=0.1),
    Param("velocity_noise", 0.02, "Joint velocities below this count as noise [rad/s or m/s]",
          minimum=1e-6, maximum=1.0),
    Param("brake_factor", 2.0, "Deceleration of a hold over that of motion, as guard.brake_factor of the controller",
          minimum=0.1, maximum=100.0),
    Param("path_topic", "controller/path_ahead", "Path-ahead topic of the controller"),
    *WORLD_PARAMETERS,
)  # fmt: skip
PATH_STALE_AFTER = 0.15
"""A path ahead that is older than this, by the stamps of joint states, is not used [s]."""
PRIORITY = 60
"""Priority of SCHED_FIFO, where permitted: below the loops of simulation and control."""


class CollisionMonitorNode(ManagedNode):
    """Publishes forecasts for one arm while the node is active."""

    # The loop shares the interpreter with the executor, and waits for messages of the middleware.
    realtime = True
    lean_executor = True
    udp_transport = True
    executor_priority = below_loop(PRIORITY)

    def __init__(self) -> None:
        super().__init__("collision_monitor", PARAMETERS)

    def configure(self, values: Values) -> None:
        """Build the body of the arm and open all topics."""
        model = self.load_robot(values)
        model.require_collision_meshes()
        chain = model.chain
        body = RobotBody.build(model.robot, chain)
        margin = float(values["margin"])
        settings = ForecastSettings(
            reaction_time=float(values["reaction_time"]),
            margin=margin,
            self_margin=float(values["self_margin"]),
            velocity_noise=float(values["velocity_noise"]),
            step=min(ForecastSettings.step, 0.8 * margin),
        )
        self._forecaster = CollisionForecaster(body, BrakingLimits.of(chain, float(values["brake_factor"])), settings)
        self._reader, self._n = JointStateReader(chain.joint_names), chain.n
        self._states: PolledSubscription[JointState] = self.own(
            PolledSubscription(self, JointState, "joint_states", qos.NEWEST)
        )
        self._paths: PolledSubscription[PathAhead] = self.own(
            PolledSubscription(self, PathAhead, str(values["path_topic"]), qos.NEWEST)
        )
        self._world = self.own(WorldFollower.of(self, values, chain.base))
        self._publisher = self.own(self.create_publisher(ForecastMessage, "~/forecast", qos.COMMAND))
        self._path: PathPreview | None = None
        self._trajectory = 0
        self._path_stamp = -np.inf
        self._loop: PeriodicLoop | None = None
        self._compute, self._last, self._arrival = Histogram(), CollisionForecast(1.0), -np.inf
        self._forecaster.warm_up()
        self.get_logger().info(f"{model}; keeps {1e3 * margin:g} mm from objects")

    def activate(self) -> None:
        """Start the forecast loop."""
        period = 1.0 / float(self.values["rate"])
        settings = LoopSettings(period=period, spin=0.0, priority=PRIORITY, lock_memory=False)
        self._loop = PeriodicLoop(self._tick, settings, on_failure=self._report, name="collision forecast")
        self._loop.start()

    def deactivate(self) -> None:
        """Stop the forecast loop; the forecast of the controller becomes stale."""
        if self._loop is not None:
            self._loop.stop()
            self._loop = None

    def diagnose(self) -> DiagnosticReport:
        """Nearest bodies, compute time, and whether joint states and world arrive."""
        spread, self._compute = self._compute.spread(), Histogram()
        near = f"{self._last.link} near {self._last.other}" if self._last.other else ""
        values = {
            "forecasts per second": str(spread.count),
            "compute p50 [us]": f"{spread.p50:.0f}",
            "compute p99 [us]": f"{spread.p99:.0f}",
            "world version": str(self._world.snapshot().version),
            "allowed speed": f"{self._last.speed:.2f}",
            "near": near,
        }
        if not self.is_active:
            return DiagnosticReport(Level.OK, "inactive", values)
        if time.monotonic() - self._arrival > 1.0:
            return DiagnosticReport(Level.WARN, self._reader.problem or "no joint states arrive", values)
        if self._world.problem:
            return DiagnosticReport(Level.WARN, self._world.problem, values)
        return DiagnosticReport(Level.OK, near or "free", values)

    # In the loop.

    def _tick(self, _: float) -> None:
        message = self._states.newest_serialized()
        if message is None or not self._reader.read(message):
            return
        began = time.monotonic_ns()
        self._arrival = time.monotonic()
        world = self._world.snapshot()
        sec, nanosec = self._reader.stamp
        path = self._path_at(sec + 1e-9 * nanosec)
        self._last = self._forecaster.forecast(self._reader.q.copy(), self._reader.qd.copy(), world, path)
        forecast = ForecastMessage(
            speed=self._last.speed,
            world_version=world.version,
            world_fresh=self._world.fresh,
            trajectory=0 if path is None else self._trajectory,
            link=self._last.link,
            object=self._last.other,
        )
        forecast.stamp.sec, forecast.stamp.nanosec = sec, nanosec
        self._publisher.publish(forecast)
        self._compute.record(time.monotonic_ns() - began)

    def _path_at(self, stamp: float) -> PathPreview | None:
        """The trajectory ahead at the time of a joint state [s]; None if there is none."""
        message = self._paths.newest()
        if message is not None and len(message.positions) >= 3 * self._n and not len(message.positions) % self._n:
            rows = np.array(message.positions).reshape(-1, self._n)
            self._path, self._trajectory = PathPreview(rows, message.spacing, message.rate), message.trajectory
            self._path_stamp = message.stamp.sec + 1e-9 * message.stamp.nanosec
        if self._path is None or not -PATH_STALE_AFTER < stamp - self._path_stamp < PATH_STALE_AFTER:
            return None
        return self._path.later(stamp - self._path_stamp)

    def _report(self, error: Exception) -> None:
        text = f"a forecast failed: {type(error).__name__}: {error}"
        self.get_logger().error(text, throttle_duration_sec=1.0)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the node until it is stopped."""
    return run(CollisionMonitorNode, argv)


if __name__ == "__main__":
    end_process(main())
