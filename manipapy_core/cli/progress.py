"""Progress of long commands, on the standard error of a terminal; in a pipe or a file nothing is written."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .options import console

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SHOW_AFTER = 0.5
"""Nothing is shown of what takes less [s]."""


@contextmanager
def progress(text: str) -> Iterator[Display]:
    """Show what a command does and for how long, and how much is done where that is known.

    Args:
        text: What is done, such as `reading run.mcap`.
    """
    display = Display(text)
    try:
        yield display
    finally:
        display.close()


class Display:
    """A line with a bar, shown after a moment; made by `progress`."""

    def __init__(self, text: str):
        self._text, self._done, self._total = text, 0, 0
        self._lock, self._closed = threading.Lock(), False
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._timer = threading.Timer(SHOW_AFTER, self._open)
        self._timer.daemon = True
        if sys.stderr.isatty():
            self._timer.start()

    def update(self, done: int, total: int, text: str = "") -> None:
        """Show how much is done; total 0: it is not known. An empty text leaves the one before."""
        with self._lock:
            self._text, self._done, self._total = text or self._text, done, total
            self._refresh()

    def close(self) -> None:
        """Remove the line."""
        self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._bar is not None:
                self._bar.stop()

    def _open(self) -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        columns = TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
        with self._lock:
            if self._closed:
                return
            self._bar = Progress(*columns, console=console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._text, total=None)
            self._refresh()
            self._bar.start()

    def _refresh(self) -> None:
        if self._bar is not None and self._task is not None:
            total = self._total or None
            self._bar.update(self._task, description=self._text, completed=self._done, total=total)
