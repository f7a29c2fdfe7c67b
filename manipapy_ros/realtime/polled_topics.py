"""Polled topics: the control loop takes messages itself, without an executor.

rclpy's executors take 100 µs per message and run callbacks at any time. A subscription made here belongs to a callback
group that never executes, so that executors skip it, and `newest` takes messages from the middleware directly. Only
this file uses `take_message`, which rclpy does not document. Messages at 1 kHz are taken and sent in serialized form:
to make a message object takes 30 µs and more.
"""

from __future__ import annotations

import array
import math
import time
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import HistoryPolicy, QoSProfile
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Float64MultiArray

from .identified_take import IdentifiedTake, Taken

Message = TypeVar("Message")


class NeverExecuted(CallbackGroup):
    """Keeps its subscriptions out of every executor."""

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

    def ending_execution(self, entity: Any) -> None:
        return None


class PolledSubscription(Generic[Message]):
    """A subscription that one thread polls.

    Args:
        node: Owner of the subscription.
        message_type: Of the topic.
        topic: Its name.
        qos: For `newest` a depth of one is enough.
    """

    def __init__(self, node: Node, message_type: type[Message], topic: str, qos: QoSProfile):
        self._node, self._type = node, message_type
        group = NeverExecuted()
        self._subscription = node.create_subscription(message_type, topic, _never_called, qos, callback_group=group)
        self.topic: str = self._subscription.topic_name
        """Full name."""
        self._handle = self._subscription.handle
        self._only_one = qos.history == HistoryPolicy.KEEP_LAST and qos.depth == 1
        """Whether the middleware keeps one message only, so that a second take is not needed."""
        self._identified: IdentifiedTake | None = None

    def newest(self, *, within: float = math.inf) -> Message | None:
        """The newest message since the last call; None if there is none.

        Args:
            within: Largest time since its arrival [s]; an older message is dropped.
        """
        newest, take = None, self._handle.take_message
        with self._handle:
            while (taken := take(self._type, False)) is not None:
                newest = taken
        if newest is None or (within < math.inf and not 0.0 <= _age(newest[1]) <= within):
            return None
        return newest[0]

    def newest_serialized(self) -> bytes | None:
        """The newest message since the last call in serialized form; None if there is none."""
        newest, take = None, self._handle.take_message
        with self._handle:
            while (taken := take(self._type, True)) is not None:
                newest = taken[0]
                if self._only_one:
                    break
        return newest

    def take_identified(self) -> Taken | None:
        """The oldest serialized message since the last call with the identity of its publisher; None if there is
        none. The identity is empty where the middleware does not give it.
        """
        if self._identified is None:
            self._identified = IdentifiedTake(self._handle, self._type)
        return self._identified.take()

    def publisher_names(self) -> dict[bytes, str]:
        """Full names of the nodes that publish the topic, by identity; takes some 100 µs, not for a loop."""
        return {
            bytes(found.endpoint_gid): f"{found.node_namespace.rstrip('/')}/{found.node_name}"
            for found in self._node.get_publishers_info_by_topic(self.topic)
        }

    def all_new(self) -> list[Message]:
        """All messages since the last call, oldest first, up to the depth of the topic."""
        messages, take = [], self._handle.take_message
        with self._handle:
            while (taken := take(self._type, False)) is not None:
                messages.append(taken[0])
        return messages

    def all_serialized(self) -> list[tuple[bytes, int, int]]:
        """All serialized messages since the last call, oldest first, each with the times at which it was received and
        sent [ns since 1970].
        """
        messages, take = [], self._handle.take_message
        with self._handle:
            while (taken := take(self._type, True)) is not None:
                messages.append((taken[0], taken[1]["received_timestamp"], taken[1]["source_timestamp"]))
        return messages

    @property
    def publishers(self) -> int:
        """Number of publishers of the topic."""
        return self._node.count_publishers(self.topic)

    def destroy(self) -> None:
        """Unsubscribes."""
        if self._identified is not None:
            self._identified.destroy()
        self._node.destroy_subscription(self._subscription)


class NumbersPublisher:
    """Publishes a fixed number of floats, with a serialized header made once.

    Args:
        node: Owner of the publisher.
        topic: Its name.
        qos: Of the topic.
        size: Number of floats.
    """

    def __init__(self, node: Node, topic: str, qos: QoSProfile, size: int):
        self._node = node
        self._publisher: Publisher = node.create_publisher(Float64MultiArray, topic, qos)
        self._head = _numbers_head(size)

    def publish(self, values: NDArray[np.float64]) -> None:
        """Publishes floats, shape (size,)."""
        self._publisher.publish(self._head + values.tobytes())

    def destroy(self) -> None:
        """Destroys the publisher."""
        self._node.destroy_publisher(self._publisher)


class NumbersReader:
    """Reads floats from serialized messages; fast for messages of one size.

    Args:
        size: Expected number of floats.
    """

    def __init__(self, size: int):
        self._head = _numbers_head(size)
        self._size = len(self._head) + 8 * size

    def read(self, serialized: bytes) -> NDArray[np.float64]:
        """All floats of a message, of any size."""
        if len(serialized) == self._size and serialized.startswith(self._head):
            return np.frombuffer(serialized[len(self._head) :])  # a copy, because numbers should be aligned
        return np.array(deserialize_message(serialized, Float64MultiArray).data)


def _numbers_head(size: int) -> bytes:
    """Bytes before the numbers of a serialized message."""
    whole = serialize_message(Float64MultiArray(data=array.array("d", range(1, size + 1))))
    numbers = np.arange(1.0, size + 1.0).tobytes()
    assert whole.endswith(numbers), "the numbers come last in the message"
    return whole[: len(whole) - len(numbers)]


def _age(information: dict[str, Any]) -> float:
    """Time since a message arrived [s], by the system clock, which the middleware uses."""
    return 1e-9 * (time.time_ns() - information["received_timestamp"])


def _never_called(_: Any) -> None:
    raise AssertionError("a polled subscription was executed")
