"""Trajectory execution with the semantics of joint_trajectory_controller, without ROS."""

from ...trajectory.stopping import StopProfile
from .execution import Execution, GoalPhase
from .goal import (
    Ending,
    ErrorCode,
    ExecutionSettings,
    GoalRefused,
    GoalStatus,
    GoalTolerances,
    JointTolerance,
    Outcome,
)
from .validation import ValidatedGoal, prepare

__all__ = [
    "Ending",
    "ErrorCode",
    "Execution",
    "ExecutionSettings",
    "GoalPhase",
    "GoalRefused",
    "GoalStatus",
    "GoalTolerances",
    "JointTolerance",
    "Outcome",
    "StopProfile",
    "ValidatedGoal",
    "prepare",
]
