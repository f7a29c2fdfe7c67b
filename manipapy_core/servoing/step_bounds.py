"""Bounds of the velocity of one servo cycle, and the state and stop that follow from it; compiled."""

from __future__ import annotations

import numpy as np

from ..jit import njit
from . import stops


@njit(cache=True, nogil=True)
def candidate(state, qd, together, lower, upper, speed, limit, jerk, dt, out, path):  # type: ignore[no-untyped-def]
    """Writes the next state and the stop from it; returns the first joint whose limits they break, or -1."""
    stops.change_velocity(state, qd, together, limit, jerk, dt, out)
    joint, _ = stops.limits_broken(out, lower, upper, speed, limit, jerk)
    if joint < 0:
        stops.stop_positions(out, limit, jerk, path)
    return joint


@njit(cache=True, nogil=True)
def bounded(H, f, rows, distance, own, low, high, rate, security, self_security, retreat):  # type: ignore[no-untyped-def]
    """Rows of unit length, bounds of v and of the rows, the free minimum, and whether it keeps them."""
    count, n = rows.shape
    A, lower, upper = np.empty((count, n)), np.full(n + count, -1e30), np.empty(n + count)
    for j in range(n):
        lower[j], upper[j] = low[j], high[j]
    v = np.linalg.solve(H, -f)
    kept = True
    for j in range(n):
        kept = kept and low[j] <= v[j] <= high[j]
    for k in range(count):
        size, value = 0.0, 0.0
        for j in range(n):
            size += rows[k, j] * rows[k, j]
            value += rows[k, j] * v[j]
        bound = max(rate * (distance[k] - (self_security if own[k] else security)), -retreat)
        kept = kept and value <= bound
        size = max(size**0.5, 1e-9)
        for j in range(n):
            A[k, j] = rows[k, j] / size
        upper[n + k] = bound / size
    return A, lower, upper, v, kept


@njit(cache=True, nogil=True)
def at_limit(qd, low, high, speed):  # type: ignore[no-untyped-def]
    """The first joint whose velocity is bounded by its position limit; -1 if none."""
    for j in range(len(qd)):
        if (qd[j] >= high[j] - 1e-6 and high[j] < 0.99 * speed[j]) or (
            qd[j] <= low[j] + 1e-6 and low[j] > -0.99 * speed[j]
        ):
            return j
    return -1
