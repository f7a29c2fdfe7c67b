"""Topics of a loop that cannot wait for an executor: messages are taken by the loop itself, when it has time for them.

rclpy's executors cost 100 µs a message and run callbacks whenever they like. A subscription made here belongs to a
callback group that never executes, so that no executor ever looks at it, and `newest` takes from the middleware
directly. This file is the only one that uses `take_message`, which rclpy does not document. What comes and goes a
thousand times a second is taken and sent in its serialized form: to make a message object takes 30 µs and more.
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
        node: Whose name and namespace it goes by.
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
        """True: the middleware keeps the newest message alone, and there is no need to ask for another one."""

    def newest(self, *, within: float = math.inf) -> Message | None:
        """The newest message since the last call; None if there is none.

        Args:
            within: How long ago it may have arrived [s]; an older one is dropped.
        """
        newest, take = None, self._handle.take_message
        with self._handle:
            while (taken := take(self._type, False)) is not None:
                newest = taken
        if newest is None or (within < math.inf and not 0.0 <= _age(newest[1]) <= within):
            return None
        return newest[0]

    def newest_serialized(self) -> bytes | None:
        """The same as the middleware has it, without making a message of it."""
        newest, take = None, self._handle.take_message
        with self._handle:
            while (taken := take(self._type, True)) is not None:
                newest = taken[0]
                if self._only_one:
                    break
        return newest

    def all_new(self) -> list[Message]:
        """All messages since the last call, oldest first, as far as the depth of the topic keeps them."""
        messages, take = [], self._handle.take_message
        with self._handle:
            while (taken := take(self._type, False)) is not None:
                messages.append(taken[0])
        return messages

    @property
    def publishers(self) -> int:
        """How many publish on the topic."""
        return self._node.count_publishers(self.topic)

    def destroy(self) -> None:
        """Unsubscribes."""
        self._node.destroy_subscription(self._subscription)


class NumbersPublisher:
    """Publishes a fixed number of floats, serialized here: all but the numbers stays the same.

    Args:
        node: Whose name and namespace it goes by.
        topic: Its name.
        qos: Of the topic.
        size: How many numbers.
    """

    def __init__(self, node: Node, topic: str, qos: QoSProfile, size: int):
        self._node = node
        self._publisher: Publisher = node.create_publisher(Float64MultiArray, topic, qos)
        self._head = _numbers_head(size)

    def publish(self, values: NDArray[np.float64]) -> None:
        """Sends the numbers, shape (size,)."""
        self._publisher.publish(self._head + values.tobytes())

    def destroy(self) -> None:
        """Ends the topic."""
        self._node.destroy_publisher(self._publisher)


class NumbersReader:
    """Floats of serialized messages that nearly always have the same number of them.

    Args:
        size: That number.
    """

    def __init__(self, size: int):
        self._head = _numbers_head(size)
        self._size = len(self._head) + 8 * size

    def read(self, serialized: bytes) -> NDArray[np.float64]:
        """All numbers of a message, however many there are."""
        if len(serialized) == self._size and serialized.startswith(self._head):
            return np.frombuffer(serialized[len(self._head) :])  # a copy, because numbers should be aligned
        return np.array(deserialize_message(serialized, Float64MultiArray).data)


def _numbers_head(size: int) -> bytes:
    """What comes before the numbers of a serialized message: all but they stays the same."""
    whole = serialize_message(Float64MultiArray(data=array.array("d", range(1, size + 1))))
    numbers = np.arange(1.0, size + 1.0).tobytes()
    assert whole.endswith(numbers), "the numbers come last in the message"
    return whole[: len(whole) - len(numbers)]


def _age(information: dict[str, Any]) -> float:
    """Time since a message arrived [s], by the system's clock, which the middleware reads then."""
    return 1e-9 * (time.time_ns() - information["received_timestamp"])


def _never_called(_: Any) -> None:
    raise AssertionError("a hot subscription was executed")
