"""Tolerances with the rules of joint_trajectory_controller, and the compiled step along a segment that checks them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...checks import joint_units
from ...compiler import UNLIMITED, Input, absolute, compile_formula, compile_per_joint, largest
from ...model.chain import Chain
from ...trajectory.spline import TERMS, Segment, evaluate
from ...typing import Array
from .clock import PathClock
from .goal import (
    ErrorCode,
    ExecutionSettings,
    GoalRefused,
    GoalStatus,
    GoalTolerances,
    JointTolerance,
    Outcome,
    ResolvedTolerances,
)

ERASE = -1.0


def resolve(chain: Chain, settings: ExecutionSettings, requested: GoalTolerances | None) -> ResolvedTolerances:
    """Arrays over all joints: 0 becomes the default, −1 no check.

    Raises:
        GoalRefused: A joint that the arm does not have, or a number that is neither −1 nor zero or above.
    """
    requested = requested or GoalTolerances()
    path = _resolve(chain, "path", requested.path, settings.path_position, settings.path_velocity)
    goal = _resolve(chain, "goal", requested.goal, settings.goal_position, settings.goal_velocity)
    goal_time = _number("goal_time", requested.goal_time, settings.goal_time)
    return ResolvedTolerances(path[0], path[1], goal[0], goal[1], goal_time)


def _resolve(
    chain: Chain, which: str, listed: Sequence[JointTolerance], position: float, velocity: float
) -> tuple[Array, Array]:
    positions, velocities = (np.full(chain.n, min(value, UNLIMITED)) for value in (position, velocity))
    for entry in listed:
        if entry.name not in chain.joint_names:
            raise GoalRefused(
                ErrorCode.INVALID_JOINTS,
                f"{which} tolerance for joint {entry.name!r}, which this arm does not have; "
                f"it has: {', '.join(chain.joint_names)}",
            )
        j = chain.joint_names.index(entry.name)
        positions[j] = _number(f"{which} tolerance of {entry.name!r} (position)", entry.position, position)
        velocities[j] = _number(f"{which} tolerance of {entry.name!r} (velocity)", entry.velocity, velocity)
    return positions, velocities


def _number(what: str, value: float, default: float) -> float:
    if value == 0.0:
        return min(default, UNLIMITED)
    if value == ERASE:
        return UNLIMITED
    if not value > 0.0:
        raise GoalRefused(
            ErrorCode.INVALID_GOAL,
            f"{what} is {value!r}; give a number above zero, 0 for the default or −1 for no check",
        )
    return float(value)


def excess(desired: Any, actual: Any, allowed: Any) -> tuple[Any, Any]:
    """Error of one joint, and its excess over the tolerance."""
    error = desired - actual
    return error, absolute(error) - allowed


@functools.cache
def _excess_kernel(n: int) -> Any:
    return compile_per_joint("excess", n, ("desired", "actual", "allowed"), 2, excess)


class ToleranceCheck:
    """Compares the state with the reference every tick."""

    def __init__(self, chain: Chain):
        self._names, self._units = chain.joint_names, joint_units(chain)
        self._kernel: Any = _excess_kernel(chain.n)
        self._result = np.zeros((2, chain.n))
        self._error, self._excess = self._result

    def worst(self, desired: Array, actual: Array, allowed: Array) -> int:
        """The joint furthest beyond its tolerance, or −1."""
        if not self._kernel(desired, actual, allowed, self._result):
            # An error that is not a number is beyond any tolerance.
            return int((~np.isfinite(desired - actual)).argmax())
        joint = int(self._excess.argmax())
        return joint if self._excess[joint] > 0.0 else -1

    def path_violation(self, joint: int, what: str, t: float, allowed: Array) -> Outcome:
        """Path tolerance violated by the joint that `worst` has just found."""
        return Outcome(
            GoalStatus.ABORTED,
            ErrorCode.PATH_TOLERANCE_VIOLATED,
            f"path tolerance violated: {self._text(joint, what, allowed)} at {t:.3f} s of the trajectory",
        )

    def goal_violation(self, joint: int, what: str, late: float, allowed: Array) -> Outcome:
        """Goal tolerance not reached in time by the joint that `worst` has just found."""
        return Outcome(
            GoalStatus.ABORTED,
            ErrorCode.GOAL_TOLERANCE_VIOLATED,
            f"goal tolerance violated: {self._text(joint, what, allowed)} {late:.3f} s after the end",
        )

    def _text(self, joint: int, what: str, allowed: Array) -> str:
        unit = self._units[joint] + ("/s" if what == "velocity" else "")
        error, bound = abs(float(self._error[joint])), float(allowed[joint])
        return f"{what} of joint {self._names[joint]!r} is {error:.4g} {unit} off (tolerance {bound:.4g} {unit})"


def follow(
    n: int, when: Sequence[Any], coefficients: Sequence[Any], q: Sequence[Any], allowed: Sequence[Any]
) -> list[Any]:
    """Motion at full speed and at the rate of the clock, 3×n numbers each, and the largest excess over a tolerance.

    Args:
        when: Time within the segment over its length, one over that length [1/s], rate of the clock, its change [1/s].
        coefficients: Of the segment, 6×n row by row.
        q: Measured positions [rad or m], n numbers.
        allowed: Path tolerance [rad or m], n numbers.
    """
    u, per_length, rate, change = when
    full = evaluate(n, [u], [per_length], coefficients)
    position, velocity, acceleration = full[:n], full[n : 2 * n], full[2 * n :]
    # d²q/dt² = q'' r² + q' dr/dt
    stretched = [a * (rate * rate) + v * change for v, a in zip(velocity, acceleration)]
    excess = [absolute(desired - actual) - most for desired, actual, most in zip(position, q, allowed)]
    return [*full, *position, *(v * rate for v in velocity), *stretched, largest(excess)]


@functools.cache
def _kernel(n: int) -> Any:
    inputs = [Input("when", (4,)), Input("coefficients", (TERMS, n)), Input("q", (n,)), Input("allowed", (n,))]
    return compile_formula(f"following_{n}", inputs, (6 * n + 1,), functools.partial(follow, n))


class FollowingSegment:
    """Reference along one segment of a spline.

    Args:
        n: How many joints.
    """

    def __init__(self, n: int):
        self._kernel: Any = _kernel(n)
        self._when, self._result = np.zeros(4), np.zeros(6 * n + 1)
        self.motion = self._result[:-1]
        """The two that follow, shape (6 n,); a buffer."""
        self.full_speed = self._result[: 3 * n].reshape(3, n)
        """Position, velocity and acceleration by trajectory time, shape (3, n); a buffer."""
        self.reference = self._result[3 * n : 6 * n].reshape(3, n)
        """The same by time, shape (3, n); a buffer."""

    def step(self, segment: Segment, clock: PathClock, q: Array, allowed: Array) -> bool:
        """Writes the reference of a tick; False if it is not finite, or the arm is not within its tolerance.

        Args:
            segment: The one that contains the time of the clock.
            clock: Of the trajectory.
            q: Measured positions [rad or m], shape (n,).
            allowed: Path tolerance [rad or m], shape (n,).
        """
        when, result = self._when, self._result
        when[0], when[1], when[2], when[3] = segment.share(clock.t), segment.rate, clock.rate, clock.rate_change
        return self._kernel(when, segment.coefficients, q, allowed, result) and result.item(-1) <= 0.0
