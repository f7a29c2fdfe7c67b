"""What the arm shows in `make sim`: a few motions that use all of its joints and stay clear of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from builtin_interfaces.msg import Duration
from manipapy_msgs.msg import MotionRequest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from manipapy_core.model import Chain
from manipapy_core.typing import Array

STOPS = (
    ("to the left", (0.7, 0.25, -0.1, -0.3, 0.0, 0.4, 0.3)),
    ("over the can", (-0.35, 0.45, 0.15, -0.6, 0.0, -0.4, -0.3)),
    ("up and back", (-0.8, -0.3, -0.35, 0.4, 0.3, 0.0, 0.2)),
    ("home", (0.0,) * 7),
)
"""Names, and distances from home per joint [rad]; as many as the arm has joints are used."""
ONE_SIDE = (0.9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Distances from home per joint [rad]; the way to the other side leads over home."""
SLOW = 0.1
"""Share of the limits for a motion that something falls into the way of: it must be seen first."""
PICTURE_STOP = "over the can"
"""Where the picture is taken."""
WEAVE_TIME = 5.0
"""[s]"""
WEAVE_SIZE = (0.45, 0.18, 0.22, 0.35, 0.4, 0.8, 0.4)
"""Largest distance from home per joint [rad]."""
WEAVE_TURNS = (2, 3, 2, 3, 4, 2, 3)
"""Whole oscillations per joint."""
LIVELY = 0.8
"""Share of the limits of velocity and acceleration that weaving may use."""
SPEED = 0.6
"""Share of the limits of velocity and acceleration between the stops."""
ROOM = 0.05
"""Distance that stops keep from position limits [rad]."""


@dataclass(frozen=True, eq=False)
class Leg:
    """One motion of the tour."""

    name: str
    goal: Array
    """Where it ends [rad or m], shape (n,)."""
    speed: float = SPEED
    """Share of the limits."""
    box_drops: bool = False
    """Whether something falls into the way meanwhile."""
    weaves: bool = False
    """Whether it is no way to a goal but a swing around it."""

    def request(self, chain: Chain) -> MotionRequest:
        """What the planner is asked for."""
        joints = JointState(name=list(chain.joint_names), position=self.goal.tolist())
        scaling = {"velocity_scaling": self.speed, "acceleration_scaling": self.speed}
        return MotionRequest(kind=MotionRequest.JOINTS, joints=joints, **scaling)


def tour(chain: Chain, home: Array, *, box_first: bool = False) -> Sequence[Leg]:
    """The motions, beginning and ending at home [rad or m], shape (n,).

    Args:
        box_first: Begin with the box that drops.
    """

    def at(offsets: tuple[float, ...]) -> Array:
        return within(chain, home + np.resize(offsets, chain.n))

    legs = [Leg(name, at(offsets)) for name, offsets in STOPS]
    across = [
        Leg("to one side", at(ONE_SIDE)),
        Leg("across, a box drops", at(tuple(-x for x in ONE_SIDE)), speed=SLOW, box_drops=True),
        Leg("home again", at((0.0,) * 7)),
    ]
    ways = [*across, *legs] if box_first else [*legs, *across]
    return [*ways, Leg("all joints weave", home, weaves=True)]


def within(chain: Chain, q: Array) -> Array:
    """The nearest configuration that keeps away from the position limits, shape (n,)."""
    return np.clip(q, chain.limits.lower + ROOM, chain.limits.upper - ROOM)


def weave(chain: Chain, q: Array, samples: int = 151) -> JointTrajectory:
    """Every joint swings around where it is, at rest in the beginning and at the end.

    q_i(t) = q_i + a_i b(x) sin(2π k_i x) with x = t/T and b(x) = (4x(1 − x))³, which leaves and arrives with no
    velocity and no acceleration.
    """
    x = np.linspace(0.0, 1.0, samples)[:, None]
    w = 2.0 * np.pi * np.resize(WEAVE_TURNS, chain.n)
    u, du, ddu = 4.0 * x * (1.0 - x), 4.0 - 8.0 * x, -8.0
    b, db, ddb = u**3, 3.0 * u**2 * du, 6.0 * u * du**2 + 3.0 * u**2 * ddu
    s, c = np.sin(w * x), np.cos(w * x)
    position = b * s
    velocity = (db * s + b * w * c) / WEAVE_TIME
    acceleration = (ddb * s + 2.0 * db * w * c - b * w**2 * s) / WEAVE_TIME**2
    # Swings that a joint cannot follow are made smaller; a joint without a limit has an infinite one.
    size = np.minimum(np.resize(WEAVE_SIZE, chain.n), LIVELY * chain.limits.velocity / np.abs(velocity).max(axis=0))
    size = np.minimum(size, LIVELY * chain.limits.acceleration / np.abs(acceleration).max(axis=0))
    position, velocity, acceleration = q + size * position, size * velocity, size * acceleration
    velocity[[0, -1]] = acceleration[[0, -1]] = 0.0
    points = [
        JointTrajectoryPoint(
            positions=position[i].tolist(),
            velocities=velocity[i].tolist(),
            accelerations=acceleration[i].tolist(),
            time_from_start=_duration(float(x[i, 0]) * WEAVE_TIME),
        )
        for i in range(1, samples)
    ]
    return JointTrajectory(joint_names=list(chain.joint_names), points=points)


def _duration(seconds: float) -> Duration:
    whole, nanoseconds = divmod(round(seconds * 1e9), 1_000_000_000)
    return Duration(sec=whole, nanosec=nanoseconds)
