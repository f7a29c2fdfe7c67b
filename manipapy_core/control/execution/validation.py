"""Validation of trajectory goals: joint names, shapes, times, numbers and limits.

Takes milliseconds for long trajectories and runs in the caller's thread; the loop gets a `ValidatedGoal`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...checks import joint_units
from ...model.chain import Chain
from ...trajectory.joint_trajectory import JointTrajectory
from ...trajectory.spline import SUBSTEPS, Spline
from ...typing import Array
from .goal import Ending, ErrorCode, ExecutionSettings, GoalRefused, GoalTolerances, Outcome, ResolvedTolerances
from .tolerances import resolve

REST_VELOCITY = float(np.finfo(np.float32).eps)
"""Velocity of a joint in the last point that counts as rest [rad/s or m/s]: that of joint_trajectory_controller."""


@dataclass(frozen=True, eq=False)
class ValidatedGoal:
    """A goal that has passed every check that does not depend on the state of the arm."""

    spline: Spline
    """Over all joints of the arm; zero for joints that are not named in the goal."""
    named: NDArray[np.bool_]
    """Joints named in the goal, shape (n,)."""
    others: NDArray[np.bool_]
    """The other joints, shape (n,)."""
    partial: bool
    """Whether some joint is not named."""
    start_time: float | None
    """On the clock of the controller [s]; None for now."""
    tolerances: ResolvedTolerances
    ending: Ending
    """Holds the outcome once the goal has ended."""
    streamed: bool = False
    """Whether it is one of a stream of short goals, each of which takes the place of the one before."""

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None until then."""
        return self.ending.outcome

    def wait(self, timeout: float | None = None) -> Outcome | None:
        """Blocks until the goal has ended; None if that takes longer than the timeout [s]."""
        return self.ending.wait(timeout)


def prepare(
    chain: Chain,
    trajectory: JointTrajectory,
    tolerances: GoalTolerances | None = None,
    *,
    settings: ExecutionSettings | None = None,
    now: float | None = None,
    streamed: bool = False,
) -> ValidatedGoal:
    """Validates a trajectory and prepares it for the loop.

    Args:
        chain: The arm.
        now: Time on the clock of `start_time` [s]; without it a start in the past is found by the loop.
        streamed: Whether it is one of a stream of short goals.

    Raises:
        GoalRefused: With the error code and text for the result of the action.
    """
    settings = settings or ExecutionSettings()
    names = chain.joint_names if trajectory.joint_names is None else trajectory.joint_names
    columns = _columns(chain, names, settings.allow_partial)
    times = _times(trajectory.times)
    shape = (len(times), len(columns))
    points = [
        None if values is None else _values(label, values, shape, names)
        for label, values in (
            ("positions", trajectory.positions),
            ("velocities", trajectory.velocities),
            ("accelerations", trajectory.accelerations),
        )
    ]
    _check_end(trajectory.start_time, names, times, points[1], settings, now)
    full = [None if values is None else _spread(values, columns, chain.n) for values in points]
    assert full[0] is not None
    spline = Spline(times, full[0], full[1], full[2])
    named = np.zeros(chain.n, dtype=bool)
    named[columns] = True
    check_limits(chain, settings, *_everywhere(spline), columns)
    return ValidatedGoal(
        spline=spline,
        named=named,
        others=~named,
        partial=not named.all(),
        start_time=trajectory.start_time,
        tolerances=resolve(chain, settings, tolerances),
        ending=Ending(),
        streamed=streamed,
    )


def check_limits(
    chain: Chain, settings: ExecutionSettings, times: Array, samples: Array, columns: NDArray[np.intp]
) -> None:
    """Position and velocity limits on samples of a trajectory.

    Args:
        times: [s], shape (k,).
        samples: Positions, velocities and possibly more, shape (k, 2 or more, n).
        columns: The joints to check.

    Raises:
        GoalRefused: Names the joint, the value, the limit and the time.
    """
    limits, units = chain.limits, joint_units(chain)
    position, velocity = samples[:, 0], samples[:, 1]
    beyond = np.maximum(limits.lower - position, position - limits.upper) - settings.limit_slack
    fast = np.abs(velocity) - limits.velocity * (1.0 + settings.velocity_slack)
    for excess, what, per in ((beyond, "position", ""), (fast, "velocity", "/s")):
        wrong = excess[:, columns] > 0.0
        if not wrong.any():
            continue
        row, column = np.argwhere(wrong)[0]
        j = int(columns[column])
        value = float((position if what == "position" else velocity)[row, j])
        allowed = (
            f"[{limits.lower[j]:.4g}, {limits.upper[j]:.4g}]" if what == "position" else f"±{limits.velocity[j]:.4g}"
        )
        raise _invalid(
            f"{what} of joint {chain.joint_names[j]!r} is {value:.4g} {units[j]}{per} at {times[row]:.3f} s; "
            f"its limit is {allowed} {units[j]}{per}"
        )


def _everywhere(spline: Spline) -> tuple[Array, Array]:
    """Times and samples at the points, then between them."""
    velocities = np.zeros_like(spline.positions) if spline.velocities is None else spline.velocities
    at_points = np.stack([spline.positions, velocities], axis=1)
    times, between = spline.inner_samples(SUBSTEPS - 1)
    return np.concatenate([spline.times, times]), np.concatenate([at_points, between[:, :2]])


def _columns(chain: Chain, names: Sequence[str], allow_partial: bool) -> NDArray[np.intp]:
    """Index of each named joint in q."""
    available = ", ".join(chain.joint_names)
    index = {name: j for j, name in enumerate(chain.joint_names)}
    unknown = [name for name in names if name not in index]
    if unknown:
        raise GoalRefused(ErrorCode.INVALID_JOINTS, f"no joint {', '.join(map(repr, unknown))}; available: {available}")
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise GoalRefused(ErrorCode.INVALID_JOINTS, f"joint {', '.join(map(repr, twice))} is named more than once")
    missing = [name for name in chain.joint_names if name not in set(names)]
    if not names or (missing and not allow_partial):
        raise GoalRefused(
            ErrorCode.INVALID_JOINTS,
            f"no points for joint {', '.join(map(repr, missing))}; name every joint of: {available}",
        )
    return np.array([index[name] for name in names], dtype=np.intp)


def _times(times: Array) -> Array:
    if times.ndim != 1 or not len(times):
        raise _invalid(f"times have shape {times.shape}; give one time per point, at least one point")
    bad = np.flatnonzero(~np.isfinite(times))
    if bad.size:
        raise _invalid(f"time of point {bad[0]} is {times[bad[0]]!r}; times must be finite")
    if times[0] < 0.0:
        raise _invalid(f"the first point is at {times[0]:.6g} s; times count from the start of the trajectory")
    late = np.flatnonzero(np.diff(times) <= 0.0)
    if late.size:
        i = int(late[0])
        raise _invalid(
            f"time of point {i + 1} ({times[i + 1]:.6g} s) is not after that of point {i} ({times[i]:.6g} s); "
            "times must increase strictly"
        )
    return times


def _values(label: str, array: Array, shape: tuple[int, int], names: Sequence[str]) -> Array:
    if array.shape != shape:
        raise _invalid(f"{label} have shape {array.shape}; {shape[0]} points of {shape[1]} joints need {shape}")
    wrong = ~np.isfinite(array)
    if wrong.any():
        point, column = np.argwhere(wrong)[0]
        raise _invalid(f"{label} of joint {names[column]!r} at point {point}: {array[point, column]!r} is not finite")
    return array


def _check_end(
    start: float | None,
    names: Sequence[str],
    times: Array,
    velocities: Array | None,
    settings: ExecutionSettings,
    now: float | None,
) -> None:
    if start is not None and not np.isfinite(start):
        raise _invalid(f"start time is {start!r}; give a finite time or none for now")
    if start is not None and now is not None:
        refuse_if_over(start + float(times[-1]), now)
    if velocities is not None and not settings.allow_moving_end and (np.abs(velocities[-1]) > REST_VELOCITY).any():
        column = int(np.argmax(np.abs(velocities[-1])))
        raise _invalid(
            f"velocity of joint {names[column]!r} is {velocities[-1, column]:.4g} at the last point; "
            "a trajectory must end at rest"
        )


def refuse_if_over(end: float, now: float) -> None:
    """Refuses a trajectory that has already ended."""
    if end < now:
        raise GoalRefused(
            ErrorCode.OLD_HEADER_TIMESTAMP,
            f"the trajectory ended {now - end:.3f} s ago by its stamp; check that both sides use the same clock",
        )


def _spread(values: Array, columns: NDArray[np.intp], n: int) -> Array:
    spread = np.zeros((len(values), n))
    spread[:, columns] = values
    return spread


def _invalid(text: str) -> GoalRefused:
    return GoalRefused(ErrorCode.INVALID_GOAL, text)
