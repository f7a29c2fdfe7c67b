"""Ticks that come rarely, as by lost joint states: the arm is left to its drives.

Between two such ticks the drives time out and hold the arm by their own sensors. An effort that is sent then wakes them
up, acts until the next timeout whatever the arm does, and no hold can be closed over it.
"""

from __future__ import annotations

import math

from .checks import GuardSettings

REGULAR = 0.1
"""How long ticks must have come on time after one that came much too late, before efforts are sent again [s]."""
TOLERATED, FORGOTTEN = 0.2, 0.2
"""Share of the limit by which every tick may be late, and share of passing time by which lost time is forgotten."""


class FarSide:
    """Time that was lost between ticks.

    Args:
        settings: What is late.
    """

    def __init__(self, settings: GuardSettings):
        self._slow, self._hold = settings.late_slow, settings.late_hold
        self._at = self._until = -math.inf
        self.lost = 0.0
        """Time lost by ticks that came late one after the other [s]."""

    def observe(self, now: float, dt: float) -> None:
        """Takes the time of a tick and that since the last one [s]; of late ones at least."""
        if not dt > self._slow:
            return
        kept = max(self.lost - FORGOTTEN * max(now - self._at, 0.0), 0.0) if self._at > -math.inf else 0.0
        self.lost, self._at = max(kept + dt - TOLERATED * self._hold, dt if dt > self._hold else 0.0), now
        if self.lost > self._hold or now < self._until:
            self._until = now + REGULAR

    def holds(self, now: float) -> bool:
        """Whether the arm is left to its drives."""
        return 0.0 < self._until - now <= REGULAR
