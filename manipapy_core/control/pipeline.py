"""One tick: measurement → filter → execution → law → guard → effort. Called by the loop alone."""

from __future__ import annotations

import numpy as np

from ..model.chain import Chain
from ..trajectory.bounds import BrakingLimits
from ..typing import Array
from .execution.execution import Execution
from .execution.goal import ErrorCode, GoalStatus, Outcome
from .execution.validation import ValidatedGoal
from .fused_tick import FusedTick
from .fused_tick import prepare as prepare_steady
from .guard.checks import PASSED, Action, Check, Verdict
from .guard.guard import Guard
from .guard.hold import Hold
from .laws.law import Law
from .laws.registry import LawSwitcher, make_law
from .settings import ControllerSettings
from .state import State
from .state_filter import StateFilter

HOLD = Action.HOLD
UNSEEN = (Check.FINITE, Check.FRESH)
"""Checks that leave nothing to be seen of the arm."""


class ControlPipeline:
    """The parts of a controller and how they meet in a tick.

    Args:
        chain: The arm.
        settings: Of all parts.
    """

    def __init__(self, chain: Chain, settings: ControllerSettings):
        n = chain.n
        self.chain, self.settings = chain, settings
        self.bounds = BrakingLimits.of(chain, settings.guard.brake_factor)
        law = make_law(settings.law, chain, settings.gains, gravity=settings.gravity, payload=settings.payload)
        self.switcher = LawSwitcher(law, settings.blend_time)
        self.execution = Execution(chain, np.zeros(n), settings.execution, self.bounds)
        self.guard = Guard(chain, settings.guard, self.bounds, settings.period)
        self.hold = Hold(chain, self.bounds, gravity=settings.gravity, payload=settings.payload)
        self.filter = StateFilter(chain, settings.filter) if settings.filter is not None else None
        self._measured = State.at_rest(np.zeros(n))
        self.state = self._measured
        """What the law acts on: measured or filtered; a buffer."""
        self.tau, self._next = np.zeros(n), np.zeros(n)
        """What the arm gets; until the end of a tick, what it got last."""
        self.verdict: Verdict = PASSED
        self.seeded = False
        """False until the arm has been seen once."""
        self.speed = 1.0
        """Rate of trajectories that the user allows, 0 to 1."""
        self.now = -np.inf
        self._stamp = -np.inf
        self._blind = False
        self._guard_speed = 1.0
        prepare_steady(law)
        self._steady: FusedTick | None = None
        self._choose_way()

    # What may be asked between two ticks.

    def start_goal(self, plan: ValidatedGoal, now: float) -> None:
        """Executes a goal, or ends it at once with the reason why not."""
        guard, law = self.guard, self.switcher.law
        if guard.stopped or not self.seeded:
            why = guard.held.text if guard.held is not None else "no joint state has arrived yet"
            plan.ending.settle(_refusal(f"the arm is stopped: {why}; reset it first" if guard.stopped else why))
        elif not law.follows:
            plan.ending.settle(_refusal(f"law {law.name!r} does not follow trajectories; set another one first"))
        else:
            self.release()
            self.execution.start(plan, now)

    def change_law(self, law: Law) -> None:
        """Another law from now on; a hold is released, a stop is not."""
        former = self.switcher.law
        self.switcher.switch(law)
        self._choose_way()
        if self.guard.holding:
            self.release()
        elif law.follows and not former.follows:
            self.execution.stop_from(self.state, self.bounds.acceleration)

    def change_hold(self, hold: Hold) -> None:
        """Another hold, for an arm with another payload."""
        hold.take_over(self.hold)
        self.hold = hold

    def release(self) -> None:
        """Ends a hold: the law takes over where the arm is."""
        if not self.guard.holding or self.guard.stopped:
            return
        self.guard.release()
        self._resume()

    def reset(self) -> None:
        """Ends a hold or a stop."""
        if self.guard.holding:
            self.guard.reset()
            self._resume()

    def begin_hold(self, verdict: Verdict) -> None:
        """Brakes and holds the arm, and ends the goal with the reason."""
        first = not self.guard.holding
        self.guard.trip(verdict)
        if first and self.seeded:
            self.hold.capture()
            self.execution.abort(
                Outcome(GoalStatus.ABORTED, ErrorCode.PATH_TOLERANCE_VIOLATED, verdict.text), self.hold.state
            )

    # The tick.

    def tick(self, now: float, q: Array, qd: Array, stamp: float) -> bool:
        """Computes `tau`; False if there is nothing to send: the arm was never seen, or is lost from sight."""
        if self._steady is not None and self._run_steadily(self._steady, now, q, qd, stamp):
            return True
        guard, period = self.guard, self.settings.period
        dt = now - self.now if self.seeded else period
        self.now = now
        verdict = guard.check_input(now, dt, q, qd, stamp)
        visible = verdict is PASSED or verdict.check not in UNSEEN
        lost = not visible and verdict.action is Action.STOP
        new = visible and stamp != self._stamp
        if new:
            self._measured = guard.accept()
            self.hold.see(self._measured)
        if not self.seeded:
            if not visible:
                self.verdict = verdict
                return False
            self._seed()
        # After a stall the arm goes on where it was; it does not jump to where it would have been.
        step = dt if 0.1 * period <= dt <= 5.0 * period else min(max(dt, 0.1 * period), 5.0 * period)
        self._stamp = stamp
        self._look(step, visible, new)
        if verdict is not PASSED and verdict.action >= HOLD:
            self.begin_hold(verdict)
        if guard.held is None:
            verdict = self._run_law(now, dt, step)
            if verdict is not PASSED and verdict.action >= HOLD:
                self.begin_hold(verdict)
        if guard.held is not None:
            verdict = guard.held
            guard.limit(self.hold.step(step), self.tau, step, self._next)
        self.tau, self._next = self._next, self.tau
        self.verdict, self._guard_speed = verdict, verdict.speed
        # Efforts by prediction alone drift away from the arm. What holds it now must have sensors: the far side, which
        # does so by its timeout.
        return not lost

    def _choose_way(self) -> None:
        """Whether usual ticks can be run in one call, which a filter is not part of."""
        self._steady = None if self.filter is not None else FusedTick.of(self.switcher.law, self.execution, self.guard)

    def _run_steadily(self, steady: FusedTick, now: float, q: Array, qd: Array, stamp: float) -> bool:
        """The usual tick; False: it is not, and nothing has happened."""
        if self.verdict is not PASSED or self.speed != 1.0 or self.switcher.blending or not self.seeded or self._blind:
            return False
        result = steady.run(now, now - self.now, q, qd, stamp, self.tau)
        if result is None:
            return False
        self._next[:] = result.tau
        self.tau, self._next = self._next, self.tau
        self._measured = self.state = result.state
        self.hold.see(result.state)
        self.now, self._stamp = now, stamp
        return True

    def hold_tick(self) -> None:
        """A tick that does nothing but hold, for when the usual one has failed."""
        period = self.settings.period
        self.hold.predict(self.tau, period)
        self.guard.limit(self.hold.step(period), self.tau, period, self._next)
        self.tau, self._next = self._next, self.tau

    def _seed(self) -> None:
        """Begins with the arm as it is: at rest it is held there, in motion it is slowed down."""
        self.seeded = True
        self.hold.capture()
        np.clip(self.hold.step(0.0), -self.chain.limits.effort, self.chain.limits.effort, self.tau)
        self._resume()

    def _resume(self) -> None:
        """The law starts anew from the measured motion and from the efforts of the moment."""
        self.execution.stop_from(self.hold.state, self.bounds.acceleration)
        self.switcher.restart()

    def _look(self, dt: float, visible: bool, new: bool) -> None:
        """What the law acts on: the measurement if there is a new one, or what can be said without."""
        if not new:
            self.hold.predict(self.tau, dt)
        back, self._blind = self._blind and visible, not visible
        if back and self.guard.holding:
            # The arm is not quite where it was thought to be; it is not pulled back there.
            self.hold.capture()
        if self.filter is None:
            self.state = self._measured
        else:
            q, qd = self._measured.q, self._measured.qd
            if back:
                self.filter.start(q, qd)
            self.state = self.filter.update(q, qd, dt) if new else self.filter.predict(dt)

    def _run_law(self, now: float, dt: float, step: float) -> Verdict:
        law, state, execution = self.switcher.law, self.state, self.execution
        if law.follows:
            speed, guarded = self.speed, self._guard_speed
            execution.step(now, step, state, speed if speed < guarded else guarded)
        else:
            execution.follow(state)
        reference, last = execution.reference, self.tau
        if self.switcher.starting:
            self.switcher.applied(last)
        wanted = self.switcher.step(state, reference, step)
        verdict = self.guard.check_output(
            now, dt, state, reference, wanted, last, stiff=law.stiff, cartesian=law.cartesian
        )
        if verdict is PASSED:
            np.copyto(self._next, wanted)
        elif verdict.action is Action.SLOW:
            self.guard.limit(wanted, last, step, self._next)
        return verdict


def _refusal(text: str) -> Outcome:
    return Outcome(GoalStatus.ABORTED, ErrorCode.INVALID_GOAL, text)
