"""RRT-Connect along path constraints, compiled: every step towards a sample is projected back onto them.

After D. Berenson, S. Srinivasa, D. Ferguson and J. Kuffner, "Manipulation Planning on Constraint Manifolds", ICRA 2009.
Steps are so short that the straight motion between two of them keeps the constraints; that is checked too. Shortcuts
are straight where that is inside the tolerances, and follow the constraints where it is not.
"""

from __future__ import annotations

import itertools

import numpy as np

from ...jit import njit
from ...typing import Array
from ..constraints.compiled import ACCEPT, AIM, COARSE, FINE, LIMIT, PathConstraints
from ..constraints.projection import holds, project
from ..deadline import Deadline, Stopped
from ..result import PlanStatus
from ..space import RANGE, STEP, PlanningSpace
from .edges import is_free, next_random, seed_random
from .registry import RESEED, RESTART_AFTER, FoundPath
from .rrt_connect import FOUND, FULL, MEETING, SEARCHING, Trees, add_node, nearest
from .shortcut import point_at, polyline_length, replace_between

SLICE = 64
"""Iterations between two checks of the deadline: a few milliseconds."""
DIRECT = 16
"""Goals that are tried directly before anything random."""
ROOM = 64
"""Nodes that one branch may add; longer ones continue at the next iteration."""
HALVINGS = 3
"""Of a step whose straight motion leaves the tolerances."""
REPAIRS = 12
"""Rounds in which pieces of a path that leave the tolerances between samples are split."""


def constrained_path(
    space: PlanningSpace, constraints: PathConstraints, start: Array, goals: Array, seed: int, deadline: Deadline
) -> FoundPath:
    """A certainly free path that keeps constraints.

    Raises:
        Stopped: None was found in the time.
    """
    iterations, budget = 0, RESTART_AFTER // 4
    while True:
        trees = Trees.planted(start, goals, seed)
        found = False
        while not found and trees.iterations < budget:
            _check(deadline, len(goals))
            found = search(space, constraints, trees, SLICE) == FOUND
        iterations += trees.iterations
        if found:
            path = repaired(space, constraints, trees.path())
            if path is not None and space.first_blocked(path) < 0:
                return FoundPath(path, iterations)
        seed, budget = seed + RESEED, 2 * budget


def _check(deadline: Deadline, goals: int) -> None:
    """Raises `Stopped` as the deadline does, with what a timeout may mean here."""
    try:
        deadline.check()
    except Stopped as end:
        if end.status is not PlanStatus.TIMEOUT:
            raise
        raise Stopped(
            PlanStatus.TIMEOUT,
            f"no motion along the path constraints was found in {deadline.timeout:g} s; they may separate the start "
            f"from all {goals} goals: allow more time, widen a tolerance or choose another goal",
        ) from None


def search(space: PlanningSpace, constraints: PathConstraints, trees: Trees, iterations: int) -> int:
    """Continues a search: FOUND, or SEARCHING after so many iterations."""
    last = int(trees.counts[2]) + iterations
    while True:
        answer = int(
            connect(
                constraints.tables, space.code, trees.nodes, trees.columns, trees.parents, trees.counts, trees.random,
                trees.domains, space.lower, space.upper, constraints.step, space.no_weights, last, space.work(),
                space.counters,
            )
        )  # fmt: skip
        if answer != FULL:
            return answer
        trees.grow()


def repaired(space: PlanningSpace, constraints: PathConstraints, path: Array) -> Array | None:
    """The path with pieces split until each keeps the constraints at fine samples; None if that fails."""
    rows = list(path)
    for _ in range(REPAIRS):
        better, bad = [rows[0]], 0
        for a, b in itertools.pairwise(rows):
            if not constraints.line_holds(a, b):
                middle = constraints.project(0.5 * (a + b), space.lower, space.upper)
                if middle is None:
                    return None
                better.append(middle)
                bad += 1
            better.append(b)
        rows = better
        if not bad:
            return np.array(rows)
    return None


def constrained_straight(space: PlanningSpace, constraints: PathConstraints, start: Array, goals: Array) -> FoundPath:
    """The straight joint motion to the first goal for which it is free and keeps the constraints."""
    free = [goal for goal in goals if space.is_free(start, goal)]
    if not free:
        raise Stopped(PlanStatus.NO_PATH, "the straight motion to every goal is blocked; use another planner")
    for goal in free:
        if constraints.line_holds(start, goal):
            return FoundPath(np.stack([start, goal]), 0)
    shares = np.linspace(0.0, 1.0, 200)[:, None]
    line = start + shares * (free[0] - start)
    worst = line[int(np.argmax(constraints.worst(line)))]
    what = constraints.violation(worst) or "a path constraint is kept only just"
    raise Stopped(PlanStatus.NO_PATH, f"on the straight motion {what}; use another planner")


def shorten_along(space: PlanningSpace, constraints: PathConstraints, path: Array, tries: int, seed: int) -> Array:
    """A path between the same ends that is not longer, certainly free, and keeps the constraints."""
    random = np.zeros(1, dtype=np.uint64)
    for weights in (space.no_weights, space.certifying_weights):
        seed_random(random, seed)
        rows, count = cut(
            constraints.tables, space.code, np.ascontiguousarray(path), space.lower, space.upper, constraints.step,
            weights, tries, random, space.work(), space.counters,
        )  # fmt: skip
        shorter = repaired(space, constraints, rows[:count].copy())
        if shorter is not None and space.first_blocked(shorter) < 0:
            return shorter
    return path


@njit(cache=True, nogil=True)
def advance(tables, code, begin, goal, lower, upper, step, weights, work, counters, ahead):  # type: ignore[no-untyped-def]
    """Puts the next configuration from `begin` towards a goal into `ahead`; 0 stuck, 1 on the way, 2 at the goal."""
    n = begin.shape[0]
    square = 0.0
    for j in range(n):
        square += (goal[j] - begin[j]) ** 2
    distance = np.sqrt(square)
    if distance < 1e-12:
        for j in range(n):
            ahead[j] = goal[j]
        return 2
    for halving in range(HALVINGS + 1):
        length = min(step / 2.0**halving, distance)
        whole_way = length >= distance
        for j in range(n):
            ahead[j] = goal[j] if whole_way else begin[j] + length / distance * (goal[j] - begin[j])
        if not whole_way and not project(*tables, ahead, lower, upper, ACCEPT, AIM):
            return 0
        moved, left = 0.0, 0.0
        for j in range(n):
            moved += (ahead[j] - begin[j]) ** 2
            left += (goal[j] - ahead[j]) ** 2
        # A projection that throws far back or aside leads nowhere.
        if np.sqrt(moved) > 2.0 * length or np.sqrt(left) > distance - 0.1 * length:
            return 0
        if not holds(*tables, begin, ahead, COARSE, LIMIT):
            continue
        if not is_free(code, begin, ahead, STEP, weights, work, counters):
            return 0
        return 2 if whole_way else 1
    return 0


@njit(cache=True, nogil=True)
def connect(  # type: ignore[no-untyped-def]
    tables, code, nodes, columns, parents, counts, random, domains, lower, upper, step, weights, last, work, counters
):
    capacity, n = nodes.shape[1], nodes.shape[2]
    sample, begin, ahead, end = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    short = np.empty(n, dtype=np.float32)
    while counts[2] < last:
        if max(counts[0], counts[1]) > capacity - ROOM - 2:
            return FULL
        tree = 0 if counts[0] <= counts[1] else 1
        first = counts[2] == 0
        counts[2] += 1
        if first:
            tree, new = 0, 0
        else:
            for j in range(n):
                sample[j] = lower[j] + (upper[j] - lower[j]) * next_random(random)
            new = nearest(code, columns, tree, counts[tree], sample, short)
            root, travelled = new, 0.0
            while travelled < RANGE:
                for j in range(n):
                    begin[j] = nodes[tree, new, j]
                state = advance(tables, code, begin, sample, lower, upper, step, weights, work, counters, ahead)
                if state == 0:
                    break
                new = add_node(nodes, columns, parents, counts, domains, tree, new, ahead)
                travelled += step
                if state == 2 or counts[tree] > capacity - 2:
                    break
            if new == root:
                continue
        for j in range(n):
            end[j] = nodes[tree, new, j]
        other = 1 - tree
        for goal in range(min(counts[other], DIRECT) if first else 1):
            near = goal if first else nearest(code, columns, other, counts[other], end, short)
            for _ in range(ROOM):
                for j in range(n):
                    begin[j] = nodes[other, near, j]
                state = advance(tables, code, begin, end, lower, upper, step, weights, work, counters, ahead)
                if state == 0 or counts[other] > capacity - 2:
                    break
                if state == 2:
                    counts[MEETING + tree] = new
                    counts[MEETING + other] = near
                    return FOUND
                near = add_node(nodes, columns, parents, counts, domains, other, near, ahead)
    return SEARCHING


@njit(cache=True, nogil=True)
def cut(tables, code, path, lower, upper, step, weights, tries, random, work, counters):  # type: ignore[no-untyped-def]
    """Rows of which the first are the corners that are left, and how many those are."""
    n = path.shape[1]
    begin, end, here, ahead = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    rows = np.empty((path.shape[0] + 2 * tries + 4 * ROOM, n))
    track = np.empty((ROOM, n))
    for i in range(path.shape[0]):
        for j in range(n):
            rows[i, j] = path[i, j]
    count = path.shape[0]
    for attempt in range(tries):
        if attempt % 16 == 0:
            count = skip_corners(tables, code, rows, count, weights, work, counters, begin, end)
        if count < 3:
            break
        length = polyline_length(rows, count)
        first, second = next_random(random) * length, next_random(random) * length
        i = point_at(rows, count, min(first, second), begin)
        k = point_at(rows, count, max(first, second), end)
        if i == k:
            continue
        straight = holds(*tables, begin, end, COARSE, LIMIT)
        if straight:
            if is_free(code, begin, end, STEP, weights, work, counters):
                count = replace_between(rows, count, i, k, begin, end)
            continue
        # Along the constraints, if that is shorter than the way there is.
        most, points, total, state = 0.98 * abs(second - first), 0, 0.0, 1
        for j in range(n):
            here[j] = begin[j]
        while state == 1 and points < ROOM - 1:
            state = advance(tables, code, here, end, lower, upper, step, weights, work, counters, ahead)
            square = 0.0
            for j in range(n):
                square += (ahead[j] - here[j]) ** 2
                here[j] = track[points, j] = ahead[j]
            total += np.sqrt(square)
            points += 1
            if total > most:
                state = 0
        if state != 2 or count + points > rows.shape[0] - 4:
            continue
        count = replace_between(rows, count, i, k, begin, end)
        # Room for the points between the two that were put in.
        inner = points - 1
        for r in range(count - 1, i + 1, -1):
            for j in range(n):
                rows[r + inner, j] = rows[r, j]
        for r in range(inner):
            for j in range(n):
                rows[i + 2 + r, j] = track[r, j]
        count += inner
    count = skip_corners(tables, code, rows, count, weights, work, counters, begin, end)
    return rows, count


@njit(cache=True, nogil=True)
def skip_corners(tables, code, rows, count, weights, work, counters, begin, end):  # type: ignore[no-untyped-def]
    """Joins each corner to the farthest later one that a straight motion reaches."""
    i = 0
    while i < count - 2:
        j = count - 1
        while j > i + 1:
            for k in range(rows.shape[1]):
                begin[k], end[k] = rows[i, k], rows[j, k]
            if holds(*tables, begin, end, FINE, LIMIT) and is_free(code, begin, end, STEP, weights, work, counters):
                for r in range(j, count):
                    for k in range(rows.shape[1]):
                        rows[i + 1 + r - j, k] = rows[r, k]
                count -= j - i - 1
                break
            j -= 1 if j - i < 6 else (j - i) // 3
        i += 1
    return count
