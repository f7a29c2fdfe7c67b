"""Settings of a controller, fixed while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from numpy.typing import ArrayLike

from ..checks import positive
from ..dynamics import GRAVITY, Payload
from .execution.goal import ExecutionSettings
from .guard.checks import GuardSettings
from .laws.law import Gains
from .state_filter import FilterSettings


@dataclass(frozen=True, eq=False)
class ControllerSettings:
    """Settings of an `ArmController`, all with defaults."""

    law: str = "computed_torque"
    """Name of the first law."""
    gains: Gains | None = None
    """Gains of the first law, in place of its defaults."""
    period: float = 1e-3
    """Nominal time between ticks [s]."""
    blend_time: float = 0.2
    """Duration of the blend after a change of law [s]."""
    gravity: ArrayLike = field(default_factory=lambda: GRAVITY)
    """In the base frame [m/s²], shape (3,)."""
    payload: Payload | None = None
    """Initial payload of the tip."""
    filter: FilterSettings | None = None
    """Noise of the state filter; None: no filter."""
    execution: ExecutionSettings = field(default_factory=ExecutionSettings)
    guard: GuardSettings = field(default_factory=GuardSettings)

    def __post_init__(self) -> None:
        positive(self.period, "period", "s")
        positive(self.blend_time, "blend_time", "s")
