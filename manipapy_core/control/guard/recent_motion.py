"""The motion of the last milliseconds: where a prediction begins when the newest joint states turn out to be wrong.

A contradiction between joint states shows some milliseconds after the first wrong one, and neither positions nor
velocities of these states can be used. The state before them, and the efforts sent since then, give the present one.
"""

from __future__ import annotations

import numpy as np

from ...typing import Array
from ..state import State
from .hold import Hold

LENGTH = 0.03
"""[s]"""


class RecentMotion:
    """Keeps states and efforts of the last ticks.

    Args:
        n: Number of joints.
        period: Nominal time between two ticks [s].
    """

    def __init__(self, n: int, period: float):
        self._period = period
        self._rows = np.zeros((max(2, round(LENGTH / period)), 3, n))
        """Positions, velocities and efforts, one row per tick."""
        self._count = 0

    def record(self, state: State, tau: Array) -> None:
        """Keeps one tick.

        Args:
            state: Measured or predicted.
            tau: Efforts sent in this tick, without what joint friction takes [N m or N], shape (n,).
        """
        row = self._rows[self._count % len(self._rows)]
        row[0], row[1], row[2] = state.q, state.qd, tau
        self._count += 1

    def replay(self, hold: Hold) -> None:
        """Lets a hold predict the present state from the oldest one that is kept."""
        rows = self._rows
        order = [(self._count + number) % len(rows) for number in range(len(rows))]
        if self._count < len(rows):
            order = list(range(self._count))
        if not order:
            return
        oldest = rows[order[0]]
        hold.update(State(oldest[0].copy(), oldest[1].copy()))
        for number in order:
            hold.predict(rows[number][2], self._period)

    def clear(self) -> None:
        """Forgets everything, because the source of the states has changed."""
        self._count = 0
