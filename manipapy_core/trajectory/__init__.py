"""Trajectories: joint curves, splines, SE(3) motions and motion bounds, shared by planning and control."""

from .batches import joint_trajectories
from .bounds import MissingLimit, MotionBounds, motion_bounds
from .braking import BrakingLimits
from .point_to_point import (
    JointTrajectory,
    ScrewTrajectory,
    TimeScaling,
    joint_trajectory,
    line_trajectory,
    screw_trajectory,
)
from .spline import Spline

__all__ = [
    "BrakingLimits",
    "JointTrajectory",
    "MissingLimit",
    "MotionBounds",
    "ScrewTrajectory",
    "Spline",
    "TimeScaling",
    "joint_trajectories",
    "joint_trajectory",
    "line_trajectory",
    "motion_bounds",
    "screw_trajectory",
]
