"""Entry points of inverse kinematics: `solve` for one pose, `solve_batch` for many."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np
from numpy import float64, ndarray
from numpy.typing import ArrayLike

from ..compiler import Task
from ..errors import InputError
from ..model.chain import Chain
from .bounds import nearest_winding, to_winding
from .inputs import checked_poses, checked_seed, task_numbers, truth_of
from .numeric import IKTolerances, TaskWeights, solver_for, usual_solver
from .query import NO_TIME_LIMIT, Query, TimeLimit
from .restarts import solve_by_restarts
from .result import IKBatch, IKResult, IKSolutions, IKStatus
from .selection import Collision, Objective, best_of, gather, ranked

WHOLE_POSE, DEFAULT = TaskWeights(), IKTolerances()
SOLVED = IKStatus.SOLVED


# The overloads give a type checker the type of the result; the options are those of the function itself.
@overload
def solve(chain: Chain, T: ArrayLike, *, all_solutions: Literal[False] = False, **options: Any) -> IKResult: ...
@overload
def solve(chain: Chain, T: ArrayLike, *, all_solutions: Literal[True], **options: Any) -> IKSolutions: ...
def solve(  # type: ignore[misc]
    chain: Chain,
    T: ArrayLike,
    *,
    q_seed: ArrayLike | None = None,
    all_solutions: bool = False,
    limits: bool = True,
    collision: Collision | None = None,
    objective: Objective | None = None,
    redundancy: int | ArrayLike | None = None,
    timeout: float | None = None,
    task: Task = Task.POSE,
    weights: ArrayLike | None = None,
    axis: ArrayLike | None = None,
    tolerances: IKTolerances = DEFAULT,
    orthonormalise: bool = False,
) -> IKResult | IKSolutions:
    """Joint positions that bring the tip to a pose.

    Args:
        T: T_base_tip, shape (4, 4).
        q_seed: The search starts here [rad or m], shape (n,); the result is in the nearest winding, and solutions are
            ranked by their distance from here unless there is an objective.
        all_solutions: Every solution instead of one, by closed form where there is one.
        limits: Keep to the joint limits (prismatic joints and mimic joints always do).
        collision: Takes configurations (N, n), returns True for each that collides.
        objective: Takes configurations (N, n), returns a cost for each, lower is better (`ik.near`,
            `ik.centre_of_limits`, `ik.manipulability`, `ik.clearance`, or your own). Redundant arms slide to its
            minimum.
        redundancy: For all solutions of a seven-joint arm: how many positions of the held joint are tried, or which
            ones [rad].
        timeout: Time limit [s]. A search that has found no solution continues until then, and every search ends then,
            after the piece of work in hand (about a millisecond); the result is marked as timed out if more time might
            have changed it. Without it, a fixed number of starts is tried.
        task: The whole pose, or its position, or position and one axis.
        weights: Of the six rows of the error in base axes (rotation, then position) instead of a task; zero frees one.
        axis: The direction in the tip frame that `Task.AXIS` aligns; z if not given.
        tolerances: When a pose counts as reached.
        orthonormalise: Take the nearest pose of a matrix that is not in SE(3), instead of refusing it.

    Raises:
        InputError: T is not a pose (`NotAPose` carries the defect), the seed has another length, or an option is out
            of range.
    """
    deadline = NO_TIME_LIMIT if timeout is None else TimeLimit(timeout)
    task_weights = WHOLE_POSE
    if task is not Task.POSE or weights is not None or axis is not None:
        task_weights = TaskWeights(*task_numbers(task, weights, axis))
    if limits and task_weights is WHOLE_POSE and tolerances is DEFAULT:
        solver = usual_solver(chain)
    else:
        solver = solver_for(chain, bool(limits), task_weights, tolerances)
    if type(T) is not ndarray or T.dtype != float64 or T.shape != (4, 4) or orthonormalise:
        T = checked_poses(T, "T", batch=False, orthonormalise=orthonormalise, hint="; `solve_batch` takes many poses")
    seed = None if q_seed is None else checked_seed(q_seed, chain)
    if all_solutions or objective is not None:
        checked_poses(T, "T", batch=False)
        query = Query(chain, solver, T, seed, limits, task_weights, tolerances, deadline)
        return _by_enumeration(query, all_solutions, collision, objective, redundancy)
    found = solver.one(T, None if seed is None else to_winding(seed, solver.bounds))
    if found.status is not SOLVED:
        query = Query(chain, solver, T, seed, limits, task_weights, tolerances, deadline)
        found = solve_by_restarts(query, found)
    if found.status is not SOLVED or (collision is None and seed is None):
        return found
    if seed is not None:
        found = replace(found, q=nearest_winding(found.q, seed, chain, solver.bounds, limits))
    if collision is not None and truth_of(collision(found.q[None]), 1).any():
        near = found.q if seed is None else seed
        query = Query(chain, solver, T, near, limits, task_weights, tolerances, deadline)
        return _by_enumeration(query, False, collision, None, redundancy)
    return found


def _by_enumeration(
    query: Query,
    all_solutions: bool,
    collision: Collision | None,
    objective: Objective | None,
    redundancy: int | ArrayLike | None,
) -> IKResult | IKSolutions:
    """All solutions or the best of them; restarts where the enumeration finds none."""
    values = redundancy if redundancy is None or isinstance(redundancy, int) else np.asarray(redundancy, dtype=float)
    found, solver, seed = gather(query, values), query.solver, query.seed
    if not len(found.q):
        closest = solver.one(query.T, None if seed is None else to_winding(seed, solver.bounds))
        if not closest.solved:
            closest = solve_by_restarts(query, closest)
        if not closest.solved:
            if not all_solutions:
                return closest
            none, q = np.zeros(0), np.zeros((0, query.chain.n))
            return IKSolutions(q, closest.status, none, none, found.method, found.complete, closest, closest.timed_out)
        found = found.with_only(closest)
    found, status = ranked(query, found, collision, objective)
    if not all_solutions:
        return best_of(query, found, status, collision, objective)
    errors = found.position_error, found.orientation_error
    return IKSolutions(found.q, status, *errors, found.method, found.complete, None, found.timed_out)


def solve_batch(
    chain: Chain,
    T: ArrayLike,
    *,
    q_seed: ArrayLike | None = None,
    limits: bool = True,
    task: Task = Task.POSE,
    weights: ArrayLike | None = None,
    axis: ArrayLike | None = None,
    tolerances: IKTolerances = DEFAULT,
    orthonormalise: bool = False,
    threads: int = 1,
) -> IKBatch:
    """One solution for each of many poses; the arguments are those of `solve`.

    Args:
        T: T_base_tip, shape (N, 4, 4); N may be 0.
        q_seed: Start of each search, shape (N, n), or (n,) for all.
        threads: Number of threads that the poses are split over.
    """
    if threads < 1:
        raise InputError(f"threads is {threads}; give 1 or more")
    task_weights = TaskWeights(*task_numbers(task, weights, axis))
    solver = solver_for(chain, limits, task_weights, tolerances)
    poses = solver.accept(T)
    if poses is None or orthonormalise:
        poses = checked_poses(T, "T", batch=True, orthonormalise=orthonormalise, hint="; `solve` takes one pose")
    seeds = checked_seed(q_seed, chain, len(poses))
    near_seeds = None if seeds is None else to_winding(seeds, solver.bounds)
    solved, rows = solver.many_threaded(poses, near_seeds, threads)
    n = chain.n
    q = rows[:, :n].copy()
    if seeds is not None:
        q = nearest_winding(q, seeds, chain, solver.bounds, limits)
    status = np.full(len(poses), SOLVED, dtype=object)
    for index in np.flatnonzero(~solved):
        position, orientation, _, starts = rows[index, n:].tolist()
        found = IKResult(q[index], IKStatus.LEAST_SQUARES, position, orientation, 0, int(starts))
        query = Query(chain, solver, poses[index], None, limits, task_weights, tolerances, NO_TIME_LIMIT)
        found = solve_by_restarts(query, found)
        q[index], status[index] = found.q, found.status
        rows[index, n : n + 2] = found.position_error, found.orientation_error
        rows[index, n + 3] = found.starts
    errors, counts = rows[:, n : n + 2].T.copy(), rows[:, n + 2 :].T.astype(np.int64)
    return IKBatch(q, status, *errors, *counts)
