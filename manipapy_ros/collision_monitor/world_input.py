"""Subscription of the collision monitor to the planner's world."""

from __future__ import annotations

import time

import numpy as np
from manipapy_msgs.msg import World as WorldMessage
from rclpy.node import Node
from rclpy.serialization import deserialize_message

from manipapy_core.errors import InputError
from manipapy_core.geometry import World, WorldSnapshot

from ..common import qos
from ..planner.world_messages import world_from_message
from ..realtime.polled_topics import PolledSubscription


class WorldInput:
    """The newest world of a planner; polled by one thread.

    Args:
        node: Owner of the subscription.
        topic: Of the planner.
        frame: Base link of the arm; a world in another frame is refused.
        stale_after: Age of the last message above which the world is not up to date [s].
    """

    def __init__(self, node: Node, topic: str, frame: str, stale_after: float):
        self._node, self._frame, self._stale_after = node, frame, stale_after
        self._messages: PolledSubscription[WorldMessage] = PolledSubscription(node, WorldMessage, topic, qos.LATCHED)
        self._last = b""
        self._arrival = -np.inf
        self.snapshot: WorldSnapshot = World().snapshot()
        """Empty until the planner has published."""
        self.version = 0

    @property
    def fresh(self) -> bool:
        """Whether the last message is recent enough."""
        return time.monotonic() - self._arrival < self._stale_after

    def poll(self) -> None:
        """Takes the newest message, if there is one."""
        message = self._messages.newest_serialized()
        if message is None:
            return
        # The planner repeats its world as a heartbeat, which differs only in the stamp.
        if message[_AFTER_STAMP:] != self._last:
            world = deserialize_message(message, WorldMessage)
            try:
                if world.header.frame_id != self._frame:
                    raise InputError(f"its frame is {world.header.frame_id!r}, not {self._frame!r}")
                self.snapshot, self.version = world_from_message(world), world.version
            except InputError as error:
                text = f"world of the planner ignored: {error}"
                self._node.get_logger().error(text, throttle_duration_sec=5.0)
                return
            self._last = message[_AFTER_STAMP:]
        self._arrival = time.monotonic()

    def destroy(self) -> None:
        """Unsubscribes."""
        self._messages.destroy()


_AFTER_STAMP = 12
"""Bytes of a serialized message before its frame: four of the CDR header and eight of the stamp."""
