"""Point-to-point trajectories: straight in joint space, or along one screw in SE(3).

Rigid motions whose origin goes straight while the frame turns evenly: position and rotation on their own.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import lie
from ..compiler import kernels
from ..errors import InputError, NotFiniteError, ShapeError

Array = NDArray[Any]


class TimeScaling(enum.Enum):
    """How the path fraction grows from 0 to 1; the value is the order of its polynomial."""

    CUBIC = 3
    """At rest at both ends."""
    QUINTIC = 5
    """At rest at both ends, with no jump in acceleration."""


@dataclass(frozen=True, eq=False)
class JointTrajectory:
    """Samples of a joint motion."""

    times: Array
    """[s], shape (samples,)."""
    positions: Array
    """[rad or m], shape (samples, n)."""
    velocities: Array
    """[rad/s or m/s], shape (samples, n)."""
    accelerations: Array
    """[rad/s² or m/s²], shape (samples, n)."""


@dataclass(frozen=True, eq=False)
class ScrewTrajectory:
    """Samples of a rigid motion."""

    times: Array
    """[s], shape (samples,)."""
    poses: Array
    """Homogeneous matrices, shape (samples, 4, 4)."""
    twists: Array
    """In the moving frame, angular first [rad/s, m/s], shape (samples, 6)."""
    accelerations: Array
    """Rates of the twists [rad/s², m/s²], shape (samples, 6)."""


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
    start, goal = _numbers(start, "start"), _numbers(goal, "goal")
    if start.ndim != 1 or start.shape != goal.shape or not start.size:
        raise ShapeError("goal", f"the shape of start, {start.shape}, with one axis", goal.shape)
    u, rate = _normalised_times(duration, samples)
    n = start.size
    rows = kernels.joint_trajectory(scaling.value, n).run(u, start, goal, rate)
    return JointTrajectory(u[:, 0] * duration, rows[:, 0], rows[:, 1], rows[:, 2])


def screw_trajectory(
    T_start: ArrayLike,
    T_goal: ArrayLike,
    duration: float,
    samples: int,
    *,
    scaling: TimeScaling = TimeScaling.QUINTIC,
) -> ScrewTrajectory:
    """Moves a frame from start to goal along the one screw that joins them.

    Args:
        T_start: Pose, shape (4, 4).
        T_goal: Pose, shape (4, 4).
        duration: [s], positive.
        samples: Number of equally spaced times, at least 2.
    """
    T_start, T_goal = _pose(T_start, "T_start"), _pose(T_goal, "T_goal")
    u, rate = _normalised_times(duration, samples)
    twist = lie.log_se3(lie.inverse(T_start) @ T_goal)
    angle, length = np.linalg.norm(twist[:3]), np.linalg.norm(twist[3:])
    # A turn too small to set the pitch is part of a translation; its error is its own size.
    distance = angle if angle > 1e-9 else length
    screw = twist / distance if distance > 0.0 else np.zeros(6)
    if angle <= 1e-9:
        screw[:3] = 0.0
    rows = kernels.screw_trajectory(scaling.value).run(u, T_start, screw, np.array([distance]), rate)
    poses = rows[:, :16].reshape(-1, 4, 4)
    return ScrewTrajectory(u[:, 0] * duration, poses, rows[:, 16:22], rows[:, 22:28])


def _normalised_times(duration: float, samples: int) -> tuple[Array, Array]:
    if not (np.isfinite(duration) and duration > 0.0):
        raise InputError(f"duration is {duration!r}; give a positive number of seconds")
    if samples < 2:
        raise InputError(f"samples is {samples}; a motion needs at least its two ends")
    return np.linspace(0.0, 1.0, samples)[:, None], np.array([1.0 / duration])


def _numbers(values: ArrayLike, name: str) -> Array:
    array = np.array(values, dtype=np.float64)
    if not np.all(np.isfinite(array)):
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise NotFiniteError(name, index, float(array[index]), np.finfo(float).max)
    return array


def _pose(values: ArrayLike, name: str) -> Array:
    T = _numbers(values, name)
    if T.shape != (4, 4):
        raise ShapeError(name, "(4, 4)", T.shape)
    defect = np.abs(T[:3, :3].T @ T[:3, :3] - np.eye(3)).max()
    if defect > 1e-6 or np.linalg.det(T[:3, :3]) < 0.0 or not np.allclose(T[3], [0, 0, 0, 1]):
        raise InputError(f"{name} is not a pose: its rotation is off by {defect:.2g}; re-orthonormalise it first")
    return T


def line_trajectory(
    T_start: ArrayLike,
    T_goal: ArrayLike,
    duration: float,
    samples: int,
    *,
    scaling: TimeScaling = TimeScaling.QUINTIC,
) -> ScrewTrajectory:
    """Moves a frame from start to goal: its origin along a straight line, its axes along the shortest turn.

    Along a screw (`screw_trajectory`) the origin goes along a helix instead.

    Args:
        T_start: Pose, shape (4, 4).
        T_goal: Pose, shape (4, 4).
        duration: [s], positive.
        samples: Number of equally spaced times, at least 2.
    """
    T_start, T_goal = _pose(T_start, "T_start"), _pose(T_goal, "T_goal")
    law = joint_trajectory(np.zeros(1), np.ones(1), duration, samples, scaling=scaling)
    turn, way = lie.log_so3(T_start[:3, :3].T @ T_goal[:3, :3]), T_goal[:3, 3] - T_start[:3, 3]
    poses = np.tile(np.eye(4), (samples, 1, 1))
    poses[:, :3, :3] = T_start[:3, :3] @ lie.exp_so3(law.positions * turn)
    poses[:, :3, 3] = T_start[:3, 3] + law.positions * way
    # The axis of the turn is the same in the moving frame, so its rate is that of the law.
    angular, angular_rate = law.velocities * turn, law.accelerations * turn
    to_moving = np.swapaxes(poses[:, :3, :3], 1, 2)
    linear = (to_moving @ (law.velocities * way)[..., None])[..., 0]
    linear_rate = (to_moving @ (law.accelerations * way)[..., None])[..., 0] - np.cross(angular, linear)
    return ScrewTrajectory(law.times, poses, np.hstack([angular, linear]), np.hstack([angular_rate, linear_rate]))
