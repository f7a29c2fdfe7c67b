"""What the guard says about a tick, and why."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Action(enum.IntEnum):
    """What is done about a finding; the larger, the more severe."""

    OK = 0
    SLOW = 1
    """The law's efforts pass, clipped; trajectories run at `speed`."""
    HOLD = 2
    """The goal is aborted, the arm brakes and is held; the next command releases it."""
    STOP = 3
    """As hold, but only a reset releases it."""


class Check(enum.Enum):
    """The checks, in the order in which they are made."""

    NONE = "nothing"
    FINITE = "finite numbers"
    FRESH = "fresh state"
    CLOCK = "sane clock"
    POSITION = "position limit"
    VELOCITY = "velocity limit"
    EFFORT = "effort limit"
    TORQUE_RATE = "torque rate"
    TRACKING = "tracking error"
    SINGULAR = "singular configuration"
    COLLISION = "collision ahead"
    DEADLINE = "deadline"
    SOFTWARE = "software"
    """An exception in the tick."""
    OPERATOR = "operator"
    """Asked for by a person or a program."""


@dataclass(frozen=True)
class Verdict:
    """One finding: which check, which joint, how much, and what was allowed."""

    action: Action
    check: Check = Check.NONE
    what: str = ""
    """What was measured, in words."""
    joint: str | None = None
    amount: float = 0.0
    limit: float = 0.0
    unit: str = ""
    speed: float = 1.0
    """Rate at which trajectories may run, 0 to 1."""

    @property
    def text(self) -> str:
        """One sentence for people."""
        if self.action is Action.OK:
            return "all checks passed"
        of = f" of joint {self.joint!r}" if self.joint else ""
        unit = f" {self.unit}" if self.unit else ""
        numbers = f" is {self.amount:.4g}{unit} (limit {self.limit:.4g}{unit})" if self.unit else ""
        return f"{self.action.name} by the check of {self.check.value}: {self.what}{of}{numbers}"


PASSED = Verdict(Action.OK)
"""The verdict of nearly every tick; one object, so that passing costs nothing."""
