"""Motion: time laws and trajectories."""

from .trajectories import JointTrajectory, ScrewTrajectory, TimeScaling, joint_trajectory, screw_trajectory

__all__ = ["JointTrajectory", "ScrewTrajectory", "TimeScaling", "joint_trajectory", "screw_trajectory"]
