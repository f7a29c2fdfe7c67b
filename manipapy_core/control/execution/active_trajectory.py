"""The trajectory of the active goal, joined to the motion of the arm at its start without a jump."""

from __future__ import annotations

import math

import numpy as np

from ...checks import joint_units
from ...model.chain import Chain
from ...trajectory.bounds import BrakingLimits
from ...trajectory.spline import Segment, evaluation_kernel, segment_coefficients
from ...trajectory.stopping import StopProfile
from ...typing import Array
from ..state import Reference
from .goal import ErrorCode, ExecutionSettings, GoalRefused
from .validation import ValidatedGoal, check_limits, refuse_if_over

SHORTEST_CORRECTION = 0.02
"""[s]"""
_POSITION, _VELOCITY = 12.0, 8.0
"""A quintic that takes p to zero accelerates by at most 5.8 |p| / T², one that takes v to zero by 3.9 |v| / T; each
gets half of what is allowed."""


class Correction:
    """Offset in position, velocity and acceleration that goes to zero along a quintic within `duration`.

    Added to the trajectory, it starts at the state of the arm.
    """

    def __init__(self, n: int):
        self._coefficients = np.zeros((6, n))
        self._kernel = evaluation_kernel(n)
        self._u, self._rate = np.zeros(1), np.zeros(1)
        self._sample, self._zero = np.zeros((3, n)), np.zeros(n)
        self.duration = 0.0
        """[s]; zero if there is nothing to correct."""

    def clear(self) -> None:
        """Removes the offset."""
        self.duration = 0.0

    def begin(self, difference: Array, acceleration: Array) -> None:
        """Starts the offset.

        Args:
            difference: Reference minus trajectory: position, velocity, acceleration, shape (3, n).
            acceleration: Allowed for the correction [rad/s² or m/s²], shape (n,).
        """
        p, v, a = difference
        if not difference.any():
            self.clear()
            return
        T = math.sqrt(float(np.max(_POSITION * np.abs(p) / acceleration)))
        T = max(SHORTEST_CORRECTION, T, float(np.max(_VELOCITY * np.abs(v) / acceleration)))
        h = np.array([T])
        self._coefficients[:] = segment_coefficients(h, (p, v, a), (self._zero, self._zero, self._zero))
        self.duration, self._rate[0] = T, 1.0 / T

    def add(self, t: float, block: Array) -> None:
        """Adds the offset at a time since `begin` to position, velocity and acceleration, shape (3, n)."""
        if t >= self.duration:
            return
        self._u[0] = t * self._rate[0]
        self._kernel(self._u, self._rate, self._coefficients, self._sample)
        np.add(block, self._sample, block)


LEAD_SAMPLES = 8
SHORTEST_LEAD = 1e-3
"""A first point nearer than this [s] counts as the start itself."""


class ActiveTrajectory:
    """Lead-in to the first point, spline, correction, and joints that are not named, as one function of time.

    The lead-in is a polynomial of the order of the goal's spline, from the present motion to the first point. A
    difference that is left (a start in the past, a goal that replaces another in mid-motion) goes to zero as a
    `Correction`. Joints that the goal does not name slow down and stay.
    """

    def __init__(self, chain: Chain, settings: ExecutionSettings, bounds: BrakingLimits):
        n = chain.n
        self.chain, self.settings, self.bounds = chain, settings, bounds
        self.goal: ValidatedGoal | None = None
        self.end = 0.0
        """Trajectory time at which the motion ends [s]."""
        self._continuous = ~np.isfinite(bounds.upper - bounds.lower)
        self._kernel = evaluation_kernel(n)
        self._lead, self._u, self._rate = np.zeros((6, n)), np.zeros(1), np.zeros(1)
        self._lead_start = 0.0
        self._correction, self._others = Correction(n), StopProfile(n)
        self._others_block, self._turns = np.zeros((3, n)), np.zeros(n)
        self._turned = False
        self._plain_from = math.inf
        self._segment: Segment | None = None

    def begin(self, goal: ValidatedGoal, reference: Reference, now: float) -> float:
        """Starts a goal; a refusal changes nothing.

        Args:
            goal: To be executed.
            reference: Present reference.
            now: [s]

        Returns:
            Trajectory time of the start [s].

        Raises:
            GoalRefused: It has already ended, or starts too far from the arm.
        """
        t = 0.0 if goal.start_time is None else max(now - goal.start_time, 0.0)
        if goal.start_time is not None:
            refuse_if_over(goal.start_time + goal.spline.duration, now)
        turns = self._whole_turns(goal, reference, t)
        first = goal.spline.first
        lead = self._lead_in(goal, reference, turns, first - t) if first - t > SHORTEST_LEAD else None
        difference = self._difference(goal, reference, turns, t, lead)
        self._refuse_if_far(difference, reference)

        self.goal = goal
        self._turns[:], self._turned = turns, bool(turns.any())
        if lead is not None:
            self._lead[:], self._lead_start, self._rate[0] = lead, t, 1.0 / (first - t)
        else:
            self._lead_start = math.inf
        self._correction.begin(difference, 0.5 * self.bounds.acceleration)
        self._correction_start = t
        bounds = self.bounds
        moving_others = np.where(goal.named, 0.0, reference.qd)
        self._others.begin(reference.q, moving_others, bounds.acceleration, bounds.lower, bounds.upper)
        self._others_start = t
        self.end = max(goal.spline.duration, t + self._correction.duration, t + self._others.duration)
        whole = not goal.partial and not self._turned
        self._plain_from = max(first, t + self._correction.duration) if whole else math.inf
        self._segment = None
        return t

    def segment(self, t: float) -> Segment | None:
        """The spline segment at a trajectory time; None if lead-in, correction or unnamed joints contribute."""
        segment = self._segment
        if segment is not None and segment.start <= t < segment.end:
            return segment
        goal = self.goal
        if goal is None or not self._plain_from <= t < goal.spline.duration:
            return None
        self._segment = segment = goal.spline.segment(t, -1 if segment is None else segment.number)
        return segment

    def sample(self, t: float, out: Array) -> None:
        """Position, velocity and acceleration by trajectory time, shape (3, n)."""
        goal = self.goal
        assert goal is not None
        self._sample_goal(goal, t, out)
        self._correction.add(t - self._correction_start, out)
        if goal.partial:
            self._others.sample(t - self._others_start, self._others_block)
            np.copyto(out, self._others_block, where=goal.others)

    def _sample_goal(self, goal: ValidatedGoal, t: float, out: Array) -> None:
        spline = goal.spline
        if t >= spline.duration:
            out[0] = spline.positions[-1]
            out[1:].fill(0.0)
        elif t >= spline.first:
            spline.sample(t, out)
        else:
            self._u[0] = (t - self._lead_start) * self._rate[0]
            self._kernel(self._u, self._rate, self._lead, out)
            return  # whole turns are in the lead-in already
        if self._turned:
            np.add(out[0], self._turns, out[0])

    def _whole_turns(self, goal: ValidatedGoal, reference: Reference, t: float) -> Array:
        """Whole turns to add for continuous joints, which may be revolutions away from the goal."""
        start = np.zeros((3, self.chain.n))
        _at(goal, max(t, goal.spline.first), start)
        away = np.where(goal.named & self._continuous, reference.q - start[0], 0.0)
        return 2.0 * math.pi * np.round(away / (2.0 * math.pi))

    def _lead_in(self, goal: ValidatedGoal, reference: Reference, turns: Array, length: float) -> Array:
        """Coefficients from the present motion to the first point, checked against the limits."""
        spline, h = goal.spline, np.array([length])
        velocity = None if spline.velocities is None else reference.qd
        acceleration = None if spline.accelerations is None else reference.qdd
        coefficients = segment_coefficients(
            h,
            (reference.q, velocity, acceleration),
            (
                spline.positions[0] + turns,
                None if spline.velocities is None else spline.velocities[0],
                None if spline.accelerations is None else spline.accelerations[0],
            ),
        )
        coefficients = np.where(goal.named, coefficients, 0.0)
        u = np.linspace(0.0, 1.0, LEAD_SAMPLES)
        samples = np.zeros((LEAD_SAMPLES, 3, self.chain.n))
        self._kernel(u, np.full(LEAD_SAMPLES, 1.0 / length), np.repeat(coefficients[None], LEAD_SAMPLES, 0), samples)
        # The arm may start beyond a limit; a motion back is allowed.
        check_limits(self.chain, self.settings, u[1:] * length, samples[1:], np.flatnonzero(goal.named))
        return coefficients

    def _difference(
        self, goal: ValidatedGoal, reference: Reference, turns: Array, t: float, lead: Array | None
    ) -> Array:
        """Reference minus trajectory at the start, shape (3, n)."""
        start = np.zeros((3, self.chain.n))
        if lead is None:
            _at(goal, max(t, goal.spline.first), start)
            start[0] += turns
        else:
            rate = np.array([1.0 / (goal.spline.first - t)])
            self._kernel(np.zeros(1), rate, lead, start)
        now = np.stack([reference.q, reference.qd, reference.qdd])
        return np.where(goal.named, now - start, 0.0)

    def _refuse_if_far(self, difference: Array, reference: Reference) -> None:
        distance = np.abs(difference[0])
        j = int(distance.argmax())
        if distance[j] > self.settings.start_tolerance:
            unit = joint_units(self.chain)[j]
            raise GoalRefused(
                ErrorCode.INVALID_GOAL,
                f"the trajectory begins {distance[j]:.4g} {unit} away from joint {self.chain.joint_names[j]!r}, which "
                f"is at {reference.q[j]:.4g} {unit} (start tolerance {self.settings.start_tolerance:.4g} {unit}); "
                "start where the arm is, or give the first point a later time",
            )


def _at(goal: ValidatedGoal, t: float, out: Array) -> None:
    spline = goal.spline
    if t >= spline.duration:
        out[0] = spline.positions[-1]
    else:
        spline.sample(t, out)
