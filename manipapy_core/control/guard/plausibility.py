"""Plausibility of joint states: no step between two of them that is faster than the arm, and no absurd numbers."""

from __future__ import annotations

import numpy as np

from ...compiler import UNLIMITED
from ...model.chain import Chain
from ...typing import Array
from .checks import GuardSettings
from .consistency import Consistency

MAX_GAP = 0.1
"""A longer time between two states permits no larger step than this one [s]."""
MAX_POSITION = 1e6
"""No joint turns or slides so far [rad or m]."""
MAX_OVERSPEED = 10.0
"""No joint moves this many times as fast as its velocity limit."""


class Plausibility:
    """Compares every joint state with the one before.

    A state that lies too far from the last one is not accepted, and neither are those that follow, until they have been
    consistent with each other for a while. So two sources that alternate are never accepted, and an arm that was set to
    another place is accepted again after that time.

    Args:
        chain: The arm.
        settings: Tolerances.
    """

    def __init__(self, chain: Chain, settings: GuardSettings):
        self.last = np.zeros(chain.n)
        """Positions of the last state [rad or m], shape (n,); a buffer."""
        self.speed = settings.velocity_hold * np.minimum(chain.limits.velocity, UNLIMITED)
        """Speed of the largest plausible step [rad/s or m/s], shape (n,)."""
        self.tolerance = settings.state_jump
        """Size of a step that is always plausible [rad or m]."""
        self.consistency = Consistency(chain, settings)
        """Of positions with velocities; observes every state before it is checked."""
        self.contradiction = False
        """Whether states contradicted each other: nothing can be predicted from the last ones that were accepted, and
        none is accepted until a reset, because an arm at rest does not show whether its driver works again."""
        self.accepted = True
        """Whether the last state is accepted."""
        self.what, self.joint, self.amount, self.limit, self.per_second = "", 0, 0.0, 0.0, False
        """Name, joint, amount and limit of what was not plausible last, and whether it is a speed."""
        self._fastest = MAX_OVERSPEED * np.minimum(chain.limits.velocity, UNLIMITED)
        self._farthest = np.full(chain.n, MAX_POSITION)
        self._accept_after = settings.accept_after
        self._stamp, self._since = -np.inf, -np.inf
        self._scratch = np.zeros(chain.n)

    def gap(self, stamp: float) -> float:
        """Time from the last state to a stamp that the check counts [s]; inf if there is none."""
        return stamp - self._stamp if stamp - self._stamp < MAX_GAP else (MAX_GAP if self._stamp > -np.inf else np.inf)

    def check(self, q: Array, qd: Array, stamp: float) -> bool:
        """Whether a new state is accepted.

        Args:
            q: Measured positions [rad or m], shape (n,).
            qd: Measured velocities [rad/s or m/s], shape (n,).
            stamp: When they were measured [s].
        """
        gap = self.gap(stamp)
        plausible = self._within("speed", qd, self._fastest) and self._within("position", q, self._farthest)
        if plausible and gap < np.inf:
            np.subtract(q, self.last, self._scratch)
            plausible = self._within(
                "step between two joint states", self._scratch, self.tolerance + self.speed * max(gap, 0.0)
            )
        if plausible and not self.consistency.consistent:
            plausible, self.contradiction = False, True
            self.what, self.joint, self.amount, self.limit, self.per_second = self.consistency.worst()
        if not plausible:
            self.accepted, self._since = False, stamp
            self.consistency.forgive()
        elif not (self.accepted or self.contradiction) and not 0.0 <= stamp - self._since < self._accept_after:
            self.accepted = True
        self.record(q, stamp)
        return self.accepted

    def _within(self, what: str, values: Array, limit: Array) -> bool:
        """Whether all values are within their limits; if not, the worst is kept for the verdict."""
        amounts = np.abs(values)
        excess = amounts - limit
        j = int(excess.argmax())
        if excess[j] <= 0.0:
            return True
        self.what, self.joint, self.amount, self.limit = what, j, float(amounts[j]), float(limit[j])
        self.per_second = what == "speed"
        return False

    def record(self, q: Array, stamp: float) -> None:
        """Sets the last state without a check."""
        self.last[:] = q
        self._stamp = stamp

    def reset(self) -> None:
        """Accepts the next state without a check."""
        self.accepted, self.contradiction, self._stamp = True, False, -np.inf
        self.consistency.reset()
