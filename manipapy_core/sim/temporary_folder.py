"""Temporary folders that a killed process does not leave behind for ever."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

PREFIX = "manipapy-sim-"
"""Beginning of the folder names."""
LOCK = "in-use.lock"
"""File in every folder that its process keeps locked; the lock ends with the process, in whatever way that ends."""


class TemporaryFolder:
    """A folder for files that PyBullet reads, deleted by `close`, with this object and at the end of the process.

    What a killed process has left is deleted when the next folder is made.
    """

    def __init__(self) -> None:
        remove_abandoned()
        self._folder = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
        self.path = self._folder.name
        # Locked under another name first: a lock file that is not locked marks an abandoned folder.
        new = os.path.join(self.path, "new.lock")
        self._lock = open(new, "wb")  # noqa: SIM115 - open as long as the folder is in use
        # A file system without locks: the folder has no lock file, and no other process deletes it.
        with contextlib.suppress(OSError):
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(new, os.path.join(self.path, LOCK))

    def close(self) -> None:
        """Delete the folder; a second call does nothing."""
        self._folder.cleanup()
        self._lock.close()

    def __enter__(self) -> str:
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def remove_abandoned() -> int:
    """Delete folders of this user whose process has ended; returns their number."""
    removed = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        # Others create and delete folders meanwhile.
        with contextlib.suppress(OSError):
            if folder.lstat().st_uid == os.getuid() and not folder.is_symlink() and _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
    return removed


def _is_abandoned(folder: Path) -> bool:
    with open(folder / LOCK, "rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
