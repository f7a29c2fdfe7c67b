"""Path shortening: corners are skipped, then random shortcuts are tried."""

from __future__ import annotations

import math

import numpy as np

from ...jit import njit
from ...typing import Array
from ..space import STEP, PlanningSpace
from .certain import first_uncertain
from .edges import is_free_onwards, next_random, seed_random

TRIES = 100
"""Random shortcuts."""
EMPTY_TRIES = 30
"""Shortcuts one after the other that did not make the path shorter, after which no more are tried."""
LEAST_GAIN = 0.01
"""Share of its length by which a shortcut must be shorter to be tried."""


def shorten(space: PlanningSpace, path: Array, *, tries: int = TRIES, seed: int = 0) -> Array:
    """A path from the same start to the same end that is not longer and certainly free.

    Args:
        path: Corners of a certainly free polyline [rad or m], shape (points, n).
        tries: Random shortcuts to try.
    """
    shorter = shorten_uncertain(space, path, tries=tries, seed=seed)
    return path if shorter is None else shorter


def shorten_uncertain(space: PlanningSpace, path: Array, *, tries: int = TRIES, seed: int = 0) -> Array | None:
    """As `shorten`, of a path that is free at samples; None if what comes out is not certainly free."""
    # Most shortcuts are free between their samples too: the result is proved first, each shortcut only if that fails.
    for prove in (False, True):
        shorter = _shortened(space, path, tries, seed, prove)
        if space.first_blocked(shorter) < 0:
            return shorter
    return None


def _shortened(space: PlanningSpace, path: Array, tries: int, seed: int, prove: bool) -> Array:
    """A path that is not longer, of which shortcuts are free at samples, or certainly free."""
    rows, random = np.ascontiguousarray(path, dtype=np.float64), np.zeros(1, dtype=np.uint64)
    shorter: Array = cut(
        space.code, rows, prove, STEP, space.no_weights, space.certifying_weights, space.reaches, space.slack, tries,
        random, seed, space.work(), space.counters,
    )  # fmt: skip
    return shorter


@njit(cache=True, nogil=True)
def cut(  # type: ignore[no-untyped-def]
    code, path, prove, step, weights, fine_weights, reaches, slack, tries, random, seed, work, counters
):
    """The corners that are left."""
    seed_random(random, seed)
    n = path.shape[1]
    ends = np.empty((2, n))
    begin, end = ends[0], ends[1]
    rows = np.empty((path.shape[0] + 2 * tries + 2, n))
    for i in range(path.shape[0]):
        for j in range(n):
            rows[i, j] = path[i, j]
    count = path.shape[0]
    if not prove:
        count = skip_corners(code, rows, count, step, weights, work, counters, begin, end)
    empty = 0
    for _ in range(tries):
        if count < 3 or empty == EMPTY_TRIES:
            break
        empty += 1
        length = polyline_length(rows, count)
        first, second = next_random(random) * length, next_random(random) * length
        i = point_at(rows, count, min(first, second), begin)
        j = point_at(rows, count, max(first, second), end)
        square = 0.0
        for k in range(n):
            square += (end[k] - begin[k]) ** 2
        if i == j or math.sqrt(square) > (1.0 - LEAST_GAIN) * abs(second - first):
            continue
        if is_free_onwards(code, begin, end, step, weights, work, counters) and (
            not prove or first_uncertain(code, ends, fine_weights, reaches, slack, work, counters) < 0
        ):
            count, empty = replace_between(rows, count, i, j, begin, end), 0
    return rows[:count].copy()


@njit(cache=True, nogil=True)
def skip_corners(code, rows, count, step, weights, work, counters, begin, end):  # type: ignore[no-untyped-def]
    """Joins each corner to the farthest later one that is free in a straight line."""
    i = 0
    while i < count - 2:
        j = count - 1
        while j > i + 1:
            for k in range(rows.shape[1]):
                begin[k], end[k] = rows[i, k], rows[j, k]
            if is_free_onwards(code, begin, end, step, weights, work, counters):
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
