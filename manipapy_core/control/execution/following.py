"""The usual tick of a trajectory in one compiled call: where the arm should be, and whether it is near enough."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..kernels import Input, absolute, compile_formula, largest
from ..state import Array
from .clock import PathClock
from .spline import TERMS, Segment, evaluate


def follow(
    n: int, when: Sequence[Any], coefficients: Sequence[Any], q: Sequence[Any], allowed: Sequence[Any]
) -> list[Any]:
    """Motion at full speed and as the clock stretches it, 3×n numbers each, and the largest excess over a tolerance.

    Args:
        when: Time within the segment over its length, one over that length [1/s], rate of the clock, its change [1/s].
        coefficients: Of the segment, 6×n row by row.
        q: Where the arm is [rad or m], n numbers.
        allowed: How far from the reference it may be [rad or m], n numbers.
    """
    u, per_length, rate, change = when
    full = evaluate(n, [u], [per_length], coefficients)
    position, velocity, acceleration = full[:n], full[n : 2 * n], full[2 * n :]
    # d²q/dt² = q'' r² + q' dr/dt
    stretched = [a * (rate * rate) + v * change for v, a in zip(velocity, acceleration)]
    excess = [absolute(wanted - actual) - most for wanted, actual, most in zip(position, q, allowed)]
    return [*full, *position, *(v * rate for v in velocity), *stretched, largest(excess)]


@functools.cache
def _kernel(n: int) -> Any:
    inputs = [Input("when", (4,)), Input("coefficients", (TERMS, n)), Input("q", (n,)), Input("allowed", (n,))]
    return compile_formula(f"following_{n}", inputs, (6 * n + 1,), functools.partial(follow, n))


class FollowingSegment:
    """Steps along one segment of a spline.

    Args:
        n: How many joints.
    """

    def __init__(self, n: int):
        self._kernel: Any = _kernel(n)
        self._when, self._result = np.zeros(4), np.zeros(6 * n + 1)
        self.motion = self._result[:-1]
        """The two that follow, shape (6 n,); a buffer."""
        self.full_speed = self._result[: 3 * n].reshape(3, n)
        """Position, velocity and acceleration by trajectory time, shape (3, n); a buffer."""
        self.reference = self._result[3 * n : 6 * n].reshape(3, n)
        """The same by time, shape (3, n); a buffer."""

    def step(self, segment: Segment, clock: PathClock, q: Array, allowed: Array) -> bool:
        """Writes the reference of a tick; False: it cannot be computed so, or the arm is not within its tolerance.

        Args:
            segment: The one that the clock is in.
            clock: Of the trajectory.
            q: Where the arm is [rad or m], shape (n,).
            allowed: How far from the reference it may be [rad or m], shape (n,).
        """
        when, result = self._when, self._result
        when[0], when[1], when[2], when[3] = segment.share(clock.t), segment.rate, clock.rate, clock.rate_change
        return self._kernel(when, segment.coefficients, q, allowed, result) and result.item(-1) <= 0.0
