"""The joint step that comes closest to a wish at the tip, among those that limits and obstacles allow.

min ‖J dq − dx‖² + ρ ‖dq‖²   for dq in a joint set
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, ShapeError
from ..polytopes.joint_set import JointSet, NotSolved
from ..typing import Array
from .quadratic_program import INFEASIBLE, SOLVED, minimise


@dataclass(frozen=True, eq=False)
class Step:
    """The best allowed step."""

    dq: Array
    """In the unit of the joint set, shape (n,); zero if nothing is allowed."""
    achieved: Array
    """J dq, shape (rows,)."""
    cost: float
    """‖J dq − dx‖², inf if nothing is allowed."""
    allowed: bool
    """False if the joint set is empty: bounds and obstacles contradict one another."""
    held_by: NDArray[np.int64]
    """Rows of the joint set (not its bounds) that hold the step back."""


def constrained_step(jacobian: ArrayLike, wish: ArrayLike, joints: JointSet, *, damping: float = 1e-6) -> Step:
    """The step of a joint set that comes closest to a wish.

    Args:
        jacobian: Shape (rows, n); scale rows to weigh them.
        wish: Shape (rows,), in the same scale.
        damping: ρ: what a step costs; above zero, so that redundant arms have one answer.
    """
    J, dx = np.asarray(jacobian, dtype=np.float64), np.asarray(wish, dtype=np.float64)
    n = joints.n
    if J.ndim != 2 or J.shape[1] != n or dx.shape != (len(J),):
        raise ShapeError("jacobian", f"(rows, {n}), with as many wishes", J.shape)
    if not (np.isfinite(J).all() and np.isfinite(dx).all() and damping > 0.0):
        raise InputError("jacobian and wish must be finite, damping above zero")
    size = np.linalg.norm(joints.A, axis=1)
    still = size < 1e-12
    if (joints.b[still] < -1e-9).any() or (joints.lower > joints.upper).any():
        return _nothing(J)
    scale = np.where(still, 1.0, size)
    # Rows that nothing moves are kept as 0 · dq ≤ 1, so that their numbers stay.
    C = np.concatenate([joints.A / scale[:, None], np.eye(n), -np.eye(n)])
    d = np.concatenate([np.where(still, 1.0, joints.b / scale), joints.upper, -joints.lower])
    C[: len(still)][still] = 0.0
    dq, multipliers = np.empty(n), np.empty(len(C))
    status = minimise(J.T @ J + damping * np.eye(n), J.T @ dx, C, d, dq, multipliers)
    if status == INFEASIBLE:
        return _nothing(J)
    if status != SOLVED:
        raise NotSolved("the quadratic program did not end", "raise `damping`, or bring the rows to a common scale")
    dq = np.clip(dq, joints.lower, joints.upper)
    error = J @ dq - dx
    held = np.flatnonzero(multipliers[: len(still)] > 1e-12)
    return Step(dq, J @ dq, float(error @ error), True, held)


def sampled_step(
    jacobian: ArrayLike,
    wish: ArrayLike,
    q: ArrayLike,
    allowed: Callable[[Array], JointSet],
    *,
    samples: int = 5,
    spread: ArrayLike = 0.02,
    seed: int = 0,
    damping: float = 1e-6,
) -> Step:
    """The best step over joint sets taken at several states around the current one.

    A set is a linear picture of what is allowed around one state; a neighbour's picture may allow more. A neighbour at
    q_s bounds A_s (dq + q − q_s) ≤ b_s. The first state is q itself.

    Args:
        q: Joint positions [rad or m], shape (n,).
        allowed: Gives the set of small motions at a state.
        samples: How many states.
        spread: Half width of the box they are drawn from [rad or m], a number or (n,).
    """
    if samples < 1:
        raise InputError(f"samples is {samples}; give at least 1, the state itself")
    here = np.asarray(q, dtype=np.float64)
    shares = np.random.default_rng(seed).uniform(-1.0, 1.0, (samples, len(here)))
    offsets = shares * np.asarray(spread, dtype=np.float64)
    offsets[0] = 0.0
    best: Step | None = None
    for offset in offsets:
        joints = allowed(here + offset)
        moved = JointSet(joints.lower + offset, joints.upper + offset, joints.A, joints.b + joints.A @ offset)
        step = constrained_step(jacobian, wish, moved, damping=damping)
        if best is None or step.cost < best.cost:
            best = step
    assert best is not None
    return best


def _nothing(J: Array) -> Step:
    return Step(np.zeros(J.shape[1]), np.zeros(len(J)), np.inf, False, np.zeros(0, np.int64))
