"""Servoing: constrained joint steps, twist following, and the servo with all limits."""

from .constrained_step import Step, constrained_step, sampled_step
from .servo import ArmServo
from .servo_types import JointJog, PoseTarget, ServoCommand, ServoSettings, ServoStatus, ServoStep, TwistCommand
from .twist_follower import Following, FollowStep, TwistFollower

__all__ = [
    "ArmServo",
    "FollowStep",
    "Following",
    "JointJog",
    "PoseTarget",
    "ServoCommand",
    "ServoSettings",
    "ServoStatus",
    "ServoStep",
    "Step",
    "TwistCommand",
    "TwistFollower",
    "constrained_step",
    "sampled_step",
]
