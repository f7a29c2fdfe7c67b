"""The tip along straight lines: poses in between, joints that follow without jumps, singularities and obstacles."""

from __future__ import annotations

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
from .deadline import Cancel, Deadline, Progress, Stopped
from .goals import checked_start
from .plan import touching, warm_up
from .result import PlanPhase, PlanResult, PlanStatus
from .space import PlanningSpace
from .timing.paths import SplinePath
from .timing.time_laws import PERIOD, LawRejected, timed_trajectory
from .timing.topp import NoTimeLaw
from .verify import verify

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
    position_step: float = POSITION_STEP,
    rotation_step: float = ROTATION_STEP,
    least_singular_value: float = LEAST_SINGULAR_VALUE,
    timeout: float = 5.0,
    velocity_scaling: float = 1.0,
    acceleration_scaling: float = 1.0,
    period: float = PERIOD,
    snapshot: WorldSnapshot | None = None,
    cancel: Cancel | None = None,
    progress: Progress | None = None,
) -> PlanResult:
    """Moves the tip in straight lines through poses, turning evenly, at rest at each of them.

    Where it cannot be done, the result says why and how far it goes (`fraction`), with the path up to there.

    Args:
        start: Joint positions [rad or m], shape (n,).
        poses: T_base_tip to go through, shape (4, 4) or (poses, 4, 4).
        position_step: Between poses at which the joints are computed [m].
        rotation_step: The same for turns [rad].
        least_singular_value: Smallest singular value of the Jacobian of the tip that is accepted; 0 accepts all.

    Raises:
        InputError: The start is no configuration, a pose is none, or an option makes no sense.
    """
    chain = checker.body.chain
    if not (position_step > 0.0 and rotation_step > 0.0):
        raise InputError(f"the steps are {position_step!r} m and {rotation_step!r} rad; both must be positive")
    bounds = motion_bounds(chain, velocity_scaling=velocity_scaling, acceleration_scaling=acceleration_scaling)
    targets = checked_poses(np.asarray(poses)[None] if np.ndim(poses) == 2 else poses, "poses", batch=True)
    warm_up(checker)
    watch = Deadline(timeout, cancel, progress)
    rows, done = np.empty((0, chain.n)), 0.0
    try:
        watch.enter(PlanPhase.GOALS)
        q = checked_start(chain, start)
        picture = checker.world.snapshot() if snapshot is None else snapshot
        space = PlanningSpace.around(checker, q, q[None], snapshot=picture)
        if checker.check(q, snapshot=picture):
            raise Stopped(PlanStatus.START_IN_COLLISION, f"the start collides{touching(checker, q, picture)}")
        rows = q[None]
        watch.enter(PlanPhase.SEARCH)
        legs, T = [], kinematics.forward(chain, q)
        for index, target in enumerate(targets):
            watch.check()
            line = line_poses(T, target, position_step, rotation_step)
            leg, reached, problem = _leg(chain, space, q, line, least_singular_value)
            rows, done = np.vstack([rows, leg[1:]]), (index + reached) / len(targets)
            if problem is not None:
                raise problem
            q, T = leg[-1], target
            legs.append(leg)
        watch.enter(PlanPhase.TIME_LAW)
        paths = [SplinePath.through(leg) for leg in legs if np.ptp(leg, axis=0).max() > 1e-9]
        if not paths:
            return PlanResult(PlanStatus.SUCCESS, "the tip is there already", rows, None, None, watch.timings())
        parts = [timed_trajectory(path, bounds, period=period)[0] for path in paths]
        trajectory = replace(concatenated(parts), joint_names=chain.joint_names)
        watch.enter(PlanPhase.VERIFICATION)
        seen = verify(trajectory, bounds, space=space)
        if not seen.passed:
            raise Stopped(PlanStatus.NOT_VALID, f"the finished trajectory is not valid: {seen}")
        text = f"found a trajectory of {trajectory.times[-1]:.2f} s"
        return PlanResult(PlanStatus.SUCCESS, text, rows, trajectory, seen, watch.timings(), goals=1)
    except Stopped as end:
        return PlanResult(end.status, end.message, rows, timings=watch.timings(), fraction=done)
    except (LawRejected, NoTimeLaw) as error:
        return PlanResult(PlanStatus.NOT_VALID, str(error), rows, timings=watch.timings(), fraction=done)


def _leg(
    chain: Chain, space: PlanningSpace, q: Array, poses: Array, least: float
) -> tuple[Array, float, Stopped | None]:
    """Joints along poses as far as all is well, the share of the way, and what is in the way."""
    track = ik.track(chain, poses[1:], q, max_step=LARGEST_JOINT_STEP)
    rows, problem = np.vstack([q, track.q]), None
    if track.broken is not None:
        reason = track.broken.reason.value
        where = f"pose {track.broken.index + 1} of {len(poses) - 1}"
        problem = Stopped(PlanStatus.UNREACHABLE, f"the tip cannot be led on: {reason} at {where}")
    values = np.linalg.svd(kinematics.body_jacobian(chain, rows), compute_uv=False)[:, -1]
    weak = np.flatnonzero(values < least)
    if len(weak):
        problem = Stopped(
            PlanStatus.SINGULAR,
            f"too close to a singularity: smallest singular value {values[weak[0]]:.3g}, at least {least:g} is wanted",
        )
        rows = rows[: max(1, int(weak[0]))]
    blocked = space.first_blocked(rows) if len(rows) > 1 else -1
    if blocked >= 0:
        names = touching(space.checker, rows[blocked + 1], space.snapshot)
        problem = Stopped(PlanStatus.NO_PATH, f"the straight way is blocked{names}; ask a planner to go around")
        rows = rows[: blocked + 1]
    return rows, (len(rows) - 1) / max(1, len(poses) - 1), problem
