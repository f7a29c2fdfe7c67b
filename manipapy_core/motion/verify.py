"""The last look at a trajectory: all that may go wrong, on a dense grid, as a controller will interpolate it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..compiler import kernels_of
from ..dynamics import GRAVITY
from ..errors import InputError
from ..model.chain import Chain
from ..trajectory.bounds import MotionBounds
from ..trajectory.joint_trajectory import JointTrajectory
from ..trajectory.spline import SUBSTEPS, Spline
from ..typing import Array
from .space import STEP, PlanningSpace

Efforts = Callable[[Array, Array, Array], Array]
"""Takes positions, velocities and accelerations (N, n), gives the efforts of the joints [N m or N], shape (N, n)."""

TOLERANCE = 1e-6
"""Relative to each limit."""
POSITION_TOLERANCE = 1e-6
"""Beyond a position limit [rad or m]: a start that is measured may be outside by its noise."""
MOST_LOOKS = 4_000_000


@dataclass(frozen=True)
class Verification:
    """What the dense grid showed. Ratios are to the limit of the joint, 1 is at the limit."""

    velocity: float
    acceleration: float
    jerk: float
    effort: float
    outside: float
    """Farthest beyond a position limit [rad or m]; 0 if never."""
    jump: float
    """Largest step at a sample that the samples around it do not explain [rad or m]."""
    collision_time: float | None
    """When it first collides [s]; None if never, or if nothing was asked."""
    looks: int
    """Configurations compared with the world."""

    @property
    def within_limits(self) -> bool:
        worst = max(self.velocity, self.acceleration, self.jerk, self.effort)
        return worst <= 1.0 + TOLERANCE and self.outside <= POSITION_TOLERANCE

    @property
    def continuous(self) -> bool:
        return self.jump <= 1e-6

    @property
    def passed(self) -> bool:
        return self.within_limits and self.continuous and self.collision_time is None

    @property
    def stretch(self) -> float:
        """By how much the motion must be slower to keep to its rates; efforts need a new look."""
        needed = max(self.velocity, np.sqrt(self.acceleration), np.cbrt(self.jerk))
        return float(needed) * (1.0 + 0.1 * TOLERANCE) if needed > 1.0 else 1.0

    def compared(self, trajectory: JointTrajectory, space: PlanningSpace) -> Verification:
        """The same with a dense comparison with the world."""
        hit, looks = first_collision(Spline.of(trajectory), space)
        return replace(self, collision_time=hit, looks=looks)


def verify(
    trajectory: JointTrajectory,
    bounds: MotionBounds,
    *,
    space: PlanningSpace | None = None,
    efforts: Efforts | None = None,
) -> Verification:
    """Looks at a trajectory between its samples, joined by quintic polynomials.

    Args:
        space: Compares with the world so densely that nothing between two looks can touch.
        efforts: The arm's inverse dynamics, if efforts are limited.
    """
    trajectory.states()  # without velocities and accelerations it has jumps that no polynomial shows
    spline = Spline.of(trajectory)
    *rates, lowest, highest = spline.extremes()
    limits = (bounds.velocity, bounds.acceleration, bounds.jerk)
    velocity, acceleration, jerk = (float(np.max(most / limit)) for most, limit in zip(rates, limits))
    outside = max(0.0, float(np.max(np.maximum(bounds.lower - lowest, highest - bounds.upper))))
    effort = 0.0
    if efforts is not None and np.isfinite(bounds.effort).any():
        count = len(spline.lengths)
        segment = np.repeat(np.arange(count), SUBSTEPS + 1)
        states = spline.within(segment, np.tile(np.arange(SUBSTEPS + 1) / SUBSTEPS, count))
        torques = efforts(*(np.ascontiguousarray(states[:, order]) for order in range(3)))
        effort = float(np.max(np.abs(torques) / bounds.effort))
    hit, looks = (None, 0) if space is None else first_collision(spline, space)
    return Verification(velocity, acceleration, jerk, effort, outside, jump_of(trajectory, bounds), hit, looks)


def jump_of(trajectory: JointTrajectory, bounds: MotionBounds) -> float:
    """How far two neighbouring samples are farther apart than the velocity limits explain [rad or m]."""
    steps = np.abs(np.diff(trajectory.positions, axis=0))
    allowed = np.diff(trajectory.times)[:, None] * bounds.velocity * (1.0 + 1e-3)
    return max(0.0, float(np.max(steps - allowed)))


def first_collision(spline: Spline, space: PlanningSpace) -> tuple[float | None, int]:
    """When it first collides [s], and how many configurations were looked at.

    All intervals are looked at with a thicker robot first, and those where that one touches with the robot itself.
    """
    looks, pending = 0, np.arange(len(spline.lengths))
    for robot in (space.thicker, space):
        segment, share = dense_shares(spline, pending, robot)
        looks += len(share)
        hits = np.flatnonzero(robot.collides(spline.positions_within(segment, share)))
        pending = np.unique(segment[hits])
        if not len(hits):
            return None, looks
    first = segment[hits[0]]
    return float(spline.times[first] + share[hits[0]] * spline.lengths[first]), looks


def dense_shares(spline: Spline, segments: NDArray[np.int64], space: PlanningSpace) -> tuple[NDArray[np.int64], Array]:
    """Intervals and shares of them, both ends included, so dense that they speak for all in between.

    In each interval a joint moves at most by the sizes of its polynomial's terms; that bounds how far points of the
    arm travel between two looks.
    """
    c = np.abs(spline.coefficients[segments, 1:])
    ways = np.abs(np.diff(spline.positions, axis=0))[segments]
    bound = np.minimum(ways + c[:, 1:].sum(axis=1), c.sum(axis=1))
    joint_steps = np.linalg.norm(bound, axis=1) / STEP
    counts = np.ceil(np.maximum(bound @ space.certifying_weights, joint_steps)).astype(np.int64) + 1
    if counts.sum() > MOST_LOOKS:
        raise TooManyLooks(int(counts.sum()))
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(segments, counts), within / np.repeat(np.maximum(counts - 1, 1), counts)


class TooManyLooks(InputError):
    """A trajectory so long that a dense look at it would take minutes."""

    def __init__(self, looks: int):
        super().__init__(f"verifying this trajectory takes {looks:,} looks, at most {MOST_LOOKS:,} are made; cut it up")
        self.looks = looks


def chain_efforts(chain: Chain, gravity: Array = GRAVITY) -> Efforts:
    """Inverse dynamics of a chain without a payload.

    Args:
        gravity: In the base frame [m/s²], shape (3,).
    """
    kernel = kernels_of(chain).inverse_dynamics
    return lambda q, qd, qdd: kernel.run(q, qd, qdd, gravity)
