"""Modes, settings, state and status of the drives of a simulated robot."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError
from ..typing import Array
from .servo import ServoReference


class DriveMode(enum.IntEnum):
    """How one joint is driven."""

    HOLD = 0
    EFFORT = 1
    VELOCITY = 2
    POSITION = 3


class HoldReason(enum.IntEnum):
    """Why a joint is in HOLD."""

    NONE = 0
    """It is not."""
    START = 1
    """No command yet, or none since the drive was enabled."""
    TIMEOUT = 2
    """The last command timed out."""
    REQUESTED = 3
    """A hold was requested."""
    OVERSPEED = 4
    """The commanded efforts would have made a joint too fast."""


class ResumePolicy(enum.Enum):
    """What ends a hold by TIMEOUT or REQUESTED. A hold by START always ends with the first command."""

    ENABLE = "enable() first, then a command"
    COMMAND = "the next command"


@dataclass(frozen=True)
class DriveSettings:
    """Command timeouts and resume policy."""

    command_timeout: float = 0.020
    """Age of an effort command that triggers HOLD [s of simulated time]."""
    velocity_timeout: float = 0.100
    """The same for a velocity command [s]. Position commands do not time out."""
    resume: ResumePolicy = ResumePolicy.ENABLE
    effort_rise_time: float = 0.0
    """Shortest time in which a commanded effort rises from zero to its limit [s]; 0: at once."""
    overspeed: float = math.inf
    """Share of the velocity limit that commanded efforts may cause; efforts that would cause more trip the drive."""

    def __post_init__(self) -> None:
        for name in ("command_timeout", "velocity_timeout"):
            value = getattr(self, name)
            if not value > 0.0:
                raise InputError(f"{name} is {value!r}; give a positive number of seconds (inf disables it)")
        if not 0.0 <= self.effort_rise_time < math.inf:
            raise InputError(f"effort_rise_time is {self.effort_rise_time!r}; give a number of seconds, 0 or more")
        if not self.overspeed > 0.0:
            raise InputError(f"overspeed is {self.overspeed!r}; give a positive share (inf disables it)")


@dataclass(frozen=True)
class DriveStatus:
    """Modes, holds and counters of a robot's drive."""

    modes: dict[str, DriveMode]
    """By joint."""
    held: dict[str, HoldReason]
    """Joints in HOLD with the reason."""
    limited: tuple[str, ...]
    """Joints whose last command, or whose effort in the last step, was clipped to a limit."""
    timeouts: int
    """Number of command timeouts since the start."""
    trips: int
    """Number of trips by overspeed since the start."""
    last_trip: str
    """Joint and speed of the last trip; empty if there was none."""
    refusals: int
    """Number of refused commands since the start."""
    last_refusal: str
    """Reason of the last refusal; empty if there was none."""


@dataclass(frozen=True, eq=False)
class DriveState:
    """State of a `Drive`; arrays have shape (n,)."""

    mode: np.ndarray
    reason: np.ndarray
    command: Array
    stamp: Array
    """Time of the last command for the joint [s]."""
    limited: np.ndarray
    effort: Array
    """Applied in the last step [N m or N]."""
    reference: ServoReference

    def copy(self) -> DriveState:
        arrays = ("mode", "reason", "command", "stamp", "limited", "effort", "reference")
        return replace(self, **{name: getattr(self, name).copy() for name in arrays})
