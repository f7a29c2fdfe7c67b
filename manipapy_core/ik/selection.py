"""Choice among solutions: windings, collisions, objectives, and self-motion of redundant arms.

An objective is any callable that takes configurations (N, n) and returns a cost for each (N,): lower is better.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kinematics, singularity
from ..compiler import Task
from ..errors import InputError
from ..model.chain import Chain
from ..typing import Array
from .bounds import nearest_winding, search_bounds
from .enumerate import Solutions, all_solutions, in_every_winding
from .inputs import truth_of
from .query import Query
from .result import IKResult, IKStatus

Objective = Callable[[Array], Array]
Collision = Callable[[Array], NDArray[np.bool_]]

DESCENT_STEPS = 60
DIFFERENCE = 1e-6
"""Step of the gradient's finite differences [rad or m]."""
STEP_SIZES = np.array([0.5, 0.2, 0.05, 0.01, 0.002])
"""Longest joint motion of the tries along one descent direction [rad or m]."""
SLIDES = 4
"""Solutions of a redundant arm from which an objective is descended."""
_ROWS = {Task.POSE: 6, Task.WEIGHTED: 6, Task.AXIS: 5, Task.POSITION: 3}


def near(q: ArrayLike) -> Objective:
    """Squared distance to a configuration."""
    preferred = np.array(q, dtype=np.float64)
    return lambda rows: ((rows - preferred) ** 2).sum(axis=1)


def centre_of_limits(chain: Chain) -> Objective:
    """Squared distance to the middle of each joint's range, in half-ranges; endless joints do not count."""
    bounds = search_bounds(chain, True)
    half = 0.5 * (bounds.upper - bounds.lower)
    counts = np.array(bounds.stops) & (half > 0.0)
    middle, scale = 0.5 * (bounds.upper + bounds.lower), np.where(counts, half, np.inf)
    return lambda rows: (((rows - middle) / scale) ** 2).sum(axis=1)


def manipulability(chain: Chain) -> Objective:
    """Minus `singularity.manipulability`: far from singular is better."""
    return lambda rows: -singularity.manipulability(chain, rows)


def clearance(distance: Callable[[Array], Array]) -> Objective:
    """Minus the distance to obstacles [m] that a callable returns for configurations (N, n)."""
    return lambda rows: -np.asarray(distance(rows))


def costs_of(objective: Objective, q: Array) -> Array:
    """Costs that an objective returns, checked."""
    costs = np.asarray(objective(q), dtype=np.float64)
    if costs.shape != (len(q),) or np.isnan(costs).any():
        raise InputError(
            f"the objective must return one number per row of q, shape ({len(q)},), none of them NaN; "
            f"it returned shape {costs.shape}"
        )
    return costs


def slide(query: Query, q: Array, objective: Objective) -> Array:
    """Descends an objective along the arm's self-motion, with the tip at the pose of the query.

    Each step follows the projection of the gradient onto the null space, returns to the pose by the numeric solver,
    and is kept only if it is solved, has not jumped and is better.

    Returns:
        The last configuration before the objective stops falling or the time is over, shape (n,).
    """
    chain, solver = query.chain, query.solver
    cost = float(costs_of(objective, q[None])[0])
    offsets = np.concatenate([np.eye(chain.n), -np.eye(chain.n)]) * DIFFERENCE
    for _ in range(DESCENT_STEPS):
        if query.deadline.over:
            break
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
        solved, rows = solver.polish(query.T, np.clip(tries, solver.bounds.lower, solver.bounds.upper))
        arrived = rows[:, : chain.n]
        costs = np.where(
            solved & (np.abs(arrived - q).max(axis=1) < 2.0 * STEP_SIZES), costs_of(objective, arrived), np.inf
        )
        best = int(costs.argmin())
        if not costs[best] < cost - 1e-12 * max(1.0, abs(cost)):
            break
        q, cost = arrived[best], float(costs[best])
    return q


def gather(query: Query, redundancy: int | Array | None) -> Solutions:
    """All solutions; with limits, in every winding that they allow."""
    found = all_solutions(query, redundancy)
    origin = list(range(len(found.q)))
    q = found.q
    if query.limits:
        q, origin = in_every_winding(found.q, query.chain, query.solver.bounds)
    errors = found.position_error[origin], found.orientation_error[origin]
    return Solutions(q, *errors, found.method, found.complete, found.timed_out)


def ranked(
    query: Query, found: Solutions, collision: Collision | None, objective: Objective | None
) -> tuple[Solutions, IKStatus]:
    """Solutions without collision, best first; all of them if every one collides.

    Without an objective they are ranked by distance from the seed, or from the middle of the limits.
    """
    bounds = query.solver.bounds
    cost = objective or near(query.seed if query.seed is not None else 0.5 * (bounds.lower + bounds.upper))
    found = found.at(np.argsort(costs_of(cost, found.q), kind="stable"))
    if collision is None:
        return found, IKStatus.SOLVED
    free = ~truth_of(collision(found.q), len(found.q))
    return (found.at(np.flatnonzero(free)), IKStatus.SOLVED) if free.any() else (found, IKStatus.IN_COLLISION)


def best_of(
    query: Query, found: Solutions, status: IKStatus, collision: Collision | None, objective: Objective | None
) -> IKResult:
    """The best of ranked solutions; a redundant arm descends the objective from there."""
    n, best = query.chain.n, found.q[0]
    timed_out = found.timed_out
    if objective is not None and n > _ROWS[query.task.task] and status is IKStatus.SOLVED:
        slid = np.array([slide(query, q, objective) for q in found.q[:SLIDES]])
        timed_out = timed_out or query.deadline.over
        if collision is not None:
            slid = slid[~truth_of(collision(slid), len(slid))]
        pool = np.concatenate([best[None], slid])
        best = pool[int(costs_of(objective, pool).argmin())]
    elif query.seed is not None and objective is None:
        best = nearest_winding(best, query.seed, query.chain, query.solver.bounds, query.limits)
    _, rows = query.solver.polish(query.T, best[None])
    position, orientation, iterations = rows[0, n : n + 3].tolist()
    return IKResult(best, status, position, orientation, int(iterations), len(found.q), timed_out)
