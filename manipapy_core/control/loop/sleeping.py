"""Waiting for a time: asleep, and awake for the last moment."""

from __future__ import annotations

import ctypes
import errno
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...compiler.waiting import NoNativeWait, wait_code
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


@dataclass(frozen=True)
class Waiting:
    """How a loop waits for its deadlines."""

    until: Callable[[int, int], None]
    """`until(wake, deadline)`: asleep until the first time of time.monotonic_ns, awake until the second [ns]."""
    refused: str | None
    """Why the time awake is spent with the interpreter lock held, with the cure; None if it is not."""
    code: Any = None
    """Keeps machine code alive."""

    @classmethod
    def best(cls, awake: bool) -> Waiting:
        """The most punctual way that this machine offers.

        Args:
            awake: Whether there is a time to be spent awake at all.
        """
        asleep = AbsoluteSleep()
        if not awake:
            return cls(lambda _, deadline: asleep.until(deadline), None)
        try:
            code = wait_code()
        except NoNativeWait as error:
            return cls(_awake_in_python(asleep), f"waiting without the interpreter lock: {error}")
        return cls(code.call, None, code)


def _awake_in_python(asleep: AbsoluteSleep) -> Callable[[int, int], None]:
    """Other threads that ask for the interpreter meanwhile get it in the middle of the tick that follows."""

    def until(wake: int, deadline: int) -> None:
        asleep.until(wake)
        while time.monotonic_ns() < deadline:
            pass

    return until
