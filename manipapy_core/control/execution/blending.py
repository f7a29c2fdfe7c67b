"""From what the arm does now onto a trajectory that expects something else, without a jump."""

from __future__ import annotations

import math

import numpy as np

from ..state import Array
from .spline import evaluation_kernel, segments

SHORTEST = 0.02
"""[s]"""
_POSITION, _VELOCITY = 12.0, 8.0
"""A quintic that takes p to zero accelerates by at most 5.8 |p| / T², one that takes v to zero by 3.9 |v| / T; each
gets half of what is allowed."""


class Correction:
    """A difference in position, velocity and acceleration that fades along a quintic.

    Added to the trajectory, it begins where the arm is and is gone, with all its derivatives, after `duration`.
    """

    def __init__(self, n: int):
        self._coefficients = np.zeros((6, n))
        self._kernel = evaluation_kernel(n)
        self._u, self._rate = np.zeros(1), np.zeros(1)
        self._sample, self._zero = np.zeros((3, n)), np.zeros(n)
        self.duration = 0.0
        """[s]; zero if there is nothing to correct."""

    def clear(self) -> None:
        """There is no difference."""
        self.duration = 0.0

    def begin(self, difference: Array, acceleration: Array) -> None:
        """Starts to fade.

        Args:
            difference: What the arm does minus what the trajectory says: position, velocity, acceleration,
                shape (3, n).
            acceleration: Allowed for the correction [rad/s² or m/s²], shape (n,).
        """
        p, v, a = difference
        if not difference.any():
            self.clear()
            return
        T = math.sqrt(float(np.max(_POSITION * np.abs(p) / acceleration)))
        T = max(SHORTEST, T, float(np.max(_VELOCITY * np.abs(v) / acceleration)))
        h = np.array([T])
        self._coefficients[:] = segments(h, (p, v, a), (self._zero, self._zero, self._zero))
        self.duration, self._rate[0] = T, 1.0 / T

    def add(self, t: float, block: Array) -> None:
        """Adds what is left at a time since `begin` to position, velocity and acceleration, shape (3, n)."""
        if t >= self.duration:
            return
        self._u[0] = t * self._rate[0]
        self._kernel(self._u, self._rate, self._coefficients, self._sample)
        np.add(block, self._sample, block)
