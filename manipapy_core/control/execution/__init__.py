"""Trajectory execution with the semantics of joint_trajectory_controller, without ROS."""

from .execution import Execution, Phase
from .goal import ExecutionSettings, JointTolerance, JointTrajectory, Tolerances
from .outcome import Ending, ErrorCode, GoalRefused, GoalStatus, Outcome
from .spline import Spline
from .stopping import StopProfile
from .validation import Plan, prepare

__all__ = [
    "Ending",
    "ErrorCode",
    "Execution",
    "ExecutionSettings",
    "GoalRefused",
    "GoalStatus",
    "JointTolerance",
    "JointTrajectory",
    "Outcome",
    "Phase",
    "Plan",
    "Spline",
    "StopProfile",
    "Tolerances",
    "prepare",
]
