"""Path shortening: corners are skipped, then random shortcuts are tried."""

from __future__ import annotations

import math

import numpy as np

from ...jit import njit
from ...typing import Array
from ..space import STEP, PlanningSpace
from .edges import is_free, next_random, seed_random

TRIES = 100
"""Random shortcuts."""
FINER = 8.0
"""Factor on the sampling density of the second attempt, if the first collides between its samples."""


def shorten(space: PlanningSpace, path: Array, *, tries: int = TRIES, seed: int = 0) -> Array:
    """A path from the same start to the same end that is not longer and certainly free.

    Args:
        path: Corners of a certainly free polyline [rad or m], shape (points, n).
        tries: Random shortcuts to try.
    """
    rows = np.ascontiguousarray(path, dtype=np.float64)
    random = np.zeros(1, dtype=np.uint64)
    for step in (STEP, STEP / FINER):
        seed_random(random, seed)
        shorter, count = cut(space.code, rows, step, space.no_weights, tries, random, space.work(), space.counters)
        if space.first_blocked(shorter[:count]) < 0:
            return shorter[:count].copy()
    seed_random(random, seed)
    weights = space.certifying_weights
    shorter, count = cut(space.code, rows, STEP, weights, tries, random, space.work(), space.counters)
    return shorter[:count].copy()


@njit(cache=True, nogil=True)
def cut(code, path, step, weights, tries, random, work, counters):  # type: ignore[no-untyped-def]
    """Rows of which the first are the corners that are left, and how many those are."""
    n = path.shape[1]
    begin, end = np.empty(n), np.empty(n)
    rows = np.empty((path.shape[0] + 2 * tries + 2, n))
    for i in range(path.shape[0]):
        for j in range(n):
            rows[i, j] = path[i, j]
    count = skip_corners(code, rows, path.shape[0], step, weights, work, counters, begin, end)
    for _ in range(tries):
        if count < 3:
            break
        length = polyline_length(rows, count)
        first, second = next_random(random) * length, next_random(random) * length
        i = point_at(rows, count, min(first, second), begin)
        j = point_at(rows, count, max(first, second), end)
        if i == j or not is_free(code, begin, end, step, weights, work, counters):
            continue
        count = replace_between(rows, count, i, j, begin, end)
    return rows, count


@njit(cache=True, nogil=True)
def skip_corners(code, rows, count, step, weights, work, counters, begin, end):  # type: ignore[no-untyped-def]
    """Joins each corner to the farthest later one that is free in a straight line."""
    i = 0
    while i < count - 2:
        j = count - 1
        while j > i + 1:
            for k in range(rows.shape[1]):
                begin[k], end[k] = rows[i, k], rows[j, k]
            if is_free(code, begin, end, step, weights, work, counters):
                for r in range(j, count):
                    move_row(rows, r, i + 1 + r - j)
                count -= j - i - 1
                break
            j -= 1 if j - i < 6 else (j - i) // 3
        i += 1
    return count


@njit(cache=True, nogil=True)
def polyline_length(rows, count):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(count - 1):
        square = 0.0
        for j in range(rows.shape[1]):
            square += (rows[i + 1, j] - rows[i, j]) ** 2
        total += math.sqrt(square)
    return total


@njit(cache=True, nogil=True)
def point_at(rows, count, distance, point):  # type: ignore[no-untyped-def]
    """Puts the point so far along the polyline into `point`; returns the number of its piece."""
    for i in range(count - 1):
        square = 0.0
        for j in range(rows.shape[1]):
            square += (rows[i + 1, j] - rows[i, j]) ** 2
        length = math.sqrt(square)
        if distance <= length or i == count - 2:
            share = min(distance / length, 1.0) if length > 0.0 else 0.0
            for j in range(rows.shape[1]):
                point[j] = rows[i, j] + share * (rows[i + 1, j] - rows[i, j])
            return i
        distance -= length
    return 0


@njit(cache=True, nogil=True)
def replace_between(rows, count, i, j, begin, end):  # type: ignore[no-untyped-def]
    """Corners up to i, the two points, and corners after j; returns how many there are."""
    shift = i + 2 - j
    if shift > 0:
        for r in range(count - 1, j, -1):
            move_row(rows, r, r + shift)
    else:
        for r in range(j + 1, count):
            move_row(rows, r, r + shift)
    for k in range(rows.shape[1]):
        rows[i + 1, k], rows[i + 2, k] = begin[k], end[k]
    return count + shift


@njit(cache=True, nogil=True)
def move_row(rows, source, target):  # type: ignore[no-untyped-def]
    """Element by element: assigning whole rows takes Numba seconds to compile."""
    for k in range(rows.shape[1]):
        rows[target, k] = rows[source, k]
