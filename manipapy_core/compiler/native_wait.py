"""Waiting until a time in machine code: sleeping first, then spinning, without the interpreter lock (GIL).

A loop that spins in Python keeps the GIL from other threads, which then request it in the middle of the tick that the
loop was waiting for. Called through ctypes, this function holds no lock until the time has come.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import CompilerError

_TIMER_ABSTIME, _EINTR = 1, 4
_NAME = "wait_until"


class NoNativeWait(CompilerError):
    """Waiting in machine code is not available on this machine."""


@dataclass(frozen=True)
class WaitCode:
    """The compiled function."""

    call: Callable[[int, int], None]
    """`call(wake, deadline)`: sleeps until the first time of the monotonic clock, then spins until the second
    [ns]. Releases the GIL."""
    engine: Any
    """Keeps the code alive."""


@functools.cache
def wait_code() -> WaitCode:
    """The wait for this CPU, compiled or read from the cache at the first call.

    Raises:
        NoNativeWait: Not a 64-bit Linux, or llvmlite cannot be imported.
    """
    if not sys.platform.startswith("linux") or sys.maxsize < 2**32:
        raise NoNativeWait(f"no native wait for {sys.platform}: it is written for 64-bit Linux")
    try:
        from .llvm import engine  # llvmlite takes time to import
    except ImportError as error:
        raise NoNativeWait(f"no native wait without llvmlite ({error}); `pip install llvmlite`") from error
    linked = engine.link(engine.cached_object(_NAME, wait_function, "", wait_function))
    call = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64)(linked.get_function_address(_NAME))
    return WaitCode(call, linked)


def wait_function() -> str:
    """IR of `void wait_until(i64 wake, i64 deadline)`; clock functions are called by symbol.

    A sleep that a signal interrupts continues: its end is a time, not a length. After any other failure the function
    spins.
    """
    clock, second = time.CLOCK_MONOTONIC, 1_000_000_000
    return f"""
declare i32 @clock_gettime(i32, ptr)
declare i32 @clock_nanosleep(i32, i32, ptr, ptr)

define void @{_NAME}(i64 %wake, i64 %deadline) #0 {{
entry:
  %time = alloca {{ i64, i64 }}
  %nanoseconds = getelementptr {{ i64, i64 }}, ptr %time, i64 0, i32 1
  %wake.s = sdiv i64 %wake, {second}
  %wake.ns = srem i64 %wake, {second}
  store i64 %wake.s, ptr %time
  store i64 %wake.ns, ptr %nanoseconds
  br label %sleeping
sleeping:
  %result = call i32 @clock_nanosleep(i32 {clock}, i32 {_TIMER_ABSTIME}, ptr %time, ptr null)
  %interrupted = icmp eq i32 %result, {_EINTR}
  br i1 %interrupted, label %sleeping, label %spinning
spinning:
  %read = call i32 @clock_gettime(i32 {clock}, ptr %time)
  %s = load i64, ptr %time
  %ns = load i64, ptr %nanoseconds
  %whole = mul i64 %s, {second}
  %now = add i64 %whole, %ns
  %early = icmp slt i64 %now, %deadline
  br i1 %early, label %spinning, label %done
done:
  ret void
}}
"""
