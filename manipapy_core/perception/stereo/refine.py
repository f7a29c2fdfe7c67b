"""Disparities of a search on narrowed pictures, made exact on the wide ones; compiled.

A search that averages columns in pairs takes a quarter of the time, and misses by a fraction of a pixel of the wide
picture. There one Gauss-Newton step is enough: the right picture is read where the search says, and what is left of the
difference to the left one, over a small window, tells how far to move (Lucas & Kanade 1981; with the mean of both
slopes, so that the step is exact to second order, Benhimane & Malis 2004). A difference of brightness between the
cameras drops out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...jit import njit

HALF_WIDTH = 4
"""Columns of the window on each side of a pixel; it has three rows."""
SMOOTH = 2
"""Neighbours on each side whose disparities are averaged before [columns of the search]; three rows."""
SAME_SURFACE = 12
"""If they differ by no more than this [1/16 pixel of the search]."""
STRANGER = np.float32(40.0)
"""Pixels that differ more [grey values] show another thing in each picture and do not count."""
CAUTION = np.float32(0.5)
"""How strongly the result stays with the search, times the noise of the grey values over the window; without, small
windows follow their noise."""
FARTHEST = np.float32(1.0)
"""A longer step [pixels] is a mistake of the window, not of the search."""
LEAST_SLOPE = np.float32(1.0)
"""Least variance of slopes in the window [grey values² per pixel²]; with less there is nothing to align."""
LEAST_PIXELS = np.float32(4.0)
SUMS = 6


def refined(
    left: NDArray[np.uint8], right: NDArray[np.uint8], searched: NDArray[np.int16], lowest: int, step: int
) -> NDArray[np.float32]:
    """Disparities of every column.

    Args:
        left: Rectified, shape (rows, width).
        right: The same.
        searched: Disparities of the narrowed pictures [1/16 of their pixels], shape (rows, width // step).
        lowest: Smaller disparities of the search are none [pixels of the narrowed pictures].
        step: Columns of the pictures per column of the search.

    Returns:
        [pixels]; NaN where the search found nothing, shape (rows, width).
    """
    values = np.empty(left.shape, np.float32)
    _smooth(np.ascontiguousarray(searched), 16 * lowest, step, values)
    _refine(left, right, values)
    return values


@njit(cache=True, nogil=True)
def _smooth(searched, least, step, out):  # type: ignore[no-untyped-def]
    """Disparities of all columns [pixels] from those of some: means over a few neighbours of the same surface."""
    rows, narrow = searched.shape
    columns = out.shape[1]
    near, low = np.int32(SAME_SURFACE), np.int32(least)
    scale = np.float32(step) / np.float32(16.0)
    total, count = np.empty(narrow, np.int32), np.empty(narrow, np.int32)
    for v in range(rows):
        out[v, step * narrow : columns] = np.nan
        total[:] = 0
        count[:] = 0
        # One neighbour after the other for a whole row, without branches: the processor then does several at once.
        for w in range(max(v - 1, 0), min(v + 2, rows)):
            for shift in range(-SMOOTH, SMOOTH + 1):
                first, last = max(-shift, 0), narrow - max(shift, 0)
                values, here = searched[w, first + shift : last + shift], searched[v, first:last]
                totals, counts = total[first:last], count[first:last]
                _add_same(values, here, low, near, totals, counts)
        for c in range(narrow):
            mean = np.float32(np.nan)
            if searched[v, c] >= least:
                mean = scale * np.float32(total[c]) / np.float32(count[c])
            for k in range(step):
                out[v, step * c + k] = mean


@njit(cache=True, nogil=True)
def _add_same(values, here, low, near, totals, counts):  # type: ignore[no-untyped-def]
    for i in range(values.shape[0]):
        value = np.int32(values[i])
        apart = value - np.int32(here[i])
        same = np.int32((value >= low) & (apart <= near) & (apart >= -near))
        totals[i] += np.int32(same * value)
        counts[i] += same


@njit(cache=True, nogil=True)
def _refine(left, right, values):  # type: ignore[no-untyped-def]
    rows, columns = left.shape
    # Of three rows: how many pixels count, and the sums of slope, difference and their products.
    ring = np.zeros((3, SUMS, columns), np.float32)
    window = np.zeros((SUMS, columns), np.float32)
    for v in range(rows + 1):
        latest = ring[v % 3]
        for k in range(SUMS):
            for u in range(columns):
                window[k, u] -= latest[k, u]
        latest[:] = np.float32(0.0)
        if v < rows:
            _compare(left[v], right[v], values[v], latest)
        for k in range(SUMS):
            for u in range(columns):
                window[k, u] += latest[k, u]
        if v > 0:
            _move(window, values[v - 1])


@njit(cache=True, nogil=True)
def _compare(left, right, values, latest):  # type: ignore[no-untyped-def]
    """Slopes and differences of one row, where the search puts it."""
    columns = left.shape[0]
    quarter = np.float32(0.25)
    for u in range(1, columns - 1):
        x = np.float32(u) - values[u]
        # Written so that NaN fails.
        if not (x >= np.float32(1.0) and x < np.float32(columns - 2)):
            continue
        i = int(x)
        f = x - np.float32(i)
        before, a = np.float32(right[i - 1]), np.float32(right[i])
        b, after = np.float32(right[i + 1]), np.float32(right[i + 2])
        difference = a + f * (b - a) - np.float32(left[u])
        if abs(difference) > STRANGER:
            continue
        slope_right = b - before + f * (after - a - b + before)
        slope = quarter * (slope_right + np.float32(left[u + 1]) - np.float32(left[u - 1]))
        latest[0, u] = np.float32(1.0)
        latest[1, u] = slope
        latest[2, u] = difference
        latest[3, u] = slope * slope
        latest[4, u] = slope * difference
        latest[5, u] = difference * difference


@njit(cache=True, nogil=True)
def _move(window, values):  # type: ignore[no-untyped-def]
    """One row of the result; the sums run along with the window."""
    columns = values.shape[0]
    n = s = d = ss = sd = dd = np.float32(0.0)
    for u in range(-HALF_WIDTH, columns):
        enters, leaves = u + HALF_WIDTH, u - HALF_WIDTH - 1
        if enters < columns:
            n += window[0, enters]
            s += window[1, enters]
            d += window[2, enters]
            ss += window[3, enters]
            sd += window[4, enters]
            dd += window[5, enters]
        if leaves >= 0:
            n -= window[0, leaves]
            s -= window[1, leaves]
            d -= window[2, leaves]
            ss -= window[3, leaves]
            sd -= window[4, leaves]
            dd -= window[5, leaves]
        if u < 0:
            continue
        if n < LEAST_PIXELS or np.isnan(values[u]):
            continue
        # Variances and covariance about the mean: brightness as a whole may differ.
        slopes, both, left_over = ss - s * s / n, sd - s * d / n, max(dd - d * d / n, np.float32(0.0))
        if slopes > LEAST_SLOPE * n:
            move = both / (slopes + CAUTION * left_over)
            if abs(move) <= FARTHEST:
                values[u] += move
