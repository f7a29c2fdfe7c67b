"""Stop profiles: from a motion to rest with bounded deceleration."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..compiler import compile_per_joint, positive_part
from ..typing import Array

PEAK = 1.5
"""Largest deceleration of the profile over its mean."""
SHORTEST = 1e-3
"""Duration of a stop [s]."""
BUILD_UP = 0.04
"""Every stop takes this long in addition [s]: efforts do not change at once."""


def slowing(q: Any, qd: Any, duration: Any, t: Any) -> tuple[Any, Any, Any]:
    """Position, velocity and acceleration of one joint at a time since it began to slow down.

    The velocity falls as (1 − u)² (1 + 2 u), so the deceleration begins and ends at zero.
    """
    passed = t / duration
    u = passed - positive_part(passed - 1.0)
    left = 1.0 - u
    return (
        q + qd * duration * u * (1.0 - u * u * (1.0 - 0.5 * u)),
        qd * left * left * (1.0 + 2.0 * u),
        -6.0 * qd * u * left / duration,
    )


@functools.cache
def _kernel(n: int) -> Any:
    return compile_per_joint("slowing", n, ("q", "qd", "duration"), 3, slowing, scalars=("t",))


class StopProfile:
    """A stop in which every joint takes its own time."""

    def __init__(self, n: int):
        self._q, self._qd, self._durations = np.zeros(n), np.zeros(n), np.full(n, BUILD_UP)
        self._t, self._kernel = np.zeros(1), _kernel(n)
        self.duration = 0.0
        """Until the last joint is at rest [s]."""

    @property
    def rest(self) -> Array:
        """Positions at rest [rad or m], shape (n,)."""
        return self._q + 0.5 * self._qd * self._durations

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
        durations = BUILD_UP + PEAK * speed / deceleration
        room = np.where(qd > 0.0, upper - q, q - lower)
        # A joint already beyond a limit cannot be helped by a harder stop.
        tight = (room > 0.0) & (0.5 * speed * durations > room)
        durations[tight] = np.maximum(2.0 * room[tight] / speed[tight], SHORTEST)
        self._durations[:] = durations
        self.duration = float(self._durations.max())

    def sample(self, t: float, out: Array) -> None:
        """Position, velocity and acceleration at a time since `begin`, shape (3, n)."""
        self._t[0] = t
        self._kernel(self._q, self._qd, self._durations, self._t, out)


def stop_durations(qd: Array, deceleration: Array) -> Array:
    """How long each joint slows down [s], shape (n,), where no position limit is near."""
    return BUILD_UP + PEAK * np.abs(qd) / deceleration


def stopping_path(q: Array, qd: Array, deceleration: Array, reaction_time: float, times: Array) -> Array:
    """Positions of an arm that continues at its velocity for a reaction time and slows down then, shape (times, n).

    Args:
        q: Joint positions [rad or m], shape (n,).
        qd: Joint velocities [rad/s or m/s], shape (n,).
        deceleration: Largest allowed [rad/s² or m/s²], shape (n,).
        reaction_time: Before the stop begins [s].
        times: Since now [s], shape (times,).
    """
    durations = stop_durations(qd, deceleration)
    u = np.clip((times[:, None] - reaction_time) / durations, 0.0, 1.0)
    coasted = np.minimum(times, reaction_time)[:, None]
    return q + qd * (coasted + durations * u * (1.0 - u * u * (1.0 - 0.5 * u)))
