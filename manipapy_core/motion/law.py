"""When a path is where: pieces of constant acceleration, averaged over a short window so that nothing jerks.

The average of a law over a window that slides along it takes longer by the window, keeps to the same speeds and
accelerations, and its acceleration changes gradually. It is evaluated exactly: the pieces and their integral are
polynomials.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .blend import BlendedPath
from .space import Array
from .spline_path import SplinePath
from .topp import durations
from .trajectories import JointTrajectory

WINDOW = 0.02
"""[s]"""


@dataclass(frozen=True, eq=False)
class TimedPath:
    """A path and the law by which it is travelled, from rest to rest."""

    path: BlendedPath | SplinePath
    grid: Array
    """Lengths at which the acceleration may change [rad or m], shape (N,)."""
    squared_speeds: Array
    """Before averaging and stretching [rad²/s² or m²/s²], shape (N,)."""
    window: float = WINDOW
    """[s]"""
    stretch: float = 1.0
    """All times are multiplied by this."""

    @cached_property
    def _times(self) -> Array:
        return np.append(0.0, np.cumsum(durations(self.grid, self.squared_speeds)))

    @cached_property
    def _accelerations(self) -> Array:
        return np.diff(self.squared_speeds) / (2.0 * np.diff(self.grid))

    @cached_property
    def _integrals(self) -> Array:
        """Of the length over time, at the times of the grid."""
        h, v = np.diff(self._times), np.sqrt(self.squared_speeds[:-1])
        return np.append(0.0, np.cumsum(h * (self.grid[:-1] + h * (v / 2.0 + h * self._accelerations / 6.0))))

    @property
    def duration(self) -> float:
        """From rest to rest [s]."""
        return self.stretch * (float(self._times[-1]) + self.window)

    def slower(self, factor: float) -> TimedPath:
        """The same law with all times multiplied."""
        return replace(self, stretch=self.stretch * factor)

    def length_at(self, times: Array) -> tuple[Array, Array, Array]:
        """Length along the path, its rate and the rate of that, shape (N,) each.

        Args:
            times: [s], shape (N,).
        """
        t = np.asarray(times) / self.stretch
        ahead, behind = self._pieces(t), self._pieces(t - self.window)
        s, v, u = ((one - other) / self.window for one, other in zip(ahead, behind))
        return np.clip(s, 0.0, self.path.length), v / self.stretch, u / self.stretch**2

    def _pieces(self, t: Array) -> tuple[Array, Array, Array]:
        """Integral of the length, length and speed of the law before averaging; at rest before and after it."""
        last = self._times[-1]
        inside = np.clip(t, 0.0, last)
        piece = np.clip(np.searchsorted(self._times, inside, side="right") - 1, 0, len(self._accelerations) - 1)
        h = inside - self._times[piece]
        s, v, u = self.grid[piece], np.sqrt(self.squared_speeds[piece]), self._accelerations[piece]
        integral = self._integrals[piece] + h * (s + h * (v / 2.0 + h * u / 6.0))
        integral += np.maximum(t - last, 0.0) * self.grid[-1]
        return integral, s + h * (v + h * u / 2.0), v + h * u

    def at(self, times: Array) -> tuple[Array, Array, Array]:
        """Joint positions, velocities and accelerations, shape (N, n) each.

        Args:
            times: [s], shape (N,).
        """
        s, v, u = self.length_at(times)
        q, slope, bend = self.path.evaluate(s)
        v, u = v[:, None], u[:, None]
        return q, slope * v, slope * u + bend * v * v

    def sampled(self, period: float) -> JointTrajectory:
        """Samples at most a period apart, exactly at rest at both ends [s]."""
        times = np.linspace(0.0, self.duration, max(2, int(np.ceil(self.duration / period)) + 1))
        q, qd, qdd = self.at(times)
        q[0], q[-1] = self.path.corners[0], self.path.corners[-1]
        for rates in (qd, qdd):
            rates[0] = rates[-1] = 0.0
        return JointTrajectory(times, q, qd, qdd)
