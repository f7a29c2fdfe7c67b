"""Compiled collision checks of rounded corners, so dense that what is free at the samples is free in between."""

from __future__ import annotations

import numpy as np

from ..geometry.raw_calls import call_five
from ..jit import njit
from .planners.edges import CHECK, SCENE
from .timing.curves import write_point

BLOCK = 256
"""Configurations that are checked by one call of the checker."""


@njit(cache=True, nogil=True)
def first_hit(code, rows, count, work, hits):  # type: ignore[no-untyped-def]
    """Index of the first of the rows that collides; -1 if none does. Writes a flag for each."""
    call_five(code[CHECK], code[SCENE], rows, count, work, hits)
    for i in range(count):
        if hits[i]:
            return i
    return -1


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
