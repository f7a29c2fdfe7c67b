"""Goals of planning from MoveIt's goal constraints, each of which is an alternative."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from moveit_msgs.msg import Constraints, MoveItErrorCodes

from manipapy_core import ik, lie
from manipapy_core.ik.bounds import nearest_winding, search_bounds
from manipapy_core.motion import Goal, JointGoal, PlanStatus, PoseGoal, TipsGoal
from manipapy_core.motion.deadline import Stopped
from manipapy_core.motion.goals import joint_goals
from manipapy_core.typing import Array

from .constraints import ConstraintSet, no_constraints, read_constraints
from .error_codes import RequestRefused
from .group import PlanningGroup

EXACT_POSITION, EXACT_ROTATION = 5e-3, 0.05
"""Up to these tolerances [m] and [rad] only the middle is aimed at."""
SAMPLES = 96
"""Poses within larger tolerances that are tried."""
TRIES = 12
"""The same where several links, or some of the joints alone, are searched."""
FREE_POSITION = 0.4
"""How far from the current position an orientation alone is looked for [m]."""
INVALID = MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS


def goal_of(alternatives: Sequence[Constraints], group: PlanningGroup, start: Array, seed: int = 0) -> Goal:
    """The goal of a request.

    Args:
        start: Joint positions at the start [rad or m], shape (n,).

    Raises:
        RequestRefused: Constraints that are empty, make no sense or contradict each other.
        Stopped: No joint positions meet them.
    """
    sets = [read_constraints(item, group, start, INVALID) for item in alternatives]
    if not sets or any(item.empty for item in sets):
        raise no_constraints()
    goals = []
    problem: Stopped | None = None
    for item in sets:
        try:
            goals.append(goal_of_set(item, group, start, seed))
        except Stopped as error:
            problem = problem or error
    if len(sets) == 1 and goals:
        return goals[0]
    rows = []
    for goal in goals:
        try:
            rows.append(joint_goals(group.chain, goal, start, seed, group.held))
        except Stopped as error:
            problem = problem or error
    if not rows:
        assert problem is not None
        raise problem
    return JointGoal(np.vstack(rows))


def goal_of_set(constraints: ConstraintSet, group: PlanningGroup, start: Array, seed: int) -> Goal:
    """The goal that meets all constraints of a set.

    Raises:
        RequestRefused: They contradict each other, or leave open what cannot be searched.
        Stopped: No joint positions meet them.
    """
    chain = group.chain
    if not constraints.links:
        return JointGoal(_with_wanted(constraints, group, start))
    if set(constraints.wanted) == set(group.joints):
        q = _with_wanted(constraints, group, start)
        if not constraints.met(group, q[None])[0]:
            raise RequestRefused(
                INVALID, "the constraints contradict each other: the joint positions do not bring the links there"
            )
        return JointGoal(q)
    poses = {link: _middle(constraints, link, group, start) for link in constraints.links}
    if not constraints.bands and all(_exact(constraints, link) for link in poses):
        return PoseGoal(poses[chain.tip]) if tuple(poses) == (chain.tip,) else TipsGoal(poses)
    if len(poses) == 1 and next(iter(poses)) in group.tool_links and group.held is None:
        return JointGoal(_searched(constraints, group, start, seed))
    return JointGoal(_searched_together(constraints, poses, group, start, seed))


def _with_wanted(constraints: ConstraintSet, group: PlanningGroup, start: Array) -> Array:
    q, names = start.copy(), group.chain.joint_names
    for joint, position in constraints.wanted.items():
        q[names.index(joint)] = position
    return q


def _exact(constraints: ConstraintSet, link: str) -> bool:
    """Whether position and orientation of a link are given, with tolerances too small to be worth a search."""
    points = [item for item in constraints.points if item.link == link]
    rotations = [item for item in constraints.rotations if item.link == link]
    if len(points) != 1 or len(rotations) != 1 or len(points[0].regions) != 1:
        return False
    return points[0].regions[0].radius <= EXACT_POSITION and bool(rotations[0].tolerance.max() <= EXACT_ROTATION)


def _middle(constraints: ConstraintSet, link: str, group: PlanningGroup, start: Array) -> Array:
    """Pose of a link in the middle of its constraints, T_base_link; what is not constrained is as at the start."""
    T = group.link_pose(start, link).copy()
    for rotation in (item for item in constraints.rotations if item.link == link):
        T[:3, :3] = rotation.R_base
        break
    for point in (item for item in constraints.points if item.link == link):
        T[:3, 3] = point.regions[0].T_base_region[:3, 3] - T[:3, :3] @ point.offset
        break
    return T


def _searched(constraints: ConstraintSet, group: PlanningGroup, start: Array, seed: int) -> Array:
    """Joint positions that meet the constraints of one link that moves with the tip, shape (goals, n).

    Raises:
        Stopped: None of the poses that were tried has any.
    """
    chain, link = group.chain, constraints.links[0]
    tips = group.tip_poses(link, _sampled(constraints, link, group, start, seed))
    bounds, rng = search_bounds(chain, True), np.random.default_rng(seed)
    seeds = rng.uniform(bounds.lower, bounds.upper, (len(tips), chain.n))
    seeds[: len(tips) // 2] = start
    first = ik.solve(chain, tips[0], q_seed=start)
    many = ik.solve_batch(chain, tips, q_seed=seeds)
    rows = np.vstack([first.q[None][: int(first.solved)], many.q[many.solved]])
    rows = nearest_winding(rows, start, chain, bounds, True) if len(rows) else rows
    rows = rows[constraints.met(group, rows)] if len(rows) else rows
    if not len(rows):
        raise Stopped(
            PlanStatus.UNREACHABLE,
            f"no joint positions meet the constraints of {link!r}: none of {len(tips)} poses within its tolerances is "
            f"reached; the middle is missed by {1e3 * first.position_error:.1f} mm and "
            f"{np.rad2deg(first.orientation_error):.1f}°",
        )
    return rows


def _searched_together(
    constraints: ConstraintSet, middle: dict[str, Array], group: PlanningGroup, start: Array, seed: int
) -> Array:
    """Joint positions that meet the constraints of any links, some joints being held perhaps, shape (goals, n).

    Raises:
        Stopped: None of the poses that were tried has any.
    """
    samples = {link: _sampled(constraints, link, group, start, seed) for link in middle}
    tries = [middle, *({link: poses[index] for link, poses in samples.items()} for index in range(1, TRIES))]
    problem: Stopped | None = None
    for poses in tries:
        try:
            rows = joint_goals(group.chain, TipsGoal(poses), start, seed, group.held)
        except Stopped as error:
            problem = problem or error
            continue
        met = rows[constraints.met(group, rows)]
        if len(met):
            return met
    if problem is not None:
        raise problem
    raise Stopped(PlanStatus.UNREACHABLE, "joint positions bring the links there, but none meets all constraints")


def _sampled(constraints: ConstraintSet, link: str, group: PlanningGroup, start: Array, seed: int) -> Array:
    """Poses of a link within its constraints, T_base_link, shape (samples, 4, 4); the middle first."""
    rng = np.random.default_rng(seed)
    poses = np.tile(_middle(constraints, link, group, start), (SAMPLES, 1, 1))
    rotations = [item for item in constraints.rotations if item.link == link]
    points = [item for item in constraints.points if item.link == link]
    if rotations:
        poses[:, :3, :3] = rotations[0].samples(SAMPLES, rng)
    else:
        turns = rng.normal(size=(SAMPLES, 4))
        poses[1:, :3, :3] = lie.rotation_from_quaternion(turns / np.linalg.norm(turns, axis=1, keepdims=True))[1:]
    if points:
        places = points[0].regions[0].samples(SAMPLES, rng)
        poses[:, :3, 3] = places - poses[:, :3, :3] @ points[0].offset
    else:
        poses[1:, :3, 3] += rng.uniform(-FREE_POSITION, FREE_POSITION, (SAMPLES - 1, 3))
    return poses
