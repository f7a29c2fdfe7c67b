"""Velocity polytopes as a measure of configurations: an objective of inverse kinematics, and the quality of a path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError
from ..geometry import RobotBody, World, WorldSnapshot
from ..model.chain import Chain
from ..typing import Array
from .arm_polytopes import velocity_polytope
from .constraints import Avoidance
from .ellipsoids import Motion
from .near_points import near_points


@dataclass(frozen=True, eq=False)
class PathQuality:
    """What the tip can do at each configuration of a path."""

    volume: Array
    """Of the velocity polytope [m³/s³ or rad³/s³], shape (count,)."""
    slowest: Array
    """Greatest speed in the direction in which it is least [m/s or rad/s], shape (count,)."""
    distance: Array
    """To the nearest object or between two links [m], shape (count,); inf without a body or where nothing is near."""


def path_quality(
    chain: Chain,
    path: ArrayLike,
    *,
    body: RobotBody | None = None,
    world: World | WorldSnapshot | None = None,
    motion: Motion = Motion.TRANSLATION,
    speed: ArrayLike | None = None,
    damping: bool = True,
    avoidance: Avoidance = Avoidance(),  # noqa: B008  (frozen)
) -> PathQuality:
    """Velocity polytopes along a path.

    Args:
        path: Configurations [rad or m], shape (count, n).
        body: Counts the arm itself and the world; limits alone if not given.
        world: Obstacles; empty if not given.
        speed: Velocity limits [rad/s or m/s], a number or (n,); the chain's if not given.
        damping: Slow down towards position limits.
    """
    rows = np.asarray(path, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != chain.n:
        raise ShapeError("path", f"(count, {chain.n})", rows.shape)
    snapshot = world.snapshot() if isinstance(world, World) else world
    table = np.zeros((len(rows), 3))
    for row, q in zip(table, rows):
        near = None if body is None else near_points(body, snapshot, q, influence=avoidance.influence)
        found = velocity_polytope(chain, q, motion=motion, speed=speed, damping=damping, near=near, avoidance=avoidance)
        slowest = max(0.0, float(found.offsets.min())) if found.dimension == 3 else 0.0
        row[:] = found.volume, slowest, near.distance[0] if near is not None and len(near) else np.inf
    return PathQuality(table[:, 0], table[:, 1], table[:, 2])


def volume_objective(
    chain: Chain,
    *,
    body: RobotBody | None = None,
    world: World | WorldSnapshot | None = None,
    motion: Motion = Motion.TRANSLATION,
    speed: ArrayLike | None = None,
    damping: bool = True,
    avoidance: Avoidance = Avoidance(),  # noqa: B008  (frozen)
) -> Callable[[Array], Array]:
    """An objective for `ik.solve` that prefers configurations with a large velocity polytope.

    Returns:
        A function of configurations (N, n) that gives minus the volume of each, (N,); arguments as of `path_quality`.
    """

    def cost(q: Array) -> Array:
        quality = path_quality(
            chain, q, body=body, world=world, motion=motion, speed=speed, damping=damping, avoidance=avoidance
        )
        return -quality.volume

    return cost
