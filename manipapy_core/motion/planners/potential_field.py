"""Artificial potential field (O. Khatib, 1986): the goal attracts, obstacles repel. Fast, but local: may get stuck."""

from __future__ import annotations

import numpy as np

from ...typing import Array
from ..deadline import Deadline, Stopped
from ..result import PlanStatus
from ..space import PlanningSpace
from .registry import FoundPath

INFLUENCE = 0.15
"""Obstacles farther away than this do not repel [m]."""
PULL, PUSH = 1.0, 2e-3
"""Of the goal [1/rad²] and of obstacles [m²], per link."""
STRIDE = 0.05
"""Longest step over the joints [rad or m]."""
SHORTEST = 1e-3
NUDGE = 1e-4
"""For differences of the potential [rad or m]: single precision resolves distances to about 1e-6 m."""
MOST_STEPS = 2000


def potential(space: PlanningSpace, q: Array, goal: Array) -> Array:
    """Potential at configurations, shape (N,).

    Args:
        q: [rad or m], shape (N, n).
        goal: [rad or m], shape (n,).
    """
    away = np.linalg.norm(q - goal, axis=1)
    near = space.checker.distances(q, snapshot=space.snapshot).distance.astype(np.float64)
    near = np.clip(near, 1e-3, INFLUENCE)
    # Far from the goal the attraction is constant, or no obstacle could resist it.
    pull = np.where(away < 1.0, 0.5 * away**2, away - 0.5)
    return PULL * pull + PUSH * 0.5 * ((1.0 / near - 1.0 / INFLUENCE) ** 2).sum(axis=1)


def gradient(space: PlanningSpace, q: Array, goal: Array) -> Array:
    """By central differences, all in one batch, shape (n,)."""
    n = q.size
    around = q + np.vstack([np.eye(n), -np.eye(n)]) * NUDGE
    values = potential(space, around, goal)
    return (values[:n] - values[n:]) / (2.0 * NUDGE)


def descend(space: PlanningSpace, start: Array, goals: Array, deadline: Deadline) -> FoundPath:
    """Gradient descent to the nearest goal, then to the others.

    Raises:
        Stopped: It got stuck on the way to every goal.
    """
    steps = 0
    for goal in goals:
        q, path, stride = start, [start], STRIDE
        while steps < MOST_STEPS * len(goals):
            deadline.check()
            steps += 1
            if space.is_free(q, goal) and np.linalg.norm(goal - q) <= 4.0 * STRIDE:
                return FoundPath(np.array([*path, goal]), steps)
            slope = gradient(space, q, goal)
            size = float(np.linalg.norm(slope))
            if size < 1e-6:
                break
            ahead = np.clip(q - stride * slope / size, space.lower, space.upper)
            downhill = potential(space, np.stack([q, ahead]), goal)
            if downhill[1] < downhill[0] and space.is_free(q, ahead):
                q, stride = ahead, min(2.0 * stride, STRIDE)
                path.append(q)
            elif stride > SHORTEST:
                stride *= 0.5
            else:
                break
    raise Stopped(
        PlanStatus.NO_PATH, "the potential field is stuck in a local minimum before every goal; use Planner.RRT_CONNECT"
    )
