"""Execution of goals against a small reference: any order of goals, cancellations, stops and slow-downs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from control.arms import AWAY, DT, HOME, UR5, Array
from manipapy_core.control import ErrorCode, GoalPhase, GoalStatus, Outcome, State
from manipapy_core.control.execution import Execution, prepare
from manipapy_core.trajectory import JointTrajectory

PLACES = (HOME["ur5"], AWAY["ur5"], 0.5 * (HOME["ur5"] + AWAY["ur5"]), HOME["ur5"] + 0.3)
SPEED = 1.05 * UR5.limits.velocity
STILL = 1e-9


@dataclass
class Line:
    """A quintic from a motion to rest, by six boundary conditions and a linear solve."""

    start: Array
    """Position, velocity and acceleration, shape (3, n)."""
    end: Array
    t0: float
    length: float
    coefficients: Array = field(init=False)

    def __post_init__(self) -> None:
        zero = np.zeros_like(self.end)
        rows = [self._row(t, k) for t in (0.0, self.length) for k in range(3)]
        self.coefficients = np.linalg.solve(np.array(rows), np.vstack([*self.start, self.end, zero, zero]))

    @staticmethod
    def _row(t: float, derivative: int) -> list[float]:
        factors = [np.prod([power - k for k in range(derivative)]) for power in range(6)]
        return [factor * t ** max(power - derivative, 0) for power, factor in enumerate(factors)]

    def at(self, clock: float, derivative: int = 0) -> Array:
        t = clock - self.t0
        if t >= self.length:
            return self.end if derivative == 0 else 0.0 * self.end
        return np.array(self._row(t, derivative)) @ self.coefficients

    @property
    def permitted(self) -> bool:
        """Whether it keeps the limits, where they are checked."""
        times = self.t0 + np.linspace(0.0, 1.0, 8)[1:-1] * self.length
        return all((np.abs(self.at(t, 1)) <= SPEED).all() for t in times)


@dataclass(eq=False)
class Wanted:
    """A goal and what must become of it."""

    goal: object
    place: Array
    duration: float
    begins: float | None
    status: GoalStatus | None = None


class ExecutionMachine(RuleBasedStateMachine):
    """A perfect arm: the measured state is the reference."""

    @initialize()
    def begin(self):
        self.execution = Execution(UR5, HOME["ur5"])
        self.now, self.goals = 0.0, []
        self.active: Wanted | None = None
        self.waiting: Wanted | None = None
        self.line: Line | None = None
        self.steady = False
        """Whether the active goal has run at full speed since its start."""

    @rule(
        place=st.sampled_from(PLACES), duration=st.sampled_from([0.3, 1.0, 2.5]), delay=st.sampled_from([0, 0, 7, 90])
    )
    def submit(self, place, duration, delay):
        begins = self.now + (delay + 0.5) * DT if delay else None
        zero = np.zeros((1, UR5.n))
        goal = prepare(UR5, JointTrajectory([duration], [place], zero, zero, start_time=begins))
        wanted = Wanted(goal, place, duration, begins)
        self.goals.append(wanted)
        line = None if delay else self._line(wanted)
        self.execution.start(goal, self.now)
        if line is not None and not line.permitted:
            wanted.status = GoalStatus.ABORTED  # and the others continue
            return
        self._end(GoalStatus.PREEMPTED)
        if delay:
            self.waiting = wanted
        else:
            self.active, self.line, self.steady = wanted, line, True

    @rule()
    def cancel(self):
        self.execution.cancel()
        self._end(GoalStatus.CANCELED)

    @rule()
    def abort(self):
        self.execution.abort(
            Outcome(GoalStatus.ABORTED, ErrorCode.PATH_TOLERANCE_VIOLATED, "for the test"), self._state()
        )
        self._end(GoalStatus.ABORTED)
        self.line = None

    @rule(ticks=st.sampled_from([1, 3, 40, 400]), speed=st.sampled_from([1.0, 1.0, 0.3, 0.0]))
    def run(self, ticks, speed):
        for _ in range(ticks):
            self._tick(speed)

    @rule()
    def come_to_rest(self):
        """Everything that was active has ended after a while."""
        if self.active is None and self.waiting is None:
            for _ in range(1500):
                self._tick(1.0)
            assert self.execution.phase is GoalPhase.HOLDING
            assert np.abs(self.execution.reference.qd).max() < STILL

    @invariant()
    def every_goal_ended_as_it_should(self):
        for wanted in getattr(self, "goals", ()):
            outcome = wanted.goal.outcome
            assert (None if outcome is None else outcome.status) == wanted.status
        if getattr(self, "goals", None):
            expected = self.active or self.waiting
            assert self.execution.goal is (None if expected is None else expected.goal)

    def _tick(self, speed: float) -> None:
        execution, reference = self.execution, self.execution.reference
        before, clock = np.stack([reference.q, reference.qd]), execution.clock_time
        self.now += DT
        due = self.waiting
        if due is not None and due.begins <= self.now:
            self.waiting, line = None, self._line(due)
            if line.permitted:
                self.active, self.line, self.steady = due, line, True
                clock = line.t0
            else:
                due.status = GoalStatus.ABORTED
        execution.step(self.now, DT, self._state(), speed)
        limit = SPEED * DT + 1e-9
        assert (np.abs(reference.q - before[0]) <= limit).all(), "the reference never jumps"
        if self.line is None:
            assert (np.abs(reference.qd) <= np.abs(before[1]) + 1e-9).all(), "a stop only slows down"
            return
        assert -STILL <= execution.clock_time - clock <= DT * (1.0 + 1e-9), "time passes, at most at full speed"
        np.testing.assert_allclose(reference.q, self.line.at(execution.clock_time), atol=1e-7)
        if self.active is None:
            return
        self.steady = self.steady and speed == 1.0
        if self.steady:
            assert abs(execution.clock_time - clock - DT) < 1e-9, "full speed"
            np.testing.assert_allclose(reference.qd, self.line.at(execution.clock_time, 1), atol=1e-6)
        if execution.clock_time >= self.line.t0 + self.line.length - 1e-12:
            self.active.status, self.active = GoalStatus.SUCCEEDED, None
            np.testing.assert_allclose(reference.q, self.line.end, atol=1e-9)

    def _line(self, wanted: Wanted) -> Line:
        reference = self.execution.reference
        t0 = 0.0 if wanted.begins is None else max(self.now - wanted.begins, 0.0)
        start = np.stack([reference.q, reference.qd, reference.qdd])
        return Line(start, wanted.place, t0, wanted.duration - t0)

    def _state(self) -> State:
        reference = self.execution.reference
        return State(reference.q.copy(), reference.qd.copy())

    def _end(self, status: GoalStatus) -> None:
        for wanted in (self.active, self.waiting):
            if wanted is not None:
                wanted.status = status
        self.active = self.waiting = None


TestExecution = ExecutionMachine.TestCase
TestExecution.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
