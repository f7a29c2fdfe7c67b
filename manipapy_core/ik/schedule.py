"""Many poses through the lanes: a lane that ends takes the next start of its pose, the next pose, or helps another."""

from __future__ import annotations

import numpy as np
from numba import njit

from .cells import locate
from .lanes import (
    ERROR,
    ITERATIONS,
    POSITION,
    ROTATION,
    TARGET,
    begin,
    put_to_sleep,
    run_lanes,
    set_target,
)


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
    books = n + TARGET
    places = np.zeros((count, 4))
    if table.shape[1] > 0:
        for i in range(count):
            locate(T, i, frame, places)
    last_start = next_start + budget
    pose = np.full(lanes, -1)
    ended = np.ones(lanes, np.bool_)
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
                    # nobody may overtake the caller's own seed
                    own_seed_runs = other >= 0 and seeds.shape[0] > 0 and next_start[other] == 0
                    if other >= 0 and not own_seed_runs and not solved[other] and next_start[other] < last_start[other]:
                        chosen = other
                        break
            running += (1 if chosen >= 0 else 0) - (1 if old >= 0 else 0)
            pose[lane] = chosen
            ended[lane] = False
            if chosen < 0:
                put_to_sleep(work, n, lane)
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
            out[i, n + 2] += work[books + ITERATIONS, lane]
            value = -1.0 if done & bit else work[books + ERROR, lane]
            if value < error[i]:
                error[i] = value
                for j in range(n):
                    out[i, j] = work[j, lane]
                out[i, n] = work[books + POSITION, lane]
                out[i, n + 1] = work[books + ROTATION, lane]
            if done & bit and not solved[i]:
                solved[i] = True
                for other in range(lanes):  # those that helped are free
                    if pose[other] == i:
                        ended[other] = True
