"""Collision forecasts of the node `collision_monitor`, and the trajectory ahead that it makes them from."""

from __future__ import annotations

import array
import struct

import numpy as np
from builtin_interfaces.msg import Time
from manipapy_msgs.msg import CollisionForecast, PathAhead
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.serialization import deserialize_message

from manipapy_core.control import ArmController, CollisionAhead
from manipapy_core.trajectory import BrakingLimits

from ..common import qos
from ..realtime.polled_topics import PolledSubscription

FORECAST_TOPIC, PATH_TOPIC = "collision_monitor/forecast", "~/path_ahead"
_FIXED = struct.Struct("<iIdQ?")
"""Stamp, speed, world version and whether the world is up to date, behind the four bytes of the encoding."""
ROWS = 24
"""Of the trajectory ahead."""
LAG = 0.4
"""Trajectory time ahead that is looked at beside the time to slow down [s]."""


class ForecastInput:
    """Takes forecasts from their topic; polled by the control thread.

    Args:
        node: Whose subscription it is.
        ahead: Where the newest forecast goes.
    """

    def __init__(self, node: Node, ahead: CollisionAhead):
        self.ahead = ahead
        self._forecasts: PolledSubscription[CollisionForecast] = PolledSubscription(
            node, CollisionForecast, FORECAST_TOPIC, qos.NEWEST
        )

    def poll(self) -> tuple[float, float, bool, bytes] | None:
        """Stamp on the clock of joint states [s], speed, whether the world is up to date, and the whole message."""
        message = self._forecasts.newest_serialized()
        if message is None:
            return None
        sec, nanosec, speed, _, fresh = _FIXED.unpack_from(message, 4)
        return sec + 1e-9 * nanosec, speed, fresh, message

    def destroy(self) -> None:
        """Unsubscribes."""
        self._forecasts.destroy()


def near(serialized: bytes) -> str:
    """What comes near what, by a serialized forecast."""
    forecast = deserialize_message(serialized, CollisionForecast)
    return f"{forecast.link} near {forecast.object}" if forecast.link else str(forecast.object)


class PathPublisher:
    """Publishes the trajectory ahead of a controller.

    Args:
        node: Whose topic it is.
        bounds: Of the arm: the slower it slows down, the farther ahead.
    """

    def __init__(self, node: Node, bounds: BrakingLimits):
        self._node = node
        self._publisher: Publisher = node.create_publisher(PathAhead, PATH_TOPIC, qos.COMMAND)
        full = np.where(np.isfinite(bounds.velocity), bounds.velocity, bounds.acceleration)
        longest = min(float(np.max(full / bounds.acceleration)), 2.0)
        self._spacing = (LAG + longest) / (ROWS - 1)

    def publish(self, controller: ArmController, stamp: Time) -> None:
        """Nothing, if the controller executes no trajectory.

        Args:
            stamp: Of the joint state that the last tick acted on.
        """
        found = controller.path_ahead(ROWS, self._spacing)
        if found is None:
            return
        rows, rate = found
        positions = array.array("d", rows.tobytes())
        self._publisher.publish(PathAhead(stamp=stamp, rate=rate, spacing=self._spacing, positions=positions))

    def destroy(self) -> None:
        """Ends the topic."""
        self._node.destroy_publisher(self._publisher)
