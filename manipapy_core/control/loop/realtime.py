"""Making a thread as punctual as this machine allows, and saying what it did not allow."""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass

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
