"""The planners by name: each returns a certainly free path from a start to one of several goals."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...typing import Array
from ..constraints.compiled import PathConstraints
from ..deadline import Deadline, Stopped
from ..result import PlanStatus
from ..space import STEP, PlanningSpace
from . import rrt_connect

if TYPE_CHECKING:
    from .roadmap import Roadmap

RESTART_AFTER = 8 * rrt_connect.SLICE
"""Iterations before the first restart of a search."""
RESEED = 1_000_003
"""Added to the seed at a restart, so that neighbouring seeds do not coincide."""
REFINEMENTS = 3
"""Attempts with denser samples, if a path touches something between them."""


class Planner(enum.Enum):
    """How the path is searched."""

    RRT_CONNECT = "rrt connect"
    """RRT-Connect: the first path found, usually within a millisecond."""
    OPTIMAL = "optimal"
    """Informed PRM*: searches until the timeout and approaches the shortest path."""
    STRAIGHT = "straight"
    """Only the straight line in joint space."""
    POTENTIAL_FIELD = "potential field"
    """Gradient descent of an artificial potential; may get stuck in a local minimum."""
    OMPL = "ompl"
    """RRT-Connect of the package ompl."""


@dataclass(frozen=True, eq=False)
class FoundPath:
    """A path from a start to a goal."""

    path: Array
    """Corners [rad or m], shape (points, n)."""
    iterations: int
    certain: bool = True
    """Free between samples too."""


def find_path(
    planner: Planner | Roadmap,
    space: PlanningSpace,
    start: Array,
    goals: Array,
    seed: int,
    deadline: Deadline,
    constraints: PathConstraints | None = None,
    *,
    certain: bool = True,
) -> FoundPath:
    """Runs a planner.

    Args:
        start: Free [rad or m], shape (n,).
        goals: Free, any of them is accepted [rad or m], shape (goals, n).
        constraints: Kept by the path; the space is within their joint bands already.
        certain: False allows a path that is free at samples only, for a caller that checks what it makes of it.

    Raises:
        Stopped: No path, timeout or cancellation.
    """
    if not isinstance(planner, Planner):
        if planner.space.snapshot is not space.snapshot:
            raise InputError("the world has changed since the roadmap was built; build a new one")
        return planner.query(start, goals, deadline=deadline)
    if constraints is not None and constraints.on_poses:
        from .constrained import constrained_path, constrained_straight

        if planner is Planner.STRAIGHT:
            return constrained_straight(space, constraints, start, goals)
        return constrained_path(space, constraints, start, goals, seed, deadline)
    if planner is Planner.STRAIGHT:
        return straight_line(space, start, goals)
    if planner is Planner.OPTIMAL:
        from .optimal import shortest_path

        return shortest_path(space, start, goals, seed, deadline)
    if planner is Planner.POTENTIAL_FIELD:
        from .potential_field import descend

        return descend(space, start, goals, deadline)
    if planner is Planner.OMPL:
        from .ompl import ompl_path

        return ompl_path(space, start, goals, deadline)
    if not certain:
        return uncertain_path(space, start, goals, seed, deadline)
    return first_path(space, start, goals, seed, deadline)


def straight_line(space: PlanningSpace, start: Array, goals: Array) -> FoundPath:
    for goal in goals:
        if space.is_free(start, goal):
            return FoundPath(np.stack([start, goal]), 0)
    raise Stopped(PlanStatus.NO_PATH, "the straight motion to every goal is blocked; use another planner")


def first_path(space: PlanningSpace, start: Array, goals: Array, seed: int, deadline: Deadline) -> FoundPath:
    """RRT-Connect; again with denser samples if its path touches something between them."""
    iterations, step = 0, STEP
    for _ in range(REFINEMENTS):
        found = uncertain_path(space, start, goals, seed, deadline, step)
        iterations += found.iterations
        if space.first_blocked(found.path) < 0:
            return FoundPath(found.path, iterations)
        step *= 0.25
    raise Stopped(PlanStatus.NO_PATH, "every path that was found touches something between its samples")


def uncertain_path(
    space: PlanningSpace, start: Array, goals: Array, seed: int, deadline: Deadline, step: float = STEP
) -> FoundPath:
    """RRT-Connect; what it finds is free at its samples.

    Sometimes two trees grow into corners from which they rarely meet. A search that takes long is therefore
    restarted with other random numbers, and each time gets twice as long.
    """
    path, trees = rrt_connect.begin(space, start, goals, seed, step)
    if path is not None:
        return FoundPath(path, trees.iterations, certain=False)
    iterations, budget = 0, RESTART_AFTER
    while True:
        found = False
        while not found and trees.iterations < budget:
            deadline.check()
            found = rrt_connect.search(space, trees, rrt_connect.SLICE, step) == rrt_connect.FOUND
        iterations += trees.iterations
        if found:
            return FoundPath(trees.path(), iterations, certain=False)
        seed, budget = seed + RESEED, 2 * budget
        trees = rrt_connect.Trees.planted(start, goals, seed)
