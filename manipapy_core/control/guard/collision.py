"""The newest collision forecast, as the guard uses it, and what a missing one means."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable

from ...checks import positive
from .checks import PASSED, Action, Check, Verdict

SLOWEST = 0.05
"""Trajectories never run slower than this share while the guard says SLOW."""


class ForecastPolicy(enum.Enum):
    """What the guard does with collision forecasts."""

    OFF = "off"
    """They are ignored."""
    USE = "use"
    """A fresh one slows or holds the arm; a stale one is a warning."""
    REQUIRE = "require"
    """Without a fresh forecast of a fresh world the arm is held."""


class CollisionAhead:
    """Holds the newest forecast. Written and read by the loop; other threads may read.

    Args:
        policy: What a missing forecast means.
        stale_after: Age from which on a forecast is stale [s].
    """

    def __init__(self, policy: ForecastPolicy = ForecastPolicy.USE, stale_after: float = 0.15):
        self.policy, self.stale_after = policy, positive(stale_after, "stale_after", "s")
        self.speed = 1.0
        """Share of full speed that the newest forecast allows; 0 is a hold."""
        self.stamp = -math.inf
        """When the joint state was measured that it was made from, on the clock of the loop [s]."""
        self.world_fresh = False
        """Whether it was made with a world that is up to date."""
        self._describe: Callable[[], str] = str
        self._verdict = PASSED
        self._required = policy is ForecastPolicy.REQUIRE

    def update(
        self, speed: float, stamp: float, *, world_fresh: bool = True, describe: Callable[[], str] = str
    ) -> None:
        """Takes a forecast.

        Args:
            speed: Share of full speed that is allowed: 1 free, 0 hold.
            stamp: When its joint state was measured, on the clock of the loop [s].
            world_fresh: Whether the world it was made with is up to date.
            describe: Gives what is near, in words; called only if the arm is slowed or held.
        """
        self.speed, self.stamp, self.world_fresh, self._describe = speed, stamp, world_fresh, describe
        self._verdict = PASSED

    def age(self, now: float) -> float:
        """Of the newest forecast at a time of the loop [s]; inf if there is none."""
        return now - self.stamp

    def free(self, now: float) -> bool:
        """Whether nothing has to be done at a time of the loop [s]."""
        if now - self.stamp > self.stale_after:
            return not self._required
        return self.speed >= 1.0 and (self.world_fresh or not self._required)

    def verdict(self, now: float) -> Verdict:
        """What the guard does about it at a time of the loop [s]."""
        age = now - self.stamp
        if age > self.stale_after:
            if not self._required:
                return PASSED
            what = "age of the collision forecast, which is required,"
            return Verdict(Action.HOLD, Check.COLLISION, what, None, age, self.stale_after, "s")
        if self._required and not self.world_fresh:
            return Verdict(Action.HOLD, Check.COLLISION, "a collision forecast without an up-to-date world")
        if self.speed >= 1.0:
            return PASSED
        if self._verdict is PASSED:
            self._verdict = self._judge()
        return self._verdict

    def warning(self, now: float) -> str:
        """Why there is no fresh forecast, in words; empty if there is one, or none is wanted."""
        if self.policy is ForecastPolicy.OFF:
            return ""
        age = now - self.stamp
        if age == math.inf:
            return "no collision forecast has arrived; start collision_monitor, or set collision_forecast to off"
        if age > self.stale_after:
            return f"the collision forecast is {age:.2f} s old; is collision_monitor still running?"
        if not self.world_fresh:
            return "collisions are forecast without an up-to-date world; is the planner running?"
        return ""

    def _judge(self) -> Verdict:
        near = self._describe()
        what = f"{near}: allowed speed" if near else "allowed speed"
        # Not `speed <= 0`: a forecast that is not a number holds the arm.
        action = Action.SLOW if self.speed > 0.0 else Action.HOLD
        slow = min(max(self.speed, SLOWEST), 1.0) if action is Action.SLOW else SLOWEST
        return Verdict(action, Check.COLLISION, what, None, self.speed, 1.0, "of full speed", slow)
