"""RRT-Connect, compiled: two trees grow towards each other, one from the start, one from all goals at once.

After J. Kuffner and S. LaValle, "RRT-Connect: An Efficient Approach to Single-Query Path Planning", ICRA 2000; the
smaller tree grows. Nothing is random but by the seed. The search runs in slices and keeps its state in arrays, so that
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

    @classmethod
    def planted(cls, start: Array, goals: Array, seed: int) -> Trees:
        n, capacity = start.size, max(FIRST_CAPACITY, 2 * len(goals))
        nodes = np.empty((2, n, capacity))
        parents = np.empty((2, capacity), dtype=np.int64)
        nodes[0, :, 0], parents[0, 0] = start, -1
        nodes[1, :, : len(goals)], parents[1, : len(goals)] = goals.T, -1
        random = np.zeros(1, dtype=np.uint64)
        seed_random(random, seed)
        counts = np.array([1, len(goals), 0, -1, -1], dtype=np.int64)
        return cls(nodes, parents, counts, random, np.empty(capacity))

    @property
    def iterations(self) -> int:
        return int(self.counts[2])

    def grow(self) -> None:
        """Doubles the capacity."""
        self.nodes = np.concatenate([self.nodes, np.empty_like(self.nodes)], axis=2)
        self.parents = np.concatenate([self.parents, np.empty_like(self.parents)], axis=1)
        self.distances = np.empty(self.nodes.shape[2])

    def path(self) -> Array:
        """From the start to a goal through the meeting point, shape (points, n)."""
        rows: list[Array] = []
        for tree in (0, 1):
            index, branch = int(self.counts[MEETING + tree]), []
            while index >= 0:
                branch.append(self.nodes[tree, :, index])
                index = int(self.parents[tree, index])
            rows += branch[::-1] if tree == 0 else branch
        # The trees meet in one point that both hold.
        kept = [row for row, before in zip(rows, [None, *rows]) if before is None or not np.array_equal(row, before)]
        return np.array(kept if len(kept) > 1 else kept * 2)


def straight(space: PlanningSpace, trees: Trees, step: float) -> bool:
    """Tries the straight motions from the start to the goals in their order; True if one is free."""
    goal = int(first_free(space.code, trees.nodes, trees.counts, step, space.no_weights, space.work(), space.counters))
    if goal >= 0:
        trees.counts[MEETING:] = 0, goal
    return goal >= 0


def search(space: PlanningSpace, trees: Trees, iterations: int, step: float) -> int:
    """Continues a search: FOUND, or SEARCHING after so many iterations.

    Args:
        step: Joint distance of the samples of a motion [rad or m].
    """
    last = int(trees.counts[2]) + iterations
    while True:
        answer = int(
            connect(
                space.code, trees.nodes, trees.parents, trees.counts, trees.random, trees.distances, space.lower,
                space.upper, RANGE, step, space.no_weights, last, space.work(), space.counters,
            )
        )  # fmt: skip
        if answer != FULL:
            return answer
        trees.grow()


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
def connect(code, nodes, parents, counts, random, distances, lower, upper, reach, step, weights, last, work, counters):  # type: ignore[no-untyped-def]
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
        towards(nodes[tree], near, sample, reach, begin, end)
        if not is_free_onwards(code, begin, end, step, weights, work, counters):
            continue
        new = add_node(nodes, parents, counts, tree, near, end)
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
    return SEARCHING
