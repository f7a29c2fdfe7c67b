"""Threads that help with large batches, always at hand.

An executor hands out futures and wakes threads through several locks: a tenth of a millisecond at the start and at the
end, which is as long as a small batch takes. Here a job is put into a queue, and nobody waits for the thread that takes
it: the entries of kernels themselves return when all pieces of a batch are done, whoever did them. A helper that comes
too late, or never, as after a fork, is not missed.
"""

from __future__ import annotations

import contextlib
import os
import threading
from queue import SimpleQueue
from typing import Any

Job = tuple[Any, tuple[Any, ...]]
"""An entry for several threads, and its arguments."""


class Team:
    """Threads that live as long as the process, made when they are needed first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()
        os.register_at_fork(after_in_child=self._forget)

    def run(self, threads: int, entry: Any, arguments: tuple[Any, ...]) -> bool:
        """What the entry tells, called by so many threads at once, this one included."""
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


TEAM = Team()
