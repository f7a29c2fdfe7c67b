"""Trajectory time: slowed down by the guard, stopped by a cancellation."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...compiler import Input, absolute, compile_formula, largest
from ...typing import Array

SLOWEST_CHANGE, FASTEST_CHANGE = 0.5, 50.0
"""Bounds on how fast the rate of time may change [1/s]."""
RATE_GAIN, RAMP = 12.0, 0.02
"""The rate approaches its target with this time constant [1/s]; its change builds up over this time [s]. Their product
of a quarter makes the approach critically damped."""
RECOVERY = 1.0
"""Largest rise of the rate [1/s]: what slowed the arm down tends to come back."""
STANDSTILL = 1e-3
"""A rate that falls below this towards zero is zero."""


def longest_time(qd: Sequence[Any], per_acceleration: Sequence[Any]) -> list[Any]:
    """Longest time that any joint needs to stop [s]."""
    return [largest(absolute(v) * per for v, per in zip(qd, per_acceleration))]


@functools.cache
def _longest_time(n: int) -> Any:
    inputs = [Input("qd", (n,)), Input("per_acceleration", (n,))]
    return compile_formula(f"longest_time_{n}", inputs, (1,), longest_time)


class PathClock:
    """Trajectory time t with a rate between 0 and 1 that changes no faster than the joints can follow.

    The arm stays on its path, unlike with joints that brake each by itself.

    Args:
        acceleration: Allowed for changes of the rate [rad/s² or m/s²], shape (n,).
    """

    def __init__(self, acceleration: Array):
        self._per_acceleration, self._scratch = 1.0 / acceleration, np.zeros_like(acceleration)
        self._kernel, self._longest = _longest_time(len(acceleration)), np.zeros(1)
        self.t = 0.0
        """Trajectory time [s]."""
        self.rate = 1.0
        """Trajectory seconds per second."""
        self.rate_change = 0.0
        """[1/s]"""
        self._target = 1.0

    @property
    def steady(self) -> bool:
        """Whether time runs at full rate, also in the last tick."""
        return self.rate == 1.0 and self.rate_change == 0.0 and self._target == 1.0

    def start(self, t: float) -> None:
        """Runs at full rate from a trajectory time on."""
        self.t, self.rate, self.rate_change, self._target = t, 1.0, 0.0, 1.0

    def advance(self, dt: float, target: float, qd: Array) -> None:
        """One tick.

        Args:
            dt: Time that has passed [s].
            target: Desired rate.
            qd: Velocities of the trajectory at full rate, where it is now [rad/s or m/s], shape (n,).
        """
        before = self.rate
        risen = self._target + RECOVERY * dt
        self._target = target = target if target < risen else risen
        if before != target or self.rate_change != 0.0:
            self._approach(dt, target, self._fastest_change(qd))
        self.t += dt * 0.5 * (before + self.rate)

    def _approach(self, dt: float, target: float, most: float) -> None:
        desired = _clamp(RATE_GAIN * (target - self.rate), most)
        change = self.rate_change + _clamp(desired - self.rate_change, most * dt / RAMP)
        rate = min(max(self.rate + dt * change, 0.0), 1.0)
        arrived = (target == 0.0 and rate < STANDSTILL) or (abs(target - rate) < 1e-6 and abs(change) < 1e-4)
        self.rate, self.rate_change = (target, 0.0) if arrived else (rate, change)

    def stretch(self, block: Array) -> None:
        """Converts derivatives by trajectory time to derivatives by time: position, velocity, acceleration, (3, n)."""
        if self.rate == 1.0 and self.rate_change == 0.0:
            return
        # d²q/dt² = q'' r² + q' dr/dt
        np.multiply(block[2], self.rate**2, block[2])
        np.multiply(block[1], self.rate_change, self._scratch)
        np.add(block[2], self._scratch, block[2])
        np.multiply(block[1], self.rate, block[1])

    def _fastest_change(self, qd: Array) -> float:
        self._kernel(qd, self._per_acceleration, self._longest)
        longest = self._longest.item()
        return min(FASTEST_CHANGE, max(SLOWEST_CHANGE, 1.0 / longest)) if longest > 0.0 else FASTEST_CHANGE


def _clamp(value: float, limit: float) -> float:
    return min(max(value, -limit), limit)
