"""The motions of the `make sim` demo: they use all joints and stay clear of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from manipapy_msgs.msg import MotionRequest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from manipapy_core.model import Chain
from manipapy_core.typing import Array
from manipapy_ros.common.conversions import duration_message

STOPS = (
    ("to the left", (0.7, 0.25, -0.1, -0.3, 0.0, 0.4, 0.3)),
    ("over the can", (-0.35, 0.45, 0.15, -0.6, 0.0, -0.4, -0.3)),
    ("up and back", (-0.8, -0.3, -0.35, 0.4, 0.3, 0.0, 0.2)),
    ("home", (0.0,) * 7),
)
"""Names, and distances from home per joint [rad]; as many as the arm has joints are used."""
ONE_SIDE = (0.9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Distances from home per joint [rad]; the path to the other side passes home."""
SLOW = 0.1
"""Fraction of the limits for the motion that the box blocks: the cameras need time to detect it."""
IMAGE_STOP = "over the can"
"""The leg after which the still image is rendered."""
WEAVE_TIME = 5.0
"""[s]"""
WEAVE_SIZE = (0.45, 0.18, 0.22, 0.35, 0.4, 0.8, 0.4)
"""Largest distance from home per joint [rad]."""
WEAVE_TURNS = (2, 3, 2, 3, 4, 2, 3)
"""Whole oscillations per joint."""
WEAVE_SPEED = 0.8
"""Fraction of the velocity and acceleration limits while weaving."""
SPEED = 0.6
"""Fraction of the velocity and acceleration limits between the stops."""
LIMIT_MARGIN = 0.05
"""Margin of all goals to the position limits [rad]."""


@dataclass(frozen=True, eq=False)
class Leg:
    """One motion of the tour."""

    name: str
    goal: Array
    """Where it ends [rad or m], shape (n,)."""
    speed: float = SPEED
    """Fraction of the velocity and acceleration limits."""
    box_drops: bool = False
    """Whether the box drops into the path during this motion."""
    weaves: bool = False
    """Whether all joints oscillate around the goal, without the planner."""

    def request(self, chain: Chain) -> MotionRequest:
        """The request to the planner."""
        joints = JointState(name=list(chain.joint_names), position=self.goal.tolist())
        scaling = {"velocity_scaling": self.speed, "acceleration_scaling": self.speed}
        return MotionRequest(kind=MotionRequest.JOINTS, joints=joints, **scaling)


def tour(chain: Chain, home: Array, *, box_first: bool = False) -> Sequence[Leg]:
    """The motions, beginning and ending at home [rad or m], shape (n,).

    Args:
        box_first: Start with the motion that the box blocks.
    """

    def at(offsets: tuple[float, ...]) -> Array:
        return within(chain, home + np.resize(offsets, chain.n))

    legs = [Leg(name, at(offsets)) for name, offsets in STOPS]
    across = [
        Leg("to one side", at(ONE_SIDE)),
        Leg("across, a box drops", at(tuple(-x for x in ONE_SIDE)), speed=SLOW, box_drops=True),
        Leg("home again", at((0.0,) * 7)),
    ]
    motions = [*across, *legs] if box_first else [*legs, *across]
    return [*motions, Leg("all joints weave", home, weaves=True)]


def within(chain: Chain, q: Array) -> Array:
    """The nearest configuration with a margin to the position limits, shape (n,)."""
    return np.clip(q, chain.limits.lower + LIMIT_MARGIN, chain.limits.upper - LIMIT_MARGIN)


def weave(chain: Chain, q: Array, samples: int = 151) -> JointTrajectory:
    """Every joint oscillates around its position, at rest at both ends.

    q_i(t) = q_i + a_i b(x) sin(2π k_i x) with x = t/T and b(x) = (4x(1 − x))³, which starts and ends with zero
    velocity and acceleration.
    """
    x = np.linspace(0.0, 1.0, samples)[:, None]
    w = 2.0 * np.pi * np.resize(WEAVE_TURNS, chain.n)
    u, du, ddu = 4.0 * x * (1.0 - x), 4.0 - 8.0 * x, -8.0
    b, db, ddb = u**3, 3.0 * u**2 * du, 6.0 * u * du**2 + 3.0 * u**2 * ddu
    s, c = np.sin(w * x), np.cos(w * x)
    position = b * s
    velocity = (db * s + b * w * c) / WEAVE_TIME
    acceleration = (ddb * s + 2.0 * db * w * c - b * w**2 * s) / WEAVE_TIME**2
    # Amplitudes are reduced to the joint limits; a joint without a limit has an infinite one.
    size = np.minimum(
        np.resize(WEAVE_SIZE, chain.n), WEAVE_SPEED * chain.limits.velocity / np.abs(velocity).max(axis=0)
    )
    size = np.minimum(size, WEAVE_SPEED * chain.limits.acceleration / np.abs(acceleration).max(axis=0))
    position, velocity, acceleration = q + size * position, size * velocity, size * acceleration
    velocity[[0, -1]] = acceleration[[0, -1]] = 0.0
    points = [
        JointTrajectoryPoint(
            positions=position[i].tolist(),
            velocities=velocity[i].tolist(),
            accelerations=acceleration[i].tolist(),
            time_from_start=duration_message(float(x[i, 0]) * WEAVE_TIME),
        )
        for i in range(1, samples)
    ]
    return JointTrajectory(joint_names=list(chain.joint_names), points=points)
