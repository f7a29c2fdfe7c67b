"""How hard an arm may be slowed down: finite numbers, also where the description gives none."""

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
PLAIN_ACCELERATION = 4.0
"""For joints that have no velocity limit either [rad/s² or m/s²]."""
TIME_TO_BRAKE = 0.3
"""The guard brakes a joint from full speed in about this time, even where the acceleration limit for normal motion is
a comfortable one [s]."""
SHARE_OF_EFFORT = 0.7
"""Of the effort that carrying the weight leaves, for braking; the rest is for what the other joints do meanwhile."""


@dataclass(frozen=True, eq=False)
class BrakingLimits:
    """Accelerations that control itself may ask of an arm, all finite."""

    velocity: Array
    """Of the description; inf where it gives none [rad/s or m/s], shape (n,)."""
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
        guess = np.where(np.isfinite(limits.velocity), limits.velocity / TIME_TO_STOP, PLAIN_ACCELERATION)
        acceleration = np.where(np.isfinite(limits.acceleration), limits.acceleration, guess)
        quick = np.where(np.isfinite(limits.velocity), limits.velocity / TIME_TO_BRAKE, 0.0)
        brake = np.minimum(np.maximum(brake_factor * acceleration, quick), possible_braking(chain))
        return cls(limits.velocity, acceleration, np.maximum(brake, acceleration), limits.lower, limits.upper)


def _refuse_zero_limits(chain: Chain) -> None:
    """Some descriptions write 0 for a limit that nobody knows; an arm held by such efforts would fall."""
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
    spare = SHARE_OF_EFFORT * np.maximum(chain.limits.effort - weight, 0.0)
    return np.where(inertia > 0.0, spare / np.maximum(inertia, 1e-12), np.inf)
