"""How hard an arm may be slowed down: finite numbers, also where the description gives none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.chain import Chain
from .state import Array, positive

TIME_TO_STOP = 0.25
"""Where no acceleration limit is known, a joint at full speed takes this long to stop [s]."""
PLAIN_SPEED, PLAIN_ACCELERATION = 1.0, 4.0
"""For joints that have no velocity limit either [rad/s or m/s, rad/s² or m/s²]."""


@dataclass(frozen=True, eq=False)
class MotionBounds:
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
    def of(cls, chain: Chain, brake_factor: float = 2.0) -> MotionBounds:
        """The limits of a chain, with estimates for what is missing.

        Args:
            brake_factor: How much harder than in normal motion the guard may brake.
        """
        positive(brake_factor, "brake_factor", "1")
        limits = chain.limits
        guess = np.where(np.isfinite(limits.velocity), limits.velocity / TIME_TO_STOP, PLAIN_ACCELERATION)
        acceleration = np.where(np.isfinite(limits.acceleration), limits.acceleration, guess)
        return cls(limits.velocity, acceleration, brake_factor * acceleration, limits.lower, limits.upper)

    def speed_scale(self) -> Array:
        """A typical speed of each joint, finite [rad/s or m/s], shape (n,)."""
        return np.where(np.isfinite(self.velocity), self.velocity, PLAIN_SPEED)
