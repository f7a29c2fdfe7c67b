"""State machine of goals: accepted, waiting, running, settling, cancelled, replaced; and the hold between them."""

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
    """State of the execution."""

    HOLDING = "holding"
    """At rest at the reference."""
    WAITING = "waiting"
    """An accepted goal starts in the future."""
    RUNNING = "running"
    SETTLING = "settling"
    """The trajectory has ended; the arm has until the goal time to arrive."""
    CANCELLING = "cancelling"
    """Slowing down along the path."""
    STOPPING = "stopping"
    """Slowing down from the measured motion, off the path."""


class Execution:
    """Computes the reference of every tick from goals and checks their tolerances.

    Stepped by the loop only; `prepare` validates goals in other threads. The reference never jumps, with one
    exception: an aborted goal sets it to the measured motion, so that a blocked arm is not pushed on.

    Args:
        chain: The arm.
        q: Present positions [rad or m], shape (n,).
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
        """Desired motion of this tick; a buffer."""
        self.reference.rest_at(q)
        self._phase = GoalPhase.HOLDING
        self._active = ActiveTrajectory(chain, self.settings, self.bounds)
        self._clock = PathClock(self.bounds.acceleration)
        self._full_speed = self._follow.full_speed
        """Motion of the trajectory before the clock slows it down."""
        self._full_velocity = self._full_speed[1]
        self._stop, self._stop_time = StopProfile(chain.n), 0.0
        self._check = ToleranceCheck(chain)
        self._waiting: ValidatedGoal | None = None
        self._goal: ValidatedGoal | None = None
        self._settling_since = 0.0
        self.begun: tuple[ValidatedGoal, Array, float] | None = None
        """Goal that was started last, the reference at its start, shape (3, n), and the time [s]."""
        self.number = 0
        """Number of that goal, counted from 1."""
        self.path_tolerance, self._checks_velocity = np.zeros(chain.n), False
        """Of the goal that is being executed [rad or m], shape (n,); whether it has one on velocities, too."""

    @property
    def phase(self) -> GoalPhase:
        return GoalPhase.WAITING if self._phase is GoalPhase.HOLDING and self._waiting is not None else self._phase

    @property
    def goal(self) -> ValidatedGoal | None:
        """The goal that is being executed, or waits to be; None if there is none."""
        return self._goal or self._waiting

    @property
    def streaming(self) -> bool:
        """Whether the goal that is being executed is one of a stream."""
        return self._goal is not None and self._goal.streamed

    @property
    def time(self) -> float:
        """Trajectory time of the goal [s]."""
        return self._clock.t if self._goal is not None else 0.0

    @property
    def clock_time(self) -> float:
        """Trajectory time [s], also of a goal that has been cancelled."""
        return self._clock.t

    @property
    def rate(self) -> float:
        """Trajectory seconds per second: below 1 while the guard slows the arm down."""
        return self._clock.rate

    def start(self, goal: ValidatedGoal, now: float) -> None:
        """Starts a goal in place of the present one; a refused goal changes nothing."""
        if goal.streamed and self.goal is not None and not self.streaming:
            why = "another goal is being executed; a stream takes the arm only when it has ended"
            goal.ending.settle(Outcome(GoalStatus.ABORTED, ErrorCode.INVALID_GOAL, why))
            return
        later = not goal.streamed and goal.start_time is not None and goal.start_time > now
        if not later and not self._begin(goal, now):
            return
        self._end_goal(Outcome(GoalStatus.PREEMPTED, ErrorCode.INVALID_GOAL, "another goal took its place"), goal)
        if later:
            self._slow_down()
            self._waiting = goal
        else:
            self._run(goal)

    def cancel(self, reason: str = "cancelled by request") -> None:
        """Ends the goal and brings the arm to rest on its path, within its acceleration limits."""
        self._end_goal(Outcome(GoalStatus.CANCELED, ErrorCode.SUCCESSFUL, reason))
        self._slow_down()

    def abort(self, outcome: Outcome, state: State) -> None:
        """Ends the goal and brakes from the measured motion."""
        self._end_goal(outcome)
        self.stop_from(state, self.bounds.brake)

    def stop_from(self, state: State, deceleration: Array) -> None:
        """The reference becomes the measured motion and slows down to rest."""
        self._stop.begin(state.q, state.qd, deceleration, self.bounds.lower, self.bounds.upper)
        self._stop_time = 0.0
        self._stop.sample(0.0, self._block)
        self._phase = GoalPhase.STOPPING

    def follow(self, state: State) -> None:
        """The reference becomes the measured motion: for laws that let the arm be guided by hand."""
        if self._goal is not None or self._waiting is not None:
            why = "the law that took over does not follow trajectories"
            self._end_goal(Outcome(GoalStatus.ABORTED, ErrorCode.INVALID_GOAL, why))
        np.copyto(self._block[0], state.q)
        np.copyto(self._block[1], state.qd)
        self._block[2].fill(0.0)
        self._phase = GoalPhase.HOLDING

    def step(self, now: float, dt: float, state: State, speed: float = 1.0) -> None:
        """One tick: advances the reference and checks the tolerances.

        Args:
            now: [s]
            dt: Since the last tick [s].
            state: Measured.
            speed: Rate at which trajectories should run, 0 to 1.
        """
        waiting = self._waiting
        if waiting is not None and waiting.start_time is not None and waiting.start_time <= now:
            self._waiting = None
            if self._begin(waiting, now):
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
        """The segment of the next tick, if it runs at full speed without any transition; else None.

        Args:
            dt: Since the last tick [s].
            when: Gets the share of the segment at the next tick, and one over its length [1/s].
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
        segment = self._active.segment(t)
        if segment is not None:
            when[0], when[1] = segment.share(t), segment.rate
        return segment

    def moved(self, dt: float, motion: Array) -> None:
        """Records a tick along a segment whose motion the fused tick has computed.

        Args:
            dt: Since the last tick [s].
            motion: Position, velocity and acceleration by trajectory time, then by time; shape (6 n,).
        """
        self._clock.t += dt
        self._motion[:] = motion

    def _begin(self, goal: ValidatedGoal, now: float) -> bool:
        try:
            started = self._block.copy()
            self._clock.start(self._active.begin(goal, self.reference, now))
            self.begun = goal, started, now
            self.number += not (goal.streamed and self.streaming)  # a stream is one trajectory
        except GoalRefused as refusal:
            goal.ending.settle(refusal.outcome())
            return False
        return True

    def _run(self, goal: ValidatedGoal) -> None:
        self._goal, self._phase = goal, GoalPhase.RUNNING
        self.path_tolerance, self._checks_velocity = goal.tolerances.path_position, goal.tolerances.checks_path_velocity
        self._active.sample(self._clock.t, self._full_speed)

    def _sample(self) -> None:
        self._active.sample(self._clock.t, self._full_speed)
        np.copyto(self._block, self._full_speed)
        self._clock.stretch(self._block)

    def _move(self, now: float, dt: float, state: State, speed: float) -> None:
        goal, clock = self._goal, self._clock
        assert goal is not None
        clock.advance(dt, speed, self._full_velocity)
        tolerances = goal.tolerances
        segment = None if tolerances.checks_path_velocity else self._active.segment(clock.t)
        if segment is not None and self._follow.step(segment, clock, state.q, tolerances.path_position):
            return  # nearly every tick; the slow path below handles the others
        self._sample()
        if clock.t >= self._active.end:
            self._settling_since = now
            self._phase = GoalPhase.SETTLING
            self._settle(now, state)
            return
        reference, check = self.reference, self._check
        joint = check.worst(reference.q, state.q, tolerances.path_position)
        if joint >= 0:
            self.abort(check.path_violation(joint, "position", self._clock.t, tolerances.path_position), state)
        elif tolerances.checks_path_velocity:
            joint = check.worst(reference.qd, state.qd, tolerances.path_velocity)
            if joint >= 0:
                self.abort(check.path_violation(joint, "velocity", self._clock.t, tolerances.path_velocity), state)

    def _settle(self, now: float, state: State) -> None:
        goal = self._goal
        assert goal is not None
        tolerances, reference, check = goal.tolerances, self.reference, self._check
        self._block[1:].fill(0.0)
        what, allowed = "position", tolerances.goal_position
        joint = check.worst(reference.q, state.q, allowed)
        if joint < 0:
            what, allowed = "velocity", tolerances.goal_velocity
            joint = check.worst(reference.qd, state.qd, allowed)
        late = now - self._settling_since
        if joint < 0:
            self._end_goal(Outcome(GoalStatus.SUCCEEDED, ErrorCode.SUCCESSFUL, "goal reached"))
            self._phase = GoalPhase.HOLDING
        elif late > tolerances.goal_time:
            self.abort(check.goal_violation(joint, what, late, allowed), state)

    def _glide(self, dt: float) -> None:
        self._clock.advance(dt, 0.0, self._full_velocity)
        self._sample()
        if self._clock.rate == 0.0 or self._clock.t >= self._active.end:
            self._block[1:].fill(0.0)
            self._phase = GoalPhase.HOLDING

    def _slow_down(self) -> None:
        if self._phase is GoalPhase.RUNNING:
            self._phase = GoalPhase.CANCELLING
        elif self._phase is GoalPhase.SETTLING:
            self._phase = GoalPhase.HOLDING

    def _end_goal(self, outcome: Outcome, successor: ValidatedGoal | None = None) -> None:
        for goal in (self._goal, self._waiting):
            if goal is not None and goal is not successor:
                goal.ending.settle(outcome)
        self._goal = self._waiting = None
