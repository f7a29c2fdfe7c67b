"""Bounds of the velocity of one servo cycle, and the state and stop that follow from it; compiled."""

from __future__ import annotations

import math

import numpy as np

from ..jit import njit
from . import stops
from .way_to_rest import set_weights, variations, way_to_rest


@njit(cache=True, nogil=True)
def candidate(state, qd, together, lower, upper, speed, limit, jerk, dt, gaps, allowed, out, path):  # type: ignore[no-untyped-def]
    """Writes the next state and configurations to check until rest.

    Returns:
        The first joint whose limits they break, or -1; and how many configurations, 0 if they are too many.
    """
    stops.change_velocity(state, qd, together, limit, jerk, dt, out)
    joint, _ = stops.limits_broken(out, lower, upper, speed, limit, jerk)
    if joint < 0:
        joint = stops.broken_between(state, out, lower, upper, speed, dt)
    if joint >= 0:
        return joint, 0
    n = len(qd)
    levers, clear, apart, pairs, frame, mechanism = gaps
    moved, weights = np.empty(n), np.empty(n)
    variations(state, out, limit, jerk, dt, moved)
    # The levers grow with the motion; another candidate of the same cycle begins with those of the configuration.
    set_weights(moved, levers.copy(), clear, apart, pairs, frame, mechanism, allowed, weights)
    return -1, way_to_rest(state, out, limit, jerk, dt, weights, path)


@njit(cache=True, nogil=True)
def free_minimum(H, f, v):  # type: ignore[no-untyped-def]
    """Writes the v that minimises ½ vᵀ H v + fᵀ v, by Cholesky's factors; NaN unless H is positive definite."""
    n = len(f)
    L = np.empty((n, n))
    for a in range(n):
        v[a] = -f[a]
        for b in range(a + 1):
            total = H[a, b]
            for m in range(b):
                total -= L[a, m] * L[b, m]
            if a == b:
                L[a, a] = math.sqrt(total) if total > 0.0 else math.nan
            else:
                L[a, b] = total / L[b, b]
        for m in range(a):
            v[a] -= L[a, m] * v[m]
        v[a] /= L[a, a]
    for a in range(n - 1, -1, -1):
        for m in range(a + 1, n):
            v[a] -= L[m, a] * v[m]
        v[a] /= L[a, a]


@njit(cache=True, nogil=True)
def bounded(H, f, rows, distance, own, low, high, gains, retreat, A, lower, upper, v):  # type: ignore[no-untyped-def]
    """Writes rows of unit length, bounds of v and of the rows, and the free minimum; whether it keeps the bounds.

    Args:
        gains: Speed of approach per distance [1/s], security distances to objects and between links [m].
        retreat: Speed at which the arm backs off from what is nearer [m/s].
    """
    count, n = rows.shape
    for j in range(n):
        lower[j], upper[j] = low[j], high[j]
    free_minimum(H, f, v)
    kept = True
    for j in range(n):
        kept = kept and low[j] <= v[j] <= high[j]
    for k in range(count):
        size, value = 0.0, 0.0
        for j in range(n):
            size += rows[k, j] * rows[k, j]
            value += rows[k, j] * v[j]
        bound = max(gains[0] * (distance[k] - (gains[2] if own[k] else gains[1])), -retreat)
        kept = kept and value <= bound
        size = max(size**0.5, 1e-9)
        for j in range(n):
            A[k, j] = rows[k, j] / size
        lower[n + k], upper[n + k] = -1e30, bound / size
    return kept


@njit(cache=True, nogil=True)
def at_limit(qd, low, high, speed):  # type: ignore[no-untyped-def]
    """The first joint whose velocity is bounded by its position limit; -1 if none."""
    for j in range(len(qd)):
        if (qd[j] >= high[j] - 1e-6 and high[j] < 0.99 * speed[j]) or (
            qd[j] <= low[j] + 1e-6 and low[j] > -0.99 * speed[j]
        ):
            return j
    return -1


@njit(cache=True, nogil=True)
def most_missing(distance, own, security, self_security):  # type: ignore[no-untyped-def]
    """The pair that is nearest compared with the distance it should keep, and how much of that is missing [m]."""
    worst, most = -1, -np.inf
    for k in range(len(distance)):
        missing = (self_security if own[k] else security) - distance[k]
        if missing > most:
            worst, most = k, missing
    return worst, most


@njit(cache=True, nogil=True)
def free_velocity(q, posture, rows, distance, own, speed, gains, out):  # type: ignore[no-untyped-def]
    """Writes a velocity towards the posture and away from obstacles, for joints that the tip leaves free."""
    posture_gain, clearance_gain, posture_speed, influence, self_influence = gains
    for j in range(len(q)):
        out[j] = posture_gain * (posture[j] - q[j])
    for k in range(len(distance)):
        share = 1.0 - distance[k] / (self_influence if own[k] else influence)
        if share > 0.0:
            for j in range(len(q)):
                out[j] -= clearance_gain * share * rows[k, j]
    most = 1.0
    for j in range(len(q)):
        most = max(most, abs(out[j]) / (posture_speed * speed[j]))
    for j in range(len(q)):
        out[j] /= most
