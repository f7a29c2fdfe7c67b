"""Collision checks of quintic splines that leave nothing unseen between samples, by boxes of configurations, compiled.

As for straight motions (`planners.certain`): stretches of the spline are enclosed in boxes of configurations, which are
halved where they are not proved to be free.
"""

from __future__ import annotations

import numpy as np

from ..geometry.raw_calls import call_seven
from ..jit import njit
from .planners.certain import DEEPEST, SHORTEST, WIDEST
from .planners.edges import BOXES, LANES, SCENE

FREE, TOO_MANY = -1, -2
"""In place of the segment of a collision: there is none; more checks would be needed than are allowed."""


@njit(cache=True, nogil=True)
def enclosing_boxes(coefficients):  # type: ignore[no-untyped-def]
    """Lower and upper bounds of each quintic (segments, 6, n): by its control points as a Bézier curve."""
    count, _, n = coefficients.shape
    lower, upper = np.empty((count, n)), np.empty((count, n))
    for i in range(count):
        for j in range(n):
            c = coefficients[i, :, j]
            low = high = c[0]
            for point in (
                c[0] + c[1] / 5.0,
                c[0] + 2.0 * c[1] / 5.0 + c[2] / 10.0,
                c[0] + 3.0 * c[1] / 5.0 + 3.0 * c[2] / 10.0 + c[3] / 10.0,
                c[0] + 4.0 * c[1] / 5.0 + 6.0 * c[2] / 10.0 + 4.0 * c[3] / 10.0 + c[4] / 5.0,
                c[0] + c[1] + c[2] + c[3] + c[4] + c[5],
            ):
                low, high = min(low, point), max(high, point)
            lower[i, j], upper[i, j] = low, high
    return lower, upper


@njit(cache=True, nogil=True)
def box_of(coefficients, lower, upper, first, last, a, b, middle, half):  # type: ignore[no-untyped-def]
    """Writes the box of segments first … last − 1, or of one segment between a and b, whose middle is on the curve."""
    for j in range(middle.shape[0]):
        if last - first > 1:
            low, high = lower[first, j], upper[first, j]
            for i in range(first + 1, last):
                low, high = min(low, lower[i, j]), max(high, upper[i, j])
            middle[j], half[j] = 0.5 * (low + high), 0.5 * (high - low)
            continue
        c, u, way = coefficients[first, :, j], 0.5 * (a + b), 0.5 * (b - a)
        middle[j] = ((((c[5] * u + c[4]) * u + c[3]) * u + c[2]) * u + c[1]) * u + c[0]
        slope = (((5.0 * c[5] * u + 4.0 * c[4]) * u + 3.0 * c[3]) * u + 2.0 * c[2]) * u + c[1]
        bend = 2.0 * abs(c[2]) + (6.0 * abs(c[3]) + (12.0 * abs(c[4]) + 20.0 * abs(c[5]) * b) * b) * b
        half[j] = way * (abs(slope) + 0.5 * way * bend)


@njit(cache=True, nogil=True)
def moved_by(half, weights):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(half.shape[0]):
        total += half[j] * weights[j]
    return total


@njit(cache=True, nogil=True)
def first_contact(code, coefficients, weights, reaches, slack, most, work):  # type: ignore[no-untyped-def]
    """Segment and share of it where a spline first touches something, and the number of configurations checked.

    Args:
        coefficients: Of quintics over [0, 1], shape (segments, 6, n).
        weights: Per joint, so that intervals that move by 1 need no thicker robot [1/rad or 1/m].
        reaches: How far points of the arm move per joint, at most [m/rad or 1].
        slack: Of `check_boxes` [m], shape (2,).
        most: Checks allowed.
    """
    count, _, n = coefficients.shape
    lanes, size = code[LANES], code[LANES] * DEEPEST
    lower, upper = enclosing_boxes(coefficients)
    ranges, shares = np.empty((size, 2), dtype=np.int64), np.empty((size, 2))
    middles, halves = np.empty((lanes, n)), np.empty((lanes, n))
    hits = np.empty(lanes, dtype=np.uint8)
    waiting, following, samples = 0, 0, 0
    segment, share = count, 0.0
    while True:
        taken = 0
        while taken < lanes:
            if waiting > 0:
                waiting -= 1
                first, last, a, b = ranges[waiting, 0], ranges[waiting, 1], shares[waiting, 0], shares[waiting, 1]
                if first > segment or (first == segment and a >= share):
                    continue
                box_of(coefficients, lower, upper, first, last, a, b, middles[taken], halves[taken])
            elif following < min(count, segment + 1):
                # As many segments as stay within the widest box.
                first, last, a, b = following, following + 1, 0.0, 1.0
                box_of(coefficients, lower, upper, first, last, a, b, middles[taken], halves[taken])
                while last < count:
                    box_of(coefficients, lower, upper, first, last + 1, a, b, middles[taken], halves[taken])
                    if not moved_by(halves[taken], reaches) <= WIDEST:
                        box_of(coefficients, lower, upper, first, last, a, b, middles[taken], halves[taken])
                        break
                    last += 1
                following = last
            else:
                break
            # Those in the lanes are kept at the other end of the list.
            spare = size - 1 - taken
            ranges[spare, 0], ranges[spare, 1], shares[spare, 0], shares[spare, 1] = first, last, a, b
            taken += 1
        if taken == 0:
            return (FREE if segment == count else segment), share, samples
        samples += taken
        if samples > most:
            return TOO_MANY, 0.0, samples
        call_seven(
            code[BOXES], code[SCENE], middles, halves, slack, taken,
            work, hits,
        )  # fmt: skip
        for lane in range(taken - 1, -1, -1):
            if hits[lane] == 0:
                continue
            spare = size - 1 - lane
            first, last, a, b = ranges[spare, 0], ranges[spare, 1], shares[spare, 0], shares[spare, 1]
            if last - first > 1:
                between = (first + last) // 2
                ranges[waiting, 0], ranges[waiting, 1], ranges[waiting + 1, 0], ranges[waiting + 1, 1] = (
                    between, last, first, between,
                )  # fmt: skip
                shares[waiting, 0], shares[waiting, 1], shares[waiting + 1, 0], shares[waiting + 1, 1] = (
                    0.0,
                    1.0,
                    0.0,
                    1.0,
                )
                waiting += 2
                continue
            middle = 0.5 * (a + b)
            # A comparison that is false for NaN ends here too.
            if not 2.0 * moved_by(halves[lane], weights) > 1.0 or b - a < SHORTEST:
                if first < segment or (first == segment and middle < share):
                    segment, share = first, middle
                continue
            for k in range(2):
                ranges[waiting + k, 0], ranges[waiting + k, 1] = first, last
            shares[waiting, 0], shares[waiting, 1] = middle, b
            shares[waiting + 1, 0], shares[waiting + 1, 1] = a, middle
            waiting += 2
