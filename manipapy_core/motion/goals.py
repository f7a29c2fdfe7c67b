"""Goals of planning: joint positions, poses of one or several links, regions, names; all become joint positions."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import ik, lie
from ..errors import InputError, NotFiniteError, ShapeError, UnknownJoint
from ..ik.bounds import TURN, nearest_winding, search_bounds
from ..jit import njit
from ..model.chain import Chain
from ..typing import Array
from .deadline import Stopped
from .multi_tip import moved_joints, solve_targets, targets_of
from .result import PlanStatus

LIMIT_TOLERANCE = 1e-4
"""How far beyond a limit a position still counts as at it [rad or m]: a measured start is noisy."""
SEEDS = 32
"""Of the inverse kinematics of a pose."""
MORE_SEEDS = 256
"""If all solutions of the first search collide."""
REGION_TRIES = 8
"""Poses of a region that are solved where some joints are held."""
DUPLICATE = 1e-3
"""Solutions nearer than this are the same [rad or m]."""


@dataclass(frozen=True, eq=False)
class JointGoal:
    """Joint positions; any one of several is accepted."""

    q: ArrayLike
    """[rad or m], shape (n,) or (goals, n)."""


@dataclass(frozen=True, eq=False)
class PoseGoal:
    """A pose of the tip; any of its solutions is accepted."""

    T_base_tip: ArrayLike
    """Shape (4, 4)."""


@dataclass(frozen=True, eq=False)
class RegionGoal:
    """Any pose near a given one, within a box along its own axes and turns about them."""

    T_base_tip: ArrayLike
    """Middle of the region, shape (4, 4)."""
    position: ArrayLike = (0.0, 0.0, 0.0)
    """Half lengths [m], shape (3,)."""
    rotation: ArrayLike = (0.0, 0.0, 0.0)
    """Largest rotation vector, per axis [rad], shape (3,); π frees an axis."""


@dataclass(frozen=True, eq=False)
class NamedGoal:
    """Joint positions by their name."""

    name: str
    states: Mapping[str, ArrayLike] = field(default_factory=dict)
    """Joint positions by name [rad or m], shape (n,) each."""


@dataclass(frozen=True, eq=False)
class TipsGoal:
    """Poses of one or several links, all at the same time.

    Any moving link is accepted: one behind the tip, such as a camera at the wrist, one in the middle of the
    arm, or, where the checker's chain is a whole robot (`Robot.tree`), the hands of several arms.
    """

    poses: Mapping[str, ArrayLike]
    """T_base_link by name of the link, shape (4, 4) each."""


Goal = JointGoal | PoseGoal | RegionGoal | NamedGoal | TipsGoal
"""Where a motion ends."""


def joint_goals(
    chain: Chain, goal: Goal | ArrayLike, start: Array, seed: int, held: NDArray[np.bool_] | None = None
) -> Array:
    """Joint positions that reach a goal, nearest to the start first, shape (goals, n); collisions are not checked yet.

    Args:
        held: Which elements of q stay at the start, shape (n,); what a joint goal says of them does not count.

    Raises:
        Stopped: There are none.
        InputError: The goal is invalid.
    """
    if isinstance(goal, NamedGoal):
        if goal.name not in goal.states:
            known = ", ".join(goal.states) or "none"
            raise InputError(f"no joint positions are named {goal.name!r}; known names: {known}")
        goal = JointGoal(goal.states[goal.name])
    if isinstance(goal, (PoseGoal, RegionGoal, TipsGoal)):
        return _pose_solutions(chain, goal, start, seed, SEEDS, held)
    else:
        rows = checked_rows(goal.q if isinstance(goal, JointGoal) else goal, chain, "goal")
        rows = rows if held is None else np.where(held, start, rows)
        outside = np.maximum(chain.limits.lower - rows, rows - chain.limits.upper)
        inside = (outside <= LIMIT_TOLERANCE).all(axis=1)
        if not inside.any():
            raise Stopped(PlanStatus.GOAL_OUTSIDE_LIMITS, _beyond(chain, rows[0], "goal"))
        found = np.clip(rows[inside], chain.limits.lower, chain.limits.upper)
        found = found if held is None else np.where(held, start, found)
    return found if len(found) == 1 else found[np.argsort(np.linalg.norm(found - start, axis=1), kind="stable")]


def more_goals(
    chain: Chain, goal: Goal | ArrayLike, start: Array, seed: int, held: NDArray[np.bool_] | None = None
) -> Array:
    """Solutions of a second, longer search, for poses whose first solutions all collide; empty for joint goals."""
    if isinstance(goal, (PoseGoal, RegionGoal, TipsGoal)):
        return _pose_solutions(chain, goal, start, seed + 1, MORE_SEEDS, held)
    return np.empty((0, chain.n))


def all_windings(chain: Chain, goals: Array, start: Array, held: NDArray[np.bool_] | None, most: int) -> Array:
    """Goals (goals, n) with joints also a turn farther where their limits allow, nearest to the start first.

    Under path constraints it matters by which turn a goal is reached: where the sum of three joints has to stay,
    one of them a turn farther is out of reach.
    """
    bounds = search_bounds(chain, True)
    lower, upper = chain.limits.lower, chain.limits.upper
    turning = [j for j in range(chain.n) if bounds.turns[j] and (held is None or not held[j])]
    found = []
    for goal in goals:
        rows = goal[None]
        for j in turning:
            shifted = rows[:, None, :] + TURN * np.array([0.0, -1.0, 1.0])[:, None] * (np.arange(chain.n) == j)
            rows = shifted.reshape(-1, chain.n)
            rows = rows[(rows[:, j] >= lower[j]) & (rows[:, j] <= upper[j])]
            # The nearest ones of a part are enough: distances of the joints add up.
            rows = rows[np.argsort(np.linalg.norm(rows - start, axis=1), kind="stable")][:most]
        found.append(rows)
    rows = np.vstack(found)
    return rows[np.argsort(np.linalg.norm(rows - start, axis=1), kind="stable")][:most]


def held_joints(chain: Chain, joints: Sequence[str] | None) -> NDArray[np.bool_] | None:
    """Which elements of q stay where they are if only some joints move, shape (n,); None if all move.

    Raises:
        InputError: No joint, or one that the chain does not have.
    """
    if joints is None:
        return None
    for name in joints:
        if name not in chain.joint_names:
            raise UnknownJoint(name, chain.joint_names)
    held = np.array([name not in joints for name in chain.joint_names])
    if held.all():
        raise InputError("joints is empty; name at least one joint that moves")
    return held if held.any() else None


def checked_start(chain: Chain, start: ArrayLike) -> Array:
    """Joint positions of the start, shape (n,); raises `Stopped` if they are outside the limits."""
    rows = checked_rows(start, chain, "start")
    if len(rows) != 1 or np.ndim(start) != 1:
        raise ShapeError("start", f"({chain.n},)", np.shape(start))
    q = rows[0]
    if np.any(np.maximum(chain.limits.lower - q, q - chain.limits.upper) > LIMIT_TOLERANCE):
        raise Stopped(PlanStatus.START_OUTSIDE_LIMITS, _beyond(chain, q, "start"))
    return q


def checked_rows(values: ArrayLike, chain: Chain, name: str) -> Array:
    try:
        rows = np.atleast_2d(np.array(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(f"{name} is not an array of numbers; give joint positions of shape ({chain.n},)") from None
    if rows.ndim != 2 or rows.shape[1] != chain.n or not len(rows):
        raise ShapeError(name, f"({chain.n},) or (goals, {chain.n})", np.shape(values))
    if not np.all(np.abs(rows) <= 1e4):
        index = tuple(int(i) for i in np.argwhere(~(np.abs(rows) <= 1e4))[0])
        raise NotFiniteError(name, index[-np.ndim(values) :], float(rows[index]), 1e4)
    return rows


def region_poses(goal: RegionGoal, count: int, seed: int) -> Array:
    """The middle of a region and poses spread over it, shape (count, 4, 4)."""
    T = np.asarray(goal.T_base_tip, dtype=np.float64)
    boxes = []
    for name, largest in (("position", 100.0), ("rotation", np.pi)):
        half = np.asarray(getattr(goal, name), dtype=np.float64)
        if half.shape != (3,):
            raise ShapeError(name, "(3,)", half.shape)
        if not np.all((half >= 0.0) & (half <= largest)):
            raise InputError(f"{name} of the region is {half.tolist()}; give three numbers from 0 to {largest:g}")
        boxes.append(half)
    shares = np.random.default_rng(seed).uniform(-1.0, 1.0, (count, 6))
    shares[0] = 0.0
    poses = np.tile(np.eye(4), (count, 1, 1))
    poses[:, :3, 3] = shares[:, :3] * boxes[0]
    poses[:, :3, :3] = lie.exp_so3(shares[:, 3:] * boxes[1])
    if T.shape != (4, 4):
        raise ShapeError("T_base_tip", "(4, 4)", T.shape)
    return T @ poses


def _pose_solutions(
    chain: Chain,
    goal: PoseGoal | RegionGoal | TipsGoal,
    start: Array,
    seed: int,
    starts: int,
    held: NDArray[np.bool_] | None,
) -> Array:
    """Solutions of a goal of poses; only joints that are not held are moved."""
    if isinstance(goal, TipsGoal):
        return _tips_solutions(chain, goal, start, seed, starts, held)
    if isinstance(goal, PoseGoal):
        poses = np.asarray(goal.T_base_tip, dtype=np.float64)[None]
    else:
        poses = region_poses(goal, starts, seed)
    if held is None:
        return _solutions(chain, poses, start, seed, starts)
    found: list[Array] = []
    problem: Stopped | None = None
    for index, T in enumerate(poses[:REGION_TRIES]):
        try:
            found += list(_tips_solutions(chain, TipsGoal({chain.tip: T}), start, seed + index, starts, held))
        except Stopped as end:
            problem = problem or end
    if not found:
        assert problem is not None
        raise problem
    return _different(found, start)


def _solutions(chain: Chain, poses: Array, start: Array, seed: int, starts: int) -> Array:
    """Solutions of poses from many starts, one per pose or all for the one pose; raises `Stopped` without any."""
    first = ik.solve(chain, poses[0], q_seed=start)
    rows = [first.q[None]] if first.solved else []
    if first.solved or len(poses) > 1:
        bounds = search_bounds(chain, True)
        targets = np.repeat(poses, -(-starts // len(poses)), axis=0)[:starts]
        many = ik.solve_batch(chain, targets, q_seed=_random_starts(chain, seed, starts))
        rows.append(nearest_winding(many.q[many.solved], start, chain, bounds, True))
    if not sum(map(len, rows)):
        raise Stopped(
            PlanStatus.UNREACHABLE,
            f"no joint positions reach the pose ({first.status.value}): the tip comes within "
            f"{1e3 * first.position_error:.1f} mm and {np.rad2deg(first.orientation_error):.1f}° of it",
        )
    return _different(np.concatenate(rows), start)


@functools.lru_cache(maxsize=64)
def _random_starts(chain: Chain, seed: int, starts: int) -> Array:
    """Where inverse kinematics starts, within the joint limits [rad or m], shape (starts, n); read-only."""
    bounds = search_bounds(chain, True)
    rows = np.random.default_rng(seed).uniform(bounds.lower, bounds.upper, (starts, chain.n))
    rows.setflags(write=False)
    return rows


def _tips_solutions(
    chain: Chain, goal: TipsGoal, start: Array, seed: int, starts: int, held: NDArray[np.bool_] | None = None
) -> Array:
    """Solutions for several links; joints that move none of them, or are held, stay at the start."""
    targets = targets_of(chain, goal.poses)
    if held is None and len(targets) == 1 and targets[0].body == chain.tip_body:
        return _solutions(chain, (targets[0].T_base_body @ chain.T_body_tip)[None], start, seed, starts)
    bounds, seeds = search_bounds(chain, True), _random_starts(chain, seed, starts).copy()
    seeds[0] = start
    moved = moved_joints(chain, targets)
    moved = moved if held is None else moved & ~held
    reached = solve_targets(chain, targets, np.where(moved, seeds, start), moved)
    if not len(reached.q):
        names = ", ".join(link for target in targets for link in target.links)
        distance, turn = 1e3 * reached.nearest[0], np.rad2deg(reached.nearest[1])
        raise Stopped(
            PlanStatus.UNREACHABLE,
            f"no joint positions bring {names} to their poses together: at best one of them is {distance:.1f} mm and "
            f"{turn:.1f}° away",
        )
    nearest = nearest_winding(reached.q, start, chain, bounds, True)
    return _different(np.where(moved, nearest, start), start)


def _different(rows: list[Array] | Array, start: Array) -> Array:
    """Those that differ, nearest to the start first."""
    table = np.ascontiguousarray(rows, dtype=np.float64).reshape(-1, start.size)
    kept: Array = distinct_rows(table, start, DUPLICATE)
    return kept


@njit(cache=True, nogil=True)
def distinct_rows(rows, start, tolerance):  # type: ignore[no-untyped-def]
    """Rows by their distance from the start, without those that are within the tolerance of one before."""
    count, n = rows.shape
    order, squares = np.empty(count, dtype=np.int64), np.empty(count)
    for i in range(count):
        square = 0.0
        for j in range(n):
            square += (rows[i, j] - start[j]) ** 2
        at = i
        while at > 0 and squares[order[at - 1]] > square:
            order[at] = order[at - 1]
            at -= 1
        order[at], squares[i] = i, square
    kept, found = np.empty_like(rows), 0
    for i in order:
        new = True
        for k in range(found):
            most = 0.0
            for j in range(n):
                most = max(most, abs(rows[i, j] - kept[k, j]))
            if most <= tolerance:
                new = False
                break
        if new:
            for j in range(n):
                kept[found, j] = rows[i, j]
            found += 1
    return kept[:found].copy()


def _beyond(chain: Chain, q: Array, name: str) -> str:
    worst = int(np.argmax(np.maximum(chain.limits.lower - q, q - chain.limits.upper)))
    return (
        f"{name}: joint {chain.joint_names[worst]!r} is at {q[worst]:.4g}, outside its limits "
        f"{chain.limits.lower[worst]:.4g} to {chain.limits.upper[worst]:.4g}; move it back first"
    )
