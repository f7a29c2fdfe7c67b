"""More starts for a pose that the first ones did not solve, and the reason if it stays unsolved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..compiler import Task
from ..typing import Array
from .bounds import inside
from .closed_form import closed_form
from .numeric import QUICK_STARTS, solver_for
from .query import STARTS_AT_A_TIME, Query
from .result import IKResult, IKStatus

UNLIMITED_STARTS = 64
"""Starts without limits, each of whose solutions may lie inside them."""
THOROUGH_STARTS = 384
"""Thorough starts inside the limits where there is a solution outside."""
LAST_STARTS = 64
"""Thorough starts where not even the search without limits has found anything."""


def solve_by_restarts(query: Query, found: IKResult) -> IKResult:
    """Solves a pose after all, or gives the reason.

    Limits cut basins of attraction into pieces, some of them too small to be hit. Without them a solution is found in
    a few starts, and with isolated solutions one of those is the one inside the limits.

    Args:
        found: Result of the quick starts.

    Returns:
        With a deadline, thorough starts continue until it is over; the result is then marked as timed out.
    """
    chain, solver, T, deadline = query.chain, query.solver, query.T, query.deadline
    if query.task.task is Task.POSE and solver.reach.excludes(T):
        return replace(found, status=IKStatus.UNREACHABLE)
    if deadline.over:
        return replace(found, timed_out=True)
    blocked_by_limits = False
    if query.limits and any(solver.bounds.stops):
        free = solver_for(chain, False, query.task, query.tolerances)
        solved, rows = free.each_start(T, 0, UNLIMITED_STARTS)
        solutions = rows[solved, : chain.n]
        blocked_by_limits = len(solutions) > 0
        candidates = inside(solutions, solver.bounds)
        found = replace(found, starts=found.starts + UNLIMITED_STARTS)
        if len(candidates):
            found = _polished(query, candidates, found)
    found = _thoroughly(query, found, THOROUGH_STARTS if blocked_by_limits else LAST_STARTS)
    if found.solved:
        return found
    if blocked_by_limits:
        return replace(found, status=IKStatus.LIMIT_BLOCKED)
    form = closed_form(chain) if query.task.task is Task.POSE else None
    if form is not None and form.held is None and not len(form.candidates(T)):
        return replace(found, status=IKStatus.UNREACHABLE, timed_out=False)  # more time would not help
    return found


def _polished(query: Query, candidates: Array, found: IKResult) -> IKResult:
    n, tolerances = query.chain.n, query.tolerances
    _, rows = query.solver.polish(query.T, candidates)
    good = np.flatnonzero((rows[:, n] <= tolerances.position) & (rows[:, n + 1] <= tolerances.orientation))
    if not len(good):
        return found
    q, (position, orientation, iterations, _) = rows[good[0], :n].copy(), rows[good[0], n:].tolist()
    return IKResult(q, IKStatus.SOLVED, position, orientation, int(iterations), found.starts)


def _thoroughly(query: Query, found: IKResult, count: int) -> IKResult:
    """Thorough starts: `count` of them without a deadline, with one as many as there is time for."""
    deadline, first = query.deadline, QUICK_STARTS
    if deadline.limited:
        count = STARTS_AT_A_TIME
    while not found.solved:
        other = query.solver.one_thoroughly(query.T, first, count)
        better = other.solved or _size(other) < _size(found)
        found = replace(other if better else found, starts=found.starts + other.starts)
        first += count
        if not deadline.limited:
            break
        if deadline.over:
            return found if found.solved else replace(found, timed_out=True)
    return found


def _size(result: IKResult) -> float:
    return result.position_error**2 + result.orientation_error**2
