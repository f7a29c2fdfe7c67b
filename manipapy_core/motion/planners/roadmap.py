"""Probabilistic roadmap (PRM): built once, it answers many queries in one scene.

After L. Kavraki, P. Švestka, J.-C. Latombe and M. Overmars (1996), with as many neighbours per node as S. Karaman and
E. Frazzoli require (PRM*, 2011): k = 2 e log N. The shortest path through it approaches the shortest there is as it
grows. Motions are checked when a path uses them (lazily), unless `check_all` checks all of them beforehand.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ...geometry import Checker
from ...jit import njit
from ...typing import Array
from ..deadline import Deadline, Stopped
from ..goals import checked_rows
from ..result import PlanStatus
from ..space import PADDING, STEP, PlanningSpace
from .registry import FoundPath

UNKNOWN, FREE, BLOCKED = range(3)
CHUNK = 512


class Roadmap:
    """Free configurations and the straight motions between neighbours, in one snapshot of the world.

    One thread at a time may use it.
    """

    def __init__(self, space: PlanningSpace, seed: int = 0):
        self.space = space
        self._random = np.random.default_rng(seed)
        n = len(space.lower)
        self.nodes = np.empty((0, n))
        """[rad or m], shape (nodes, n)."""
        self.edges = np.empty((0, 2), dtype=np.int64)
        """Pairs of nodes, the smaller number first, shape (edges, 2)."""
        self._states = np.empty(0, dtype=np.int8)
        self._lengths = np.empty(0)

    @classmethod
    def build(cls, checker: Checker, *, nodes: int = 2000, seed: int = 0, padding: float = PADDING) -> Roadmap:
        """A roadmap of the whole space within the limits, with every motion checked.

        Args:
            nodes: Free configurations to be drawn.
            padding: Distance to obstacles that paths keep [m].
        """
        if nodes < 2:
            raise InputError(f"nodes is {nodes}; give at least 2")
        limits = checker.body.chain.limits
        middle = np.clip(np.zeros(checker.body.chain.n), limits.lower, limits.upper)
        own = checker.self_padding + min(padding, PADDING)
        robot = checker.padded(checker.padding + padding, self_padding=own)
        space = PlanningSpace.around(robot, middle, middle[None], original=checker)
        space.lower, space.upper = limits.sampling_range
        roadmap = cls(space, seed)
        roadmap.grow(nodes)
        roadmap.check_all()
        return roadmap

    def grow(self, count: int, draw: NDArray[np.float64] | None = None) -> None:
        """Adds free configurations and joins them to their neighbours.

        Args:
            draw: Candidates instead of uniform samples [rad or m], shape (candidates, n); only free ones are kept.
        """
        kept: list[Array] = []
        while draw is None and sum(map(len, kept)) < count:
            q = self._random.uniform(self.space.lower, self.space.upper, (max(count, 64), len(self.space.lower)))
            kept.append(q[~self.space.collides(q)])
        if draw is not None:
            kept = [draw[~self.space.collides(draw)]] if len(draw) else [draw]
        self.add(np.concatenate(kept)[:count])

    def add(self, q: Array) -> NDArray[np.int64]:
        """Joins free configurations (N, n) to the roadmap; returns their indices."""
        first = len(self.nodes)
        self.nodes = np.vstack([self.nodes, q])
        total = len(self.nodes)
        neighbours = min(total - 1, math.ceil(2.0 * math.e * math.log(max(total, 2))))
        pairs = []
        for begin in range(first, total, CHUNK):
            rows = np.arange(begin, min(begin + CHUNK, total))
            square = (self.nodes[rows] ** 2).sum(axis=1)[:, None] - 2.0 * self.nodes[rows] @ self.nodes.T
            square += (self.nodes**2).sum(axis=1)
            square[np.arange(len(rows)), rows] = np.inf
            near = np.argpartition(square, neighbours - 1, axis=1)[:, :neighbours] if neighbours else square[:, :0]
            pairs.append(np.column_stack([np.repeat(rows, near.shape[1]), near.ravel().astype(np.int64)]))
        fresh = np.sort(np.concatenate(pairs), axis=1) if pairs else np.empty((0, 2), dtype=np.int64)
        fresh = np.unique(fresh, axis=0)
        # At least one of the two is new, so no motion is listed twice.
        self.edges = np.vstack([self.edges, fresh])
        self._states = np.append(self._states, np.full(len(fresh), UNKNOWN, dtype=np.int8))
        offsets = self.nodes[fresh[:, 0]] - self.nodes[fresh[:, 1]]
        self._lengths = np.append(self._lengths, np.linalg.norm(offsets, axis=1))
        return np.arange(first, total)

    def check_all(self) -> None:
        """Checks all unchecked motions at samples; paths are still certified when they are used."""
        unknown = np.flatnonzero(self._states == UNKNOWN)
        ends = self.nodes[self.edges[unknown]]
        hits = self.space.checker.check_edges(ends[:, 0], ends[:, 1], STEP, snapshot=self.space.snapshot)
        self._states[unknown[hits]] = BLOCKED

    def query(self, start: ArrayLike, goals: ArrayLike, *, deadline: Deadline | None = None) -> FoundPath:
        """The shortest path through the roadmap to any of the goals, certainly free.

        Args:
            start: [rad or m], shape (n,).
            goals: [rad or m], shape (n,) or (goals, n).

        Raises:
            Stopped: The roadmap does not join them, or the start or all goals collide.
        """
        chain = self.space.checker.body.chain
        begin, ends = checked_rows(start, chain, "start"), checked_rows(goals, chain, "goals")
        if self.space.collides(begin).any():
            raise Stopped(PlanStatus.START_IN_COLLISION, "the start collides, or is nearer than the padding")
        ends = ends[~self.space.collides(ends)]
        if not len(ends):
            raise Stopped(PlanStatus.GOAL_IN_COLLISION, "all goals collide, or are nearer than the padding")
        numbers = self.add(np.vstack([begin, ends]))
        return self.shortest(int(numbers[0]), numbers[1:], deadline)

    def shortest(self, start: int, goals: NDArray[np.int64], deadline: Deadline | None = None) -> FoundPath:
        """The shortest path between nodes of the roadmap."""
        rounds = 0
        while True:
            rounds += 1
            if deadline is not None:
                deadline.check()
            usable = np.flatnonzero(self._states != BLOCKED)
            route, used = self._shortest_over(usable, start, goals)
            if not len(route):
                raise Stopped(PlanStatus.NO_PATH, f"{len(self.nodes)} nodes of the roadmap do not join start and goal")
            doubtful = [edge for edge in used if self._states[edge] == UNKNOWN]
            for edge in doubtful:
                free = self.space.is_free(*self.nodes[self.edges[edge]])
                self._states[edge] = FREE if free else BLOCKED
            if all(self._states[edge] == FREE for edge in used):
                return FoundPath(self.nodes[route], rounds)

    def _shortest_over(
        self, usable: NDArray[np.int64], start: int, goals: NDArray[np.int64]
    ) -> tuple[list[int], list[int]]:
        """Nodes and edges of the shortest path over some of the edges; empty without one."""
        ends = np.vstack([self.edges[usable], self.edges[usable][:, ::-1]])
        numbers, lengths = np.tile(usable, 2), np.tile(self._lengths[usable], 2)
        order = np.argsort(ends[:, 0], kind="stable")
        starts = np.searchsorted(ends[order, 0], np.arange(len(self.nodes) + 1))
        cost, via = correct_labels(starts, ends[order, 1], lengths[order], start)
        goal = int(goals[np.argmin(cost[goals])])
        if not np.isfinite(cost[goal]):
            return [], []
        route, used = [goal], []
        while route[-1] != start:
            arc = order[via[route[-1]]]
            used.append(int(numbers[arc]))
            route.append(int(ends[arc, 0]))
        return route[::-1], used[::-1]


@njit(cache=True, nogil=True)
def correct_labels(starts, targets, lengths, start):  # type: ignore[no-untyped-def]
    """Shortest distances from a node, and the arc by which each node is reached, by label correction with a queue.

    Args:
        starts: Where the arcs of each node begin, shape (nodes + 1,).
    """
    nodes = starts.shape[0] - 1
    cost = np.full(nodes, np.inf)
    via = np.full(nodes, -1)
    queue, waiting = np.empty(nodes + 1, np.int64), np.zeros(nodes, np.bool_)
    head, tail = 0, 1
    queue[0], cost[start] = start, 0.0
    while head != tail:
        node = queue[head]
        head = (head + 1) % (nodes + 1)
        waiting[node] = False
        for arc in range(starts[node], starts[node + 1]):
            ahead, through = targets[arc], cost[node] + lengths[arc]
            if through < cost[ahead] - 1e-12:
                cost[ahead], via[ahead] = through, arc
                if not waiting[ahead]:
                    waiting[ahead] = True
                    queue[tail] = ahead
                    tail = (tail + 1) % (nodes + 1)
    return cost, via
