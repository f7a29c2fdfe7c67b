"""RRT-Connect, compiled: two trees grow towards each other, one from the start, one from all goals at once.

After J. Kuffner and S. LaValle, "RRT-Connect: An Efficient Approach to Single-Query Path Planning", ICRA 2000; the
smaller tree grows. The first samples are drawn near start and goals, where most paths lead through: panda's
searches take a fifth less time so, ur5's as long as before. Nothing is random but by the seed; a sequence of low
discrepancy in place of random numbers needs as many iterations (measured in four kinds of scene). The search runs in
slices and keeps its state in arrays, so that the caller can check its deadline in between.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...geometry.raw_calls import call_six
from ...jit import njit
from ...typing import Array
from ..space import RANGE, PlanningSpace
from .edges import NEAREST, is_free_onwards, next_random, seed_random

FIRST_CAPACITY = 512
MOST_LANES = 16
"""The capacity is a multiple of this many nodes, which are compared at once."""
ROOM = 32
"""Nodes that are free at the beginning of an iteration: more than one adds."""
NEAR_SAMPLES = 60
"""So many samples are drawn near start and goals first: most paths lead through there."""
SLICE = 1024
"""Iterations between two checks of the deadline: a few milliseconds."""

DOMAIN, SMALLEST_DOMAIN, SHRINKING = 4.0, 1.0, 0.9999
"""A node from which an extension failed is extended towards samples within its domain only [rad or m], which shrinks
with every further failure (A. Yershova et al., "Dynamic-Domain RRTs", ICRA 2005): it is likely at an obstacle."""

SEARCHING, FOUND, FULL = range(3)
MEETING = 3
"""Index in `counts` of the two nodes at which the trees met, after the sizes of the trees and the iterations."""


@dataclass(eq=False)
class Trees:
    """The state of a search: tree 0 from the start, tree 1 from the goals."""

    nodes: Array
    """[rad or m], shape (2, capacity, n)."""
    columns: NDArray[np.float32]
    """The same joint by joint, to find the nearest node; shape (2, n, capacity)."""
    parents: NDArray[np.int64]
    """-1 for a root, shape (2, capacity)."""
    counts: NDArray[np.int64]
    """Nodes of either tree, iterations, and where the trees met."""
    random: NDArray[np.uint64]
    domains: Array
    """How far samples may be from each node for it to be extended [rad or m], shape (2, capacity)."""

    @classmethod
    def planted(cls, start: Array, goals: Array, seed: int) -> Trees:
        trees = cls.empty(start.size, max(FIRST_CAPACITY, 2 * len(goals)))
        plant(trees.nodes, trees.columns, trees.parents, trees.counts, trees.random, trees.domains, start, goals, seed)
        return trees

    @classmethod
    def empty(cls, n: int, capacity: int) -> Trees:
        """Memory for trees of at least so many nodes."""
        capacity = -(-capacity // MOST_LANES) * MOST_LANES
        return cls(
            np.empty((2, capacity, n)), np.empty((2, n, capacity), dtype=np.float32),
            np.empty((2, capacity), dtype=np.int64), np.empty(5, dtype=np.int64), np.empty(1, dtype=np.uint64),
            np.empty((2, capacity)),
        )  # fmt: skip

    @property
    def iterations(self) -> int:
        return int(self.counts[2])

    def grow(self) -> None:
        """Doubles the capacity."""
        self.nodes = np.concatenate([self.nodes, np.empty_like(self.nodes)], axis=1)
        self.columns = np.concatenate([self.columns, np.empty_like(self.columns)], axis=2)
        self.parents = np.concatenate([self.parents, np.empty_like(self.parents)], axis=1)
        self.domains = np.concatenate([self.domains, np.empty_like(self.domains)], axis=1)

    def path(self) -> Array:
        """From the start to a goal through the meeting point, shape (points, n)."""
        path: Array = joined_path(self.nodes, self.parents, self.counts)
        return path


_kept = threading.local()
"""Of each thread: memory of its last search, for the next one."""


def begin(space: PlanningSpace, start: Array, goals: Array, seed: int, step: float) -> tuple[Array | None, Trees]:
    """Tries the straight motions to the goals in their order, then searches for one slice, all in compiled code.

    Returns:
        The path if there is one, and the trees: to continue with, or if there is a path until the next search begins.
    """
    trees: Trees | None = getattr(_kept, "trees", None)
    if trees is None or trees.nodes.shape[2] != start.size or trees.nodes.shape[1] < 2 * len(goals):
        trees = Trees.empty(start.size, max(FIRST_CAPACITY, 2 * len(goals)))
    _kept.trees = None
    path: Array = begin_search(
        space.code, start, goals, seed, trees.nodes, trees.columns, trees.parents, trees.counts, trees.random,
        trees.domains, space.bounds, RANGE, step, space.no_weights, SLICE, space.work(), space.counters,
    )  # fmt: skip
    if not len(path):
        return None, trees
    _kept.trees = trees
    return path, trees


def search(space: PlanningSpace, trees: Trees, iterations: int, step: float) -> int:
    """Continues a search: FOUND, or SEARCHING after so many iterations.

    Args:
        step: Joint distance of the samples of a motion [rad or m].
    """
    last = int(trees.counts[2]) + iterations
    while True:
        answer = int(
            connect(
                space.code, trees.nodes, trees.columns, trees.parents, trees.counts, trees.random, trees.domains,
                space.bounds, RANGE, step, space.no_weights, last, space.work(), space.counters,
            )
        )  # fmt: skip
        if answer != FULL:
            return answer
        trees.grow()


@njit(cache=True, nogil=True)
def plant(nodes, columns, parents, counts, random, domains, start, goals, seed):  # type: ignore[no-untyped-def]
    """The roots of the trees."""
    counts[0], counts[1], counts[2], counts[3], counts[4] = 0, 0, 0, -1, -1
    add_node(nodes, columns, parents, counts, domains, 0, -1, start)
    for goal in range(goals.shape[0]):
        add_node(nodes, columns, parents, counts, domains, 1, -1, goals[goal])
    seed_random(random, seed)


@njit(cache=True, nogil=True)
def begin_search(  # type: ignore[no-untyped-def]
    code, start, goals, seed, nodes, columns, parents, counts, random, domains, bounds, reach, step, weights, last,
    work, counters,
):  # fmt: skip
    """The path; of no points if none is found yet."""
    plant(nodes, columns, parents, counts, random, domains, start, goals, seed)
    goal = first_free(code, start, goals, step, weights, work, counters)
    if goal >= 0:
        counts[MEETING], counts[MEETING + 1] = 0, goal
    elif connect(
        code, nodes, columns, parents, counts, random, domains, bounds, reach, step, weights, last, work, counters
    ) != FOUND:  # fmt: skip
        return np.empty((0, start.shape[0]))
    return joined_path(nodes, parents, counts)


@njit(cache=True, nogil=True)
def joined_path(nodes, parents, counts):  # type: ignore[no-untyped-def]
    """From the start through the meeting point to a goal; the trees meet in one point that both hold."""
    n, points = nodes.shape[2], 0
    for tree in range(2):
        index = counts[MEETING + tree]
        while index >= 0:
            points += 1
            index = parents[tree, index]
    rows = np.empty((points, n))
    index = counts[MEETING]
    last = 0
    while index >= 0:
        last += 1
        index = parents[0, index]
    index = counts[MEETING]
    for row in range(last - 1, -1, -1):
        for j in range(n):
            rows[row, j] = nodes[0, index, j]
        index = parents[0, index]
    index = counts[MEETING + 1]
    while index >= 0:
        same = True
        for j in range(n):
            rows[last, j] = nodes[1, index, j]
            same = same and rows[last, j] == rows[last - 1, j]
        # A path has two points at least.
        last += 0 if same and (last > 1 or parents[1, index] >= 0) else 1
        index = parents[1, index]
    return rows[:last].copy()


@njit(cache=True, nogil=True)
def first_free(code, start, goals, step, weights, work, counters):  # type: ignore[no-untyped-def]
    """Index of the first goal that is free in a straight line from the start; -1 for none."""
    for goal in range(goals.shape[0]):
        if is_free_onwards(code, start, goals[goal], step, weights, work, counters):
            return goal
    return -1


@njit(cache=True, nogil=True)
def nearest(code, columns, tree, count, q, short):  # type: ignore[no-untyped-def]
    """Index of the node of a tree that is nearest to q; `short` is scratch memory in single precision, shape (n,)."""
    for j in range(q.shape[0]):
        short[j] = q[j]
    n, capacity = columns.shape[1], columns.shape[2]
    return call_six(code[NEAREST], columns, tree * n * capacity, capacity, n, count, short)


@njit(cache=True, nogil=True)
def add_node(nodes, columns, parents, counts, domains, tree, parent, q):  # type: ignore[no-untyped-def]
    index = counts[tree]
    for j in range(q.shape[0]):
        nodes[tree, index, j] = columns[tree, j, index] = q[j]
    parents[tree, index], domains[tree, index] = parent, np.inf
    counts[tree] = index + 1
    return index


@njit(cache=True, nogil=True)
def take_node(nodes, tree, index, goal, begin):  # type: ignore[no-untyped-def]
    """Puts a node into `begin`; returns its squared distance to a goal."""
    square = 0.0
    for j in range(goal.shape[0]):
        begin[j] = nodes[tree, index, j]
        square += (goal[j] - begin[j]) ** 2
    return square


@njit(cache=True, nogil=True)
def towards(begin, goal, square, reach, end):  # type: ignore[no-untyped-def]
    """Puts a point at most `reach` from `begin` on the way to a goal into `end`; True at the goal.

    Args:
        square: Squared distance of the two.
    """
    if square <= reach * reach:
        for j in range(goal.shape[0]):
            end[j] = goal[j]
        return True
    share = reach / np.sqrt(square)
    for j in range(goal.shape[0]):
        end[j] = begin[j] + share * (goal[j] - begin[j])
    return False


@njit(cache=True, nogil=True)
def connect(  # type: ignore[no-untyped-def]
    code, nodes, columns, parents, counts, random, domains, bounds, reach, step, weights, last, work, counters
):
    capacity, n = nodes.shape[1], nodes.shape[2]
    sample, begin, end, ahead = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    short = np.empty(n, dtype=np.float32)
    while counts[2] < last:
        if max(counts[0], counts[1]) > capacity - ROOM:
            return FULL
        counts[2] += 1
        tree, wide = 0 if counts[0] <= counts[1] else 1, 0 if counts[2] <= NEAR_SAMPLES else 1
        for j in range(n):
            lower, upper = bounds[wide, 0, j], bounds[wide, 1, j]
            sample[j] = lower + (upper - lower) * next_random(random)
        near = nearest(code, columns, tree, counts[tree], sample, short)
        square = take_node(nodes, tree, near, sample, begin)
        if square > domains[tree, near] ** 2:
            continue
        towards(begin, sample, square, reach, end)
        if not is_free_onwards(code, begin, end, step, weights, work, counters):
            domains[tree, near] = max(min(domains[tree, near] * SHRINKING, DOMAIN), SMALLEST_DOMAIN)
            continue
        new = add_node(nodes, columns, parents, counts, domains, tree, near, end)
        other = 1 - tree
        near = nearest(code, columns, other, counts[other], end, short)
        while counts[other] < capacity - 1:
            square = take_node(nodes, other, near, end, begin)
            arrived = towards(begin, end, square, reach, ahead)
            if not is_free_onwards(code, begin, ahead, step, weights, work, counters):
                break
            if arrived:
                counts[MEETING + tree] = new
                counts[MEETING + other] = near
                return FOUND
            near = add_node(nodes, columns, parents, counts, domains, other, near, ahead)
    return SEARCHING
