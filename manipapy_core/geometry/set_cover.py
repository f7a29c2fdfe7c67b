"""Which of many balls to take so that they hold some points: the greedy set cover.

Always the ball that holds most of the points not held yet is taken. What every ball would gain is kept up to date: when
a point is first held, it is taken off all balls that hold it, so the whole choice costs about as much as finding out
which ball holds which point.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..jit import njit
from ..typing import Array


def choose_balls(centres: Array, radii: Array, points: Array) -> list[int]:
    """Balls that hold all points that any ball holds, by number; none whose points others hold as well.

    Args:
        centres: [m], shape (balls, 3).
        radii: [m], shape (balls,).
        points: [m], shape (points, 3).
    """
    if not len(centres) or not len(points):
        return []
    columns = np.ascontiguousarray(centres.T)
    return [int(ball) for ball in _choose(columns, radii, np.ascontiguousarray(points))]


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _choose(centres: Array, radii: Array, points: Array) -> NDArray[np.int64]:
    count, balls = len(points), len(radii)
    held = np.empty((count, balls), dtype=np.uint8)
    gains = np.zeros(balls, dtype=np.int32)
    xs, ys, zs, squares = centres[0], centres[1], centres[2], radii * radii
    for i in range(count):
        x, y, z = points[i, 0], points[i, 1], points[i, 2]
        row = held[i]
        for c in range(balls):
            a, b, d = x - xs[c], y - ys[c], z - zs[c]
            row[c] = np.uint8(a * a + b * b + d * d < squares[c])
        for c in range(balls):
            gains[c] += row[c]
    chosen, turns = np.empty(count, dtype=np.int64), 0
    times_held = np.zeros(count, dtype=np.int32)
    while True:
        best, most = -1, 0
        # Of equal ones the last, which is nearer to the middle of a part: so a few spheres less are needed.
        for c in range(balls - 1, -1, -1):
            if gains[c] > most:
                best, most = c, gains[c]
        if best < 0:
            break
        chosen[turns] = best
        turns += 1
        for i in range(count):
            if held[i, best]:
                if times_held[i] == 0:
                    row = held[i]
                    for c in range(balls):
                        gains[c] -= row[c]
                times_held[i] += 1
    return _needed(chosen[:turns], held, times_held)


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _needed(chosen: NDArray[np.int64], held: NDArray[np.uint8], times_held: NDArray[np.int32]) -> NDArray[np.int64]:
    """The chosen balls without those whose points other chosen ones hold as well."""
    kept, number = np.empty(len(chosen), dtype=np.int64), 0
    for ball in chosen:
        needed = False
        for i in range(len(held)):
            if held[i, ball] and times_held[i] == 1:
                needed = True
                break
        if needed:
            kept[number] = ball
            number += 1
        else:
            for i in range(len(held)):
                times_held[i] -= held[i, ball]
    return kept[:number]
