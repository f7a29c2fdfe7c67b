"""Motion bounds: the limits that planned motions keep, and the decelerations with which an arm may be stopped.

Limits that the description does not give are assumed by the rules of `model.assumptions`, for planning and for control
alike.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np

from ..checks import positive
from ..errors import InputError
from ..model.assumptions import completed_limits, log_once
from ..model.chain import Chain
from ..model.joint_loads import joint_loads
from ..typing import Array

TIME_TO_BRAKE = 0.3
"""The guard brakes a joint from full speed in about this time [s], also where the acceleration limit for normal motion
is lower."""
BRAKING_EFFORT = 0.7
"""Share of the effort left by gravity that braking may use; the rest is for the coupling with other joints."""


@dataclass(frozen=True, eq=False)
class MotionBounds:
    """Limits of a planned trajectory, per joint, shape (n,) each."""

    lower: Array
    """[rad or m]"""
    upper: Array
    velocity: Array
    """[rad/s or m/s]"""
    acceleration: Array
    """[rad/s² or m/s²]"""
    jerk: Array
    """[rad/s³ or m/s³]; infinite where not known."""
    effort: Array
    """[N m or N]; infinite where not known or not to be kept."""
    assumed: frozenset[tuple[str, str]] = frozenset()
    """Joint and quantity of limits that no description gives."""

    def including(self, q: Array) -> MotionBounds:
        """With positions as far out as q [rad or m], shape (n,): a measured start is beyond a limit by its noise."""
        if (q >= self.lower).all() and (q <= self.upper).all():
            return self
        return replace(self, lower=np.minimum(self.lower, q), upper=np.maximum(self.upper, q))


def motion_bounds(
    chain: Chain,
    *,
    velocity_scaling: float = 1.0,
    acceleration_scaling: float = 1.0,
    effort: bool = False,
) -> MotionBounds:
    """The limits of a chain, scaled; assumed where the description gives none, which is logged once per robot.

    Args:
        velocity_scaling: Share of the velocity limits, above 0 and at most 1.
        acceleration_scaling: Share of the acceleration and jerk limits.
        effort: Also keep to the efforts that the motors can give.
    """
    for name, value in (("velocity_scaling", velocity_scaling), ("acceleration_scaling", acceleration_scaling)):
        if not 0.0 < value <= 1.0:
            raise InputError(f"{name} is {value!r}; give a number above 0 and at most 1")
    limits = completed_limits(chain)
    log_once(chain, limits)
    return MotionBounds(
        limits.lower,
        limits.upper,
        velocity_scaling * limits.velocity,
        acceleration_scaling * limits.acceleration,
        acceleration_scaling * limits.jerk,
        limits.effort if effort else np.full(chain.n, np.inf),
        limits.assumed,
    )


@dataclass(frozen=True, eq=False)
class BrakingLimits:
    """Accelerations for starts, stops and braking, all finite."""

    velocity: Array
    """Of the description; inf where it has none [rad/s or m/s], shape (n,)."""
    acceleration: Array
    """For starts and stops by request [rad/s² or m/s²], shape (n,)."""
    brake: Array
    """For stops by the guard [rad/s² or m/s²], shape (n,)."""
    lower: Array
    """[rad or m], shape (n,)."""
    upper: Array
    """[rad or m], shape (n,)."""

    @classmethod
    def of(cls, chain: Chain, brake_factor: float = 2.0) -> BrakingLimits:
        """The limits of a chain, with estimates for what is missing.

        Args:
            brake_factor: How much harder than in normal motion the guard may brake.
        """
        positive(brake_factor, "brake_factor", "1")
        _refuse_zero_limits(chain)
        limits = chain.limits
        acceleration = completed_limits(chain).acceleration
        quick = np.where(np.isfinite(limits.velocity), limits.velocity / TIME_TO_BRAKE, 0.0)
        brake = np.minimum(np.maximum(brake_factor * acceleration, quick), possible_braking(chain))
        return cls(limits.velocity, acceleration, np.maximum(brake, acceleration), limits.lower, limits.upper)


def _refuse_zero_limits(chain: Chain) -> None:
    """An arm with an effort limit of zero would fall."""
    for name, values in (("effort", chain.limits.effort), ("velocity", chain.limits.velocity)):
        if (values <= 0.0).any():
            joint = chain.joint_names[int((values <= 0.0).argmax())]
            raise InputError(f"joint {joint!r} has a limit of 0 for {name}; set one, or use Robot.completed()")


@functools.lru_cache(maxsize=16)
def possible_braking(chain: Chain) -> Array:
    """Deceleration that the effort limits allow in the worst of many configurations [rad/s² or m/s²], shape (n,)."""
    loads = joint_loads(chain)
    spare = BRAKING_EFFORT * np.maximum(chain.limits.effort - loads.gravity, 0.0)
    return np.where(loads.inertia > 0.0, spare / np.maximum(loads.inertia, 1e-12), np.inf)
