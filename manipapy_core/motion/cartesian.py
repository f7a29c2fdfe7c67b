"""Straight motions of the tip: poses on lines, joints that track them without jumps, then the time law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from .. import ik, kinematics
from ..errors import InputError
from ..geometry import Checker, WorldSnapshot
from ..ik.inputs import checked_poses
from ..model.chain import Chain
from ..trajectory.bounds import motion_bounds
from ..trajectory.joint_trajectory import concatenated
from ..trajectory.se3 import line_poses
from ..typing import Array
from .constraints.compiled import PathConstraints
from .constraints.description import Constraint
from .deadline import Cancel, Deadline, Progress, Stopped
from .goals import checked_start
from .plan import padded_checkers, padding_text, touching, warm_up
from .result import PlanPhase, PlanResult, PlanStatus
from .space import PADDING, PlanningSpace
from .timing.paths import SplinePath
from .timing.time_laws import PERIOD, LawRejected, TimeLaw, load_package, timed_trajectory
from .timing.topp import NoTimeLaw
from .verify import Efforts, chain_efforts, verify

POSITION_STEP, ROTATION_STEP = 0.005, 0.02
"""Between poses [m] and [rad]."""
LEAST_SINGULAR_VALUE = 0.02
"""Of the Jacobian of the tip: nearer to a singularity, a slow tip needs fast joints."""
LARGEST_JOINT_STEP = 0.2
"""Between poses; more is a jump to another branch [rad or m]."""


def straight_tip_motion(
    checker: Checker,
    start: ArrayLike,
    poses: ArrayLike,
    *,
    constraints: Sequence[Constraint] = (),
    position_step: float = POSITION_STEP,
    rotation_step: float = ROTATION_STEP,
    least_singular_value: float = LEAST_SINGULAR_VALUE,
    law: TimeLaw = TimeLaw.OPTIMAL,
    timeout: float = 5.0,
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
    """Moves the tip in straight lines through poses, turning evenly, at rest at each of them.

    If it cannot reach the last pose, the result says why and how far it gets (`fraction`), with the path up to there.
    Nothing is random: the same arguments give the same motion.

    Args:
        start: Joint positions [rad or m], shape (n,).
        poses: T_base_tip to go through, shape (4, 4) or (poses, 4, 4).
        constraints: What the whole motion keeps; the line ends where one would be violated, and nothing goes around.
        position_step: Between poses at which the joints are computed [m].
        rotation_step: The same for rotations [rad].
        least_singular_value: Smallest singular value of the Jacobian of the tip that is accepted; 0 accepts all.
        law: Time law; RUCKIG is refused, because it would stop at every computed pose.
        timeout: For all phases together [s].
        padding: Distance to obstacles that the path keeps if the start and the poses do [m]. If they do not, less is
            kept, and the result's `padding` and message say how much.
        velocity_scaling: Share of the velocity limits, above 0 and at most 1.
        acceleration_scaling: Share of the acceleration and jerk limits.
        effort_limits: Also keep the effort limits of the joints.
        efforts: Inverse dynamics of the arm, for example with a payload; those of the chain if not given.
        period: Longest time between two samples of the trajectory [s].
        snapshot: World to plan in; the current one if not given.
        cancel: Planning ends soon after this is set, or returns True.
        progress: Called with each phase.

    Raises:
        InputError: The start is no configuration, a pose is none, or an option is invalid.
    """
    chain = checker.body.chain
    kept = PathConstraints.of(chain, constraints) if len(constraints) else None
    if not (position_step > 0.0 and rotation_step > 0.0):
        raise InputError(f"the steps are {position_step!r} m and {rotation_step!r} rad; both must be positive")
    if law is TimeLaw.RUCKIG:
        raise InputError("the time law ruckig would stop at every pose of a straight line; use optimal or toppra")
    bounds = motion_bounds(
        chain, velocity_scaling=velocity_scaling, acceleration_scaling=acceleration_scaling, effort=effort_limits
    )
    if effort_limits and efforts is None:
        efforts = chain_efforts(chain)
    targets = checked_poses(np.asarray(poses)[None] if np.ndim(poses) == 2 else poses, "poses", batch=True)
    load_package(law)
    warm_up(checker)
    deadline = Deadline(timeout, cancel, progress)
    rows, fraction = np.empty((0, chain.n)), 0.0
    try:
        deadline.enter(PlanPhase.GOALS)
        q = checked_start(chain, start)
        bounds = bounds.including(q)
        world = checker.world.snapshot() if snapshot is None else snapshot
        if checker.check(q, snapshot=world):
            raise Stopped(PlanStatus.START_IN_COLLISION, f"the start collides{touching(checker, q, world)}")
        if kept is not None and (text := kept.violation(q)):
            raise Stopped(PlanStatus.START_VIOLATES_CONSTRAINTS, f"at the start {text}; move the arm there first")
        rows = q[None]
        deadline.enter(PlanPhase.SEARCH)
        lines = _lines(kinematics.forward(chain, q), targets, position_step, rotation_step)
        legs, problem = _tracked(chain, q, lines, least_singular_value, deadline)
        space = _space(checker, q, np.stack([leg[-1] for leg in legs]), padding, world)
        rows = np.vstack([q, *(leg[1:] for leg in legs)])
        blocked = space.first_blocked(rows) if len(rows) > 1 else -1
        if blocked >= 0:
            names = touching(space.checker, rows[blocked + 1], world)
            within = f" within the padding of {1e3 * space.padding:.3g} mm" if space.padding > 0.0 else ""
            text = f"the straight path is blocked{within}{names}; use a planner that goes around"
            rows, problem = rows[: blocked + 1], Stopped(PlanStatus.NO_PATH, text)
        if kept is not None and (outside := np.flatnonzero(kept.worst(rows) > 1.0)).size:
            text = f"the straight path violates a path constraint: {kept.violation(rows[outside[0]])}"
            rows, problem = rows[: outside[0]], Stopped(PlanStatus.NO_PATH, f"{text}; widen it or go elsewhere")
        fraction = _fraction(len(rows) - 1, lines)
        if problem is not None:
            raise problem
        deadline.enter(PlanPhase.TIME_LAW)
        paths = [SplinePath.through(leg) for leg in legs if np.ptp(leg, axis=0).max() > 1e-9]
        if not paths:
            return PlanResult(PlanStatus.SUCCESS, "the tip is there already", rows, timings=deadline.timings())
        parts = [timed_trajectory(path, bounds, law=law, efforts=efforts, period=period)[0] for path in paths]
        trajectory = replace(concatenated(parts), joint_names=chain.joint_names)
        deadline.enter(PlanPhase.VERIFICATION)
        verification = verify(trajectory, bounds, efforts=efforts, space=space.unpadded)
        if kept is not None:
            verification = verification.with_constraints(trajectory, kept)
        if not verification.passed:
            raise Stopped(PlanStatus.NOT_VALID, f"the finished trajectory is not valid: {verification}")
        text = f"found a trajectory of {trajectory.duration:.2f} s{padding_text(space, padding)}"
        return PlanResult(
            PlanStatus.SUCCESS, text, rows, trajectory, verification, deadline.timings(), goals=1, padding=space.padding
        )
    except Stopped as end:
        return PlanResult(end.status, end.message, rows, timings=deadline.timings(), fraction=fraction)
    except (LawRejected, NoTimeLaw) as error:
        return PlanResult(PlanStatus.NOT_VALID, str(error), rows, timings=deadline.timings(), fraction=fraction)


def _lines(T_start: Array, targets: Array, position_step: float, rotation_step: float) -> list[Array]:
    """Poses of each straight line, both ends included, shape (poses, 4, 4) each."""
    starts = [T_start, *targets[:-1]]
    return [line_poses(a, b, position_step, rotation_step) for a, b in zip(starts, targets)]


def _tracked(
    chain: Chain, q: Array, lines: Sequence[Array], least: float, deadline: Deadline
) -> tuple[list[Array], Stopped | None]:
    """Joint positions along each line up to the first pose that cannot be tracked, and why it cannot be."""
    legs: list[Array] = []
    for poses in lines:
        deadline.check()
        track = ik.track(chain, poses[1:], q, max_step=LARGEST_JOINT_STEP)
        rows, problem = np.vstack([q, track.q]), None
        if track.broken is not None:
            reason = track.broken.reason.value
            where = f"pose {track.broken.index + 1} of {len(poses) - 1}"
            problem = Stopped(PlanStatus.UNREACHABLE, f"the tip cannot follow the line: {reason} at {where}")
        values = np.linalg.svd(kinematics.body_jacobian(chain, rows), compute_uv=False)[:, -1]
        weak = np.flatnonzero(values < least)
        if len(weak):
            value = f"smallest singular value {values[weak[0]]:.3g}, at least {least:g} is required"
            problem = Stopped(PlanStatus.SINGULAR, f"too close to a singularity: {value}")
            rows = rows[: max(1, int(weak[0]))]
        legs.append(rows)
        if problem is not None:
            return legs, problem
        q = rows[-1]
    return legs, None


def _space(checker: Checker, start: Array, ends: Array, padding: float, world: WorldSnapshot) -> PlanningSpace:
    """With as much of the padding as the start and the ends of the lines keep."""
    robot = checker
    for robot in padded_checkers(checker, padding):
        if not robot.check(np.vstack([start, ends]), snapshot=world).any():
            break
    return PlanningSpace.around(robot, start, ends, snapshot=world, original=checker)


def _fraction(steps: int, lines: Sequence[Array]) -> float:
    """Share of the motion that a number of steps between poses covers; every line counts the same."""
    done = 0.0
    for poses in lines:
        count = len(poses) - 1
        done += min(steps, count) / count
        steps = max(0, steps - count)
    return done / len(lines)
