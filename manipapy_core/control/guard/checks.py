"""Checks, actions, verdicts and settings of the guard."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...checks import not_negative, positive
from ...model.chain import Chain
from ...typing import Array


class Action(enum.IntEnum):
    """Reaction of the guard; the larger, the more severe."""

    OK = 0
    SLOW = 1
    """The efforts of the law are clipped; trajectories run at `speed`."""
    HOLD = 2
    """The goal is aborted, the arm brakes and is held until the next command."""
    STOP = 3
    """As HOLD, but until a reset."""


class Check(enum.Enum):
    """The checks, in their order."""

    NONE = "nothing"
    FINITE = "finite numbers"
    FRESH = "fresh state"
    CLOCK = "clock"
    SOURCE = "state source"
    """Whether one publisher alone gives the joint states."""
    PLAUSIBLE = "plausible state"
    POSITION = "position limit"
    VELOCITY = "velocity limit"
    EFFORT = "effort limit"
    TORQUE_RATE = "torque rate"
    TRACKING = "tracking error"
    SINGULAR = "singular configuration"
    CONTACT = "contact"
    """External efforts on the joints."""
    COLLISION = "collision ahead"
    DEADLINE = "deadline"
    SOFTWARE = "software"
    """An exception in the tick."""
    OPERATOR = "operator"
    """Requested by a user or a program."""


@dataclass(frozen=True)
class Verdict:
    """Result of the checks: action, check, joint, amount and limit."""

    action: Action
    check: Check = Check.NONE
    what: str = ""
    """Name of the measured quantity."""
    joint: str | None = None
    amount: float = 0.0
    limit: float = 0.0
    unit: str = ""
    speed: float = 1.0
    """Allowed rate of trajectories, 0 to 1."""

    @property
    def text(self) -> str:
        """One sentence for messages."""
        if self.action is Action.OK:
            return "all checks passed"
        of = f" of joint {self.joint!r}" if self.joint else ""
        unit = f" {self.unit}" if self.unit else ""
        numbers = f" is {self.amount:.4g}{unit} (limit {self.limit:.4g}{unit})" if self.unit else ""
        return f"{self.action.name} by the check of {self.check.value}: {self.what}{of}{numbers}"


PASSED = Verdict(Action.OK)
"""The verdict of nearly every tick; a shared object, so that no tick allocates one."""


@dataclass(frozen=True, eq=False)
class GuardSettings:
    """Limits of the guard. Values per joint may be given as one number for all."""

    state_hold_after: float = 0.02
    """Age of the joint state above which the arm is held [s]."""
    state_stop_after: float = 0.1
    """Age above which the arm is stopped [s]."""
    state_jump: float = 0.01
    """Step between two joint states that is always plausible [rad or m]; `velocity_hold` times the velocity limit is
    added for the time between them."""
    state_consistency: float = 0.006
    """Difference between measured positions and the integral of measured velocities, over a quarter of a second, that
    is always plausible [rad or m]."""
    velocity_jump: float = 0.3
    """Step between two measured velocities that is always plausible, as a share of the velocity limit."""
    accept_after: float = 0.25
    """How long joint states must be plausible after one that was not, before they are accepted again [s]."""
    clock_ahead: float = 0.01
    """How far the stamp of a state may lie in the future [s]."""
    longest_tick: float = 0.5
    """A longer time between ticks is a jump of the clock rather than a late tick [s]."""
    position_margin: float = 0.002
    """Distance to a position limit that a stop must keep [rad or m]."""
    reaction_time: float = 0.004
    """From a measurement to the effort computed from it [s]."""
    velocity_slow: float = 1.05
    """Share of the velocity limit above which trajectories slow down."""
    velocity_hold: float = 1.25
    """Share above which the arm is held."""
    effort_rise_time: float = 0.02
    """Torque rate limit as the time from zero to the effort limit [s]."""
    torque_rate: ArrayLike | None = None
    """Torque rate limit, where the manufacturer gives one [N m/s or N/s], shape (n,)."""
    torque_rate_hold_after: float = 0.05
    """A law that exceeds the torque rate for longer than this is replaced by a hold [s]."""
    tracking_error: ArrayLike = 0.25
    """Allowed distance from the reference, for stiff laws [rad or m], shape (n,)."""
    singular_slow: float = 8.0
    """Condition number above which Cartesian laws slow down: 1 is isotropic, 2 or 3 a common pose, 8 an elbow within
    0.2 rad of straight."""
    singular_hold: float = 20.0
    """Condition number above which a Cartesian law is replaced by a hold, if the number rises."""
    contact_threshold: float = 0.2
    """External effort that is a contact, as a share of the effort limit; 0: contacts are not detected."""
    contact_dynamic: float = 0.1
    """Share of the efforts of acceleration that is added, for errors of the inertia."""
    contact_bandwidth: float = 100.0
    """Bandwidth of the observed external effort [1/s]."""
    payload_tolerance: float = 0.005
    """Efforts of a payload that are compensated although the arm does not feel it, as a share of the effort limits; 0:
    any."""
    late_slow: float = 0.005
    """Time between ticks above which trajectories slow down [s]."""
    late_hold: float = 0.05
    """Time between ticks above which the arm is held [s]."""
    brake_factor: float = 2.0
    """Deceleration of a hold over that of normal motion."""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if name in ("contact_threshold", "contact_dynamic", "payload_tolerance"):
                not_negative(getattr(self, name), name, "share")
            elif name not in ("torque_rate", "tracking_error"):
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
