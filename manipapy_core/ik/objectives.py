"""What makes one solution better than another, and how a redundant arm slides to a better one.

An objective is any callable that takes configurations (N, n) and gives a cost for each (N,): lower is better.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from .. import kinematics
from ..errors import InputError
from ..model.chain import Chain
from ..model.elements import Array
from .bounds import search_bounds
from .numeric import NumericSolver

Objective = Callable[[Array], Array]

DESCENT_STEPS = 60
DIFFERENCE = 1e-6
"""Step of the gradient's finite differences [rad or m]."""
STEP_SIZES = np.array([0.5, 0.2, 0.05, 0.01, 0.002])
"""Longest joint motion of the tries along one descent direction [rad or m]."""


def near(q: ArrayLike) -> Objective:
    """Squared distance to a configuration."""
    wish = np.array(q, dtype=np.float64)
    return lambda rows: ((rows - wish) ** 2).sum(axis=1)


def centre_of_limits(chain: Chain) -> Objective:
    """Squared distance to the middle of each joint's range, in half-ranges; endless joints do not count."""
    bounds = search_bounds(chain, True)
    half = 0.5 * (bounds.upper - bounds.lower)
    counts = np.array(bounds.stops) & (half > 0.0)
    middle, scale = 0.5 * (bounds.upper + bounds.lower), np.where(counts, half, np.inf)
    return lambda rows: (((rows - middle) / scale) ** 2).sum(axis=1)


def manipulability(chain: Chain) -> Objective:
    """Minus √det(J Jᵀ) (Yoshikawa): far from singular is better. For fewer than six joints √det(Jᵀ J)."""

    def cost(rows: Array) -> Array:
        return -np.prod(np.linalg.svd(kinematics.body_jacobian(chain, rows), compute_uv=False), axis=-1)

    return cost


def clearance(distance: Callable[[Array], Array]) -> Objective:
    """Minus the distance to obstacles [m] that a callable gives for configurations (N, n)."""
    return lambda rows: -np.asarray(distance(rows))


def costs_of(objective: Objective, q: Array) -> Array:
    """The objective's answer, checked."""
    costs = np.asarray(objective(q), dtype=np.float64)
    if costs.shape != (len(q),) or np.isnan(costs).any():
        raise InputError(
            f"the objective must give one number per row of q, shape ({len(q)},), none of them NaN; "
            f"it gave shape {costs.shape}"
        )
    return costs


def slide(chain: Chain, solver: NumericSolver, T: Array, q: Array, objective: Objective) -> Array:
    """Descends an objective along the arm's self-motion, keeping the tip at T (4, 4).

    Each step follows the projection of the gradient onto the null space, comes back to the pose by the numeric solver,
    and is kept only if it is solved, has not jumped and is better.

    Returns:
        The last configuration, shape (n,).
    """
    cost = float(costs_of(objective, q[None])[0])
    offsets = np.concatenate([np.eye(chain.n), -np.eye(chain.n)]) * DIFFERENCE
    for _ in range(DESCENT_STEPS):
        around = costs_of(objective, q + offsets)
        gradient = (around[: chain.n] - around[chain.n :]) / (2.0 * DIFFERENCE)
        J = kinematics.body_jacobian(chain, q)
        # joints at a limit that the descent would push outward do not take part
        lower, upper = solver.bounds.lower + 1e-9, solver.bounds.upper - 1e-9
        outward = (q <= lower) & (gradient > 0.0) | (q >= upper) & (gradient < 0.0)
        blocked = outward & np.array(solver.bounds.stops)
        J = np.where(blocked, 0.0, J)
        gradient = np.where(blocked, 0.0, gradient)
        direction = -(gradient - np.linalg.pinv(J, rcond=1e-6) @ (J @ gradient))
        size = np.abs(direction).max()
        if size < 1e-9:
            break
        tries = q + np.outer(STEP_SIZES / size, direction)
        solved, rows = solver.polish(T, np.clip(tries, solver.bounds.lower, solver.bounds.upper))
        arrived = rows[:, : chain.n]
        costs = np.where(
            solved & (np.abs(arrived - q).max(axis=1) < 2.0 * STEP_SIZES), costs_of(objective, arrived), np.inf
        )
        best = int(costs.argmin())
        if not costs[best] < cost - 1e-12 * max(1.0, abs(cost)):
            break
        q, cost = arrived[best], float(costs[best])
    return q
