"""Servoing: the constrained joint step and the follower of desired twists."""

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
