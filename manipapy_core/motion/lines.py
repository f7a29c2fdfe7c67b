"""Rigid motions whose origin goes straight while the frame turns evenly: position and rotation on their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import lie
from .trajectories import ScrewTrajectory, TimeScaling, _pose, joint_trajectory


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
    return ScrewTrajectory(
        law.times, poses, np.hstack([angular, linear]), np.hstack([angular_rate, linear_rate])
    )
