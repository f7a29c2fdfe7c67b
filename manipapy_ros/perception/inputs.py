"""Synchronised camera input: messages of several topics matched by time stamp, with their calibration."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2

from ..common import qos
from ..common.conversions import to_nanoseconds

QUEUE = 8
"""Messages per topic that wait for a match; older ones are dropped."""


@dataclass(frozen=True)
class SynchronizedImages:
    """Messages with matching time stamps."""

    messages: tuple[Any, ...]
    """One per topic, in the order of the topics."""
    infos: tuple[CameraInfo, ...]
    """Calibrations, one per camera; none for point clouds."""


class ImageSynchronizer:
    """Matches messages of several topics by time stamp, and returns only the newest set.

    Args:
        node: Subscribing node.
        kind: Message type of all topics.
        topics: Topics to match.
        infos: Topics of their calibrations.
        tolerance: Largest difference of time stamps [s].
        notify: Called when a new set is complete.
    """

    def __init__(
        self,
        node: Node,
        kind: type[Image] | type[CompressedImage] | type[PointCloud2],
        topics: tuple[str, ...],
        infos: tuple[str, ...],
        tolerance: float,
        notify: Callable[[], None],
    ):
        self._node, self._tolerance_ns, self._notify = node, round(tolerance * 1e9), notify
        self._lock = threading.Lock()
        self._queues: list[deque[Any]] = [deque(maxlen=QUEUE) for _ in topics]
        self._infos: list[CameraInfo | None] = [None for _ in infos]
        self._newest: tuple[Any, ...] | None = None
        self.dropped = 0
        """Complete sets replaced by a newer one before they were taken."""
        self.received = [0 for _ in topics]
        """Messages per topic."""
        self.topics, self.info_topics = topics, infos
        self._subscriptions = [
            node.create_subscription(kind, topic, lambda message, i=i: self._on_message(i, message), qos.SENSOR)
            for i, topic in enumerate(topics)
        ] + [
            node.create_subscription(CameraInfo, topic, lambda message, i=i: self._on_info(i, message), qos.SENSOR)
            for i, topic in enumerate(infos)
        ]

    def destroy(self) -> None:
        """Destroy the subscriptions."""
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def take(self) -> SynchronizedImages | None:
        """The newest complete set that was not taken yet."""
        with self._lock:
            infos = [info for info in self._infos if info is not None]
            if self._newest is None or len(infos) < len(self._infos):
                return None
            taken, self._newest = self._newest, None
            return SynchronizedImages(taken, tuple(infos))

    def missing(self) -> str:
        """Topics without any message, as text; empty if all have been received."""
        silent = [topic for topic, count in zip(self.topics, self.received, strict=True) if not count]
        silent += [topic for topic, info in zip(self.info_topics, self._infos, strict=True) if info is None]
        return ", ".join(self._node.resolve_topic_name(topic) for topic in silent)

    def _on_info(self, index: int, message: CameraInfo) -> None:
        with self._lock:
            self._infos[index] = message

    def _on_message(self, index: int, message: Any) -> None:
        with self._lock:
            self.received[index] += 1
            self._queues[index].append(message)
            complete = self._match(to_nanoseconds(message.header.stamp))
            if complete is None:
                return
            self.dropped += self._newest is not None
            self._newest = complete
        self._notify()

    def _match(self, time_ns: int) -> tuple[Any, ...] | None:
        """The messages closest to a time, one per topic, if all are within the tolerance; older ones are dropped."""
        found = []
        for queue in self._queues:
            near = min(queue, key=lambda message: abs(to_nanoseconds(message.header.stamp) - time_ns), default=None)
            if near is None or abs(to_nanoseconds(near.header.stamp) - time_ns) > self._tolerance_ns:
                return None
            found.append(near)
        for queue, near in zip(self._queues, found, strict=True):
            while queue and queue[0] is not near:
                queue.popleft()
            queue.popleft()
        return tuple(found)
