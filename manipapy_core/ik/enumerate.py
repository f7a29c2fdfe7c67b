"""All solutions of one pose: by closed form where the geometry has one, else by many starts."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..model.chain import Chain
from ..typing import Array
from .bounds import TURN, Bounds
from .closed_form import EXACT, ClosedForm, closed_form
from .numeric import NumericSolver, TaskWeights
from .query import STARTS_AT_A_TIME, Query
from .result import IKResult

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
class Solutions:
    """Solutions and their errors."""

    q: Array
    """Shape (count, n)."""
    position_error: Array
    orientation_error: Array
    method: str
    complete: bool
    timed_out: bool

    def with_only(self, candidate: IKResult) -> Solutions:
        """A single solution, found by restarts."""
        errors = np.array([candidate.position_error]), np.array([candidate.orientation_error])
        return Solutions(candidate.q[None], *errors, "numeric", False, self.timed_out)

    def at(self, order: NDArray[np.int64]) -> Solutions:
        errors = self.position_error[order], self.orientation_error[order]
        return Solutions(self.q[order], *errors, self.method, self.complete, self.timed_out)


def all_solutions(query: Query, redundancy: int | Array | None) -> Solutions:
    """Every solution of a pose that lies inside the solver's bounds, in one winding.

    Args:
        redundancy: For closed forms that hold a joint: how many positions of it, or which [rad].
    """
    n = query.chain.n
    form = closed_form(query.chain) if query.task == TaskWeights() else None
    if form is None:
        candidates, timed_out = _numeric_candidates(query)
        method, complete, apart = "numeric enumeration", False, DISTINCT_NUMERIC
    else:
        candidates, timed_out = _closed_form_candidates(form, query, redundancy)
        method, complete, apart = f"closed form ({form.family})", not timed_out, DISTINCT_EXACT
    rows = _polished(query, candidates)
    rows = rows[_distinct(rows[:, :n], query.solver.bounds, apart)]
    return Solutions(rows[:, :n], rows[:, n], rows[:, n + 1], method, complete, timed_out)


def held_positions(form: ClosedForm, solver: NumericSolver, redundancy: int | Array | None) -> Array:
    """Positions at which the held joint is tried."""
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


def _closed_form_candidates(form: ClosedForm, query: Query, redundancy: int | Array | None) -> tuple[Array, bool]:
    """Candidates, and whether time ran out before all positions of the held joint were tried."""
    if form.held is None:
        return form.candidates(query.T), False
    positions = held_positions(form, query.solver, redundancy)
    if redundancy is None:
        # where few positions are possible an even grid may miss them all: the numeric solver finds some
        solved, rows = query.solver.each_start(query.T, 0, 16)
        positions = np.concatenate([rows[solved, form.held], positions])
    found = []
    for position in positions:
        found.append(form.candidates(query.T, float(position)))
        if query.deadline.over:
            break
    return np.concatenate(found), len(found) < len(positions)


def _numeric_candidates(query: Query) -> tuple[Array, bool]:
    """Where the solved starts end, and whether time ran out before all were tried."""
    count = STARTS_AT_A_TIME if query.deadline.limited else NUMERIC_STARTS
    found = []
    for first in range(0, NUMERIC_STARTS, count):
        solved, rows = query.solver.each_start(query.T, first, count)
        found.append(rows[solved, : query.chain.n])
        if query.deadline.over:
            break
    return np.concatenate(found), len(found) * count < NUMERIC_STARTS


def _polished(query: Query, candidates: Array) -> Array:
    """Candidates inside the bounds, taken to the last digits and checked by our own forward kinematics."""
    solver, n = query.solver, query.chain.n
    bounds = solver.bounds
    middle = 0.5 * (bounds.lower + bounds.upper)
    candidates = candidates - TURN * np.round((candidates - middle) / TURN)
    inside = ((candidates >= bounds.lower - EXACT) & (candidates <= bounds.upper + EXACT)).all(axis=1)
    candidates = np.clip(candidates[inside], bounds.lower, bounds.upper)
    _, rows = solver.polish(query.T, candidates)
    good = (rows[:, n] <= query.tolerances.position) & (rows[:, n + 1] <= query.tolerances.orientation)
    return rows[good]


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


def in_every_winding(q: Array, chain: Chain, bounds: Bounds) -> tuple[Array, list[int]]:
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
