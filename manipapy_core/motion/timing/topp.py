"""The fastest speed along a path under bounds that are linear in the squared speed x and the acceleration u along it.

Reachability analysis after H. Pham and Q.-C. Pham, "A New Approach to Time-Optimal Path Parameterization based on
Reachability Analysis", IEEE T-RO 2018: backwards the largest squared speed from which one can still stop in time, then
forwards as fast as that allows. Each bound −c ≤ a u + b x ≤ d holds at both ends of every interval. Standing still is
always allowed here (c, d ≥ 0), so only the upper ends of the sets need to be known, and each is found by eliminating u
from pairs of bounds.
"""

from __future__ import annotations

import numpy as np

from ...errors import ManipapyError
from ...jit import njit
from ...typing import Array

FLAT = 1e-12
"""Coefficients of u smaller than this count as none."""


class NoTimeLaw(ManipapyError):
    """No speed along a path obeys the bounds."""

    def __init__(self, at: float):
        super().__init__(
            f"at length {at:.4g} of the path the bounds allow no motion; check that the arm can hold itself there"
        )
        self.at = at


def fastest_squared_speeds(
    grid: Array, a: Array, b: Array, least: Array, most: Array, ceiling: Array
) -> tuple[Array, Array]:
    """Squared speed at every point of a grid and acceleration in every interval, at rest at both ends.

    Args:
        grid: Lengths along the path, rising, shape (N,).
        a: Coefficients of the acceleration in each bound, shape (N, bounds).
        b: Coefficients of the squared speed, shape (N, bounds).
        least: What a u + b x must not fall below, not positive, shape (N, bounds).
        most: What it must not exceed, not negative, shape (N, bounds).
        ceiling: Largest squared speed, shape (N,).
    """
    grid, a, b, least, most, ceiling = (
        np.ascontiguousarray(values, dtype=np.float64) for values in (grid, a, b, least, most, ceiling)
    )
    x, u = np.empty(len(grid)), np.empty(len(grid) - 1)
    stuck = int(sweep(grid, a, b, least, most, ceiling, x, u))
    if stuck >= 0:
        raise NoTimeLaw(float(grid[stuck]))
    return x, u


@njit(cache=True, nogil=True)
def sweep(grid, a, b, least, most, ceiling, x, u):  # type: ignore[no-untyped-def]
    """Backwards, then forwards; returns where it is stuck or where standing still is not allowed, or -1."""
    N, bounds = a.shape
    for i in range(N):
        for k in range(bounds):
            if least[i, k] > 0.0 or most[i, k] < 0.0:
                return i
    slopes, levels, coupling = np.empty(4 * bounds + 2), np.empty(4 * bounds + 2), np.empty(4 * bounds + 2)
    scratch = np.empty((4, 4 * bounds + 2))
    x[N - 1] = 0.0
    for i in range(N - 2, -1, -1):
        count = write_bounds(i, grid, a, b, least, most, x[i + 1], slopes, coupling, levels)
        x[i] = largest_x(count, slopes, coupling, levels, ceiling[i], scratch)
    x[0] = 0.0
    for i in range(N - 1):
        count = write_bounds(i, grid, a, b, least, most, x[i + 1], slopes, coupling, levels)
        best = 1e300
        for k in range(count):
            if slopes[k] > FLAT:
                best = min(best, (levels[k] - coupling[k] * x[i]) / slopes[k])
        width = grid[i + 1] - grid[i]
        ahead = min(max(x[i] + 2.0 * width * best, 0.0), x[i + 1])
        if ahead <= 0.0 and x[i] <= 0.0 and i < N - 2:
            return i
        u[i] = (ahead - x[i]) / (2.0 * width)
        x[i + 1] = ahead
    return -1


@njit(cache=True, nogil=True)
def write_bounds(i, grid, a, b, least, most, x_next, slopes, coupling, levels):  # type: ignore[no-untyped-def]
    """All bounds on an interval as slope · u + coupling · x ≤ level; returns how many there are."""
    bounds, width = a.shape[1], 2.0 * (grid[i + 1] - grid[i])
    for k in range(bounds):
        slopes[4 * k], coupling[4 * k], levels[4 * k] = a[i, k], b[i, k], most[i, k]
        slopes[4 * k + 1], coupling[4 * k + 1], levels[4 * k + 1] = -a[i, k], -b[i, k], -least[i, k]
        # At the far end the squared speed is x + 2 Δ u.
        slope = a[i + 1, k] + width * b[i + 1, k]
        slopes[4 * k + 2], coupling[4 * k + 2], levels[4 * k + 2] = slope, b[i + 1, k], most[i + 1, k]
        slopes[4 * k + 3], coupling[4 * k + 3], levels[4 * k + 3] = -slope, -b[i + 1, k], -least[i + 1, k]
    last = 4 * bounds
    slopes[last], coupling[last], levels[last] = width, 1.0, x_next
    slopes[last + 1], coupling[last + 1], levels[last + 1] = -width, -1.0, 0.0
    return last + 2


@njit(cache=True, nogil=True)
def largest_x(count, slopes, coupling, levels, ceiling, scratch):  # type: ignore[no-untyped-def]
    """The largest x ≤ ceiling for which some u obeys all bounds: u eliminated from every pair of an upper and a lower.

    Bounds with u are divided by their slope first, so that a pair is one subtraction.
    """
    best = ceiling
    above = below = 0
    upper_level, upper_coupling, lower_level, lower_coupling = scratch[0], scratch[1], scratch[2], scratch[3]
    for k in range(count):
        if slopes[k] > FLAT:
            upper_level[above], upper_coupling[above] = levels[k] / slopes[k], coupling[k] / slopes[k]
            above += 1
        elif slopes[k] < -FLAT:
            lower_level[below], lower_coupling[below] = levels[k] / slopes[k], coupling[k] / slopes[k]
            below += 1
        elif coupling[k] * best > levels[k]:
            best = levels[k] / coupling[k]
    for i in range(above):
        for j in range(below):
            # lower_level − lower_coupling x ≤ u ≤ upper_level − upper_coupling x
            factor = upper_coupling[i] - lower_coupling[j]
            room = upper_level[i] - lower_level[j]
            if factor * best > room:
                best = room / factor if factor > 0.0 else best
    return max(best, 0.0)
