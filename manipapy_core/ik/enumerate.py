"""All solutions of one pose: by closed form where the geometry has one, else by many starts told apart."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..model.chain import Chain
from ..typing import Array
from .bounds import TURN, Bounds
from .closed_form import EXACT, ClosedForm, closed_form
from .numeric import IKTolerances, NumericSolver, TaskWeights

NUMERIC_STARTS = 512
"""Starts of a numeric enumeration; a six-joint arm has at most 16 solutions, each with a sizeable basin."""
HELD_POSITIONS = 64
"""Positions at which the held joint of a redundant arm is sampled."""
DISTINCT_NUMERIC = 1e-3
"""Results of starts closer than this in every joint [rad or m] are one solution."""
DISTINCT_EXACT = 1e-6
"""The same for closed forms, where two solutions may come as close as the pose is to a singular one."""
MOST_WINDINGS = 4096


@dataclass(frozen=True)
class EnumeratedSolutions:
    """Solutions inside the search bounds, one winding of each."""

    q: Array
    """Shape (count, n)."""
    position_error: Array
    orientation_error: Array
    method: str
    complete: bool


def all_solutions(
    chain: Chain,
    solver: NumericSolver,
    T: Array,
    emphasis: TaskWeights,
    tolerances: IKTolerances,
    redundancy: int | Array | None,
) -> EnumeratedSolutions:
    """Every solution of a pose (4, 4) that lies inside the solver's bounds, windings not counted.

    Args:
        redundancy: For closed forms that hold a joint: how many positions of it, or which [rad].
    """
    form = closed_form(chain) if emphasis == TaskWeights() else None
    if form is None:
        rows, method, complete = _numeric_rows(solver, T, tolerances), "numeric enumeration", False
        apart = DISTINCT_NUMERIC
    else:
        candidates = _closed_form_candidates(form, solver, T, redundancy)
        rows, method, complete = _polished(solver, T, candidates, tolerances), f"closed form ({form.family})", True
        apart = DISTINCT_EXACT
    rows = rows[_distinct(rows[:, : chain.n], solver.bounds, apart)]
    n = chain.n
    return EnumeratedSolutions(rows[:, :n], rows[:, n], rows[:, n + 1], method, complete)


def held_positions(form: ClosedForm, solver: NumericSolver, redundancy: int | Array | None) -> Array:
    """Where the held joint is tried."""
    assert form.held is not None
    lower, upper = solver.bounds.lower[form.held], solver.bounds.upper[form.held]
    if redundancy is None or isinstance(redundancy, (int, np.integer)):
        count = HELD_POSITIONS if redundancy is None else int(redundancy)
        if count < 1:
            raise InputError(f"redundancy is {count}; give how many positions of the held joint to try, or which")
        return lower + (np.arange(count) + 0.5) * (upper - lower) / count
    values = np.atleast_1d(np.asarray(redundancy, dtype=np.float64))
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InputError("redundancy must be a count or a list of finite positions of the held joint [rad]")
    return values


def _closed_form_candidates(form: ClosedForm, solver: NumericSolver, T: Array, redundancy: int | Array | None) -> Array:
    if form.held is None:
        return form.candidates(T)
    positions = held_positions(form, solver, redundancy)
    if redundancy is None:
        # where few positions are possible an even grid may miss them all: the numeric solver knows some
        solved, rows = solver.each_start(T, 0, 16)
        positions = np.concatenate([positions, rows[solved, form.held]])
    return np.concatenate([form.candidates(T, float(position)) for position in positions])


def _polished(solver: NumericSolver, T: Array, candidates: Array, tolerances: IKTolerances) -> Array:
    """Candidates inside the bounds, taken to the last digits and checked by our own forward kinematics."""
    bounds = solver.bounds
    middle = 0.5 * (bounds.lower + bounds.upper)
    candidates = candidates - TURN * np.round((candidates - middle) / TURN)
    inside = ((candidates >= bounds.lower - EXACT) & (candidates <= bounds.upper + EXACT)).all(axis=1)
    candidates = np.clip(candidates[inside], bounds.lower, bounds.upper)
    _, rows = solver.polish(T, candidates)
    n = solver.n
    good = (rows[:, n] <= tolerances.position) & (rows[:, n + 1] <= tolerances.orientation)
    return rows[good]


def _numeric_rows(solver: NumericSolver, T: Array, tolerances: IKTolerances) -> Array:
    solved, rows = solver.each_start(T, 0, NUMERIC_STARTS)
    return _polished(solver, T, rows[solved, : solver.n], tolerances)


def _distinct(q: Array, bounds: Bounds, least: float) -> list[int]:
    """Rows that differ from all kept before; a full turn is no difference where a joint may make one."""
    free = ~np.array(bounds.stops)
    kept: list[int] = []
    for index, row in enumerate(q):
        apart = np.abs(q[kept] - row)
        apart = np.where(free, np.minimum(apart, TURN - apart), apart)
        if not (apart.max(axis=1, initial=0.0) < least).any():
            kept.append(index)
    return kept


def wound(q: Array, chain: Chain, bounds: Bounds) -> tuple[Array, list[int]]:
    """Every winding of the solutions (count, n) that the limits allow, and which solution each belongs to.

    A joint without limits has endless windings; it keeps the one it has.
    """
    lower, upper = chain.limits.lower, chain.limits.upper
    limited = np.isfinite(upper - lower) & ~np.array(bounds.stops)
    rows, origin = [], []
    for index, row in enumerate(q):
        choices = []
        for j in range(chain.n):
            first = int(np.ceil((lower[j] - row[j]) / TURN - 1e-12)) if limited[j] else 0
            last = int(np.floor((upper[j] - row[j]) / TURN + 1e-12)) if limited[j] else 0
            choices.append([row[j] + TURN * k for k in range(first, last + 1)])
        for choice in itertools.islice(itertools.product(*choices), MOST_WINDINGS):
            rows.append(choice)
            origin.append(index)
    return np.array(rows, dtype=np.float64).reshape(-1, chain.n), origin
