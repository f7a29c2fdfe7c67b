"""Log notice while Numba compiles for the first time on a machine, which may take many seconds."""

from __future__ import annotations

import functools
import logging
import time
from typing import Any

LOGGER = logging.getLogger("manipapy")
KIND = "numba:compile"
PATIENCE = 0.5
"""Compilation that takes less than this is not reported [s]."""
TEXT = "compiling for this machine, which happens once per installation and may take half a minute"


@functools.cache
def announce_compilation() -> None:
    """From now on, a long compilation of this library by Numba is logged, once per process. Needs Numba."""
    from numba.core import event

    class Announcer(event.Listener):
        """Listens to start and end of Numba's compilations; one may start others before it ends."""

        def __init__(self) -> None:
            self._said, self._depth, self._since = False, 0, 0.0

        def on_start(self, started: Any) -> None:
            if self._depth == 0:
                self._since = time.monotonic()
            self._depth += 1
            ours = started.data["dispatcher"].py_func.__module__.startswith(__package__)
            if ours and not self._said and time.monotonic() - self._since > PATIENCE:
                self._said = True
                LOGGER.warning(TEXT)

        def on_end(self, _: Any) -> None:
            self._depth -= 1

    event.register(KIND, Announcer())  # type: ignore[no-untyped-call]
