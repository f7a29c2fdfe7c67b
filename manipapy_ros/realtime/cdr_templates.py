"""Templates of serialized (CDR) messages of fixed shape, into which numbers are written.

To fill and serialize a message object takes some hundred microseconds for a trajectory point or two, while a loop of
the same process waits for the interpreter lock (GIL). Names, counts and alignment do not change, so ROS serializes
one message, and later ones differ from it only in their numbers.
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
    """CDR bytes of a time or a duration."""
    return _TIME.pack(sec, nanosec)


def motion_bytes(status: Status) -> tuple[bytes, ...]:
    """CDR bytes of reference (position, velocity, acceleration), state and error (position, velocity) of a tick."""
    rows = (status.q_ref, status.qd_ref, status.qdd_ref, status.q, status.qd, status.error, status.qd_ref - status.qd)
    return tuple(row.tobytes() for row in rows)


class MessageTemplate:
    """A serialized message with fields to be overwritten.

    Args:
        message: Example in which every changing field has a unique value.
        changing: These values as bytes; each occurs in the message exactly once.
    """

    def __init__(self, message: Any, changing: Sequence[bytes]):
        whole = serialize_message(message)
        assert all(whole.count(value) == 1 for value in changing), "the values of the changing fields must be unique"
        self._buffer = bytearray(whole)
        self._places = tuple(slice(whole.index(value), whole.index(value) + len(value)) for value in changing)

    def filled(self, *values: bytes) -> bytes:
        """The message with these values, in the order of `changing` and of the same lengths."""
        buffer, before = self._buffer, len(self._buffer)
        for place, value in zip(self._places, values, strict=True):
            buffer[place] = value
        assert len(buffer) == before, "a value has another length than its field"
        return bytes(buffer)


class Marks:
    """Generates unique values for the example message of a template."""

    def __init__(self) -> None:
        self.changing: list[bytes] = []
        """All generated values as bytes, in order."""
        self._count = 0

    def numbers(self, size: int) -> NDArray[np.float64]:
        """Unique floats, shape (size,)."""
        numbers = np.pi * np.arange(1.0 + self._count, 1.0 + self._count + size)
        self._count += size
        self.changing.append(numbers.tobytes())
        return numbers

    def time(self) -> Time:
        """A unique time."""
        self._count += 1
        time = Time(sec=0x5EC0000 + self._count, nanosec=0x2A0C0000 + self._count)
        self.changing.append(time_bytes(time.sec, time.nanosec))
        return time

    def bytes(self, size: int) -> NDArray[np.uint8]:
        """Unique bytes, shape (size,)."""
        self._count += 1
        values = np.arange(251 - size - self._count, 251 - self._count, dtype=np.uint8)
        self.changing.append(values.tobytes())
        return values
