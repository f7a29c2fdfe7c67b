"""What the guard says about a tick, and why.

The numbers of the guard.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...checks import positive
from ...model.chain import Chain
from ...typing import Array


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


@dataclass(frozen=True, eq=False)
class GuardSettings:
    """When the guard slows down, holds or stops. Numbers per joint may be given as one for all."""

    state_hold_after: float = 0.02
    """Age of the joint state from which on the arm is held [s]."""
    state_stop_after: float = 0.1
    """Age from which on it is stopped [s]."""
    clock_ahead: float = 0.01
    """How far the stamp of a state may lie in the future [s]."""
    longest_tick: float = 0.5
    """A longer time between ticks is a jump of the clock, not a late tick [s]."""
    position_margin: float = 0.002
    """Distance from a position limit at which a stop must end [rad or m]."""
    reaction_time: float = 0.004
    """Between a measurement and the effort that answers it [s]."""
    velocity_slow: float = 1.05
    """Share of the velocity limit above which trajectories slow down."""
    velocity_hold: float = 1.25
    """Share above which the arm is held."""
    effort_rise_time: float = 0.02
    """Torque rate limit: from nothing to the effort limit takes this long [s]."""
    torque_rate: ArrayLike | None = None
    """The torque rate limit itself, where the robot's maker gives one [N m/s or N/s], shape (n,)."""
    torque_rate_hold_after: float = 0.05
    """A law that exceeds the torque rate for so long is replaced by a hold [s]."""
    tracking_error: ArrayLike = 0.25
    """Allowed distance from the reference, for laws that are meant to be there [rad or m], shape (n,)."""
    singular_slow: float = 8.0
    """Condition number from which on laws of the tip slow down: 1 is a tip that moves alike in all directions, 2 or 3
    a usual pose, 8 an elbow within 0.2 rad of straight."""
    singular_hold: float = 20.0
    """Condition number at which such a law is replaced by a hold if the arm moves nearer."""
    late_slow: float = 0.005
    """Time between ticks from which on trajectories slow down [s]."""
    late_hold: float = 0.05
    """Time between ticks from which on the arm is held [s]."""
    brake_factor: float = 2.0
    """How much harder than in normal motion a hold brakes."""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if name not in ("torque_rate", "tracking_error"):
                positive(getattr(self, name), name, "s, rad, m or 1")

    def torque_rates(self, chain: Chain) -> Array:
        """[N m/s or N/s], shape (n,); inf where neither a rate nor an effort limit is known."""
        if self.torque_rate is None:
            return chain.limits.effort / self.effort_rise_time
        return _per_joint("torque_rate", self.torque_rate, chain)

    def tracking_errors(self, chain: Chain) -> Array:
        """[rad or m], shape (n,)."""
        return _per_joint("tracking_error", self.tracking_error, chain)


def _per_joint(name: str, values: ArrayLike, chain: Chain) -> Array:
    array = np.array(np.broadcast_to(np.asarray(values, dtype=np.float64), (chain.n,)))
    for value in array:
        positive(float(value), name, "per joint")
    return array
