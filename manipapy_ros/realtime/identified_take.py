"""Takes serialized messages together with the identity of their publisher.

rclpy drops the identity (GID) that the middleware gives with every message, so the function of rcl below rclpy is
called here. The layout of its structures is that of ROS 2 Jazzy; with another version, or another middleware than Fast
DDS, messages are taken by rclpy and have no identity, which is logged.
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

from rclpy.logging import get_logger

from .udp_transport import untested_middleware

GID_SIZE = 16
PARTICIPANT_SIZE = 12
"""First bytes of an identity, equal for all publishers of one process (DDS participant)."""
FIRST_CAPACITY = 4096
"""Initial size of the buffer [B]; rcl enlarges it."""
MAX_MESSAGE = 1 << 20
"""A larger message is dropped [B]: no message of a control loop is near it."""
TAKE_FAILED = 401
"""RCL_RET_SUBSCRIPTION_TAKE_FAILED: there is no message."""
NO_IDENTITY = b""

Taken = tuple[bytes, bytes]
"""Serialized message and identity of its publisher."""


class _Allocator(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("allocate", "free", "reallocate", "zero_allocate", "state")]


class _Buffer(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("capacity", ctypes.c_size_t),
        ("allocator", _Allocator),
    ]


class _MessageInfo(ctypes.Structure):
    _fields_ = [
        ("source_timestamp", ctypes.c_int64),
        ("received_timestamp", ctypes.c_int64),
        ("publication_sequence_number", ctypes.c_uint64),
        ("reception_sequence_number", ctypes.c_uint64),
        ("implementation", ctypes.c_char_p),
        ("gid", ctypes.c_uint8 * GID_SIZE),
        ("from_intra_process", ctypes.c_bool),
    ]


class IdentifiedTake:
    """Takes the messages of one subscription; for one thread.

    Args:
        subscription: Handle of rclpy's subscription.
        message_type: Of the topic.
    """

    def __init__(self, subscription: Any, message_type: type):
        self._handle, self._type = subscription, message_type
        self._libraries = _libraries()
        if self._libraries is None:
            return
        rcl, utilities = self._libraries
        self._function = rcl.rcl_take_serialized_message
        allocator = utilities.rcutils_get_default_allocator()
        self._buffer, self._info = _Buffer(), _MessageInfo()
        if utilities.rcutils_uint8_array_init(ctypes.byref(self._buffer), FIRST_CAPACITY, ctypes.byref(allocator)):
            raise MemoryError("no memory for the messages of a topic")
        self._arguments = ctypes.byref(self._buffer), ctypes.byref(self._info), None

    def take(self) -> Taken | None:
        """The oldest message and its publisher; None if there is none."""
        handle = self._handle
        with handle:
            if self._libraries is None:
                taken = handle.take_message(self._type, True)
                return None if taken is None else (taken[0], NO_IDENTITY)
            while (code := self._function(handle.pointer, *self._arguments)) == 0:
                length = self._buffer.length
                if length <= MAX_MESSAGE:
                    return ctypes.string_at(self._buffer.data, length), bytes(self._info.gid)
            if code != TAKE_FAILED:
                self._libraries[1].rcutils_reset_error()
            return None

    def destroy(self) -> None:
        """Frees the buffer."""
        if self._libraries is not None:
            self._libraries[1].rcutils_uint8_array_fini(ctypes.byref(self._buffer))
            self._libraries = None


@functools.cache
def _libraries() -> tuple[Any, Any] | None:
    """rcl and rcutils as this process has loaded them; None if their structures are not known."""
    reason = untested_middleware()
    paths = {name: path for name in ("librcl.so", "librcutils.so") if (path := _loaded(name))}
    if not reason and len(paths) < 2:
        reason = "the libraries of rcl are not found"
    if reason:
        get_logger("identified_take").warning(f"messages do not tell their publisher: {reason}")
        return None
    # PyDLL keeps the interpreter lock: a take lasts a microsecond, and to get the lock back may last milliseconds.
    rcl, utilities = (ctypes.PyDLL(paths[name]) for name in ("librcl.so", "librcutils.so"))
    rcl.rcl_take_serialized_message.argtypes = [ctypes.c_void_p] * 4
    rcl.rcl_take_serialized_message.restype = ctypes.c_int
    utilities.rcutils_get_default_allocator.restype = _Allocator
    utilities.rcutils_uint8_array_init.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    utilities.rcutils_uint8_array_fini.argtypes = [ctypes.c_void_p]
    return rcl, utilities


def _loaded(name: str) -> str:
    """Path of a library that this process has loaded; empty if it has not."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        path = line.partition("/")[2]
        if path.rpartition("/")[2] == name:
            return "/" + path
    return ""
