"""Publisher of the planner's world, for nodes that check motions against it."""

from __future__ import annotations

import time

from manipapy_msgs.msg import World as WorldMessage
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.serialization import serialize_message

from manipapy_core.geometry import World

from ..common import qos
from ..realtime.cdr_templates import time_bytes
from .world_messages import message_from_world

TOPIC = "~/world"
PERIOD = 0.05
"""Between two checks for changes [s]."""
HEARTBEAT = 1.0
"""A world that does not change is repeated this often [s], so that subscribers detect a planner that died."""
STAMP = slice(4, 12)
"""Bytes of the stamp in a serialized message."""


class WorldPublisher:
    """Publishes a world whenever it has changed, and as a heartbeat.

    Args:
        node: Whose topic it is.
        world: The world.
        frame: Base link of the arm.
    """

    def __init__(self, node: Node, world: World, frame: str):
        self._node, self._world, self._frame = node, world, frame
        self._publisher: Publisher = node.create_publisher(WorldMessage, TOPIC, qos.LATCHED)
        self._version, self._published = -1, 0.0
        self._serialized = bytearray()

    def update(self) -> None:
        """Publishes the world if it has changed, or if the heartbeat is due."""
        world, now = self._world.snapshot(), time.monotonic()
        if world.version != self._version:
            self._serialized = bytearray(serialize_message(message_from_world(world, self._frame)))
            self._version = world.version
        elif now - self._published < HEARTBEAT:
            return
        sec, nanosec = self._node.get_clock().now().seconds_nanoseconds()
        self._serialized[STAMP] = time_bytes(sec, nanosec)
        self._publisher.publish(bytes(self._serialized))
        self._published = now

    def destroy(self) -> None:
        """Ends the topic."""
        self._node.destroy_publisher(self._publisher)
