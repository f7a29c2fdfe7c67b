"""Trajectories through joint positions without stopping: rounded corners, or a spline through every point."""

from __future__ import annotations

from dataclasses import replace

from numpy.typing import ArrayLike

from ...errors import InputError
from ...model.chain import Chain
from ...trajectory.bounds import motion_bounds
from ...trajectory.joint_trajectory import JointTrajectory
from ..goals import checked_rows
from ..space import PlanningSpace
from ..verify import Efforts, Verification
from .paths import SplinePath, rounded
from .time_laws import PERIOD, TimeLaw, timed_trajectory


def waypoint_trajectory(
    chain: Chain,
    waypoints: ArrayLike,
    *,
    radius: float | None = 0.1,
    law: TimeLaw = TimeLaw.OPTIMAL,
    velocity_scaling: float = 1.0,
    acceleration_scaling: float = 1.0,
    efforts: Efforts | None = None,
    space: PlanningSpace | None = None,
    period: float = PERIOD,
) -> tuple[JointTrajectory, Verification]:
    """The fastest verified motion through joint positions; collisions are checked if a space is given.

    Args:
        waypoints: [rad or m], shape (points, n), at least two.
        radius: The path leaves each straight piece so far before an inner point and passes by it [rad or m]; None
            goes through every point exactly, along a spline.
        efforts: Inverse dynamics of the arm; its effort limits are kept too.
        period: Longest time between two samples [s].

    Raises:
        LawRejected: No speed keeps the limits.
    """
    rows = checked_rows(waypoints, chain, "waypoints")
    if len(rows) < 2:
        raise InputError("one waypoint is no motion; give at least two")
    if radius is not None and not radius >= 0.0:
        raise InputError(f"radius is {radius!r}; give a joint distance, or None for a spline")
    bounds = motion_bounds(
        chain,
        velocity_scaling=velocity_scaling,
        acceleration_scaling=acceleration_scaling,
        effort=efforts is not None,
    )
    path = SplinePath.through(rows) if radius is None else rounded(rows, max(radius, 1e-6))
    trajectory, verification = timed_trajectory(path, bounds, law=law, efforts=efforts, space=space, period=period)
    return replace(trajectory, joint_names=chain.joint_names), verification
