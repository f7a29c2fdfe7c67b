"""Pools that large batches draw from: threads, and memory for results.

Threads: an executor hands out futures and wakes threads through several locks, a tenth of a millisecond at the start
and at the end, which is as long as a small batch takes. Here a job is put into a queue and not waited for: the entries
of kernels return when all pieces of a batch are done, by any thread. A helper that is late or gone, as after a fork,
does no harm.

Memory: the memory of a result that is no longer used serves the next one. Fresh memory comes from the operating system
page by page, each filled with zeros when it is touched first, and goes back as a whole. For a fast kernel this takes as
long as the computation, and more when several threads touch pages of one process at once. Whether the C library keeps
memory depends on what else happened in the process; here it is kept.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections import deque
from queue import SimpleQueue
from typing import Any

import numpy as np

from ..typing import AnyArray

Job = tuple[Any, tuple[Any, ...]]
"""An entry for several threads, and its arguments."""


class ThreadPool:
    """Daemon threads, started when first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()
        os.register_at_fork(after_in_child=self._forget)

    def run(self, threads: int, entry: Any, arguments: tuple[Any, ...]) -> bool:
        """Calls the entry from this many threads at once, this one included; returns its result."""
        self._grow(threads - 1)
        for _ in range(threads - 1):
            self._jobs.put((entry, arguments))
        return bool(entry(*arguments))

    def _forget(self) -> None:
        """Threads do not survive a fork."""
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._helpers = 0

    def _grow(self, helpers: int) -> None:
        with self._lock:
            for number in range(self._helpers, helpers):
                name = f"manipapy-{number}"
                threading.Thread(target=_help_on, args=(self._jobs,), name=name, daemon=True).start()
                self._helpers = number + 1


def _help_on(jobs: SimpleQueue[Job]) -> None:
    while True:
        _help(*jobs.get())  # a call of its own: nothing of a job is kept while waiting for the next


def _help(entry: Any, arguments: tuple[Any, ...]) -> None:
    # The caller gets the same error from the same arguments.
    with contextlib.suppress(TypeError, ValueError, BufferError):
        entry(*arguments)


TEAM = ThreadPool()


LARGE = 1 << 20
"""Bytes from which reuse pays off: smaller results come from the C library's own store."""
LARGEST = 1 << 25
"""Bytes from which computing takes much longer than getting memory, and keeping it would burden the machine."""
KEPT = 3
"""Pieces of memory kept at most."""


class BufferPool:
    """Provides arrays and reuses their memory once no reference to them is left, in whichever thread that happens."""

    def __init__(self) -> None:
        self._free: deque[_Memory] = deque(maxlen=KEPT)  # the oldest falls out

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> AnyArray:
        """An array of unset numbers, C-contiguous."""
        size = math.prod(shape) * dtype.itemsize
        if not LARGE <= size <= LARGEST:
            return np.empty(shape, dtype)
        return np.asarray(_Lease(self._free, self._take(size), shape, dtype))

    def _take(self, size: int) -> _Memory:
        for memory in tuple(self._free):
            if size <= memory.size <= 2 * size:
                try:
                    self._free.remove(memory)
                except ValueError:
                    continue  # another thread was faster
                return memory
        return _Memory(size)


class _Memory:
    """A block of bytes."""

    def __init__(self, size: int):
        self.size = size
        self._bytes = np.empty(size, np.uint8)
        self.address: int = self._bytes.__array_interface__["data"][0]


class _Lease:
    """Owner of an array's memory; returns it to the pool when the last view of the array is gone."""

    def __init__(self, free: deque[_Memory], memory: _Memory, shape: tuple[int, ...], dtype: np.dtype[Any]):
        self._free, self._memory = free, memory
        where = (memory.address, False)
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": dtype.str, "data": where}

    def __del__(self) -> None:
        self._free.append(self._memory)


RESULTS = BufferPool()
