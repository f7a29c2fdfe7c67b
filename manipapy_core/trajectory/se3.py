"""Curves in SE(3): straight lines with the shortest rotation, and screws.

On a straight line position and rotation are interpolated separately; along a screw the origin follows a helix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .. import lie
from ..compiler import kernels
from ..errors import InputError, ShapeError
from ..typing import Array
from .joint_trajectory import TimeScaling, finite_array, normalised_times, path_fraction


@dataclass(frozen=True, eq=False)
class PoseTrajectory:
    """Samples of a rigid motion."""

    times: Array
    """[s], shape (samples,)."""
    poses: Array
    """Homogeneous matrices, shape (samples, 4, 4)."""
    twists: Array
    """In the moving frame, angular first [rad/s, m/s], shape (samples, 6)."""
    accelerations: Array
    """Rates of the twists [rad/s², m/s²], shape (samples, 6)."""


def interpolate_pose(T_start: Array, T_goal: Array, fraction: ArrayLike) -> Array:
    """Poses between two: the origin on the straight line, the rotation along the shortest turn.

    Args:
        T_start: Shape (4, 4).
        T_goal: Shape (4, 4).
        fraction: Of the way, 0 to 1, shape (...).

    Returns:
        Shape (..., 4, 4).
    """
    s = np.asarray(fraction, dtype=np.float64)[..., None]
    poses = np.zeros((*s.shape[:-1], 4, 4))
    poses[..., :3, :3] = T_start[:3, :3] @ lie.exp_so3(s * lie.log_so3(T_start[:3, :3].T @ T_goal[:3, :3]))
    poses[..., :3, 3] = (1.0 - s) * T_start[:3, 3] + s * T_goal[:3, 3]
    poses[..., 3, 3] = 1.0
    return poses


def line_poses(T_start: Array, T_goal: Array, position_step: float, rotation_step: float) -> Array:
    """Evenly spaced poses on a straight line, both ends included, shape (poses, 4, 4).

    Args:
        T_start: Shape (4, 4).
        T_goal: Shape (4, 4).
        position_step: Largest distance between neighbours [m].
        rotation_step: Largest rotation between neighbours [rad].
    """
    distance = np.linalg.norm(T_goal[:3, 3] - T_start[:3, 3])
    angle = np.linalg.norm(lie.log_so3(T_start[:3, :3].T @ T_goal[:3, :3]))
    count = max(1, int(np.ceil(max(distance / position_step, angle / rotation_step))))
    return interpolate_pose(T_start, T_goal, np.linspace(0.0, 1.0, count + 1))


def line_trajectory(
    T_start: ArrayLike,
    T_goal: ArrayLike,
    duration: float,
    samples: int,
    *,
    scaling: TimeScaling = TimeScaling.QUINTIC,
) -> PoseTrajectory:
    """Moves a frame from start to goal: its origin along a straight line, its axes along the shortest turn.

    Along a screw (`screw_trajectory`) the origin follows a helix instead.

    Args:
        T_start: Pose, shape (4, 4).
        T_goal: Pose, shape (4, 4).
        duration: [s], positive.
        samples: Number of equally spaced times, at least 2.
    """
    T_start, T_goal = _pose(T_start, "T_start"), _pose(T_goal, "T_goal")
    law = path_fraction(duration, samples, scaling)
    poses = interpolate_pose(T_start, T_goal, law.s[:, 0])
    turn, way = lie.log_so3(T_start[:3, :3].T @ T_goal[:3, :3]), T_goal[:3, 3] - T_start[:3, 3]
    # The axis of the turn is the same in the moving frame, so its rate is that of the fraction.
    angular, angular_rate = law.rate * turn, law.rate_change * turn
    to_moving = np.swapaxes(poses[:, :3, :3], 1, 2)
    linear = (to_moving @ (law.rate * way)[..., None])[..., 0]
    linear_rate = (to_moving @ (law.rate_change * way)[..., None])[..., 0] - np.cross(angular, linear)
    return PoseTrajectory(law.times, poses, np.hstack([angular, linear]), np.hstack([angular_rate, linear_rate]))


def screw_trajectory(
    T_start: ArrayLike,
    T_goal: ArrayLike,
    duration: float,
    samples: int,
    *,
    scaling: TimeScaling = TimeScaling.QUINTIC,
) -> PoseTrajectory:
    """Moves a frame from start to goal along the one screw that joins them.

    Args:
        T_start: Pose, shape (4, 4).
        T_goal: Pose, shape (4, 4).
        duration: [s], positive.
        samples: Number of equally spaced times, at least 2.
    """
    T_start, T_goal = _pose(T_start, "T_start"), _pose(T_goal, "T_goal")
    u, rate = normalised_times(duration, samples)
    twist = lie.log_se3(lie.inverse(T_start) @ T_goal)
    angle, length = np.linalg.norm(twist[:3]), np.linalg.norm(twist[3:])
    # A turn too small to set the pitch is part of a translation; its error is its own size.
    distance = angle if angle > 1e-9 else length
    screw = twist / distance if distance > 0.0 else np.zeros(6)
    if angle <= 1e-9:
        screw[:3] = 0.0
    rows = kernels.screw_trajectory(scaling.value).run(u, T_start, screw, np.array([distance]), rate)
    poses = rows[:, :16].reshape(-1, 4, 4)
    return PoseTrajectory(u[:, 0] * duration, poses, rows[:, 16:22], rows[:, 22:28])


def _pose(values: ArrayLike, name: str) -> Array:
    T = finite_array(values, name)
    if T.shape != (4, 4):
        raise ShapeError(name, "(4, 4)", T.shape)
    defect = np.abs(T[:3, :3].T @ T[:3, :3] - np.eye(3)).max()
    if defect > 1e-6 or np.linalg.det(T[:3, :3]) < 0.0 or not np.allclose(T[3], [0, 0, 0, 1]):
        raise InputError(f"{name} is not a pose: its rotation is off by {defect:.2g}; re-orthonormalise it first")
    return T
