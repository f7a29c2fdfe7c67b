"""Trajectories, splines, SE(3) curves and motion bounds, shared by planning, control and nodes."""

from .batches import joint_trajectories
from .bounds import BrakingLimits, MotionBounds, motion_bounds
from .joint_trajectory import JointTrajectory, TimeScaling, concatenated, joint_trajectory
from .se3 import PoseTrajectory, interpolate_pose, line_poses, line_trajectory, screw_trajectory
from .spline import Segment, Spline

__all__ = [
    "BrakingLimits",
    "JointTrajectory",
    "MotionBounds",
    "PoseTrajectory",
    "Segment",
    "Spline",
    "TimeScaling",
    "concatenated",
    "interpolate_pose",
    "joint_trajectories",
    "joint_trajectory",
    "line_poses",
    "line_trajectory",
    "motion_bounds",
    "screw_trajectory",
]
