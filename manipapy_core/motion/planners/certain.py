"""Straight motions that are free between their samples too, proved by boxes of configurations, compiled.

A motion is cut into intervals. Each is checked in its middle by a robot that is thicker by how far its points move from
there (`Checker.check_boxes`); where that one touches something, the interval is halved. Motions in open space are
proved by a few checks, and only what is near an obstacle is looked at closely. The intervals of several motions stand
side by side in the lanes.
"""

from __future__ import annotations

import math

import numpy as np

from ...geometry.raw_calls import call_seven
from ...jit import njit
from .edges import BOXES, COUNTED_EDGES, COUNTED_SAMPLES, LANES, SCENE

WIDEST = 0.02
"""How far points of the arm move from the middle of the first intervals [m]."""
SHORTEST = 1e-12
"""Share of a motion that is not halved any more."""
DEEPEST = 72
"""Levels of halving, and a few more."""


@njit(cache=True, nogil=True)
def travel_of(rows, i, weights):  # type: ignore[no-untyped-def]
    """How far a piece of a polyline moves by weights per joint."""
    total = 0.0
    for j in range(rows.shape[1]):
        total += abs(rows[i + 1, j] - rows[i, j]) * weights[j]
    return total


@njit(cache=True, nogil=True)
def first_uncertain(code, rows, weights, reaches, slack, work, counters):  # type: ignore[no-untyped-def]
    """Number of the first piece of a polyline (rows, n) that is not certainly free; -1 if all are.

    Args:
        weights: Per joint, so that intervals that move by 1 need no thicker robot [1/rad or 1/m].
        reaches: How far points of the arm move per joint, at most [m/rad or 1].
        slack: Of `check_boxes` [m], shape (2,).
    """
    n, pieces, lanes = rows.shape[1], rows.shape[0] - 1, code[LANES]
    total = 0.0
    for i in range(pieces):
        total += travel_of(rows, i, reaches)
    # Lanes that would be idle make the intervals shorter.
    longest = min(2.0 * WIDEST, total / lanes)
    counters[COUNTED_EDGES] += pieces
    piece, begin, end = (
        np.empty(lanes * DEEPEST, dtype=np.int64),
        np.empty(lanes * DEEPEST),
        np.empty(lanes * DEEPEST),
    )
    middles, halves = np.empty((lanes, n)), np.empty((lanes, n))
    hits = np.empty(lanes, dtype=np.uint8)
    waiting, next_piece, part, parts, blocked = 0, 0, 0, 1, pieces
    while True:
        # The first intervals of the polyline wait at the end of the list; more are cut off when these are few.
        taken = 0
        while taken < lanes:
            if waiting > 0:
                waiting -= 1
                i, a, b = piece[waiting], begin[waiting], end[waiting]
                if i >= blocked:
                    continue
            elif next_piece < blocked:
                if part == 0:
                    way = travel_of(rows, next_piece, reaches)
                    parts = max(1, math.ceil(way / longest)) if longest > 0.0 else 1
                i, a, b = next_piece, part / parts, (part + 1) / parts
                part += 1
                if part == parts:
                    next_piece, part = next_piece + 1, 0
            else:
                break
            # Written behind those that wait, which are at most as many as the lanes for each level.
            spare = piece.shape[0] - 1 - taken
            piece[spare], begin[spare], end[spare] = i, a, b
            for j in range(n):
                way = rows[i + 1, j] - rows[i, j]
                middles[taken, j] = rows[i, j] + 0.5 * (a + b) * way
                halves[taken, j] = 0.5 * (b - a) * abs(way)
            taken += 1
        if taken == 0:
            return -1 if blocked == pieces else blocked
        counters[COUNTED_SAMPLES] += lanes
        call_seven(
            code[BOXES], code[SCENE], middles, halves, slack, taken,
            work, hits,
        )  # fmt: skip
        for lane in range(taken - 1, -1, -1):
            if hits[lane] == 0:
                continue
            spare = piece.shape[0] - 1 - lane
            i, a, b = piece[spare], begin[spare], end[spare]
            middle = 0.5 * (a + b)
            # A comparison that is false for NaN ends here too.
            if not (b - a) * travel_of(rows, i, weights) > 1.0 or b - a < SHORTEST:
                blocked = min(blocked, i)
                continue
            piece[waiting], begin[waiting], end[waiting] = i, middle, b
            piece[waiting + 1], begin[waiting + 1], end[waiting + 1] = i, a, middle
            waiting += 2
