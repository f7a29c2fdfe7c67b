"""Input of collision forecasts from `collision_monitor`, and output of the trajectory ahead, which it needs."""

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
_FIXED = struct.Struct("<iIdQ?7xQ")
"""Stamp, speed, world version, whether the world is up to date, and trajectory, after the four bytes of CDR header."""
PATH_ROWS = 24
"""Rows of the trajectory ahead."""
LOOK_AHEAD = 0.4
"""Trajectory time ahead in addition to the time to slow down [s]."""


class ForecastInput:
    """Subscription to collision forecasts, polled by the control thread.

    Args:
        node: Owner of the subscription.
        ahead: Gets the newest forecast.
    """

    def __init__(self, node: Node, ahead: CollisionAhead):
        self.ahead = ahead
        self._forecasts: PolledSubscription[CollisionForecast] = PolledSubscription(
            node, CollisionForecast, FORECAST_TOPIC, qos.NEWEST
        )

    def poll(self) -> tuple[float, float, bool, int, bytes] | None:
        """Stamp on the clock of joint states [s], speed, whether the world is up to date, number of the trajectory, and
        the whole message.
        """
        message = self._forecasts.newest_serialized()
        if message is None:
            return None
        sec, nanosec, speed, _, fresh, trajectory = _FIXED.unpack_from(message, 4)
        return sec + 1e-9 * nanosec, speed, fresh, trajectory, message

    def destroy(self) -> None:
        """Unsubscribes."""
        self._forecasts.destroy()


def near(serialized: bytes) -> str:
    """Text that names the two nearest bodies of a serialized forecast."""
    forecast = deserialize_message(serialized, CollisionForecast)
    return f"{forecast.link} near {forecast.object}" if forecast.link else str(forecast.object)


class PathPublisher:
    """Publishes the trajectory ahead of a controller.

    Args:
        node: Owner of the publisher.
        bounds: Of the arm; the lower its deceleration, the longer the part that is published.
    """

    def __init__(self, node: Node, bounds: BrakingLimits):
        self._node = node
        self._publisher: Publisher = node.create_publisher(PathAhead, PATH_TOPIC, qos.COMMAND)
        full = np.where(np.isfinite(bounds.velocity), bounds.velocity, bounds.acceleration)
        longest = min(float(np.max(full / bounds.acceleration)), 2.0)
        self._spacing = (LOOK_AHEAD + longest) / (PATH_ROWS - 1)

    def publish(self, controller: ArmController, stamp: Time) -> None:
        """Publishes the trajectory ahead, if one is executed.

        Args:
            stamp: Of the joint state of the last tick.
        """
        found = controller.path_ahead(PATH_ROWS, self._spacing)
        if found is None:
            return
        positions = array.array("d", found.positions.tobytes())
        self._publisher.publish(
            PathAhead(
                stamp=stamp,
                trajectory=found.trajectory,
                rate=found.rate,
                spacing=found.spacing,
                positions=positions,
            )
        )

    def destroy(self) -> None:
        """Destroys the publisher."""
        self._node.destroy_publisher(self._publisher)
