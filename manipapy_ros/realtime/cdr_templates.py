"""Messages that are always of the same shape, made by writing numbers into their serialized form.

To fill in a message object and have it serialized takes some hundred microseconds for a trajectory point or two, all of
them with the interpreter's lock that a loop of the same process waits for. Names, counts and alignment are the same
every time, so one message is serialized by ROS itself and later ones differ from it in their numbers alone.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from rclpy.serialization import serialize_message

from manipapy_core.control import Status

_TIME = struct.Struct("<iI")


def time_bytes(sec: int, nanosec: int) -> bytes:
    """A time or a duration as messages have it."""
    return _TIME.pack(sec, nanosec)


def motion_bytes(status: Status) -> tuple[bytes, ...]:
    """Reference (position, velocity, acceleration), state and error (position and velocity each) of a tick."""
    rows = (status.q_ref, status.qd_ref, status.qdd_ref, status.q, status.qd, status.error, status.qd_ref - status.qd)
    return tuple(row.tobytes() for row in rows)


class MessageTemplate:
    """A serialized message with places for what changes.

    Args:
        message: One of its kind, in which everything that will change has a value of its own.
        changing: These values as bytes, each found in the message exactly once.
    """

    def __init__(self, message: Any, changing: Sequence[bytes]):
        whole = serialize_message(message)
        assert all(whole.count(value) == 1 for value in changing), "a value cannot be told from another"
        self._buffer = bytearray(whole)
        self._places = tuple(slice(whole.index(value), whole.index(value) + len(value)) for value in changing)

    def filled(self, *values: bytes) -> bytes:
        """The message with these values, in the order of `changing` and of the same lengths."""
        buffer, before = self._buffer, len(self._buffer)
        for place, value in zip(self._places, values, strict=True):
            buffer[place] = value
        assert len(buffer) == before, "a value of another length"
        return bytes(buffer)


class Marks:
    """Values that can be told apart, for the first message of a template."""

    def __init__(self) -> None:
        self.changing: list[bytes] = []
        """All that were given out, as bytes, in order."""
        self._count = 0

    def numbers(self, size: int) -> NDArray[np.float64]:
        """So many floats, shape (size,)."""
        numbers = np.pi * np.arange(1.0 + self._count, 1.0 + self._count + size)
        self._count += size
        self.changing.append(numbers.tobytes())
        return numbers

    def time(self) -> Time:
        """A time."""
        self._count += 1
        time = Time(sec=0x5EC0000 + self._count, nanosec=0x2A0C0000 + self._count)
        self.changing.append(time_bytes(time.sec, time.nanosec))
        return time

    def bytes(self, size: int) -> NDArray[np.uint8]:
        """So many bytes, shape (size,)."""
        self._count += 1
        values = np.arange(251 - size - self._count, 251 - self._count, dtype=np.uint8)
        self.changing.append(values.tobytes())
        return values
