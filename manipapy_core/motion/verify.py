"""Verification of a trajectory as the controller interpolates it: limits, efforts and collisions between samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..compiler import kernels_of
from ..dynamics import GRAVITY
from ..errors import InputError
from ..jit import njit
from ..model.chain import Chain
from ..trajectory.bounds import MotionBounds
from ..trajectory.joint_trajectory import JointTrajectory
from ..trajectory.spline import SUBSTEPS, Spline, extremes_of, quintic_coefficients
from ..typing import Array
from .certain_curves import FREE, TOO_MANY, first_contact
from .constraints.compiled import PathConstraints
from .space import PlanningSpace

Efforts = Callable[[Array, Array, Array], Array]
"""Inverse dynamics: positions, velocities, accelerations (N, n) to joint efforts [N m or N], shape (N, n)."""

TOLERANCE = 1e-6
"""Relative to each limit."""
POSITION_TOLERANCE = 1e-6
"""Beyond a position limit [rad or m]: rounding between the samples."""
MAX_SAMPLES = 4_000_000
CONSTRAINT_PERIOD, CONSTRAINT_STEP = 1e-3, 2e-3
"""Between two checks of path constraints [s] and [rad or m]."""
CONSTRAINT_ROUNDING = 1e-9
"""Relative to a tolerance: what sums of floating-point numbers may be off."""


@dataclass(frozen=True)
class Verification:
    """Result of `verify`. Ratios are to the limit of the joint; 1 is at the limit."""

    velocity: float
    acceleration: float
    jerk: float
    effort: float
    outside: float
    """Farthest beyond a position limit [rad or m]; 0 if never."""
    jump: float
    """Largest step between samples beyond what the velocity limits allow [rad or m]."""
    collision_time: float | None
    """Time of the first collision [s]; None without one, or if collisions were not checked."""
    samples: int
    """Configurations checked for collisions."""
    constraint: float = 0.0
    """Largest error of a path constraint; 0 without any."""
    constraint_time: float = 0.0
    """When that is [s]."""

    @property
    def within_limits(self) -> bool:
        worst = max(self.velocity, self.acceleration, self.jerk, self.effort)
        return worst <= 1.0 + TOLERANCE and self.outside <= POSITION_TOLERANCE

    @property
    def continuous(self) -> bool:
        return self.jump <= 1e-6

    @property
    def passed(self) -> bool:
        return self.within_limits and self.continuous and self.collision_time is None and self.keeps_constraints

    @property
    def keeps_constraints(self) -> bool:
        return self.constraint <= 1.0 + CONSTRAINT_ROUNDING

    @property
    def stretch(self) -> float:
        """Factor on all times that brings velocity, acceleration and jerk to their limits; efforts are not included."""
        needed = max(self.velocity, np.sqrt(self.acceleration), np.cbrt(self.jerk))
        return float(needed) * (1.0 + 0.1 * TOLERANCE) if needed > 1.0 else 1.0

    def with_collisions(self, trajectory: JointTrajectory, space: PlanningSpace) -> Verification:
        """The same with collisions checked too."""
        lengths = np.diff(trajectory.times)
        hit, samples = first_collision(quintic_coefficients(trajectory), lengths, space)
        return replace(self, collision_time=hit, samples=samples)

    def with_constraints(self, trajectory: JointTrajectory, constraints: PathConstraints) -> Verification:
        """The same with path constraints checked at every millisecond, and more densely where joints are fast."""
        spline = Spline.of(trajectory)
        ways = np.abs(spline.coefficients[:, 1:]).sum(axis=1).max(axis=1)
        counts = np.ceil(np.maximum(spline.lengths / CONSTRAINT_PERIOD, ways / CONSTRAINT_STEP)).astype(np.int64) + 1
        if counts.sum() > MAX_SAMPLES:
            raise TooManySamples(int(counts.sum()))
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        segment, share = (
            np.repeat(np.arange(len(counts)), counts),
            within / np.repeat(np.maximum(counts - 1, 1), counts),
        )
        ratios = constraints.worst(spline.positions_within(segment, share))
        worst = int(np.argmax(ratios))
        time = float(spline.times[segment[worst]] + share[worst] * spline.lengths[segment[worst]])
        return replace(self, constraint=float(ratios[worst]), constraint_time=time)


def verify(
    trajectory: JointTrajectory,
    bounds: MotionBounds,
    *,
    space: PlanningSpace | None = None,
    efforts: Efforts | None = None,
) -> Verification:
    """Checks a trajectory, also between its samples, along the quintic polynomials that join them.

    Args:
        space: Checks collisions so densely that nothing between two checks can touch.
        efforts: Inverse dynamics of the arm, if efforts are limited.
    """
    coefficients, lengths = quintic_coefficients(trajectory), np.diff(trajectory.times)
    velocity, acceleration, jerk, outside, jump = limit_ratios(
        extremes_of(coefficients, lengths), coefficients, lengths, bounds.lower, bounds.upper, bounds.velocity,
        bounds.acceleration, bounds.jerk,
    )  # fmt: skip
    effort = 0.0
    if efforts is not None and np.isfinite(bounds.effort).any():
        spline, count = Spline.of(trajectory), len(lengths)
        segment = np.repeat(np.arange(count), SUBSTEPS + 1)
        states = spline.within(segment, np.tile(np.arange(SUBSTEPS + 1) / SUBSTEPS, count))
        torques = efforts(*(np.ascontiguousarray(states[:, order]) for order in range(3)))
        effort = float(np.max(np.abs(torques) / bounds.effort))
    hit, samples = (None, 0) if space is None else first_collision(coefficients, lengths, space)
    return Verification(velocity, acceleration, jerk, effort, outside, jump, hit, samples)


@njit(cache=True, nogil=True)
def limit_ratios(extremes, coefficients, lengths, lower, upper, velocity, acceleration, jerk):  # type: ignore[no-untyped-def]
    """Largest ratios of velocity, acceleration and jerk to their limits, distance beyond a position limit, and jump.

    Args:
        extremes: As `Spline.extremes` gives them, shape (5, n).
        coefficients: Of quintics, shape (segments, 6, n).
        lengths: Of the segments [s].
    """
    fastest, strongest, roughest, outside, jump = 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(lower.shape[0]):
        fastest = max(fastest, extremes[0, j] / velocity[j])
        strongest = max(strongest, extremes[1, j] / acceleration[j])
        roughest = max(roughest, extremes[2, j] / jerk[j])
        outside = max(outside, lower[j] - extremes[3, j], extremes[4, j] - upper[j])
        for i in range(lengths.shape[0]):
            step = 0.0
            for order in range(1, 6):
                step += coefficients[i, order, j]
            if not math.isfinite(step):
                fastest = np.inf
            jump = max(jump, abs(step) - lengths[i] * velocity[j] * (1.0 + 1e-3))
    return fastest, strongest, roughest, outside, jump


def first_collision(coefficients: Array, lengths: Array, space: PlanningSpace) -> tuple[float | None, int]:
    """Time of the first collision [s], and number of configurations checked.

    Args:
        coefficients: Of quintics, shape (segments, 6, n).
        lengths: Of the segments [s], shape (segments,).
    """
    segment, share, samples = first_contact(
        space.code, coefficients, space.certifying_weights, space.reaches, space.slack, MAX_SAMPLES, space.work()
    )
    if segment == TOO_MANY:
        raise TooManySamples(int(samples))
    if segment == FREE:
        return None, int(samples)
    return float(lengths[:segment].sum() + share * lengths[segment]), int(samples)


class TooManySamples(InputError):
    """The trajectory is so long that verifying it would take minutes."""

    def __init__(self, samples: int):
        super().__init__(f"verifying this trajectory takes {samples:,} checks, more than {MAX_SAMPLES:,}; split it")
        self.samples = samples


def chain_efforts(chain: Chain, gravity: Array = GRAVITY) -> Efforts:
    """Inverse dynamics of a chain without a payload.

    Args:
        gravity: In the base frame [m/s²], shape (3,).
    """
    kernel = kernels_of(chain).inverse_dynamics
    return lambda q, qd, qdd: kernel.run(q, qd, qdd, gravity)
