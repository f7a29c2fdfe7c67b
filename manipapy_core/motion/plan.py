"""`plan`: from a goal to a verified trajectory; `warm_up`: compiles what planning needs before the first request."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import ik, kinematics
from ..compile_notice import compiling
from ..errors import InputError
from ..geometry import Checker, WorldSnapshot
from ..geometry.warm_up import every_shape
from ..model.chain import Chain
from ..trajectory.bounds import MotionBounds, motion_bounds
from ..trajectory.joint_trajectory import JointTrajectory
from ..typing import Array
from .constraints.compiled import PathConstraints
from .constraints.description import Constraint, OrientationConstraint
from .deadline import Cancel, Deadline, Progress, Stopped
from .goals import Goal, PoseGoal, TipsGoal, all_windings, checked_start, held_joints, joint_goals, more_goals
from .multi_tip import solve_targets, targets_of
from .planners import constrained, rrt_connect
from .planners.registry import Planner, find_path
from .planners.roadmap import Roadmap
from .planners.shortcut import TRIES, shorten, shorten_uncertain
from .result import PlanPhase, PlanResult, PlanStatus
from .space import PADDING, STEP, PlanningSpace
from .timing.paths import BlendedPath, round_corners, without_repeats
from .timing.time_laws import PERIOD, LawRejected, TimeLaw, load_package, timed_trajectory
from .timing.topp import NoTimeLaw
from .verify import Efforts, Verification, chain_efforts

MOST_GOALS = 64
"""Under path constraints, those of several turns included."""
SHARES = (1.0, 0.5, 0.25, 0.1, 0.0)
"""Of the padding, tried in this order."""


def plan(
    checker: Checker,
    start: ArrayLike,
    goal: Goal | ArrayLike,
    *,
    constraints: Sequence[Constraint] = (),
    joints: Sequence[str] | None = None,
    planner: Planner | Roadmap = Planner.RRT_CONNECT,
    law: TimeLaw | None = TimeLaw.OPTIMAL,
    timeout: float = 5.0,
    seed: int = 0,
    shortcuts: int = TRIES,
    padding: float = PADDING,
    velocity_scaling: float = 1.0,
    acceleration_scaling: float = 1.0,
    effort_limits: bool = False,
    efforts: Efforts | None = None,
    period: float = PERIOD,
    snapshot: WorldSnapshot | None = None,
    cancel: Cancel | None = None,
    progress: Progress | None = None,
) -> PlanResult:
    """Plans a motion from joint positions to a goal that touches nothing and keeps every limit.

    The same arguments give the same motion, unless the timeout ends the search.

    Args:
        start: Joint positions [rad or m], shape (n,).
        goal: Joint positions (n,) or (goals, n), or a `JointGoal`, `PoseGoal`, `RegionGoal`, `TipsGoal` (several
            links) or `NamedGoal`.
        constraints: What the whole motion keeps, start and goal included; with `RRT_CONNECT` or `STRAIGHT`.
        joints: Names of the joints that may move, such as a group of an SRDF; the others stay at the start, whatever
            a joint goal says of them. All if not given.
        planner: Search method; a `Roadmap` answers many queries in one world quickly.
        law: Time law; None returns a path without a trajectory.
        timeout: For all phases together [s].
        shortcuts: Random shortcuts to try.
        padding: Distance to obstacles that the path keeps if start and goal do [m]; at least 0.05 mm if not 0. If they
            do not, less is kept, and the result's `padding` and message say how much.
        velocity_scaling: Share of the velocity limits, above 0 and at most 1.
        acceleration_scaling: Share of the acceleration and jerk limits.
        effort_limits: Also keep the effort limits of the joints.
        efforts: Inverse dynamics of the arm, for example with a payload; those of the chain if not given.
        period: Longest time between two samples of the trajectory [s].
        snapshot: World to plan in; the current one if not given.
        cancel: Planning ends soon after this is set, or returns True.
        progress: Called with each phase and the length of the best path so far.

    Raises:
        InputError: The start or goal is no configuration or pose, or an option is invalid.
    """
    chain = checker.body.chain
    kept = PathConstraints.of(chain, constraints) if len(constraints) else None
    held = held_joints(chain, joints)
    _refuse_combinations(planner, kept, held)
    bounds = None
    if law is not None:
        bounds = motion_bounds(
            chain,
            velocity_scaling=velocity_scaling,
            acceleration_scaling=acceleration_scaling,
            effort=effort_limits,
        )
        load_package(law)
    if effort_limits and efforts is None:
        efforts = chain_efforts(chain)
    warm_up(checker)
    if (kept is not None and kept.on_poses) or isinstance(goal, TipsGoal) or held is not None:
        warm_up_constraints(checker)
    deadline = Deadline(timeout, cancel, progress)
    path, iterations, count = np.empty((0, chain.n)), 0, 0
    try:
        deadline.enter(PlanPhase.GOALS)
        begin = checked_start(chain, start)
        space, goals = free_goals(checker, begin, goal, seed, padding, snapshot, kept, held)
        count = len(goals)
        deadline.enter(PlanPhase.SEARCH)
        found = find_path(planner, space, begin, goals, seed, deadline, kept, certain=not shortcuts)
        path, iterations = found.path, found.iterations
        deadline.enter(PlanPhase.SMOOTHING, polyline_length(path))
        shorter = None
        if not found.certain:
            # Only the shortened path is checked between its samples; most are free there.
            shorter = shorten_uncertain(space, path, tries=shortcuts, seed=seed)
            if shorter is None:
                deadline.enter(PlanPhase.SEARCH)
                found = find_path(planner, space, begin, goals, seed, deadline, kept)
                path, iterations = found.path, iterations + found.iterations
                deadline.enter(PlanPhase.SMOOTHING, polyline_length(path))
        if shorter is None and shortcuts:
            shorter = shorten_path(space, path, tries=shortcuts, seed=seed, constraints=kept)
        path = path if shorter is None else shorter
        path = without_repeats(path)
        if bounds is None:
            return _success(deadline, space, padding, path, None, None, iterations, count)
        if len(path) == 1:
            trajectory, verification = resting(chain, path[0], period), None
            return _success(
                deadline, space, padding, np.vstack([path, path]), trajectory, verification, iterations, count
            )
        if law is TimeLaw.RUCKIG:
            blended = BlendedPath(path, np.zeros(len(path) - 2))
        else:
            blended = round_corners(space, path, constraints=kept)
        deadline.enter(PlanPhase.TIME_LAW, polyline_length(path))
        trajectory, verification = timed_trajectory(
            blended, bounds.including(begin), law=law or TimeLaw.OPTIMAL, efforts=efforts, period=period
        )
        trajectory = replace(trajectory, joint_names=chain.joint_names)
        deadline.enter(PlanPhase.VERIFICATION, polyline_length(path))
        verification = verification.with_collisions(trajectory, space.unpadded)
        if kept is not None:
            verification = verification.with_constraints(trajectory, kept)
        deadline.check()
        if not verification.passed:
            raise Stopped(PlanStatus.NOT_VALID, _why_not(verification))
        return _success(deadline, space, padding, path, trajectory, verification, iterations, count)
    except Stopped as end:
        return PlanResult(end.status, end.message, path, None, None, deadline.timings(), iterations, count)
    except (LawRejected, NoTimeLaw) as error:
        return PlanResult(PlanStatus.NOT_VALID, str(error), path, None, None, deadline.timings(), iterations, count)


def free_goals(
    checker: Checker,
    start: Array,
    goal: Goal | ArrayLike,
    seed: int,
    padding: float,
    snapshot: WorldSnapshot | None,
    kept: PathConstraints | None = None,
    held: NDArray[np.bool_] | None = None,
) -> tuple[PlanningSpace, Array]:
    """The space to plan in and the goals in it that are free and keep the constraints.

    Where start or goal touch only by the padding, it is reduced.
    """
    chain = checker.body.chain
    snapshot = checker.world.snapshot() if snapshot is None else snapshot
    if kept is not None and (text := kept.violation(start)):
        raise Stopped(PlanStatus.START_VIOLATES_CONSTRAINTS, f"at the start {text}; move the arm there first")
    goals = joint_goals(chain, goal, start, seed, held)
    others: Array | None = None
    if kept is not None:
        goals, others = _goals_inside(chain, goal, start, seed, goals, kept, held)
    blocked = None
    for robot in padded_checkers(checker, padding):
        if bool(robot.check(start, snapshot=snapshot)):
            blocked = "start"
            continue
        free = goals[~robot.check(goals, snapshot=snapshot)]
        if not len(free):
            if others is None:
                others = more_goals(chain, goal, start, seed, held)
                others = others if kept is None or not len(others) else others[kept.worst(others) <= 1.0]
            free = others[~robot.check(others, snapshot=snapshot)] if len(others) else others
        if len(free):
            if kept is not None and kept.on_poses:
                free = all_windings(chain, free, start, held, MOST_GOALS)
                free = free[kept.worst(free) <= 1.0]
            space = PlanningSpace.around(robot, start, free, snapshot=snapshot, original=checker, held=held)
            return (space if kept is None else space.within(kept.lower, kept.upper)), free
        blocked = "goal"
    if blocked == "start":
        names = touching(checker, start, snapshot)
        raise Stopped(PlanStatus.START_IN_COLLISION, f"the start collides{names}; move the arm away first")
    names = touching(checker, goals[0], snapshot)
    raise Stopped(PlanStatus.GOAL_IN_COLLISION, f"each of {len(goals)} goals collides, the nearest one{names}")


def _goals_inside(
    chain: Chain,
    goal: Goal | ArrayLike,
    start: Array,
    seed: int,
    goals: Array,
    kept: PathConstraints,
    held: NDArray[np.bool_] | None,
) -> tuple[Array, Array | None]:
    """Goals that keep the constraints, and those of a longer search if it was needed."""
    inside = goals[kept.worst(goals) <= 1.0]
    if len(inside):
        return inside, None
    nearest = goals[int(np.argmin(kept.worst(goals)))]
    more = more_goals(chain, goal, start, seed, held)
    more = more[kept.worst(more) <= 1.0] if len(more) else more
    if not len(more):
        text = f"at each of {len(goals)} goals a path constraint is violated; at best {kept.violation(nearest)}"
        raise Stopped(PlanStatus.GOAL_VIOLATES_CONSTRAINTS, f"{text}; widen the constraint or choose another goal")
    return more, more


def _refuse_combinations(
    planner: Planner | Roadmap, kept: PathConstraints | None, held: NDArray[np.bool_] | None
) -> None:
    """Planners that would not keep what is requested."""
    able = (Planner.RRT_CONNECT, Planner.STRAIGHT)
    if kept is not None and planner not in able:
        raise InputError("path constraints are kept by the planners RRT_CONNECT and STRAIGHT; choose one of them")
    if held is not None and not isinstance(planner, Planner):
        raise InputError("a roadmap moves all joints; leave out joints, or choose another planner")


def shorten_path(
    space: PlanningSpace, path: Array, *, tries: int, seed: int, constraints: PathConstraints | None
) -> Array:
    """A path that is not longer; straight pieces, or along the constraints where they bind."""
    if constraints is None or not constraints.on_poses:
        return shorten(space, path, tries=tries, seed=seed)
    return constrained.shorten_along(space, constraints, path, tries, seed)


def padded_checkers(checker: Checker, padding: float) -> Iterator[Checker]:
    """The checker with all of the padding, then with less, at last with none.

    The padding is a distance to objects. Links are padded towards each other only as much as certain motions need, or,
    where they are nearer than that, not at all.
    """
    for share in SHARES:
        world = checker.padding + share * padding
        for own in dict.fromkeys((min(share * padding, PADDING), 0.0)):
            yield checker.padded(world, self_padding=checker.self_padding + own)


def touching(checker: Checker, q: Array, snapshot: WorldSnapshot) -> str:
    """Text of what a configuration touches; by covering spheres, so it may name a near miss too."""
    near = checker.distances(q, snapshot=snapshot)
    hits = [
        f"{link} with {near.object_names[index]}"
        for link, distance, index in zip(near.links, near.distance, near.object_index)
        if distance < 0.0 and index >= 0
    ]
    return f" ({', '.join(hits[:3])})" if hits else " (the arm with itself)"


def resting(chain: Chain, q: Array, period: float) -> JointTrajectory:
    """A trajectory that stays at one configuration."""
    still = np.zeros((2, q.size))
    return JointTrajectory([0.0, period], np.vstack([q, q]), still, still.copy(), joint_names=chain.joint_names)


def polyline_length(path: Array) -> float:
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


def _why_not(verification: Verification) -> str:
    if not verification.keeps_constraints:
        return (
            f"the finished trajectory exceeds the tolerance of a path constraint by a factor of "
            f"{verification.constraint:.4g} at {verification.constraint_time:.3f} s; plan again with another seed"
        )
    if verification.collision_time is not None:
        return f"the finished trajectory collides at {verification.collision_time:.3f} s; plan again or add padding"
    return f"the finished trajectory jumps by {verification.jump:.3g} between two samples"


def _success(
    deadline: Deadline,
    space: PlanningSpace,
    wanted: float,
    path: Array,
    trajectory: JointTrajectory | None,
    verification: Verification | None,
    iterations: int,
    goals: int,
) -> PlanResult:
    text = "found a path" if trajectory is None else f"found a trajectory of {trajectory.times[-1]:.2f} s"
    text += padding_text(space, wanted)
    spent = deadline.timings()
    return PlanResult(
        PlanStatus.SUCCESS, text, path, trajectory, verification, spent, iterations, goals, padding=space.padding
    )


def padding_text(space: PlanningSpace, wanted: float) -> str:
    """Addition to a message if less than the wanted padding [m] is kept; else empty."""
    if space.padding >= 0.99 * wanted:
        return ""
    kept, asked = 1e3 * space.padding, 1e3 * wanted
    return f"; it keeps {kept:.2g} mm instead of {asked:.2g}, because start, goal or the arm itself are that near"


_lock = threading.Lock()
_ready: set[str] = set()
CONSTRAINTS = "path constraints"
"""Entry of `_ready`."""


def warm_up(checker: Checker) -> None:
    """Runs every compiled function once: ten seconds after installation, a second or two in a new process.

    `plan` does this at its first call, before its timeout counts; a node does it when it is configured.
    """
    chain = checker.body.chain
    name = f"{chain.robot_name}/{chain.base}/{chain.tip}/{chain.n}"
    if name in _ready:
        return
    with _lock, compiling("motion planning", 12.0):
        if name in _ready:
            return
        low, high = chain.limits.sampling_range
        begin, end = 0.6 * low + 0.4 * high, 0.4 * low + 0.6 * high
        T = kinematics.forward(chain, begin)
        checker.check(begin[None], snapshot=every_shape(checker.body, begin).snapshot())
        space = PlanningSpace.around(checker, begin, end[None])
        _, trees = rrt_connect.begin(space, begin, end[None], 0, STEP)
        rrt_connect.search(space, trees, 1, STEP)
        rrt_connect.Trees.planted(begin, end[None], 0).path()  # what a longer search calls besides
        corners = np.stack([begin, 0.5 * (begin + end) + 0.01 * (high - low) * np.arange(chain.n) / chain.n, end])
        shorten(space, corners, tries=1)
        ones = np.ones(chain.n)
        bounds = MotionBounds(low, high, ones, ones, 1e6 * ones, np.inf * ones)
        timed_trajectory(BlendedPath(corners, np.array([1e-3])), bounds, space=space)
        round_corners(space, corners)
        joint_goals(chain, PoseGoal(T), begin, 0)
        ik.track(chain, T[None], begin)
        _ready.add(name)


def warm_up_constraints(checker: Checker) -> None:
    """Loads the compiled code of path constraints and of goals for several links, which is the same for all robots.

    `plan` does this before its timeout counts; a node does it when it is configured.
    """
    if CONSTRAINTS in _ready:
        return
    with _lock, compiling("path constraints", 9.0):
        if CONSTRAINTS not in _ready:
            _run_constraints(checker)


def _run_constraints(checker: Checker) -> None:
    chain = checker.body.chain
    low, high = chain.limits.sampling_range
    begin, end = 0.6 * low + 0.4 * high, 0.4 * low + 0.6 * high
    link = next(name for name, (body, _) in zip(chain.link_names, chain.link_placements) if body >= 0)
    kept = PathConstraints.of(chain, [OrientationConstraint(link, np.eye(3), (3.0, 3.0, 0.1))])
    space = PlanningSpace.around(checker, begin, end[None])
    constrained.search(space, kept, rrt_connect.Trees.planted(begin, end[None], 0), 2)
    constrained.shorten_along(space, kept, np.stack([begin, end, begin]), 1, 0)
    kept.project(begin, low, high)
    kept.line_holds(begin, end)
    kept.violation(begin)
    solve_targets(chain, targets_of(chain, {chain.tip: kinematics.forward(chain, begin)}), begin[None])
    _ready.add(CONSTRAINTS)
