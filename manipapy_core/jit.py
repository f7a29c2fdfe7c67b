"""Numba's `njit` with a disk cache that several processes may fill at once, and a notice while it compiles.

Numba (0.68 too) keeps an index per function that gives each signature the number of its code file. Two processes that
compile the same function for different signatures at the same time may both take the next free number, and the index
then leads to the code of the wrong signature. ROS nodes that start together after an installation, and parallel tests,
do just that. Here an entry is written under a lock of its folder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba

from .compile_notice import announce_compilation

announce_compilation()


def njit(*, cache: bool, **options: Any) -> Any:
    """Decorator: `numba.njit`, with the options of it that are given."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(cache=cache, **options)(function)
        if cache:
            entries = dispatcher._cache._cache_file
            entries.save = _saver_under_lock(entries)
        return dispatcher

    return decorate


def _saver_under_lock(entries: Any) -> Callable[[Any, Any], None]:
    """The method `save` of Numba's cache file, one process at a time."""
    save, folder = entries.save, entries._cache_path

    def save_under_lock(key: Any, data: Any) -> None:
        with _locked(folder):
            save(key, data)

    return save_under_lock


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Exclusive use of a folder among the processes of this machine; the system ends it with its holder."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
