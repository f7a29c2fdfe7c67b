"""The planners by name: each takes a start and goals in a space and gives a path that is free for certain."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...typing import Array
from ..deadline import Deadline, Stopped
from ..result import PlanStatus
from ..space import STEP, PlanningSpace
from . import rrt_connect

if TYPE_CHECKING:
    from .roadmap import Roadmap

PATIENCE = 8 * rrt_connect.SLICE
"""Iterations after which a search is begun anew for the first time."""
RESEED = 1_000_003
"""Added to the seed then, so that neighbouring seeds do not meet."""
FINEST = 3
"""How often the samples of a search are made denser when a path turns out to touch something between them."""


class Planner(enum.Enum):
    """Who seeks the path."""

    RRT_CONNECT = "rrt connect"
    """The first path that is found, usually within a millisecond."""
    OPTIMAL = "optimal"
    """Goes on for the time it is given, and approaches the shortest path."""
    STRAIGHT = "straight"
    """Only the straight line over the joints."""
    POTENTIAL_FIELD = "potential field"
    """Slides down an artificial potential; may get stuck."""
    OMPL = "ompl"
    """RRT-Connect of the package ompl."""


@dataclass(frozen=True, eq=False)
class FoundPath:
    """A path that is free for certain."""

    path: Array
    """Corners [rad or m], shape (points, n)."""
    iterations: int


def find_path(
    planner: Planner | Roadmap, space: PlanningSpace, start: Array, goals: Array, seed: int, watch: Deadline
) -> FoundPath:
    """Asks a planner.

    Args:
        start: Free [rad or m], shape (n,).
        goals: Free, any of them will do [rad or m], shape (goals, n).

    Raises:
        Stopped: There is no path, the time is over, or the caller wants no more.
    """
    if not isinstance(planner, Planner):
        if planner.space.snapshot is not space.snapshot:
            raise InputError("the world has changed since the roadmap was built; build a new one")
        return planner.query(start, goals, watch=watch)
    if planner is Planner.STRAIGHT:
        return straight_line(space, start, goals)
    if planner is Planner.OPTIMAL:
        from .optimal import shortest_path

        return shortest_path(space, start, goals, seed, watch)
    if planner is Planner.POTENTIAL_FIELD:
        from .potential_field import descend

        return descend(space, start, goals, watch)
    if planner is Planner.OMPL:
        from .ompl import ompl_path

        return ompl_path(space, start, goals, watch)
    return first_path(space, start, goals, seed, watch)


def straight_line(space: PlanningSpace, start: Array, goals: Array) -> FoundPath:
    for goal in goals:
        if space.is_free(start, goal):
            return FoundPath(np.stack([start, goal]), 0)
    raise Stopped(PlanStatus.NO_PATH, "the straight motion to every goal is blocked; ask another planner")


def first_path(space: PlanningSpace, start: Array, goals: Array, seed: int, watch: Deadline) -> FoundPath:
    """RRT-Connect; when its path touches something between its samples, again with denser ones."""
    iterations, step = 0, STEP
    for _ in range(FINEST):
        found = uncertain_path(space, start, goals, seed, watch, step)
        iterations += found.iterations
        if space.first_blocked(found.path) < 0:
            return FoundPath(found.path, iterations)
        step *= 0.25
    raise Stopped(PlanStatus.NO_PATH, "every path that was found touches something between its samples")


def uncertain_path(
    space: PlanningSpace, start: Array, goals: Array, seed: int, watch: Deadline, step: float = STEP
) -> FoundPath:
    """RRT-Connect; what it finds is free at its samples.

    Now and then two trees grow into corners from which they hardly ever meet. A search that takes long is therefore
    begun anew with other random numbers, and each time gets twice as long.
    """
    iterations, patience = 0, PATIENCE
    while True:
        trees = rrt_connect.Trees.planted(start, goals, seed)
        found = iterations == 0 and rrt_connect.straight(space, trees, step)
        while not found and trees.iterations < patience:
            watch.check()
            found = rrt_connect.search(space, trees, rrt_connect.SLICE, step) == rrt_connect.FOUND
        iterations += trees.iterations
        if found:
            return FoundPath(trees.path(), iterations)
        seed, patience = seed + RESEED, 2 * patience
