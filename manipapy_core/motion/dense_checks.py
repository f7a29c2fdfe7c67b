"""Compiled collision checks of curves, so dense that what is free at the samples is free in between."""

from __future__ import annotations

import math

import numpy as np

from ..geometry.raw_calls import call_five
from ..jit import njit
from .planners.edges import CHECK, SCENE
from .timing.curves import write_point

BLOCK = 256
"""Configurations that are checked by one call of the checker."""
TOO_MANY = -2
"""In place of a segment: there are more samples than allowed."""


@njit(cache=True, nogil=True)
def first_hit(code, rows, count, work, hits):  # type: ignore[no-untyped-def]
    """Index of the first of the rows that collides; -1 if none does. Writes a flag for each."""
    call_five(code[CHECK], code[SCENE], rows.ctypes.data, count, work.ctypes.data, hits.ctypes.data)
    for i in range(count):
        if hits[i]:
            return i
    return -1


@njit(cache=True, nogil=True)
def intervals_of(c, weights, step):  # type: ignore[no-untyped-def]
    """Into how many parts a quintic is cut: a joint moves at most by the sizes of its polynomial's terms.

    Args:
        c: Coefficients, shape (6, n).
        weights: Units that the farthest point of the arm moves per joint [1/rad or 1/m].
        step: Euclidean distance over the joints [rad or m].
    """
    travel, square = 0.0, 0.0
    for j in range(c.shape[1]):
        way, bent = 0.0, 0.0
        for order in range(1, 6):
            way += c[order, j]
            if order > 1:
                bent += abs(c[order, j])
        most = min(abs(way) + bent, abs(c[1, j]) + bent)
        travel += most * weights[j]
        square += most * most
    return max(1.0, math.ceil(max(travel, math.sqrt(square) / step)))


@njit(cache=True, nogil=True)
def check_segments(code, coefficients, pending, weights, step, touched, stop, most, work):  # type: ignore[no-untyped-def]
    """Checks those segments of a spline that are pending.

    Args:
        touched: Set where a segment touches.
        stop: End at the first contact.
        most: Samples allowed.

    Returns:
        Segment of the last contact or -1, the share of it where that is, and the number of samples.
    """
    n = coefficients.shape[2]
    rows, hits = np.empty((BLOCK, n)), np.empty(BLOCK, dtype=np.uint8)
    owners, shares = np.empty(BLOCK, dtype=np.int64), np.empty(BLOCK)
    filled, samples, hit, where, known = 0, 0, -1, 0.0, False
    for i in range(coefficients.shape[0] + 1):
        ended = i == coefficients.shape[0]
        parts, first = -1, 1
        if not ended and pending[i]:
            c = coefficients[i]
            needed = intervals_of(c, weights, step)
            if samples + needed > most:
                return TOO_MANY, 0.0, samples + int(min(needed, 1e15))
            parts, first = int(needed), 1 if known else 0
            known = True  # the end of this segment is the start of the next one
        else:
            known = False
        for part in range(first, parts + 1):
            u = part / parts
            for j in range(n):
                rows[filled, j] = ((((c[5, j] * u + c[4, j]) * u + c[3, j]) * u + c[2, j]) * u + c[1, j]) * u + c[0, j]
            owners[filled], shares[filled] = i, u
            filled += 1
            if filled == BLOCK:
                samples += filled
                index = first_hit(code, rows, filled, work, hits)
                if index >= 0:
                    if stop:
                        return owners[index], shares[index], samples
                    hit, where = owners[index], shares[index]
                    mark(owners, shares, hits, filled, touched)
                filled = 0
        if ended and filled:
            samples += filled
            index = first_hit(code, rows, filled, work, hits)
            if index >= 0:
                hit, where = owners[index], shares[index]
                mark(owners, shares, hits, filled, touched)
    return hit, where, samples


@njit(cache=True, nogil=True)
def mark(owners, shares, hits, count, touched):  # type: ignore[no-untyped-def]
    """Notes the segments of colliding samples; a sample at an end belongs to the next segment as well."""
    for i in range(count):
        if hits[i]:
            touched[owners[i]] = True
            if shares[i] == 1.0 and owners[i] + 1 < touched.shape[0]:
                touched[owners[i] + 1] = True


@njit(cache=True, nogil=True)
def corner_touches(code, corners, directions, marks, radii, corner, parts, rows, hits, work):  # type: ignore[no-untyped-def]
    """Whether a curved piece of a rounded polyline collides at the ends of so many parts of it."""
    slope, bend = np.empty(corners.shape[1]), np.empty(corners.shape[1])
    filled = 0
    for part in range(parts + 1):
        s = marks[corner + 1] + radii[corner] * (2.0 * (part / parts) - 1.0)
        write_point(corners, directions, marks, radii, s, rows[filled], slope, bend)
        filled += 1
        if filled == BLOCK or part == parts:
            if first_hit(code, rows, filled, work, hits) >= 0:
                return True
            filled = 0
    return False


@njit(cache=True, nogil=True)
def shrink_radii(thick, fine, corners, directions, marks, radii, thick_weights, fine_weights, step, smallest, work):  # type: ignore[no-untyped-def]
    """Halves each corner radius of a rounded polyline until its curve is free, or the radius is below the smallest.

    Most curves are found blocked at a few samples, and most others are clear of a thicker robot, which needs fewer
    samples; what is left is checked with the robot itself.
    """
    n = corners.shape[1]
    rows, hits = np.empty((BLOCK, n)), np.empty(BLOCK, dtype=np.uint8)
    for corner in range(radii.shape[0]):
        thick_travel, fine_travel = 0.0, 0.0
        for j in range(n):
            fastest = max(abs(directions[corner, j]), abs(directions[corner + 1, j]))
            thick_travel += fastest * thick_weights[j]
            fine_travel += fastest * fine_weights[j]
        while radii[corner] > smallest:
            length = 2.0 * radii[corner]
            few, some, many = int(length / step) + 1, int(length * thick_travel) + 2, int(length * fine_travel) + 2
            if not corner_touches(fine, corners, directions, marks, radii, corner, few, rows, hits, work) and (
                not corner_touches(thick, corners, directions, marks, radii, corner, some, rows, hits, work)
                or not corner_touches(fine, corners, directions, marks, radii, corner, many, rows, hits, work)
            ):
                break
            # Close to the corner the curve is within the margin of the corner itself, which is free.
            radii[corner] *= 0.5
