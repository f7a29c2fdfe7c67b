"""How a joint can be driven, why it is held, and how patient a drive is."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from ..errors import InputError


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
    """No command has come yet, or the drive was enabled and waits for one."""
    TIMEOUT = 2
    """Commands stopped coming."""
    REQUESTED = 3
    """A hold was asked for."""


class ResumePolicy(enum.Enum):
    """What ends a hold by TIMEOUT or REQUESTED. A hold by START ends with the first command under both."""

    ENABLE = "enable() first, then a command"
    COMMAND = "the next command"


@dataclass(frozen=True)
class DriveSettings:
    """How patient the drive is."""

    command_timeout: float = 0.020
    """An effort command older than this [s of simulated time] is replaced by HOLD."""
    velocity_timeout: float = 0.100
    """The same for a velocity command [s]. Positions do not grow old."""
    resume: ResumePolicy = ResumePolicy.ENABLE

    def __post_init__(self) -> None:
        for name in ("command_timeout", "velocity_timeout"):
            value = getattr(self, name)
            if not value > 0.0:
                raise InputError(f"{name} is {value!r}; give a positive number of seconds (inf switches it off)")


@dataclass(frozen=True)
class DriveStatus:
    """How the drive of a robot is doing."""

    modes: dict[str, DriveMode]
    """By joint."""
    held: dict[str, HoldReason]
    """Joints in HOLD with the reason."""
    limited: tuple[str, ...]
    """Joints whose last command, or whose effort in the last step, was cut to a limit."""
    timeouts: int
    """How often commands stopped coming since the start."""
    refusals: int
    """How many commands were refused since the start."""
    last_refusal: str
    """Why, in words; empty if never."""
