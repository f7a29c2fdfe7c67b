"""Servoing: constrained joint steps and twist following."""

from .constrained_step import Step, constrained_step, sampled_step
from .twist_follower import Following, FollowStep, TwistFollower

__all__ = [
    "FollowStep",
    "Following",
    "Step",
    "TwistFollower",
    "constrained_step",
    "sampled_step",
]
