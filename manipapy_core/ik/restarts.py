"""What is done for a pose that the quick starts leave: more effort, and if it stays unsolved, the reason."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from ..compiler.algorithms.ik_step import Task
from ..model.chain import Chain
from ..typing import Array
from .bounds import inside
from .closed_form import closed_form
from .numeric import QUICK_STARTS, IKTolerances, NumericSolver, TaskWeights, solver_for
from .result import IKResult, IKStatus

FREE_STARTS = 64
"""Starts without limits, each of whose solutions may happen to lie inside them."""
HOPEFUL_STARTS = 384
"""Patient starts inside the limits where there is a solution outside, or where that was not asked."""
LAST_STARTS = 64
"""Patient starts where not even the free search has found anything."""


def solve_by_restarts(
    chain: Chain,
    solver: NumericSolver,
    T: Array,
    found: IKResult,
    limits: bool,
    emphasis: TaskWeights,
    tolerances: IKTolerances,
    timeout: float | None,
) -> IKResult:
    """Solves a pose (4, 4) after all, or says why not.

    Limits cut basins of attraction into pieces, some of them too small to be hit. Without them a solution is found in
    a few starts, and with isolated solutions one of those is the one inside the limits.

    Args:
        found: What the quick starts have come to.
        timeout: Patient starts go on for so long [s].
    """
    if emphasis.task is Task.POSE and solver.reach.excludes(T):
        return replace(found, status=IKStatus.UNREACHABLE)
    free_solutions = None
    if limits and any(solver.bounds.stops):
        free = solver_for(chain, False, emphasis, tolerances)
        solved, rows = free.each_start(T, 0, FREE_STARTS)
        free_solutions = rows[solved, : chain.n]
        candidates = inside(free_solutions, solver.bounds)
        found = replace(found, starts=found.starts + FREE_STARTS)
        if len(candidates):
            found = _polished(solver, T, candidates, found, tolerances)
    hopeful = free_solutions is not None and len(free_solutions) > 0
    found = _patiently(solver, T, found, HOPEFUL_STARTS if hopeful else LAST_STARTS, timeout)
    if found.solved:
        return found
    if hopeful:
        return replace(found, status=IKStatus.LIMIT_BLOCKED)
    form = closed_form(chain) if emphasis.task is Task.POSE else None
    if form is not None and form.held is None and not len(form.candidates(T)):
        return replace(found, status=IKStatus.UNREACHABLE)
    return found


def _polished(
    solver: NumericSolver, T: Array, candidates: Array, found: IKResult, tolerances: IKTolerances
) -> IKResult:
    n = solver.n
    _, rows = solver.polish(T, candidates)
    good = np.flatnonzero((rows[:, n] <= tolerances.position) & (rows[:, n + 1] <= tolerances.orientation))
    if not len(good):
        return found
    q, (position, orientation, iterations, _) = rows[good[0], :n].copy(), rows[good[0], n:].tolist()
    return IKResult(q, IKStatus.SOLVED, position, orientation, int(iterations), found.starts)


def _patiently(solver: NumericSolver, T: Array, found: IKResult, count: int, timeout: float | None) -> IKResult:
    deadline = None if timeout is None else time.perf_counter() + timeout
    first = QUICK_STARTS
    while not found.solved:
        other = solver.one_patiently(T, first, count)
        better = other.solved or _size(other) < _size(found)
        found = replace(other if better else found, starts=found.starts + other.starts)
        first += count
        if deadline is None or time.perf_counter() >= deadline:
            break
    return found


def _size(result: IKResult) -> float:
    return result.position_error**2 + result.orientation_error**2
