"""RRT-Connect, compiled: two trees grow towards each other, one from the start, one from all goals at once.

After J. Kuffner and S. LaValle, "RRT-Connect: An Efficient Approach to Single-Query Path Planning", ICRA 2000; the
smaller tree grows. Nothing is random but by the seed; a sequence of low discrepancy in place of random numbers needs
as many iterations (measured in four kinds of scene). The search runs in slices and keeps its state in arrays, so that
the caller can check its deadline in between.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...jit import njit
from ...typing import Array
from ..space import RANGE, PlanningSpace
from .edges import is_free_onwards, next_random, seed_random

FIRST_CAPACITY = 512
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
    """Joint by joint, so that distances to all nodes are computed side by side; shape (2, n, capacity)."""
    parents: NDArray[np.int64]
    """-1 for a root, shape (2, capacity)."""
    counts: NDArray[np.int64]
    """Nodes of either tree, iterations, and where the trees met."""
    random: NDArray[np.uint64]
    distances: Array
    """Scratch, shape (capacity,)."""
    domains: Array
    """How far samples may be from each node for it to be extended [rad or m], shape (2, capacity)."""

    @classmethod
    def planted(cls, start: Array, goals: Array, seed: int) -> Trees:
        return cls(*new_trees(start, goals, seed, FIRST_CAPACITY))

    @property
    def iterations(self) -> int:
        return int(self.counts[2])

    def grow(self) -> None:
        """Doubles the capacity."""
        self.nodes = np.concatenate([self.nodes, np.empty_like(self.nodes)], axis=2)
        self.parents = np.concatenate([self.parents, np.empty_like(self.parents)], axis=1)
        self.distances = np.empty(self.nodes.shape[2])
        self.domains = np.concatenate([self.domains, np.empty_like(self.domains)], axis=1)

    def path(self) -> Array:
        """From the start to a goal through the meeting point, shape (points, n)."""
        path: Array = joined_path(self.nodes, self.parents, self.counts)
        return path


def begin(space: PlanningSpace, start: Array, goals: Array, seed: int, step: float) -> tuple[int, Array, Trees]:
    """Tries the straight motions to the goals in their order, then searches for one slice, all in compiled code.

    Returns:
        FOUND, SEARCHING or FULL; the path if there is one; and the trees, to continue with.
    """
    status, path, *arrays = begin_search(
        space.code, start, goals, seed, FIRST_CAPACITY, space.lower, space.upper, RANGE, step, space.no_weights, SLICE,
        space.work(), space.counters,
    )  # fmt: skip
    return int(status), path, Trees(*arrays)


def search(space: PlanningSpace, trees: Trees, iterations: int, step: float) -> int:
    """Continues a search: FOUND, or SEARCHING after so many iterations.

    Args:
        step: Joint distance of the samples of a motion [rad or m].
    """
    last = int(trees.counts[2]) + iterations
    while True:
        answer = int(
            connect(
                space.code, trees.nodes, trees.parents, trees.counts, trees.random, trees.distances, trees.domains,
                space.lower, space.upper, RANGE, step, space.no_weights, last, space.work(), space.counters,
            )
        )  # fmt: skip
        if answer != FULL:
            return answer
        trees.grow()


@njit(cache=True, nogil=True)
def new_trees(start, goals, seed, capacity):  # type: ignore[no-untyped-def]
    """The arrays of `Trees`."""
    n, count = start.shape[0], goals.shape[0]
    capacity = max(capacity, 2 * count)
    nodes, parents = np.empty((2, n, capacity)), np.empty((2, capacity), dtype=np.int64)
    counts, random = np.empty(5, dtype=np.int64), np.zeros(1, dtype=np.uint64)
    for j in range(n):
        nodes[0, j, 0] = start[j]
        for goal in range(count):
            nodes[1, j, goal] = goals[goal, j]
    parents[0, 0] = -1
    for goal in range(count):
        parents[1, goal] = -1
    counts[0], counts[1], counts[2], counts[3], counts[4] = 1, count, 0, -1, -1
    seed_random(random, seed)
    domains = np.empty((2, capacity))
    for index in range(count):
        domains[0, index] = domains[1, index] = np.inf
    return nodes, parents, counts, random, np.empty(capacity), domains


@njit(cache=True, nogil=True)
def begin_search(code, start, goals, seed, capacity, lower, upper, reach, step, weights, iterations, work, counters):  # type: ignore[no-untyped-def]
    nodes, parents, counts, random, distances, domains = new_trees(start, goals, seed, capacity)
    goal = first_free(code, nodes, counts, step, weights, work, counters)
    if goal >= 0:
        counts[MEETING], counts[MEETING + 1], status = 0, goal, FOUND
    else:
        status = connect(
            code, nodes, parents, counts, random, distances, domains, lower, upper, reach, step, weights, iterations,
            work, counters,
        )  # fmt: skip
    path = joined_path(nodes, parents, counts) if status == FOUND else np.empty((0, start.shape[0]))
    return status, path, nodes, parents, counts, random, distances, domains


@njit(cache=True, nogil=True)
def joined_path(nodes, parents, counts):  # type: ignore[no-untyped-def]
    """From the start through the meeting point to a goal; the trees meet in one point that both hold."""
    n, points = nodes.shape[1], 0
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
            rows[row, j] = nodes[0, j, index]
        index = parents[0, index]
    index = counts[MEETING + 1]
    while index >= 0:
        same = True
        for j in range(n):
            rows[last, j] = nodes[1, j, index]
            same = same and rows[last, j] == rows[last - 1, j]
        # A path has two points at least.
        last += 0 if same and (last > 1 or parents[1, index] >= 0) else 1
        index = parents[1, index]
    return rows[:last].copy()


@njit(cache=True, nogil=True)
def first_free(code, nodes, counts, step, weights, work, counters):  # type: ignore[no-untyped-def]
    """Index of the first goal that is free in a straight line from the start; -1 for none."""
    begin, end = nodes[0, :, 0].copy(), np.empty(nodes.shape[1])
    for goal in range(counts[1]):
        for j in range(nodes.shape[1]):
            end[j] = nodes[1, j, goal]
        if is_free_onwards(code, begin, end, step, weights, work, counters):
            return goal
    return -1


@njit(cache=True, nogil=True)
def nearest(nodes, count, q, distances):  # type: ignore[no-untyped-def]
    """Index of the node nearest to q, by comparing all of them."""
    for i in range(count):
        distances[i] = 0.0
    for j in range(nodes.shape[0]):
        for i in range(count):
            way = nodes[j, i] - q[j]
            distances[i] += way * way
    best = 0
    for i in range(1, count):
        if distances[i] < distances[best]:
            best = i
    return best


@njit(cache=True, nogil=True)
def add_node(nodes, parents, counts, tree, parent, q):  # type: ignore[no-untyped-def]
    index = counts[tree]
    for j in range(q.shape[0]):
        nodes[tree, j, index] = q[j]
    parents[tree, index] = parent
    counts[tree] = index + 1
    return index


@njit(cache=True, nogil=True)
def towards(nodes, index, goal, reach, begin, end):  # type: ignore[no-untyped-def]
    """Puts a node into `begin` and, at most `reach` away on the way to a goal, a point into `end`; True at the goal."""
    square = 0.0
    for j in range(goal.shape[0]):
        begin[j] = nodes[j, index]
        square += (goal[j] - begin[j]) ** 2
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
    code, nodes, parents, counts, random, distances, domains, lower, upper, reach, step, weights, last, work, counters
):
    n, capacity = nodes.shape[1], nodes.shape[2]
    sample, begin, end, ahead = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    while counts[2] < last:
        if max(counts[0], counts[1]) > capacity - 2:
            return FULL
        counts[2] += 1
        tree = 0 if counts[0] <= counts[1] else 1
        for j in range(n):
            sample[j] = lower[j] + (upper[j] - lower[j]) * next_random(random)
        near = nearest(nodes[tree], counts[tree], sample, distances)
        if distances[near] > domains[tree, near] ** 2:
            continue
        towards(nodes[tree], near, sample, reach, begin, end)
        if not is_free_onwards(code, begin, end, step, weights, work, counters):
            domains[tree, near] = max(min(domains[tree, near] * SHRINKING, DOMAIN), SMALLEST_DOMAIN)
            continue
        new = add_node(nodes, parents, counts, tree, near, end)
        domains[tree, new] = np.inf
        other = 1 - tree
        near = nearest(nodes[other], counts[other], end, distances)
        while counts[other] < capacity - 1:
            arrived = towards(nodes[other], near, end, reach, begin, ahead)
            if not is_free_onwards(code, begin, ahead, step, weights, work, counters):
                break
            if arrived:
                counts[MEETING + tree] = new
                counts[MEETING + other] = near
                return FOUND
            near = add_node(nodes, parents, counts, other, near, ahead)
            domains[other, near] = np.inf
    return SEARCHING
