"""Shared arms and poses for the simulation tests."""

from __future__ import annotations

from functools import cache

import numpy as np

from manipapy_core import Robot
from manipapy_core.model import bundled_robots

HOME = {
    "ur5": [0.4, -1.3, 1.6, -1.9, -1.57, 0.3],
    "iiwa7": [0.2, 0.5, 0.1, -1.4, 0.1, 1.2, 0.3],
    "panda": [0.2, -0.5, 0.1, -2.2, 0.1, 1.8, 0.7, 0.02],
}
"""Positions in the air, away from all limits and from the objects on the table."""

ALL = sorted(bundled_robots())


WITHOUT_MIMIC = [name for name in ALL if not any(joint.mimic for joint in Robot.from_urdf(name).joints.values())]
"""Without the robots whose gripper has coupled joints: PyBullet holds those together by constraints."""


@cache
def arm(name: str) -> Robot:
    return Robot.from_urdf(name)


def inside(name: str, seed: int) -> np.ndarray:
    """Random joint positions well within the limits."""
    limits = arm(name).tree().limits
    lower, upper = np.maximum(limits.lower, -2.5), np.minimum(limits.upper, 2.5)
    share = np.random.default_rng(seed).uniform(0.15, 0.85, len(lower))
    return lower + share * (upper - lower)
