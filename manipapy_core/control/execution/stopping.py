"""From a motion to rest: a smooth, bounded slow-down that every hold begins with."""

from __future__ import annotations

import numpy as np

from ..state import Array

PEAK = 1.5
"""Largest deceleration of the profile over its mean."""


class StopProfile:
    """Velocities fall as (1 − u)² (1 + 2 u), all joints in the same time, so the arm stops along a straight line.

    The deceleration begins and ends at zero; at its largest it is 1.5 times the mean.
    """

    def __init__(self, n: int):
        self._q, self._qd = np.zeros(n), np.zeros(n)
        self._rest, self._scratch = np.zeros(n), np.zeros(n)
        self.duration = 0.0
        """[s]"""

    @property
    def rest(self) -> Array:
        """Where the arm comes to rest [rad or m], shape (n,)."""
        return self._rest

    def begin(self, q: Array, qd: Array, deceleration: Array, lower: Array, upper: Array) -> None:
        """Starts to slow down at a state.

        Args:
            q: Joint positions [rad or m], shape (n,).
            qd: Joint velocities [rad/s or m/s], shape (n,).
            deceleration: Largest allowed [rad/s² or m/s²], shape (n,).
            lower: Position limits [rad or m], shape (n,): a stop that would end beyond is made harder.
            upper: The same at the other end.
        """
        self._q[:], self._qd[:] = q, qd
        speed = np.abs(qd)
        duration = PEAK * float(np.max(speed / deceleration))
        room = np.where(qd > 0.0, upper - q, q - lower)
        # Joints already beyond a limit cannot be helped by a harder stop.
        tight = (speed > 0.0) & (room > 0.0) & (0.5 * speed * duration > room)
        if tight.any():
            duration = float(np.min(2.0 * room[tight] / speed[tight]))
        self.duration = duration
        np.multiply(self._qd, 0.5 * duration, self._rest)
        np.add(self._rest, self._q, self._rest)

    def sample(self, t: float, out: Array) -> None:
        """Position, velocity and acceleration at a time since `begin`, shape (3, n)."""
        if t >= self.duration:
            out[0] = self._rest
            out[1:].fill(0.0)
            return
        T = self.duration
        u = t / T
        np.multiply(self._qd, T * (u - u**3 + 0.5 * u**4), out[0])
        np.add(out[0], self._q, out[0])
        np.multiply(self._qd, (1.0 - u) ** 2 * (1.0 + 2.0 * u), out[1])
        np.multiply(self._qd, -6.0 * u * (1.0 - u) / T, out[2])
