"""What makes one solution better than another, and how a redundant arm slides to a better one.

An objective is any callable that takes configurations (N, n) and gives a cost for each (N,): lower is better.

From a set of solutions to an answer: windings, collisions, objectives, ranking.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kinematics
from ..compiler.algorithms.ik_step import Task
from ..errors import InputError
from ..model.chain import Chain
from ..typing import Array
from .bounds import nearest_winding, search_bounds
from .enumerate import all_solutions, wound
from .inputs import truth_of
from .numeric import IKTolerances, NumericSolver, TaskWeights
from .result import IKResult, IKSolutions, IKStatus

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


Collision = Callable[[Array], NDArray[np.bool_]]

SLIDES = 4
"""Solutions of a redundant arm from which an objective is descended."""
_ROWS = {Task.POSE: 6, Task.WEIGHTED: 6, Task.AXIS: 5, Task.POSITION: 3}


@dataclass(frozen=True)
class Solutions:
    """Solutions with every winding, and their errors."""

    q: Array
    """Shape (count, n)."""
    position_error: Array
    orientation_error: Array
    method: str
    complete: bool

    def with_only(self, candidate: IKResult) -> Solutions:
        """A single solution that another way has found."""
        errors = np.array([candidate.position_error]), np.array([candidate.orientation_error])
        return Solutions(candidate.q[None], *errors, "numeric", False)

    def at(self, order: NDArray[np.int64]) -> Solutions:
        errors = self.position_error[order], self.orientation_error[order]
        return Solutions(self.q[order], *errors, self.method, self.complete)


def gather(
    chain: Chain,
    solver: NumericSolver,
    T: Array,
    emphasis: TaskWeights,
    tolerances: IKTolerances,
    redundancy: int | Array | None,
    limits: bool,
) -> Solutions:
    """All solutions; with limits, in every winding that they allow."""
    found = all_solutions(chain, solver, T, emphasis, tolerances, redundancy)
    origin = list(range(len(found.q)))
    q = found.q
    if limits:
        q, origin = wound(found.q, chain, solver.bounds)
    return Solutions(q, found.position_error[origin], found.orientation_error[origin], found.method, found.complete)


def choose(
    chain: Chain,
    solver: NumericSolver,
    T: Array,
    found: Solutions,
    closest: IKResult | None,
    seed: Array | None,
    emphasis: TaskWeights,
    everything: bool,
    collision: Collision | None,
    objective: Objective | None,
    limits: bool,
) -> IKResult | IKSolutions:
    """Ranks the solutions and answers with all of them or with the best.

    Without an objective they are ranked by distance from the seed, or from the middle of the limits.
    """
    n = chain.n
    if not len(found.q):
        assert closest is not None
        none = np.zeros(0)
        empty = IKSolutions(np.zeros((0, n)), closest.status, none, none, found.method, found.complete, closest)
        return empty if everything else closest
    rank = objective or near(seed if seed is not None else 0.5 * (solver.bounds.lower + solver.bounds.upper))
    found = found.at(np.argsort(costs_of(rank, found.q), kind="stable"))
    status = IKStatus.SOLVED
    if collision is not None:
        free = ~truth_of(collision(found.q), len(found.q))
        if free.any():
            found = found.at(np.flatnonzero(free))
        else:
            status = IKStatus.IN_COLLISION
    if everything:
        errors = found.position_error, found.orientation_error
        return IKSolutions(found.q, status, *errors, found.method, found.complete, None)
    best = found.q[0]
    if objective is not None and n > _ROWS[emphasis.task] and status is IKStatus.SOLVED:
        slid = np.array([slide(chain, solver, T, q, objective) for q in found.q[:SLIDES]])
        if collision is not None:
            slid = slid[~truth_of(collision(slid), len(slid))]
        pool = np.concatenate([best[None], slid])
        best = pool[int(costs_of(objective, pool).argmin())]
    elif seed is not None and objective is None:
        best = nearest_winding(best, seed, chain, solver.bounds, limits)
    _, rows = solver.polish(T, best[None])
    return IKResult(best, status, float(rows[0, n]), float(rows[0, n + 1]), int(rows[0, n + 2]), len(found.q))
