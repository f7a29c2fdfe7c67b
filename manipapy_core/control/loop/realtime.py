"""Making a thread as punctual as this machine allows, and saying what it did not allow.

Keeping the interpreter's own pauses out of a loop.

Waiting for a time: asleep, and awake for the last moment.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...compiler.native_wait import NoNativeWait, wait_code

_MCL_CURRENT, _MCL_FUTURE = 1, 2
_CAP_IPC_LOCK = 14
_locked: set[int] = set()
"""Processes whose memory is locked, present and future; children do not inherit that. Once is enough, and even to find
nothing left to do takes the system some thirty milliseconds."""


@dataclass(frozen=True)
class RealtimeReport:
    """What was asked of the operating system and what it granted."""

    scheduler: str
    """`SCHED_FIFO 80`, or `SCHED_OTHER` with the reason in `refused`."""
    memory_locked: bool
    refused: tuple[str, ...]
    """What was not granted, each with its cure."""


def enter_realtime(priority: int | None, lock_memory: bool) -> RealtimeReport:
    """Real-time scheduling for the calling thread and locked memory for the process, as far as permitted.

    Args:
        priority: Of SCHED_FIFO, 1 to 99; None leaves the scheduler alone.
        lock_memory: Keep all memory in RAM, now and in future. Whoever can do so beforehand, at leisure and without a
            priority, spares the loop a pause at its start.
    """
    refused = []
    scheduler, locked = "SCHED_OTHER", False
    if lock_memory:
        # First: to bring all memory in takes a tenth of a second and more, too long for a priority above other loops.
        reason = _lock_memory()
        locked = reason is None
        if reason is not None:
            refused.append(reason)
    if priority is not None:
        reason = _schedule(priority)
        if reason is None:
            scheduler = f"SCHED_FIFO {priority}"
        else:
            refused.append(reason)
    return RealtimeReport(scheduler, locked, tuple(refused))


def _schedule(priority: int) -> str | None:
    """None if it worked, else why not."""
    if not hasattr(os, "sched_setscheduler"):
        return "real-time scheduling: this operating system does not offer it"
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except PermissionError:
        return f"SCHED_FIFO {priority}: not permitted; put `rtprio {priority}` into limits.conf and log in again"
    except OSError as error:
        return f"SCHED_FIFO {priority}: {error.strerror}"
    return None


def _lock_memory() -> str | None:
    """None if it worked, else why not."""
    if os.getpid() in _locked:
        return None
    library = libc()
    if not hasattr(library, "mlockall"):
        return "memory locking: this operating system does not offer it"
    if not _may_lock_everything():
        # With a bounded allowance the call may succeed now and every later allocation fail.
        return "memory locking: the allowance is bounded; put `memlock unlimited` into limits.conf"
    if library.mlockall(_MCL_CURRENT | _MCL_FUTURE) != 0:
        return f"memory locking: {os.strerror(ctypes.get_errno())}"
    _locked.add(os.getpid())
    return None


def _may_lock_everything() -> bool:
    import resource

    if resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY:
        return True
    try:
        with open("/proc/self/status", "rb") as status:
            for line in status:
                if line.startswith(b"CapEff:"):
                    return bool(int(line.split()[1], 16) >> _CAP_IPC_LOCK & 1)
    except OSError:
        pass  # no such file system: nothing is known about capabilities
    return False


def libc() -> ctypes.CDLL:
    """The C functions that the interpreter itself is linked with."""
    return ctypes.CDLL(None, use_errno=True)


class QuietInterpreter:
    """While in use: no garbage collection of its own accord, and a quick hand-over of the interpreter lock.

    The garbage collector is switched off and what exists is frozen; young garbage is collected when the loop has time.
    Between ticks the interpreter lock is handed over to a thread that has waited for a twentieth of a millisecond
    instead of five: others that compute would delay the loop by that much. During a tick they wait for a millisecond,
    so that no tick is interrupted in its middle.
    """

    SWITCH_INTERVAL = 5e-5
    """Between ticks [s]."""
    TICK_INTERVAL = 1e-3
    """During a tick [s]. Threads read it whenever they begin to wait, which they do anew when the loop takes the lock.
    Not longer, for the sake of ticks that let go of the lock and want it back."""
    _lock = threading.Lock()
    _users = 0
    _enabled = True
    _interval = 0.005
    _quick = SWITCH_INTERVAL

    def __enter__(self) -> QuietInterpreter:
        cls = type(self)
        with cls._lock:
            if cls._users == 0:
                cls._enabled, cls._interval = gc.isenabled(), sys.getswitchinterval()
                gc.collect()
                gc.freeze()
                gc.disable()
                cls._quick = min(cls._interval, self.SWITCH_INTERVAL)
                sys.setswitchinterval(cls._quick)
            cls._users += 1
        return self

    def __exit__(self, *_: object) -> None:
        cls = type(self)
        with cls._lock:
            cls._users -= 1
            if cls._users == 0:
                sys.setswitchinterval(cls._interval)
                gc.unfreeze()
                if cls._enabled:
                    gc.enable()

    def begin_tick(self) -> None:
        """Keeps the lock until the tick is over."""
        sys.setswitchinterval(self.TICK_INTERVAL)

    def end_tick(self) -> None:
        """Hands the lock over quickly."""
        sys.setswitchinterval(self._quick)

    def collect_young(self) -> None:
        """Collects what has become garbage lately: a fraction of a millisecond."""
        gc.collect(1)


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
