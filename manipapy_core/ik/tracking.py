"""Along a path of poses without jumps, and where that is not possible."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..model.chain import Chain
from ..trajectory.se3 import interpolate_pose
from ..typing import Array
from .bounds import nearest_winding
from .inputs import checked_poses, checked_seed
from .numeric import IKTolerances, NumericSolver, usual_solver

DEFAULT = IKTolerances()
FINEST = 1.0 / 256.0
"""A step between two poses is cut down to this share of it before it is given up."""


class BreakReason(enum.Enum):
    """Why a path could not be followed on."""

    NO_SOLUTION_NEARBY = "no solution nearby"
    """Out of reach, or beyond a joint limit, on this branch."""
    JUMP = "jump"
    """There is a solution, but no continuous motion leads to it."""


@dataclass(frozen=True)
class Break:
    """Where continuity ends."""

    index: int
    """First pose that was not reached."""
    reason: BreakReason


@dataclass(frozen=True)
class Track:
    """A joint path along poses."""

    q: Array
    """Joint positions [rad or m], shape (reached, n): one row per pose up to the break."""
    position_error: Array
    """[m], shape (reached,)."""
    orientation_error: Array
    """[rad], shape (reached,)."""
    broken: Break | None
    """None if every pose was reached."""

    @property
    def complete(self) -> bool:
        return self.broken is None


def track(
    chain: Chain,
    poses: ArrayLike,
    q_start: ArrayLike,
    *,
    max_step: float = 0.5,
    tolerances: IKTolerances = DEFAULT,
    orthonormalise: bool = False,
) -> Track:
    """Follows poses from a configuration, each from the one before, without restarts.

    Where two poses lie so far apart that a joint would move more than `max_step`, poses are put between them; if the
    joints still move too far for so small a step of the tip, the path breaks there.

    Args:
        poses: T_base_tip along the path, shape (N, 4, 4).
        q_start: Near the first pose [rad or m], shape (n,).
        max_step: Largest motion of a joint between neighbouring poses that counts as continuous [rad or m].
    """
    if not max_step > 0.0:
        raise InputError(f"max_step is {max_step}; it must be positive")
    targets = checked_poses(poses, "poses", batch=True, orthonormalise=orthonormalise)
    q = checked_seed(q_start, chain)
    assert q is not None
    solver = usual_solver(chain)
    rows: list[Array] = []
    broken = None
    for index, T in enumerate(targets):
        step = _follow(chain, solver, T, q, tolerances)
        if isinstance(step, BreakReason) or np.abs(step[: chain.n] - q).max(initial=0.0) > max_step:
            before = targets[index - 1] if index else None
            step = _in_small_steps(chain, solver, before, T, q, max_step, tolerances)
        if isinstance(step, BreakReason):
            broken = Break(index, step)
            break
        rows.append(step)
        q = step[: chain.n]
    table = np.array(rows).reshape(-1, chain.n + 2)
    return Track(table[:, : chain.n], table[:, chain.n], table[:, chain.n + 1], broken)


def _follow(chain: Chain, solver: NumericSolver, T: Array, q: Array, tolerances: IKTolerances) -> Array | BreakReason:
    """q and the two errors at a pose, from a neighbouring configuration."""
    n = chain.n
    _, rows = solver.follow(np.ascontiguousarray(T[None]), q[None])
    if rows[0, n] > tolerances.position or rows[0, n + 1] > tolerances.orientation:
        return BreakReason.NO_SOLUTION_NEARBY
    row = rows[0, : n + 2].copy()
    row[:n] = nearest_winding(row[:n], q, chain, solver.bounds, True)
    return row


def _in_small_steps(
    chain: Chain,
    solver: NumericSolver,
    before: Array | None,
    T: Array,
    q: Array,
    max_step: float,
    tolerances: IKTolerances,
) -> Array | BreakReason:
    """As `_follow`, with poses put in between; they get closer where the joints move fast."""
    if before is None:
        alone = _follow(chain, solver, T, q, tolerances)
        return alone if isinstance(alone, BreakReason) else BreakReason.JUMP
    at, share = 0.0, 0.5
    row: Array | BreakReason = BreakReason.NO_SOLUTION_NEARBY
    while at < 1.0:
        ahead = min(at + share, 1.0)
        row = _follow(chain, solver, interpolate_pose(before, T, ahead), q, tolerances)
        reached = not isinstance(row, BreakReason)
        if not isinstance(row, BreakReason) and np.abs(row[: chain.n] - q).max() <= max_step * max(share, 0.05):
            q, at, share = row[: chain.n], ahead, min(2.0 * share, 0.5)
            continue
        share *= 0.5
        if share < FINEST:
            return BreakReason.JUMP if reached else BreakReason.NO_SOLUTION_NEARBY
    return row
