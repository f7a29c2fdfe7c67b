"""Subpixel refinement of a disparity search on averaged columns; compiled.

A search on columns averaged in pairs takes a quarter of the time, with an error of a fraction of a full-resolution
pixel. One Gauss-Newton step at full resolution corrects it: the right image is sampled at the searched disparity, and
the residual to the left one over a small window gives the correction (Lucas & Kanade 1981; with the mean of both
gradients, so that the step is exact to second order, Benhimane & Malis 2004). A brightness difference of the cameras
cancels.

What remains of the residual shows whether the match is right: where two objects overlap, or one camera sees what the
other does not, no disparity makes the images agree. Its ratio to the gradients predicts the standard deviation of the
disparity. In areas without texture both consist of noise, so that the prediction is large whatever the noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...jit import njit

HALF_WIDTH = 4
"""Columns of the window on each side of a pixel; it has three rows."""
SMOOTH = 2
"""Neighbours on each side whose disparities are averaged first [columns of the search]; three rows."""
SAME_SURFACE = 12
"""Only neighbours within this difference are averaged [1/16 pixel of the search]."""
MAX_RESIDUAL = np.float32(40.0)
"""Pixels with a larger residual [grey values] show different objects: they are ignored in the step, and count with this
value in the remaining residual."""
DAMPING = np.float32(0.5)
"""Damping of the step per residual variance of the window; without it small windows fit their noise."""
MAX_STEP = np.float32(1.0)
"""Longer steps are rejected [pixels]."""
MIN_GRADIENT_VARIANCE = np.float32(1.0)
"""Minimum variance of the gradients in the window [grey values² per pixel²]."""
MIN_PIXELS = np.float32(4.0)
"""Minimum number of valid pixels in the window."""
ROUNDING = np.float32(0.4)
"""Least variance of a residual [grey values²]: both images are rounded, twice where rows are averaged."""
SUMS = 7


def refined(
    left: NDArray[np.uint8],
    right: NDArray[np.uint8],
    searched: NDArray[np.int16],
    lowest: int,
    step: int,
    max_sigma: float,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Disparities of every column, and how well the images agree there.

    Args:
        left: Rectified, shape (rows, width).
        right: The same.
        searched: Disparities on averaged columns [1/16 of their pixels], shape (rows, width // step).
        lowest: Smaller disparities are invalid [pixels of averaged columns].
        step: Columns of the images per averaged column.
        max_sigma: Disparities with a larger standard deviation are rejected [pixels].

    Returns:
        Disparities [pixels], NaN where the search has no result or it is rejected, and the standard deviations of the
        residual in the windows [grey values]; both of shape (rows, width).
    """
    values, residuals = np.empty(left.shape, np.float32), np.zeros(left.shape, np.float32)
    _smooth(np.ascontiguousarray(searched), 16 * lowest, step, values)
    _refine(left, right, np.float32(max_sigma * max_sigma), values, residuals)
    return values, residuals


@njit(cache=True, nogil=True)
def _smooth(searched, least, step, out):  # type: ignore[no-untyped-def]
    """Disparities of all columns [pixels]: means over a few neighbours on the same surface."""
    rows, narrow = searched.shape
    columns = out.shape[1]
    near, low = np.int32(SAME_SURFACE), np.int32(least)
    scale = np.float32(step) / np.float32(16.0)
    total, count = np.empty(narrow, np.int32), np.empty(narrow, np.int32)
    for v in range(rows):
        out[v, step * narrow : columns] = np.nan
        total[:] = 0
        count[:] = 0
        # One neighbour after the other for a whole row, without branches, so that the loop vectorises.
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
def _refine(left, right, max_variance, values, residuals):  # type: ignore[no-untyped-def]
    rows, columns = left.shape
    # Of three rows: pixel count, sums of gradient, residual and their products, and count of ignored pixels.
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
            _move(window, max_variance, values[v - 1], residuals[v - 1])


@njit(cache=True, nogil=True)
def _compare(left, right, values, latest):  # type: ignore[no-untyped-def]
    """Gradients and residuals of one row at the searched disparities."""
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
        if abs(difference) > MAX_RESIDUAL:
            latest[6, u] = np.float32(1.0)
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
def _move(window, max_variance, values, residuals):  # type: ignore[no-untyped-def]
    """One row of the result, with running sums over the window."""
    columns = values.shape[0]
    n = s = d = ss = sd = dd = ignored = np.float32(0.0)
    for u in range(-HALF_WIDTH, columns):
        enters, leaves = u + HALF_WIDTH, u - HALF_WIDTH - 1
        if enters < columns:
            n += window[0, enters]
            s += window[1, enters]
            d += window[2, enters]
            ss += window[3, enters]
            sd += window[4, enters]
            dd += window[5, enters]
            ignored += window[6, enters]
        if leaves >= 0:
            n -= window[0, leaves]
            s -= window[1, leaves]
            d -= window[2, leaves]
            ss -= window[3, leaves]
            sd -= window[4, leaves]
            dd -= window[5, leaves]
            ignored -= window[6, leaves]
        if u < 0:
            continue
        if np.isnan(values[u]):
            continue
        if n < MIN_PIXELS:
            residuals[u] = MAX_RESIDUAL
            continue
        # Variances and covariance about the mean, so that a brightness offset cancels.
        slopes, both, left_over = ss - s * s / n, sd - s * d / n, max(dd - d * d / n, np.float32(0.0))
        if slopes > MIN_GRADIENT_VARIANCE * n:
            move = both / (slopes + DAMPING * left_over)
            if abs(move) <= MAX_STEP:
                values[u] += move
                left_over = max(left_over - move * (np.float32(2.0) * both - move * slopes), np.float32(0.0))
        variance = (left_over + ignored * MAX_RESIDUAL * MAX_RESIDUAL) / (n + ignored)
        residuals[u] = np.sqrt(variance)
        # The variance of a least-squares step is that of the residual by the sum of the squared gradients.
        if variance + ROUNDING > max_variance * slopes:
            values[u] = np.float32(np.nan)
