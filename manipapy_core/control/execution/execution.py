"""The life of goals: accepted, waiting, running, settling, cancelled, replaced; and the hold between them."""

from __future__ import annotations

import enum

import numpy as np

from ...model.chain import Chain
from ...trajectory.bounds import BrakingLimits
from ...trajectory.spline import Segment
from ...trajectory.stopping import StopProfile
from ...typing import Array
from ..state import Reference, State
from .active_trajectory import ActiveTrajectory
from .clock import PathClock
from .goal import ErrorCode, ExecutionSettings, GoalRefused, GoalStatus, Outcome
from .tolerances import FollowingSegment, ToleranceCheck
from .validation import ValidatedGoal


class GoalPhase(enum.Enum):
    """What the execution is about."""

    HOLDING = "holding"
    """At rest at the reference."""
    WAITING = "waiting"
    """A goal is accepted whose start lies in the future."""
    RUNNING = "running"
    SETTLING = "settling"
    """The trajectory is over; the arm has until the goal time to arrive."""
    CANCELLING = "cancelling"
    """Slowing down along the path."""
    STOPPING = "stopping"
    """Slowing down from the measured motion, off the path."""


class Execution:
    """Turns goals into the reference of every tick and watches over their tolerances.

    Stepped by the loop only; `prepare` makes its plans elsewhere. The reference never jumps, with one exception: a
    goal that is aborted leaves it at the measured motion, so that an arm held back by something is not pushed on.

    Args:
        chain: The arm.
        q: Where it is [rad or m], shape (n,).
        settings: Rules and default tolerances.
        bounds: Accelerations for starts and stops.
    """

    def __init__(
        self,
        chain: Chain,
        q: Array,
        settings: ExecutionSettings | None = None,
        bounds: BrakingLimits | None = None,
    ):
        self.chain = chain
        self.settings = settings or ExecutionSettings()
        self.bounds = bounds or BrakingLimits.of(chain)
        self._follow = FollowingSegment(chain.n)
        self._block, self._motion = self._follow.reference, self._follow.motion
        self.reference = Reference.of_block(self._block)
        """What the arm should do now; a buffer."""
        self.reference.rest_at(q)
        self._phase = GoalPhase.HOLDING
        self._course = ActiveTrajectory(chain, self.settings, self.bounds)
        self._clock = PathClock(self.bounds.acceleration)
        self._full_speed = self._follow.full_speed
        """What the trajectory says, before the clock slows it down."""
        self._full_velocity = self._full_speed[1]
        self._stop, self._stop_time = StopProfile(chain.n), 0.0
        self._check = ToleranceCheck(chain)
        self._waiting: ValidatedGoal | None = None
        self._plan: ValidatedGoal | None = None
        self._settling_since = 0.0
        self.begun: tuple[ValidatedGoal, Array, float] | None = None
        """Goal that was taken up last, the reference at that moment, shape (3, n), and the time [s]."""
        self.path_tolerance, self._checks_velocity = np.zeros(chain.n), False
        """Of the goal that is being executed [rad or m], shape (n,); whether it has one on velocities, too."""

    @property
    def phase(self) -> GoalPhase:
        return GoalPhase.WAITING if self._phase is GoalPhase.HOLDING and self._waiting is not None else self._phase

    @property
    def plan(self) -> ValidatedGoal | None:
        """The goal that is being executed, or waits to be; None if there is none."""
        return self._plan or self._waiting

    @property
    def time(self) -> float:
        """Trajectory time of the goal [s]."""
        return self._clock.t if self._plan is not None else 0.0

    @property
    def clock_time(self) -> float:
        """Trajectory time [s], also of a goal that has been cancelled."""
        return self._clock.t

    @property
    def rate(self) -> float:
        """Trajectory seconds per second: below 1 while the guard slows the arm down."""
        return self._clock.rate

    def start(self, plan: ValidatedGoal, now: float) -> None:
        """Takes up a goal in place of the present one; one that cannot be taken up disturbs nothing."""
        later = plan.start_time is not None and plan.start_time > now
        if not later and not self._take_up(plan, now):
            return
        self._end_goal(Outcome(GoalStatus.PREEMPTED, ErrorCode.INVALID_GOAL, "another goal took its place"), plan)
        if later:
            self._slow_down()
            self._waiting = plan
        else:
            self._run(plan)

    def cancel(self, reason: str = "cancelled by request") -> None:
        """Ends the goal and brings the arm to rest on its path, within its acceleration limits."""
        self._end_goal(Outcome(GoalStatus.CANCELED, ErrorCode.SUCCESSFUL, reason))
        self._slow_down()

    def abort(self, outcome: Outcome, state: State) -> None:
        """Ends the goal and brakes from what the arm really does."""
        self._end_goal(outcome)
        self.stop_from(state, self.bounds.brake)

    def stop_from(self, state: State, deceleration: Array) -> None:
        """The reference becomes the measured motion and slows down to rest."""
        self._stop.begin(state.q, state.qd, deceleration, self.bounds.lower, self.bounds.upper)
        self._stop_time = 0.0
        self._stop.sample(0.0, self._block)
        self._phase = GoalPhase.STOPPING

    def follow(self, state: State) -> None:
        """The reference becomes the measured motion: for laws that let the arm be led by hand."""
        if self._plan is not None or self._waiting is not None:
            why = "the law that took over does not follow trajectories"
            self._end_goal(Outcome(GoalStatus.ABORTED, ErrorCode.INVALID_GOAL, why))
        np.copyto(self._block[0], state.q)
        np.copyto(self._block[1], state.qd)
        self._block[2].fill(0.0)
        self._phase = GoalPhase.HOLDING

    def step(self, now: float, dt: float, state: State, speed: float = 1.0) -> None:
        """One tick: moves the reference on and judges the arm by it.

        Args:
            now: [s]
            dt: Since the last tick [s].
            state: What the arm does.
            speed: Rate at which trajectories should run, 0 to 1.
        """
        waiting = self._waiting
        if waiting is not None and waiting.start_time is not None and waiting.start_time <= now:
            self._waiting = None
            if self._take_up(waiting, now):
                self._run(waiting)
        phase = self._phase
        if phase is GoalPhase.RUNNING:
            self._move(now, dt, state, speed)
        elif phase is GoalPhase.SETTLING:
            self._settle(now, state)
        elif phase is GoalPhase.CANCELLING:
            self._glide(dt)
        elif phase is GoalPhase.STOPPING:
            self._stop_time += dt
            self._stop.sample(self._stop_time, self._block)
            if self._stop_time >= self._stop.duration:
                self._phase = GoalPhase.HOLDING

    def plain_step(self, dt: float, when: Array) -> Segment | None:
        """The segment that the next tick runs along if it does so at full speed and nothing else happens; else None.

        Args:
            dt: Since the last tick [s].
            when: Gets the share of the segment that will be over, and one over its length [1/s].
        """
        clock = self._clock
        if (
            self._phase is not GoalPhase.RUNNING
            or self._waiting is not None
            or not clock.steady
            or self._checks_velocity
        ):
            return None
        t = clock.t + dt
        segment = self._course.segment(t)
        if segment is not None:
            when[0], when[1] = segment.share(t), segment.rate
        return segment

    def moved(self, dt: float, motion: Array) -> None:
        """A tick along a plain segment, whose motion was computed elsewhere.

        Args:
            dt: Since the last tick [s].
            motion: Position, velocity and acceleration by trajectory time, then by time; shape (6 n,).
        """
        self._clock.t += dt
        self._motion[:] = motion

    def _take_up(self, plan: ValidatedGoal, now: float) -> bool:
        try:
            started = self._block.copy()
            self._clock.start(self._course.begin(plan, self.reference, now))
            self.begun = plan, started, now
        except GoalRefused as refusal:
            plan.ending.settle(refusal.outcome())
            return False
        return True

    def _run(self, plan: ValidatedGoal) -> None:
        self._plan, self._phase = plan, GoalPhase.RUNNING
        self.path_tolerance, self._checks_velocity = plan.limits.path_position, plan.limits.checks_path_velocity
        self._course.sample(self._clock.t, self._full_speed)

    def _sample(self) -> None:
        self._course.sample(self._clock.t, self._full_speed)
        np.copyto(self._block, self._full_speed)
        self._clock.stretch(self._block)

    def _move(self, now: float, dt: float, state: State, speed: float) -> None:
        plan, clock = self._plan, self._clock
        assert plan is not None
        clock.advance(dt, speed, self._full_velocity)
        limits = plan.limits
        segment = None if limits.checks_path_velocity else self._course.segment(clock.t)
        if segment is not None and self._follow.step(segment, clock, state.q, limits.path_position):
            return  # as nearly every tick does; the others are looked at step by step
        self._sample()
        if clock.t >= self._course.end:
            self._settling_since = now
            self._phase = GoalPhase.SETTLING
            self._settle(now, state)
            return
        reference, check = self.reference, self._check
        joint = check.worst(reference.q, state.q, limits.path_position)
        if joint >= 0:
            self.abort(check.path_violation(joint, "position", self._clock.t, limits.path_position), state)
        elif limits.checks_path_velocity:
            joint = check.worst(reference.qd, state.qd, limits.path_velocity)
            if joint >= 0:
                self.abort(check.path_violation(joint, "velocity", self._clock.t, limits.path_velocity), state)

    def _settle(self, now: float, state: State) -> None:
        plan = self._plan
        assert plan is not None
        limits, reference, check = plan.limits, self.reference, self._check
        self._block[1:].fill(0.0)
        what, allowed = "position", limits.goal_position
        joint = check.worst(reference.q, state.q, allowed)
        if joint < 0:
            what, allowed = "velocity", limits.goal_velocity
            joint = check.worst(reference.qd, state.qd, allowed)
        late = now - self._settling_since
        if joint < 0:
            self._end_goal(Outcome(GoalStatus.SUCCEEDED, ErrorCode.SUCCESSFUL, "goal reached"))
            self._phase = GoalPhase.HOLDING
        elif late > limits.goal_time:
            self.abort(check.goal_violation(joint, what, late, allowed), state)

    def _glide(self, dt: float) -> None:
        self._clock.advance(dt, 0.0, self._full_velocity)
        self._sample()
        if self._clock.rate == 0.0 or self._clock.t >= self._course.end:
            self._block[1:].fill(0.0)
            self._phase = GoalPhase.HOLDING

    def _slow_down(self) -> None:
        if self._phase is GoalPhase.RUNNING:
            self._phase = GoalPhase.CANCELLING
        elif self._phase is GoalPhase.SETTLING:
            self._phase = GoalPhase.HOLDING

    def _end_goal(self, outcome: Outcome, successor: ValidatedGoal | None = None) -> None:
        for plan in (self._plan, self._waiting):
            if plan is not None and plan is not successor:
                plan.ending.settle(outcome)
        self._plan = self._waiting = None
