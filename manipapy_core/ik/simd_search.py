"""Scheduling of starts over SIMD lanes: the branching half of the numeric search, compiled by Numba.

The iteration itself is machine code of the robot compiler and is called by its address, a plain number at run time, so
that what Numba compiles (and keeps on disk) serves every robot. Starts of a pose are counted: −1 is the caller's own
seed, 0 … K−1 are the candidates of the pose's cell in the seed table, and all that follow are points of a sequence
that fills the space between the limits evenly. The same pose therefore always gets the same starts. With many poses,
a lane that ends takes the next start of its pose, the next pose, or a start of another lane's pose.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..jit import njit
from .inputs import POSE_BOUND, POSE_DEFECT
from .seed_table import locate

TURN = 2.0 * math.pi
TARGET, STATE = 12, 5
"""Rows of a lane for the target pose and for `ik_step.STATE`."""
ITERATIONS, ERROR, STALLS, POSITION, ROTATION = range(STATE)
LOWER, UPPER, STRIDE, QUICK, THOROUGH, WEIGHTS = range(6)
"""Rows of the `numbers` of a search: limits to search in, stride of the even sequence, two sets of settings, and
the weights or the axis of the task."""
NUMBERS = 6
NEVER = -1e30
"""Iterations of an idle lane: it never comes to its last one."""


def _call_by_address(typing_context, address, q, target, state, lower, upper, settings, weights):  # type: ignore[no-untyped-def]
    """Calls `llvm.iterate.Iteration` at an address with seven pointers."""
    signature = types.int64(*[types.int64] * 8)

    def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        function = builder.inttoptr(arguments[0], ir.FunctionType(word, [word] * 7).as_pointer())
        return builder.call(function, list(arguments[1:]))

    return signature, generate


call_iteration: Any = intrinsic(_call_by_address)


@njit(cache=True, nogil=True)
def run_lanes(address, work, numbers, settings, n):  # type: ignore[no-untyped-def]
    """Runs all lanes until one ends: bits of the lanes that are solved, and of those that gave up."""
    row, start = work.strides[0], work.ctypes.data
    number_row, number = numbers.strides[0], numbers.ctypes.data
    mask = call_iteration(
        address,
        start,
        start + n * row,
        start + (n + TARGET) * row,
        number + LOWER * number_row,
        number + UPPER * number_row,
        number + settings * number_row,
        number + WEIGHTS * number_row,
    )
    return mask & 0xFFFFFFFF, mask >> 32


@njit(cache=True, nogil=True)
def set_target(work, n, lane, T, i):  # type: ignore[no-untyped-def]
    for r in range(3):
        for c in range(4):
            work[n + 4 * r + c, lane] = T[i, r, c]


@njit(cache=True, nogil=True)
def make_idle(work, n, lane):  # type: ignore[no-untyped-def]
    for row in range(TARGET):
        work[n + row, lane] = np.nan
    work[n + TARGET + ITERATIONS, lane] = NEVER
    work[n + TARGET + ERROR, lane] = 0.0
    work[n + TARGET + STALLS, lane] = 0.0


@njit(cache=True, nogil=True)
def begin(work, numbers, n, lane, start, seeds, table, places, i):  # type: ignore[no-untyped-def]
    """Puts start number `start` of pose i, or the next that fits the limits, into a lane; returns the number after it.

    Whole arrays and an index are passed, here and elsewhere: a view of a row costs as much as using it.
    """
    state_row = n + TARGET
    work[state_row + ITERATIONS, lane] = 0.0
    work[state_row + ERROR, lane] = 1e30
    work[state_row + STALLS, lane] = 0.0
    if start < 0:
        for j in range(n):
            work[j, lane] = min(max(seeds[i, j], numbers[LOWER, j]), numbers[UPPER, j])
        return 0
    candidates, last, cell = table.shape[1], n - 1, np.int64(places[i, 0])
    low_first, high_first = numbers[LOWER, 0], numbers[UPPER, 0]
    low_last, high_last = numbers[LOWER, last], numbers[UPPER, last]
    while start < candidates:
        first_angle = into_range(table[cell, start, 0] + places[i, 1], low_first, high_first)
        last_angle = into_range(table[cell, start, last] + places[i, 2], low_last, high_last)
        if low_first <= first_angle <= high_first and low_last <= last_angle <= high_last:
            for j in range(1, last):  # rounded to float32, it may be a little outside
                work[j, lane] = min(max(table[cell, start, j], numbers[LOWER, j]), numbers[UPPER, j])
            work[0, lane] = first_angle
            work[last, lane] = last_angle
            return start + 1
        start += 1
    for j in range(n):
        share = 0.5 + (start - candidates) * numbers[STRIDE, j]
        work[j, lane] = numbers[LOWER, j] + (share - math.floor(share)) * (numbers[UPPER, j] - numbers[LOWER, j])
    return start + 1


@njit(cache=True, nogil=True)
def into_range(angle, lower, upper):  # type: ignore[no-untyped-def]
    """One turn more or less if that is what takes the angle between the limits; NaN stays NaN."""
    if angle > upper:
        return angle - TURN
    return angle + TURN if angle < lower else angle


@njit(cache=True, nogil=True)
def defect_of(T, i):  # type: ignore[no-untyped-def]
    """How far a matrix is from SE(3): largest element of |R R^T − 1| and of the last row's error; inf if not finite."""
    worst = 0.0
    for a in range(3):
        for b in range(a + 1):
            product = T[i, a, 0] * T[i, b, 0] + T[i, a, 1] * T[i, b, 1] + T[i, a, 2] * T[i, b, 2]
            worst = max(worst, abs(product - (1.0 if a == b else 0.0)))
        worst = max(worst, abs(T[i, 3, a]))
    worst = max(worst, abs(T[i, 3, 3] - 1.0))
    determinant = (
        T[i, 0, 0] * (T[i, 1, 1] * T[i, 2, 2] - T[i, 1, 2] * T[i, 2, 1])
        - T[i, 0, 1] * (T[i, 1, 0] * T[i, 2, 2] - T[i, 1, 2] * T[i, 2, 0])
        + T[i, 0, 2] * (T[i, 1, 0] * T[i, 2, 1] - T[i, 1, 1] * T[i, 2, 0])
    )
    worst = max(worst, abs(determinant - 1.0))
    far = max(abs(T[i, 0, 3]), max(abs(T[i, 1, 3]), abs(T[i, 2, 3])))
    # NaN may get lost in max(), but not in a sum
    total = determinant + T[i, 0, 3] + T[i, 1, 3] + T[i, 2, 3]
    for c in range(4):
        total += T[i, 3, c]
    return worst if abs(total) < np.inf and far <= POSE_BOUND else np.inf


@njit(cache=True, nogil=True)
def defects_of(T, defects):  # type: ignore[no-untyped-def]
    for i in range(T.shape[0]):
        defects[i] = defect_of(T, i)


@njit(cache=True, nogil=True)
def search_one(address, work, numbers, table, frame, seeds, T, settings, start, stop, n, out):  # type: ignore[no-untyped-def]
    """Starts `start` … `stop` − 1 of one pose, as many at a time as there are lanes, until one is solved.

    Args:
        seeds: The caller's own, shape (1, n).
        T: The pose, shape (1, 4, 4).
        out: Written: q, the squared errors of position and rotation, iterations of that start, starts begun, the
            number of the next start. The best start's if none is solved.

    Returns:
        1 if one is solved, 0 if not, −1 if T is too far from SE(3) to be tried.
    """
    if not defect_of(T, 0) <= POSE_DEFECT:
        return -1
    lanes = work.shape[1]
    state_row = n + TARGET
    places = np.zeros((1, 4))
    if max(start, 0) < table.shape[1]:  # a chain without a table has no cells to look in
        locate(T, 0, frame, places)
    best, begun, running = np.inf, 0, 0
    alone = start < 0  # the caller's own seed has priority
    for lane in range(lanes):
        if start < stop and (lane == 0 or not alone):
            set_target(work, n, lane, T, 0)
            start = begin(work, numbers, n, lane, start, seeds, table, places, 0)
            begun += 1
            running += 1
        else:
            make_idle(work, n, lane)
    while running > 0:
        solved, given_up = run_lanes(address, work, numbers, settings, n)
        for lane in range(lanes):
            bit = 1 << lane
            if (solved | given_up) & bit == 0:
                continue
            error = -1.0 if solved & bit else work[state_row + ERROR, lane]
            if error < best:
                best = error
                for j in range(n):
                    out[j] = work[j, lane]
                out[n] = work[state_row + POSITION, lane]
                out[n + 1] = work[state_row + ROTATION, lane]
                out[n + 2] = work[state_row + ITERATIONS, lane]
        out[n + 3] = begun
        out[n + 4] = start
        if solved:
            return 1
        for lane in range(lanes):
            idle = work[state_row + ITERATIONS, lane] < 0.0
            if given_up & (1 << lane) or (idle and start < stop):
                if start < stop:
                    if idle:
                        set_target(work, n, lane, T, 0)
                        running += 1
                    start = begin(work, numbers, n, lane, start, seeds, table, places, 0)
                    begun += 1
                else:
                    make_idle(work, n, lane)
                    running -= 1
    return 0


@njit(cache=True, nogil=True)
def search_many(address, work, numbers, table, frame, seeds, T, settings, next_start, budget, n, solved, error, out):  # type: ignore[no-untyped-def]
    """Up to `budget` starts for each pose that is not solved yet.

    Args:
        seeds: The caller's own, shape (N, n), or (0, n).
        T: Poses, shape (N, 4, 4).
        next_start: Number of each pose's next start; updated.
        solved: Poses to leave alone; updated.
        error: Of the best start so far, weighted and squared; updated.
        out: q, squared errors of position and rotation, iterations, starts begun, shape (N, n + 4); q and errors are
            those of the best start, iterations and starts are added up.
    """
    count, lanes = T.shape[0], work.shape[1]
    state_row = n + TARGET
    places = np.zeros((count, 4))
    if table.shape[1] > 0:
        for i in range(count):
            locate(T, i, frame, places)
    last_start, pose, ended = np.empty(count, np.int64), np.empty(lanes, np.int64), np.empty(lanes, np.bool_)
    for i in range(count):
        last_start[i] = next_start[i] + budget
    for lane in range(lanes):
        pose[lane], ended[lane] = -1, True
    upcoming, helping, running = 0, 0, 0
    while True:
        for lane in range(lanes):
            if not ended[lane]:
                continue
            old = pose[lane]
            chosen = -1
            if old >= 0 and not solved[old] and next_start[old] < last_start[old]:
                chosen = old
            while chosen < 0 and upcoming < count:
                if not solved[upcoming]:
                    chosen = upcoming
                upcoming += 1
            if chosen < 0:  # no new pose is left: help with one that has starts to try
                for _ in range(lanes):
                    helping = (helping + 1) % lanes
                    other = pose[helping]
                    # the caller's own seed has priority
                    own_seed_runs = other >= 0 and seeds.shape[0] > 0 and next_start[other] == 0
                    if other >= 0 and not own_seed_runs and not solved[other] and next_start[other] < last_start[other]:
                        chosen = other
                        break
            running += (1 if chosen >= 0 else 0) - (1 if old >= 0 else 0)
            pose[lane] = chosen
            ended[lane] = False
            if chosen < 0:
                make_idle(work, n, lane)
                continue
            if chosen != old:
                set_target(work, n, lane, T, chosen)
            next_start[chosen] = begin(work, numbers, n, lane, next_start[chosen], seeds, table, places, chosen)
            out[chosen, n + 3] += 1.0
        if running == 0:
            return
        done, given_up = run_lanes(address, work, numbers, settings, n)
        for lane in range(lanes):
            bit = 1 << lane
            if (done | given_up) & bit == 0:
                continue
            ended[lane] = True
            i = pose[lane]
            out[i, n + 2] += work[state_row + ITERATIONS, lane]
            value = -1.0 if done & bit else work[state_row + ERROR, lane]
            if value < error[i]:
                error[i] = value
                for j in range(n):
                    out[i, j] = work[j, lane]
                out[i, n] = work[state_row + POSITION, lane]
                out[i, n + 1] = work[state_row + ROTATION, lane]
            if done & bit and not solved[i]:
                solved[i] = True
                for other in range(lanes):  # those that helped are free
                    if pose[other] == i:
                        ended[other] = True
