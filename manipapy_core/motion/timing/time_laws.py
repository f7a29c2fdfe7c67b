"""Time laws: from a path to a trajectory that keeps every limit; time-optimal, by toppra, or by ruckig (limited jerk).

The time-optimal law has pieces of constant acceleration. Its moving average over a short window takes longer by the
window, keeps the same speeds and accelerations, and its acceleration is continuous. The average is evaluated exactly:
the pieces and their integral are polynomials.
"""

from __future__ import annotations

import enum
import importlib
import itertools
import logging
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...errors import ManipapyError, MissingPackage
from ...trajectory.bounds import MotionBounds
from ...trajectory.joint_trajectory import JointTrajectory
from ...typing import Array
from ..space import PlanningSpace
from ..verify import Efforts, Verification, verify
from . import curves
from .paths import BlendedPath, SplinePath
from .topp import fastest_squared_speeds

WINDOW = 0.02
"""Of the moving average [s]."""


@dataclass(frozen=True, eq=False)
class TimedPath:
    """A path with its time law, from rest to rest."""

    path: BlendedPath | SplinePath
    grid: Array
    """Lengths at which the acceleration may change [rad or m], shape (N,)."""
    squared_speeds: Array
    """Before averaging and stretching [rad²/s² or m²/s²], shape (N,)."""
    window: float = WINDOW
    """[s]"""
    stretch: float = 1.0
    """All times are multiplied by this."""

    @cached_property
    def _duration(self) -> float:
        """Before averaging and stretching [s]."""
        return float(curves.law_duration(self.grid, self.squared_speeds))

    @property
    def duration(self) -> float:
        """From rest to rest [s]."""
        return self.stretch * (self._duration + self.window)

    def slower(self, factor: float) -> TimedPath:
        """The same law with all times multiplied."""
        return replace(self, stretch=self.stretch * factor)

    def length_at(self, times: Array) -> tuple[Array, Array, Array]:
        """Length along the path, its rate and the rate of that, shape (N,) each.

        Args:
            times: [s], shape (N,).
        """
        law = self._law(times)
        return law[0], law[1], law[2]

    def _law(self, times: Array) -> Array:
        law: Array = curves.averaged_law(
            self.grid, self.squared_speeds, self.window, self.stretch, np.asarray(times, dtype=np.float64)
        )
        return law

    def at(self, times: Array) -> tuple[Array, Array, Array]:
        """Joint positions, velocities and accelerations, shape (N, n) each.

        Args:
            times: [s], shape (N,).
        """
        law = self._law(times)
        q, slope, bend = self.path.evaluate(law[0])
        qd, qdd = curves.joint_motion(q, slope, bend, law)
        return q, qd, qdd

    def sampled(self, period: float) -> JointTrajectory:
        """Samples at most a period apart, exactly at rest at both ends [s]."""
        times = np.linspace(0.0, self.duration, max(2, int(np.ceil(self.duration / period)) + 1))
        q, qd, qdd = self.at(times)
        q[0], q[-1] = self.path.corners[0], self.path.corners[-1]
        for rates in (qd, qdd):
            rates[0] = rates[-1] = 0.0
        return JointTrajectory(times, q, qd, qdd)


Path = BlendedPath | SplinePath

PERIOD = 0.01
"""Of the samples of a trajectory [s]."""
STRETCHES = 24
"""Attempts to slow a law down that exceeds a limit."""


class TimeLaw(enum.Enum):
    """How a path gets its times."""

    OPTIMAL = "optimal"
    """Time-optimal under velocity, acceleration and, if given, effort limits; jerk limits are met by slowing down."""
    TOPPRA = "toppra"
    """Time-optimal by the package toppra, without effort limits."""
    RUCKIG = "ruckig"
    """Time-optimal with bounded jerk by the package ruckig; stops at every corner, so the path stays a polyline."""


def load_package(law: TimeLaw) -> None:
    """Imports the package that a time law needs, which may take seconds: before the time of planning counts.

    Raises:
        MissingPackage: It is not installed.
    """
    if law is TimeLaw.OPTIMAL:
        return
    try:
        importlib.import_module(law.value)
    except ImportError:
        raise MissingPackage(law.value, f"TimeLaw.{law.name}", "planning") from None


class LawRejected(ManipapyError):
    """No trajectory along the path keeps its limits, however slow."""

    def __init__(self, verification: Verification):
        v = verification
        super().__init__(
            f"the trajectory cannot keep its limits: velocity {v.velocity:.3g}, acceleration {v.acceleration:.3g}, "
            f"jerk {v.jerk:.3g}, effort {v.effort:.3g} of the limit, {v.outside:.3g} beyond a position limit; "
            "check that the arm can hold itself there and that the path is inside its limits"
        )
        self.verification = verification


def timed_trajectory(
    path: Path,
    bounds: MotionBounds,
    *,
    law: TimeLaw = TimeLaw.OPTIMAL,
    efforts: Efforts | None = None,
    space: PlanningSpace | None = None,
    period: float = PERIOD,
) -> tuple[JointTrajectory, Verification]:
    """A verified trajectory along a path; slowed down where it exceeds a limit.

    Args:
        efforts: Inverse dynamics of the arm, needed if efforts are limited.
        space: Check collisions too.
        period: Longest time between two samples [s].

    Raises:
        LawRejected: It exceeds a limit even when slow.
    """
    if law is TimeLaw.RUCKIG:
        trajectory = ruckig_law(path.corners, bounds, period)
    elif law is TimeLaw.TOPPRA:
        trajectory = toppra_law(path, bounds, period)
    else:
        trajectory = time_optimal(path, bounds, efforts).sampled(period)
    for _ in range(STRETCHES):
        verification = verify(trajectory, bounds, efforts=efforts)
        if verification.within_limits:
            return trajectory, verification if space is None else verification.with_collisions(trajectory, space)
        if verification.outside > 1e-6:
            break
        trajectory = trajectory.slower(verification.stretch if verification.stretch > 1.0 else 1.05)
    raise LawRejected(verification)


def time_optimal(path: Path, bounds: MotionBounds, efforts: Efforts | None = None) -> TimedPath:
    """The fastest law along a path, from rest to rest."""
    grid = path.grid()
    q, slope, bend = path.evaluate(grid)
    ceiling = curves.speed_ceilings(slope, bounds.velocity)
    upper = np.broadcast_to(bounds.acceleration, q.shape)
    a, b, lower = slope, bend, -upper
    if efforts is not None and np.isfinite(bounds.effort).any():
        still = np.zeros_like(q)
        holding = efforts(q, still, still)
        finite = np.where(np.isfinite(bounds.effort), bounds.effort, 1e12)
        a = np.hstack([a, efforts(q, still, slope) - holding])
        b = np.hstack([b, efforts(q, slope, bend) - holding])
        lower, upper = np.hstack([lower, -finite - holding]), np.hstack([upper, finite - holding])
    x, _ = fastest_squared_speeds(grid, a, b, lower, upper, ceiling)
    jerky = np.isfinite(bounds.jerk)
    # A jerk limit is met by a window as long as the joint takes to build up its acceleration.
    windows = bounds.acceleration[jerky] / bounds.jerk[jerky]
    return TimedPath(path, grid, x, max(WINDOW, float(windows.max(initial=0.0))))


def toppra_law(path: Path, bounds: MotionBounds, period: float) -> JointTrajectory:
    """By toppra with its `Interpolation` scheme and constant acceleration between grid points."""
    load_package(TimeLaw.TOPPRA)
    import toppra
    from toppra import algorithm, constraint

    logging.getLogger("toppra").setLevel(logging.ERROR)
    grid = path.grid()
    curve = toppra.SplineInterpolator(grid, path.evaluate(grid)[0])
    velocity = constraint.JointVelocityConstraint(np.column_stack([-bounds.velocity, bounds.velocity]))
    acceleration = constraint.JointAccelerationConstraint(
        np.column_stack([-bounds.acceleration, bounds.acceleration]),
        discretization_scheme=constraint.DiscretizationType.Interpolation,
    )
    solver = algorithm.TOPPRA([velocity, acceleration], curve, gridpoints=grid, parametrizer="ParametrizeConstAccel")
    timed = solver.compute_trajectory()
    if timed is None:
        raise LawRejected(Verification(np.inf, np.inf, 0.0, 0.0, 0.0, 0.0, None, 0))
    times = np.linspace(0.0, timed.duration, max(2, int(np.ceil(timed.duration / period)) + 1))
    q, qd, qdd = (np.array(timed(times, order)) for order in range(3))
    q[0], q[-1] = path.corners[0], path.corners[-1]
    qd[0] = qd[-1] = 0.0
    return JointTrajectory(times, q, qd, qdd)


def ruckig_law(corners: Array, bounds: MotionBounds, period: float) -> JointTrajectory:
    """From corner to corner by ruckig, at rest at each; its waypoints are not used: it sends them to a server."""
    load_package(TimeLaw.RUCKIG)
    import ruckig

    n = corners.shape[1]
    solver, order = ruckig.Ruckig(n), ruckig.InputParameter(n)
    order.synchronization = ruckig.Synchronization.Phase
    order.max_velocity, order.max_acceleration = bounds.velocity.tolist(), bounds.acceleration.tolist()
    order.max_jerk = bounds.jerk.tolist()
    parts: list[tuple[Array, ...]] = []
    begin = 0.0
    for start, goal in itertools.pairwise(corners):
        order.current_position, order.target_position = start.tolist(), goal.tolist()
        found = ruckig.Trajectory(n)
        result = solver.calculate(order, found)
        if result not in (ruckig.Result.Working, ruckig.Result.Finished):
            raise LawRejected(Verification(np.inf, np.inf, np.inf, 0.0, 0.0, 0.0, None, 0))
        times = np.linspace(0.0, found.duration, max(2, int(np.ceil(found.duration / period)) + 1))
        q, qd, qdd = (np.array(values) for values in zip(*(found.at_time(time)[:3] for time in times)))
        q[0], q[-1] = start, goal
        for rates in (qd, qdd):
            rates[0] = rates[-1] = 0.0
        keep = slice(None) if not parts else slice(1, None)
        parts.append((begin + times[keep], q[keep], qd[keep], qdd[keep]))
        begin += found.duration
    return JointTrajectory(*(np.concatenate(values) for values in zip(*parts)))
