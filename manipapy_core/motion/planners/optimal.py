"""Asymptotically optimal planning: a first path by RRT-Connect, then an informed PRM* roadmap.

The roadmap joins as many neighbours as PRM* does, so the shortest path through it approaches the optimum (Karaman and
Frazzoli, 2011). Samples are drawn from the ellipsoids of all points by which a path could be shorter than the best one
(J. Gammell, S. Srinivasa, T. Barfoot, "Informed RRT*", IROS 2014), and every path is shortened before it is compared.
"""

from __future__ import annotations

import numpy as np

from ...typing import Array
from ..deadline import Deadline, Stopped
from ..result import PlanPhase, PlanStatus
from ..space import PlanningSpace
from .registry import FoundPath, first_path
from .roadmap import Roadmap
from .shortcut import shorten

BATCHES = 12
"""Of samples; a fixed number, so that the result is deterministic without a timeout."""
BATCH = 200
RESERVE = 0.25
"""Share of the timeout for the phases after the search."""


def shortest_path(
    space: PlanningSpace, start: Array, goals: Array, seed: int, deadline: Deadline, batches: int = BATCHES
) -> FoundPath:
    """The shortest path found in time, never longer than that of RRT-Connect with shortcuts."""
    first = first_path(space, start, goals, seed, deadline)
    best, iterations = shorten(space, first.path, tries=200, seed=seed), first.iterations
    roadmap = Roadmap(space, seed)
    begin = int(roadmap.add(start[None])[0])
    ends = roadmap.add(goals)
    roadmap.add(best[1:-1])
    random = np.random.default_rng(seed)
    for batch in range(batches):
        if deadline.left < RESERVE * deadline.timeout:
            break
        deadline.enter(PlanPhase.SEARCH, length_of(best))
        roadmap.grow(BATCH, ellipsoid_samples(random, start, goals, length_of(best), BATCH, space))
        try:
            found = roadmap.shortest(begin, ends, deadline)
        except Stopped as end:
            if end.status is PlanStatus.NO_PATH:
                continue
            if end.status is PlanStatus.TIMEOUT:
                break
            raise
        candidate = shorten(space, found.path, tries=100, seed=seed + batch)
        iterations += found.iterations
        if length_of(candidate) < length_of(best):
            best = candidate
            roadmap.add(best[1:-1])
    return FoundPath(best, iterations)


def length_of(path: Array) -> float:
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


def ellipsoid_samples(
    random: np.random.Generator, start: Array, goals: Array, length: float, count: int, space: PlanningSpace
) -> Array:
    """Points within the limits through which a path from the start to a goal can be shorter than a length, (…, n)."""
    n = start.size
    straight = np.linalg.norm(goals - start, axis=1)
    promising = goals[straight < length * (1.0 - 1e-9)]
    if not len(promising):
        return np.empty((0, n))
    chosen = promising[random.integers(len(promising), size=4 * count)]
    ways = chosen - start
    distance = np.linalg.norm(ways, axis=1, keepdims=True)
    ball = random.normal(size=(4 * count, n))
    ball *= random.uniform(size=(4 * count, 1)) ** (1.0 / n) / np.linalg.norm(ball, axis=1, keepdims=True)
    axes = ways / np.maximum(distance, 1e-12)
    along = (ball * axes).sum(axis=1, keepdims=True)
    across = 0.5 * np.sqrt(np.maximum(length**2 - distance**2, 0.0))
    points = 0.5 * (start + chosen) + across * (ball - along * axes) + 0.5 * length * along * axes
    inside = ((points >= space.lower) & (points <= space.upper)).all(axis=1)
    return points[inside][:count]
