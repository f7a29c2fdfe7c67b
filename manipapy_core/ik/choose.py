"""From a set of solutions to an answer: windings, collisions, objectives, ranking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..compiler.algorithms.ik_step import Task
from ..model.chain import Chain
from ..model.elements import Array
from .bounds import nearest_winding
from .everything import all_solutions, wound
from .numeric import Emphasis, NumericSolver, Tolerances
from .objectives import Objective, costs_of, near, slide
from .poses import truth_of
from .result import IKResult, IKSolutions, IKStatus

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
    emphasis: Emphasis,
    tolerances: Tolerances,
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
    emphasis: Emphasis,
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
