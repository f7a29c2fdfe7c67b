"""Motion bounds: the limits that planned motions keep, and the decelerations with which an arm may be stopped.

Planning refuses a joint whose limit is missing; control must always be able to stop, so it estimates one.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from .. import dynamics
from ..checks import positive
from ..errors import InputError
from ..model.chain import Chain
from ..typing import Array

TIME_TO_STOP = 0.25
"""Where no acceleration limit is known, a joint at full speed takes this long to stop [s]."""
DEFAULT_ACCELERATION = 4.0
"""Of joints without a velocity limit [rad/s² or m/s²]."""
TIME_TO_BRAKE = 0.3
"""The guard brakes a joint from full speed in about this time [s], also where the acceleration limit for normal motion
is lower."""
BRAKING_EFFORT = 0.7
"""Share of the effort left by gravity that braking may use; the rest is for the coupling with other joints."""


class MissingLimit(InputError):
    """A limit that a time law needs is missing."""

    def __init__(self, robot: str, joint: str, kind: str):
        super().__init__(
            f"joint {joint!r} of {robot} has no {kind} limit; write max_{kind} for it in a joint_limits.yaml and give "
            "that file to Robot.from_urdf(..., limits='joint_limits.yaml'); bundled robots bring theirs, such as "
            "ur5.limits.yaml"
        )
        self.robot, self.joint, self.kind = robot, joint, kind


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


def motion_bounds(
    chain: Chain,
    *,
    velocity_scaling: float = 1.0,
    acceleration_scaling: float = 1.0,
    effort: bool = False,
) -> MotionBounds:
    """The limits of a chain, scaled.

    Args:
        velocity_scaling: Share of the velocity limits, above 0 and at most 1.
        acceleration_scaling: Share of the acceleration and jerk limits.
        effort: Also keep to the efforts that the motors can give.

    Raises:
        MissingLimit: A velocity or acceleration limit is not known.
    """
    for name, value in (("velocity_scaling", velocity_scaling), ("acceleration_scaling", acceleration_scaling)):
        if not 0.0 < value <= 1.0:
            raise InputError(f"{name} is {value!r}; give a number above 0 and at most 1")
    limits = chain.limits
    for kind in ("velocity", "acceleration"):
        missing = np.flatnonzero(~np.isfinite(getattr(limits, kind)))
        if len(missing):
            raise MissingLimit(chain.robot_name, chain.joint_names[missing[0]], kind)
    return MotionBounds(
        limits.lower,
        limits.upper,
        velocity_scaling * limits.velocity,
        acceleration_scaling * limits.acceleration,
        acceleration_scaling * limits.jerk,
        limits.effort if effort else np.full(chain.n, np.inf),
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
        guess = np.where(np.isfinite(limits.velocity), limits.velocity / TIME_TO_STOP, DEFAULT_ACCELERATION)
        acceleration = np.where(np.isfinite(limits.acceleration), limits.acceleration, guess)
        quick = np.where(np.isfinite(limits.velocity), limits.velocity / TIME_TO_BRAKE, 0.0)
        brake = np.minimum(np.maximum(brake_factor * acceleration, quick), possible_braking(chain))
        return cls(limits.velocity, acceleration, np.maximum(brake, acceleration), limits.lower, limits.upper)


def _refuse_zero_limits(chain: Chain) -> None:
    """Some descriptions write 0 for an unknown limit; an arm with such effort limits would fall."""
    for name, values in (("effort", chain.limits.effort), ("velocity", chain.limits.velocity)):
        if (values <= 0.0).any():
            joint = chain.joint_names[int((values <= 0.0).argmax())]
            raise InputError(f"joint {joint!r} has a limit of 0 for {name}; give it a real one in the description")


@functools.lru_cache(maxsize=16)
def possible_braking(chain: Chain) -> Array:
    """Deceleration that the effort limits allow in the worst of many configurations [rad/s² or m/s²], shape (n,)."""
    lower, upper = (np.clip(bound, -math.pi, math.pi) for bound in (chain.limits.lower, chain.limits.upper))
    q = np.random.default_rng(0).uniform(lower, upper, (256, chain.n))
    inertia = np.einsum("bii->bi", dynamics.mass_matrix(chain, q)).max(axis=0)
    weight = np.abs(dynamics.gravity_forces(chain, q)).max(axis=0)
    spare = BRAKING_EFFORT * np.maximum(chain.limits.effort - weight, 0.0)
    return np.where(inertia > 0.0, spare / np.maximum(inertia, 1e-12), np.inf)
