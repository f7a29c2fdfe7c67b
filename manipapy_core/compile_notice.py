"""Log notices while Numba compiles for the first time on a machine: what is compiled, about how long that takes, and
how long it took.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

LOGGER = logging.getLogger("manipapy")
KIND = "numba:compile"
LOG_AFTER = 0.5
"""Compilations that take less than this together are not reported [s]."""
MAX_LATE = 0.05
"""A compilation after `report_late_compilation` that takes longer than this is reported [s]."""
TEXT = "compiling for this machine, which happens once per installation and may take half a minute"


@dataclass(eq=False)
class _Notice:
    text: str
    spent: float = 0.0
    """On compilations so far [s]."""
    is_announced: bool = False

    def consider(self, running: float) -> None:
        """Logs the text, once, when compilations have taken long, with one that has run for so long [s]."""
        if not self.is_announced and self.spent + running > LOG_AFTER:
            self.is_announced = True
            LOGGER.warning(self.text)


_notices = [_Notice(TEXT)]
"""The last one is that of what runs now; the first one is for everything without a name."""


_late: list[str] = []
"""Names of the active nodes of this process."""


def report_late_compilation(name: str) -> None:
    """Report every compilation from now on with its function: it may delay a moving arm. `expect_compilation` ends it.

    Args:
        name: Of what has started, such as a node.
    """
    _late.append(name)


def expect_compilation(name: str) -> None:
    """Compilation is expected again, such as in a node that is no longer active."""
    if name in _late:
        _late.remove(name)


@contextmanager
def compiling(what: str, seconds: float) -> Iterator[None]:
    """While this lasts, compilation is reported as that of `what`, and at the end how long it took.

    Args:
        seconds: That it takes on a usual machine [s].
    """
    notice = _Notice(f"compiling {what} for this machine, about {seconds:.0f} s, once per installation")
    _notices.append(notice)
    began = time.monotonic()
    try:
        yield
    finally:
        _notices.remove(notice)
        if notice.is_announced:
            LOGGER.warning(f"compiled {what} in {time.monotonic() - began:.0f} s")


@functools.cache
def announce_compilation() -> None:
    """From now on, long compilations of this library by Numba are logged. Needs Numba."""
    from numba.core import event

    class Announcer(event.Listener):
        """Listens to start and end of Numba's compilations; one may start others before it ends."""

        def __init__(self) -> None:
            self._depth, self._since, self._ours = 0, 0.0, False

        def on_start(self, started: Any) -> None:
            if self._depth == 0:
                self._since = time.monotonic()
                self._ours = started.data["dispatcher"].py_func.__module__.startswith(__package__)
            self._depth += 1
            if self._ours:
                _notices[-1].consider(time.monotonic() - self._since)

        def on_end(self, ended: Any) -> None:
            self._depth -= 1
            if self._depth == 0 and self._ours:
                spent = time.monotonic() - self._since
                _notices[-1].spent += spent
                if _late and spent > MAX_LATE:
                    function = ended.data["dispatcher"].py_func
                    LOGGER.warning(
                        f"compiled {function.__module__}.{function.__qualname__} in {spent:.1f} s, after the start of "
                        f"{_late[-1]}; `manipapy warmup` compiles ahead"
                    )

    event.register(KIND, Announcer())  # type: ignore[no-untyped-call]
