"""Real-time execution: scheduling, locked memory, interpreter pauses kept out of the loop, and waits for deadlines.

Reports what the operating system has not granted.
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
"""Ids of processes whose memory is locked; children do not inherit the lock. A second call would take some thirty
milliseconds even though it locks nothing."""


@dataclass(frozen=True)
class RealtimeReport:
    """Real-time settings that the operating system has granted and refused."""

    scheduler: str
    """`SCHED_FIFO 80`, or `SCHED_OTHER` with the reason in `refused`."""
    memory_locked: bool
    refused: tuple[str, ...]
    """Settings that were not granted, each with its cure."""


def enter_realtime(priority: int | None, lock_memory: bool) -> RealtimeReport:
    """Real-time scheduling for the calling thread and locked memory for the process, as far as permitted.

    Args:
        priority: Of SCHED_FIFO, 1 to 99; None leaves the scheduler alone.
        lock_memory: Keep all present and future memory in RAM. Done beforehand by a thread without priority, it spares
            the loop a pause at its start.
    """
    refused = []
    scheduler, locked = "SCHED_OTHER", False
    if lock_memory:
        # First: loading all memory takes 0.1 s and more, too long with a priority above other loops.
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
        # With a bounded allowance the call may succeed and later allocations fail.
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
        pass  # no /proc: capabilities are unknown
    return False


def libc() -> ctypes.CDLL:
    """The C functions that the interpreter itself is linked with."""
    return ctypes.CDLL(None, use_errno=True)


class RealtimeInterpreter:
    """Context in which the garbage collector is off and the switch interval of the interpreter lock (GIL) is short.

    Existing objects are frozen; young garbage is collected when the loop has time. Between ticks the switch interval is
    0.05 ms instead of 5 ms: a computing thread would delay the next tick by that much. During a tick it is 1 ms, so
    that ticks are not interrupted.
    """

    SWITCH_INTERVAL = 5e-5
    """Between ticks [s]."""
    TICK_INTERVAL = 1e-3
    """During a tick [s]. Threads read it when they begin to wait, which they do again when the loop takes the lock. Not
    longer, because of ticks that release the lock and need it back."""
    _lock = threading.Lock()
    _users = 0
    _enabled = True
    _interval = 0.005
    _quick = SWITCH_INTERVAL

    def __enter__(self) -> RealtimeInterpreter:
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
        """Sets the longer switch interval of a tick."""
        sys.setswitchinterval(self.TICK_INTERVAL)

    def end_tick(self) -> None:
        """Restores the short switch interval between ticks."""
        sys.setswitchinterval(self._quick)

    def collect_young(self) -> None:
        """Collects the young generations; takes a fraction of a millisecond."""
        gc.collect(1)


_TIMER_ABSTIME = 1


class AbsoluteSleep:
    """Sleeps until a time of the monotonic clock: delays do not add up."""

    class _Timespec(ctypes.Structure):
        _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))

    def __init__(self) -> None:
        self._call = getattr(libc(), "clock_nanosleep", None) if sys.platform.startswith("linux") else None
        self._spec = self._Timespec()
        self._pointer = ctypes.byref(self._spec)

    def until(self, deadline_ns: int) -> None:
        """Returns at or after a time of time.monotonic_ns; releases the interpreter lock meanwhile."""
        if self._call is None:
            remaining = deadline_ns - time.monotonic_ns()
            if remaining > 0:
                time.sleep(remaining * 1e-9)
            return
        self._spec.seconds, self._spec.nanoseconds = divmod(deadline_ns, 1_000_000_000)
        while self._call(time.CLOCK_MONOTONIC, _TIMER_ABSTIME, self._pointer, None) == errno.EINTR:
            pass  # a signal; the deadline is still the same


@dataclass(frozen=True)
class DeadlineWait:
    """How a loop waits for its deadlines: sleeping, then spinning."""

    until: Callable[[int, int], None]
    """`until(wake, deadline)`: sleeps until the first time of time.monotonic_ns, spins until the second [ns]."""
    refused: str | None
    """Why spinning holds the interpreter lock, with the cure; None if it does not."""
    code: Any = None
    """Keeps a reference to the machine code."""

    @classmethod
    def best(cls, spin: bool) -> DeadlineWait:
        """The most accurate wait that is available on this machine.

        Args:
            spin: Whether to spin before the deadline.
        """
        sleep = AbsoluteSleep()
        if not spin:
            return cls(lambda _, deadline: sleep.until(deadline), None)
        try:
            code = wait_code()
        except NoNativeWait as error:
            return cls(_spin_in_python(sleep), f"waiting without the interpreter lock: {error}")
        return cls(code.call, None, code)


def _spin_in_python(sleep: AbsoluteSleep) -> Callable[[int, int], None]:
    """Spins with the interpreter lock held; threads that request it meanwhile get it during the tick that follows."""

    def until(wake: int, deadline: int) -> None:
        sleep.until(wake)
        while time.monotonic_ns() < deadline:
            pass

    return until
