"""Publishes the planner's world to the nodes that follow it (`common/world_follower.py`).

Every change is published at once on `~/world_diffs`, numbered by the versions before and after it. The whole world is
latched on `~/world`, but published less often, because it may hold large clouds; with the changes since then, which are
latched as well, a late subscriber has everything. The service `~/get_world` is for one that has missed a change.
"""

from __future__ import annotations

import time

from manipapy_msgs.msg import World as WorldMessage
from manipapy_msgs.msg import WorldDiff
from manipapy_msgs.srv import GetWorld
from rclpy.node import Node

from manipapy_core.geometry import World

from ..common import qos
from ..common.world_follower import DIFFS, SERVICE
from ..common.world_messages import diff_between, message_from_world

TOPIC = "~/world"
PERIOD = 0.05
"""Between two checks for changes that were not announced by `update` [s]."""
HEARTBEAT = 0.5
"""A change without content is published this often [s], so that subscribers detect a planner that died."""
WHOLE_EVERY = 1.0
"""Least time between two whole worlds [s]."""
MOST_CHANGES = qos.CHANGES.depth // 2
"""After so many changes the world is published whole, before they drop out of the latched history."""


class WorldPublisher:
    """Publishes a world, its changes and a heartbeat; called by the executor only.

    Args:
        node: Whose topics and service they are.
        world: The world.
        frame: Base link of the arm.
    """

    def __init__(self, node: Node, world: World, frame: str):
        self._node, self._world, self._frame = node, world, frame
        self.session = time.time_ns()
        """Start of this publisher [ns since 1970]."""
        self._wholes = node.create_publisher(WorldMessage, TOPIC, qos.LATCHED)
        self._diffs = node.create_publisher(WorldDiff, TOPIC + DIFFS, qos.CHANGES)
        self._service = node.create_service(GetWorld, f"~/{SERVICE}", self._on_get)
        self._last, self._last_time = world.snapshot(), time.monotonic()
        self._publish_whole()

    def update(self) -> None:
        """Publishes what has changed, or the heartbeat if it is due."""
        world, now = self._world.snapshot(), time.monotonic()
        if world is not self._last or now - self._last_time >= HEARTBEAT:
            diff = diff_between(self._last, world, self._frame, self.session)
            diff.header.stamp = self._node.get_clock().now().to_msg()
            self._diffs.publish(diff)
            self._last, self._last_time = world, now
            self._changes += 1
        due = now - self._whole_time >= WHOLE_EVERY or self._changes >= MOST_CHANGES
        if self._whole_version != world.version and due:
            self._publish_whole()

    def destroy(self) -> None:
        """Ends topics and service."""
        self._node.destroy_publisher(self._wholes)
        self._node.destroy_publisher(self._diffs)
        self._node.destroy_service(self._service)

    def _publish_whole(self) -> None:
        self._wholes.publish(self._message())
        self._whole_version, self._whole_time, self._changes = self._last.version, time.monotonic(), 0

    def _message(self) -> WorldMessage:
        message = message_from_world(self._last, self._frame, self.session)
        message.header.stamp = self._node.get_clock().now().to_msg()
        return message

    def _on_get(self, _: GetWorld.Request, response: GetWorld.Response) -> GetWorld.Response:
        self.update()
        response.world = self._message()
        return response
