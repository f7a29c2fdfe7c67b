"""Padding of perceived obstacles: the only place where perception enlarges an obstacle."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...errors import InputError


@dataclass(frozen=True)
class PaddingSettings:
    """How much box, ball and hull of an obstacle are enlarged on every side.

    padding = base + deviations · σ_z + min(σ_v + |v|, drift_speed) · min(t_unseen, drift_time)

    with the standard deviation σ_z of the depth, the velocity v and its standard deviation σ_v, and the time t_unseen
    since the last detection. Sizes are unpadded; a planner adds its own margin to the published padded shapes.
    """

    base: float = 0.005
    """[m]"""
    deviations: float = 1.0
    """Standard deviations of the depth."""
    drift_speed: float = 0.5
    """Largest assumed speed of an obstacle that is not detected [m/s]."""
    drift_time: float = 1.0
    """Time after which the padding of an obstacle that is not detected stops growing [s]."""

    def __post_init__(self) -> None:
        for name in ("base", "deviations", "drift_speed", "drift_time"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise InputError(f"padding: {name} is {getattr(self, name)}; give a number that is not negative")

    def at_detection(self, sigma: float) -> float:
        """Padding in the frame of the detection [m].

        Args:
            sigma: Standard deviation of the depth [m].
        """
        return self.base + self.deviations * sigma

    def drift(self, speed: float, speed_sigma: float, unseen: float) -> float:
        """Additional padding since the last detection [m].

        Args:
            speed: Estimated speed [m/s].
            speed_sigma: Its standard deviation [m/s].
            unseen: Time since the last detection [s].
        """
        return min(speed_sigma + speed, self.drift_speed) * min(unseen, self.drift_time)


DEFAULT_PADDING = PaddingSettings()
