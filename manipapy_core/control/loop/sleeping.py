"""Sleeping until a time."""

from __future__ import annotations

import ctypes
import errno
import sys
import time

from .realtime import libc

_TIMER_ABSTIME = 1


class AbsoluteSleep:
    """Sleeps until a time of the monotonic clock, not for a time: what happens in between cannot add up."""

    class _Timespec(ctypes.Structure):
        _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))

    def __init__(self) -> None:
        self._call = getattr(libc(), "clock_nanosleep", None) if sys.platform.startswith("linux") else None
        self._spec = self._Timespec()
        self._pointer = ctypes.byref(self._spec)

    def until(self, deadline_ns: int) -> None:
        """Returns at or after the deadline of time.monotonic_ns; releases the interpreter meanwhile."""
        if self._call is None:
            remaining = deadline_ns - time.monotonic_ns()
            if remaining > 0:
                time.sleep(remaining * 1e-9)
            return
        self._spec.seconds, self._spec.nanoseconds = divmod(deadline_ns, 1_000_000_000)
        while self._call(time.CLOCK_MONOTONIC, _TIMER_ABSTIME, self._pointer, None) == errno.EINTR:
            pass  # a signal; the deadline is still the same
