"""The newest collision forecast for the guard, and the policy for missing ones."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable

from ...checks import positive
from .checks import PASSED, Action, Check, Verdict

MIN_SPEED = 0.05
"""Smallest rate of trajectories under SLOW."""


class ForecastPolicy(enum.Enum):
    """What the guard does with collision forecasts."""

    OFF = "off"
    """Forecasts are ignored."""
    USE = "use"
    """A fresh forecast slows or holds the arm; a stale one is a warning."""
    REQUIRE = "require"
    """Without a fresh forecast made with a fresh world the arm is held."""


class CollisionAhead:
    """Holds the newest forecast. Written and read by the loop; other threads may read.

    Args:
        policy: How forecasts, and missing ones, are used.
        stale_after: Age above which a forecast is stale [s].
    """

    def __init__(self, policy: ForecastPolicy = ForecastPolicy.USE, stale_after: float = 0.15):
        self.policy, self.stale_after = policy, positive(stale_after, "stale_after", "s")
        self.speed = 1.0
        """Share of full speed that the newest forecast allows; 0 is a hold."""
        self.stamp = -math.inf
        """Time of the joint state of the newest forecast, on the clock of the loop [s]."""
        self.world_fresh = False
        """Whether the newest forecast was made with an up-to-date world."""
        self.trajectory = 0
        """Number of the trajectory that the newest forecast was made for; 0: none, a hold was assumed."""
        self.executed = 0
        """Number of the trajectory that was started last; 0: none."""
        self._since, self._awaited = -math.inf, False
        self._describe: Callable[[], str] = str
        self._verdict = PASSED
        self._required = policy is ForecastPolicy.REQUIRE

    def update(
        self,
        speed: float,
        stamp: float,
        *,
        world_fresh: bool = True,
        trajectory: int = 0,
        describe: Callable[[], str] = str,
    ) -> None:
        """Sets the newest forecast.

        Args:
            speed: Allowed share of full speed: 1 free, 0 hold.
            stamp: Time of its joint state, on the clock of the loop [s].
            world_fresh: Whether it was made with an up-to-date world.
            trajectory: Number of the trajectory whose path was checked; 0: none, a hold was assumed.
            describe: Returns a text that names what is near; called only if the arm is slowed or held.
        """
        self.speed, self.stamp, self.world_fresh, self._describe = speed, stamp, world_fresh, describe
        self.trajectory = trajectory
        self._awaited = self._awaited and trajectory != self.executed
        self._verdict = PASSED

    def begin(self, trajectory: int, now: float, *, at_rest: bool) -> None:
        """Tells that a trajectory has started.

        An arm at rest waits for the first forecast of its path, `stale_after` at most, and forecasts for earlier
        trajectories no longer apply. An arm that moves on from another trajectory obeys them until that first one.

        Args:
            trajectory: Its number.
            now: Time of the loop [s].
            at_rest: Whether the arm is at rest.
        """
        self.executed, self._since = trajectory, now
        self._awaited = at_rest and self.trajectory != trajectory and self.policy is not ForecastPolicy.OFF

    def awaits(self, now: float) -> bool:
        """Whether the arm must wait at the start of its trajectory for the first forecast of its path."""
        if not self._awaited:
            return False
        # If forecasts no longer arrive at all, the policy for missing ones decides at once.
        return max(now - self._since, now - self.stamp) <= self.stale_after

    def age(self, now: float) -> float:
        """Age of the newest forecast at a time of the loop [s]; inf if there is none."""
        return now - self.stamp

    def free(self, now: float) -> bool:
        """Whether `verdict` passes at a time of the loop [s]."""
        if now - self.stamp > self.stale_after:
            return not self._required
        if self._awaited:
            return False
        return self.speed >= 1.0 and (self.world_fresh or not self._required)

    def verdict(self, now: float) -> Verdict:
        """Verdict at a time of the loop [s]."""
        age = now - self.stamp
        if age > self.stale_after:
            if not self._required:
                return PASSED
            what = "age of the collision forecast, which is required,"
            return Verdict(Action.HOLD, Check.COLLISION, what, None, age, self.stale_after, "s")
        if self._required and not self.world_fresh:
            return Verdict(Action.HOLD, Check.COLLISION, "a collision forecast without an up-to-date world")
        if self.awaits(now):
            return PASSED  # the arm stands still meanwhile
        if self._awaited and self.trajectory:
            # Made for an earlier trajectory.
            if not self._required:
                return PASSED
            what = "time without a collision forecast, which is required, for this trajectory"
            return Verdict(Action.HOLD, Check.COLLISION, what, None, now - self._since, self.stale_after, "s")
        if self.speed >= 1.0:
            return PASSED
        if self._verdict is PASSED:
            self._verdict = self._judge()
        return self._verdict

    def warning(self, now: float) -> str:
        """Text on a missing or stale forecast; empty if there is a fresh one or the policy is OFF."""
        if self.policy is ForecastPolicy.OFF:
            return ""
        age = now - self.stamp
        if age == math.inf:
            return "no collision forecast has arrived; start collision_monitor, or set collision_forecast to off"
        if age > self.stale_after:
            return f"the collision forecast is {age:.2f} s old; is collision_monitor still running?"
        if self._awaited and not self.awaits(now):
            return (
                "collision_monitor checks no path of this trajectory; does it subscribe to the controller's path_ahead?"
            )
        if not self.world_fresh:
            return "collisions are forecast without an up-to-date world; is the planner running?"
        return ""

    def _judge(self) -> Verdict:
        near = self._describe()
        what = f"{near}: allowed speed" if near else "allowed speed"
        # Not `speed <= 0`: NaN holds the arm.
        action = Action.SLOW if self.speed > 0.0 else Action.HOLD
        slow = min(max(self.speed, MIN_SPEED), 1.0) if action is Action.SLOW else MIN_SPEED
        return Verdict(action, Check.COLLISION, what, None, self.speed, 1.0, "of full speed", slow)
