"""Cameras that repeat an image: a driver that hangs may publish its last one for ever, with new time stamps."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable
from typing import Any


class FrozenImages:
    """Compares every image with the one before. Two images of a real camera differ at least in their noise.

    Args:
        allowed: Time for which an image may be repeated bit by bit [s]; inf: for ever, as simulated cameras do.
        clock: Monotonic time [s].
    """

    def __init__(self, allowed: float, clock: Callable[[], float] = time.monotonic):
        self._allowed, self._clock = allowed, clock
        self._sum: int | None = None
        self._since = math.inf

    def problem(self, message: Any) -> str:
        """What is wrong with an image or cloud; empty if it is a new one, or not repeated for long."""
        if self._allowed == math.inf:
            return ""
        now, found = self._clock(), zlib.crc32(message.data)
        if found != self._sum:
            self._sum, self._since = found, now
        repeated = now - self._since
        if repeated <= self._allowed:
            return ""
        return f"the camera has repeated the same image for {repeated:.1f} s: it shows nothing that happens now"
