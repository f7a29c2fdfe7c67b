"""Joint trajectories: points in time, and point-to-point motions with a cubic or quintic time scaling."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..compiler import kernels
from ..errors import InputError, NotFiniteError, ShapeError
from ..typing import Array


@dataclass(frozen=True, eq=False, init=False)
class JointTrajectory:
    """Points of a joint motion, as trajectory_msgs/JointTrajectory has them.

    What the points carry decides how they are joined (`Spline`): straight lines between positions, cubics with
    velocities, quintics with velocities and accelerations.
    """

    times: Array
    """Since the start of the trajectory [s], shape (points,)."""
    positions: Array
    """[rad or m], shape (points, n); a batch of motions has further axes in front."""
    velocities: Array | None
    """[rad/s or m/s], shape of the positions."""
    accelerations: Array | None
    """[rad/s² or m/s²], shape of the positions."""
    joint_names: tuple[str, ...] | None
    """Of the columns; None: the joints of the chain, in its order."""
    start_time: float | None
    """When it starts, on the clock of the controller [s]; None for now. It may be in the past as long as the end is
    not."""

    def __init__(
        self,
        times: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
        *,
        joint_names: Sequence[str] | None = None,
        start_time: float | None = None,
    ):
        """Shapes, order of times and limits are checked where the trajectory is used.

        Raises:
            InputError: Something is not an array of numbers.
        """
        for name, required in (("times", times), ("positions", positions)):
            object.__setattr__(self, name, _table(name, required))
        for name, optional in (("velocities", velocities), ("accelerations", accelerations)):
            object.__setattr__(self, name, None if optional is None else _table(name, optional))
        object.__setattr__(self, "joint_names", None if joint_names is None else tuple(joint_names))
        object.__setattr__(self, "start_time", start_time)

    @property
    def duration(self) -> float:
        """Time of the last point [s]."""
        return float(self.times[-1])

    def states(self) -> tuple[Array, Array, Array]:
        """Positions, velocities and accelerations.

        Raises:
            InputError: Velocities or accelerations are not known.
        """
        if self.velocities is None or self.accelerations is None:
            raise InputError("a trajectory with velocities and accelerations is needed; this one lacks them")
        return self.positions, self.velocities, self.accelerations

    def slower(self, factor: float) -> JointTrajectory:
        """The same motion with all times multiplied by a factor."""
        return replace(
            self,
            times=self.times * factor,
            velocities=None if self.velocities is None else self.velocities / factor,
            accelerations=None if self.accelerations is None else self.accelerations / factor**2,
        )


class TimeScaling(enum.Enum):
    """How the path fraction grows from 0 to 1; the value is the order of its polynomial."""

    CUBIC = 3
    """At rest at both ends."""
    QUINTIC = 5
    """At rest at both ends, with zero acceleration there."""


class PathFraction(NamedTuple):
    """Samples of a time scaling: the path fraction and its derivatives by time, shape (samples, 1) each."""

    times: Array
    """[s], shape (samples,)."""
    s: Array
    rate: Array
    """[1/s]"""
    rate_change: Array
    """[1/s²]"""


def joint_trajectory(
    start: ArrayLike,
    goal: ArrayLike,
    duration: float,
    samples: int,
    *,
    scaling: TimeScaling = TimeScaling.QUINTIC,
) -> JointTrajectory:
    """Moves every joint from start to goal in the same time.

    Args:
        start: Joint positions [rad or m], shape (n,).
        goal: Joint positions [rad or m], shape (n,).
        duration: [s], positive.
        samples: Number of equally spaced times, at least 2.
    """
    start, goal = finite_array(start, "start"), finite_array(goal, "goal")
    if start.ndim != 1 or start.shape != goal.shape or not start.size:
        raise ShapeError("goal", f"the shape of start, {start.shape}, with one axis", goal.shape)
    u, rate = normalised_times(duration, samples)
    rows = kernels.joint_trajectory(scaling.value, start.size).run(u, start, goal, rate)
    return JointTrajectory(u[:, 0] * duration, rows[:, 0], rows[:, 1], rows[:, 2])


def concatenated(parts: Sequence[JointTrajectory]) -> JointTrajectory:
    """Trajectories one after the other; each begins at the point where the one before it ends.

    Args:
        parts: At least one; all carry velocities, or none does, and likewise accelerations.
    """
    ends = np.cumsum([0.0, *(part.duration for part in parts)])
    rows = [slice(None), *[slice(1, None)] * (len(parts) - 1)]

    def joined(columns: Sequence[Array | None]) -> Array | None:
        known = [column[row] for column, row in zip(columns, rows) if column is not None]
        return np.concatenate(known) if known else None

    return replace(
        parts[0],
        times=np.concatenate([part.times[row] + end for part, row, end in zip(parts, rows, ends)]),
        positions=np.concatenate([part.positions[row] for part, row in zip(parts, rows)]),
        velocities=joined([part.velocities for part in parts]),
        accelerations=joined([part.accelerations for part in parts]),
    )


def path_fraction(duration: float, samples: int, scaling: TimeScaling) -> PathFraction:
    """Samples of a time scaling at equally spaced times."""
    u, rate = normalised_times(duration, samples)
    rows = kernels.joint_trajectory(scaling.value, 1).run(u, np.zeros(1), np.ones(1), rate)
    return PathFraction(u[:, 0] * duration, rows[:, 0], rows[:, 1], rows[:, 2])


def normalised_times(duration: float, samples: int) -> tuple[Array, Array]:
    """Equally spaced times over the duration, shape (samples, 1), and one over the duration [1/s], shape (1,)."""
    if not (np.isfinite(duration) and duration > 0.0):
        raise InputError(f"duration is {duration!r}; give a positive number of seconds")
    if samples < 2:
        raise InputError(f"samples is {samples}; a motion needs at least its two ends")
    return np.linspace(0.0, 1.0, samples)[:, None], np.array([1.0 / duration])


def finite_array(values: ArrayLike, name: str) -> Array:
    """A copy as an array of finite numbers."""
    array = np.array(values, dtype=np.float64)
    if not np.all(np.isfinite(array)):
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise NotFiniteError(name, index, float(array[index]), np.finfo(float).max)
    return array


def _table(name: str, values: ArrayLike) -> Array:
    try:
        array = np.asarray(values)
        return array if array.dtype.kind == "f" else array.astype(np.float64, casting="safe")
    except (TypeError, ValueError):
        raise InputError(f"{name} are not a table of numbers with rows of equal length") from None
