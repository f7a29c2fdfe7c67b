"""One tick: measurement → filter → execution → law → guard → effort. Called by the loop alone."""

from __future__ import annotations

import numpy as np

from ..model.chain import Chain
from ..trajectory.bounds import BrakingLimits
from ..typing import Array
from .execution.execution import Execution, GoalPhase
from .execution.goal import ErrorCode, GoalStatus, Outcome
from .execution.validation import ValidatedGoal
from .fused_tick import FusedTick, compile_fused_tick
from .guard.checks import PASSED, Action, Check, Verdict
from .guard.contact import ContactObserver
from .guard.guard import Guard
from .guard.hold import Hold
from .guard.recent_motion import RecentMotion
from .guard.speed_ahead import SpeedAhead
from .laws.law import Law
from .laws.registry import LawSwitcher, make_law
from .payload_ramp import PayloadRamp
from .settings import ControllerSettings
from .state import State
from .state_filter import StateFilter

HOLD = Action.HOLD
STREAM_PAUSE = 0.3
"""A hold ends with the next goal, but not with the next of a stream, unless the stream has paused this long [s]."""
AT_REST = 0.01
"""Reference velocities below this are rest [rad/s or m/s]."""
MAX_PAUSE = 0.1
"""After a longer time without efforts the far side holds the arm by itself, and its motion is not predicted [s]."""
NO_MEASUREMENT = (Check.FINITE, Check.FRESH, Check.SOURCE, Check.PLAUSIBLE)
"""Checks after whose failure there is no usable measurement."""
NOT_ACCEPTED = (Check.SOURCE, Check.PLAUSIBLE)
"""Checks after whose failure the arm is braked by prediction, and nothing is sent from its rest on."""


class ControlPipeline:
    """The parts of a controller, and one tick through all of them.

    Args:
        chain: The arm.
        settings: Settings of all parts.
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
        self.speed_ahead = SpeedAhead(chain, settings.guard, self.hold.model, settings.period)
        self.contact = ContactObserver.of(chain, settings.guard, self.hold.model)
        """Observes external efforts; None: contacts are not detected."""
        self.payload: PayloadRamp | None = None
        """The last change of the payload; None: there was none."""
        self.filter = StateFilter(chain, settings.filter) if settings.filter is not None else None
        self.recent = RecentMotion(n, self.settings.period)
        self._measured = State.at_rest(np.zeros(n))
        self.state = self._measured
        """Input of the law: measured or filtered; a buffer."""
        self.tau, self._next = np.zeros(n), np.zeros(n)
        """Efforts sent to the arm [N m or N]; during a tick, those of the last tick."""
        self._friction, self._balanced, self._net = np.zeros(n), np.zeros(n), np.zeros(n)
        """Part of `tau` that balances joint friction, its change in a tick, and the rest of `tau` [N m or N]."""
        self.verdict: Verdict = PASSED
        self.seeded = False
        """False until the first joint state has arrived."""
        self.speed = 1.0
        """Speed scaling of trajectories set by the user, 0 to 1."""
        self.now = -np.inf
        self._stamp = -np.inf
        self._predicting = self._silent = self._left = self._touched = self._contradicted = False
        self._guard_speed = 1.0
        self._streamed_at = -np.inf
        """When the last goal of a stream came [s]."""
        compile_fused_tick(law)
        self._fused: FusedTick | None = None
        self._choose_tick()

    # Requests, between two ticks.

    def start_goal(self, plan: ValidatedGoal, now: float) -> None:
        """Starts a goal, or ends it at once with the reason."""
        guard, law = self.guard, self.switcher.law
        streamed_at = self._streamed_at
        if plan.streamed:
            self._streamed_at = now
            if guard.held is not None and now - streamed_at < STREAM_PAUSE:
                plan.ending.settle(
                    _refusal(f"{guard.held.text}; a stream that pauses for {STREAM_PAUSE:g} s continues")
                )
                return
            if min(self.speed, self._guard_speed) < 1.0:
                # A new goal would start at full speed: the one before runs on, slowly, and ends at rest.
                why = self.verdict.text if self._guard_speed < 1.0 else "the speed of the controller is below 1"
                plan.ending.settle(_refusal(f"{why}; meanwhile a stream is not followed"))
                return
        if guard.stopped or not self.seeded:
            why = guard.held.text if guard.held is not None else "no joint state has arrived yet"
            plan.ending.settle(_refusal(f"the arm is stopped: {why}; reset it first" if guard.stopped else why))
        elif self._silent:
            why = self.guard.held.text if self.guard.held is not None else "joint states are not accepted"
            plan.ending.settle(_refusal(why))
        elif not law.follows:
            plan.ending.settle(_refusal(f"law {law.name!r} does not follow trajectories; set another one first"))
        else:
            self.release()
            self.execution.start(plan, now)
            self._await_forecast(now)

    def change_law(self, law: Law) -> None:
        """Switches to another law; ends a hold, not a stop."""
        former = self.switcher.law
        if self.payload is not None:
            self.payload.applies_to(law.model)
        self.switcher.switch(law)
        self._choose_tick()
        if self.guard.holding:
            self.release()
        elif law.follows and not former.follows:
            self.execution.stop_from(self.state, self.bounds.acceleration)

    def change_payload(
        self, law: Law, hold: Hold, speed_ahead: SpeedAhead, contact: ContactObserver | None, ramp: PayloadRamp
    ) -> None:
        """Replaces what is made for a payload; the payload is ramped in."""
        former = self.payload
        if former is None and self.hold.model.payload is not None:
            former = PayloadRamp(self.chain, self.hold.model, 0.0)
        hold.take_over(self.hold)
        self.hold, self.speed_ahead, self.contact, self.payload = hold, speed_ahead, contact, ramp
        ramp.begin(former)
        ramp.applies_to(hold.model)
        self.change_law(law)

    def release(self) -> None:
        """Ends a hold: the law starts where the arm is."""
        if not self.guard.holding or self.guard.stopped:
            return
        self.guard.release()
        self._resume()

    def change_source(self) -> None:
        """Begins again with the next joint state, because it comes from another source; a stop stays."""
        self.seeded = self._predicting = self._silent = self._left = self._touched = False
        self.guard.forget_state()
        self.recent.clear()
        self._restart_contact()

    def reset(self) -> None:
        """Ends a hold or a stop."""
        if self.guard.holding:
            self.guard.reset()
            self._resume()
            if self.contact is not None:
                self.contact.forgive()

    def begin_hold(self, verdict: Verdict) -> None:
        """Brakes and holds the arm, and ends the goal with the reason."""
        first = not self.guard.holding
        self.guard.trip(verdict)
        if first and self.seeded:
            if verdict.check is Check.CONTACT:
                self.hold.capture_here()
            else:
                self.hold.capture()
            self.execution.abort(
                Outcome(GoalStatus.ABORTED, ErrorCode.PATH_TOLERANCE_VIOLATED, verdict.text), self.hold.state
            )

    # The tick.

    def tick(self, now: float, q: Array, qd: Array, stamp: float, disputed: bool = False) -> bool:
        """Computes `tau`; False: nothing to send, before the first joint state or at rest without accepted ones."""
        if not disputed:
            self.guard.plausibility.consistency.observe(q, qd, stamp)
            if self.contact is not None and self.seeded:
                self.contact.observe(q, qd, stamp, self.tau)
        if self.payload is not None and self.payload.share < 1.0 and self.seeded:
            self._take_over_payload(self.payload, now)
        if not disputed and self._fused is not None and self._run_fused(self._fused, now, q, qd, stamp):
            return True
        guard, period = self.guard, self.settings.period
        dt = now - self.now if self.seeded else period
        self.now = now
        verdict = guard.check_input(now, dt, q, qd, stamp, disputed=disputed)
        measured = verdict is PASSED or verdict.check not in NO_MEASUREMENT
        lost = not measured and (
            # A prediction from the motion before would move an arm that the far side holds since its timeout.
            self._silent
            or self._left
            or (self.seeded and dt > MAX_PAUSE)
            or (verdict.action is Action.STOP and verdict.check not in NOT_ACCEPTED)
            or (verdict.check in NOT_ACCEPTED and guard.holding and self._predicting and self.hold.resting)
        )
        if not measured and self.seeded and guard.plausibility.contradiction and not self._contradicted:
            self.recent.replay(self.hold)
            if guard.holding:  # the hold has used states that were wrong already
                self.hold.capture()
        self._contradicted = guard.plausibility.contradiction
        new = measured and stamp != self._stamp
        if new:
            before, self._measured = self._measured, guard.accept()
            self.speed_ahead.measured(self._measured, before, stamp - self._stamp if self.seeded else 0.0)
            self.hold.update(self._measured)
        if not self.seeded and (not measured or not self._seed()):
            self.verdict = verdict
            return False
        # After a contact the drives hold the arm by their own sensors: late joint states look like a contact, too.
        touched = guard.stopped and (self._touched or self.hold.rests_here)
        guard.far_side.observe(now, dt)
        leave = measured and (touched or guard.far_side.holds(now))
        if self.seeded and measured and not leave and (self._silent or self._left):
            # The far side has held the arm by itself: start from there, not from the efforts of before.
            lost = not self._take_hold()
        self._silent, self._left, self._touched = lost, leave, touched
        if lost or leave or not measured:
            self._restart_contact()
        # After a stall the trajectory continues where it was; the reference does not jump ahead.
        step = dt if 0.1 * period <= dt <= 5.0 * period else min(max(dt, 0.1 * period), 5.0 * period)
        self._stamp = stamp
        self._update_state(step, measured, new)
        if verdict is not PASSED and verdict.action >= HOLD:
            self.begin_hold(verdict)
        self._check_contact()
        if guard.held is None:
            verdict = self._run_law(now, dt, step)
            if verdict is not PASSED and verdict.action >= HOLD:
                self.begin_hold(verdict)
        if guard.held is not None:
            verdict = guard.held
            guard.limit(self.hold.step(step), self.tau, step, self._next)
            np.copyto(self._friction, self.hold.friction_effort)
        self.tau, self._next = self._next, self.tau
        self.verdict, self._guard_speed = verdict, verdict.speed
        self._record()
        # Efforts from prediction alone drift away from the real arm. From here on the far side must hold it by its own
        # sensors, which it does by its command timeout.
        return not (lost or leave)

    def _take_over_payload(self, payload: PayloadRamp, now: float) -> None:
        """One step of a change of the payload."""
        step = min(max(now - self.now, 0.0), 5.0 * self.settings.period)
        residual = None if self.contact is None else self.contact.residual
        payload.advance(step, self._measured.q, residual)

    def _check_contact(self) -> None:
        """Stops an arm that has touched something. Compliant laws are for contact, and a hold has no aim beyond it."""
        contact = self.contact
        if contact is None or not contact.found or self.guard.held is not None or not self.switcher.law.stiff:
            return
        self.begin_hold(contact.verdict())

    def _restart_contact(self) -> None:
        """After states that were not accepted, or without efforts, nothing is known of external ones."""
        if self.contact is not None:
            self.contact.restart()

    def _choose_tick(self) -> None:
        """Uses the fused tick if the law has one and there is no state filter."""
        self._fused = None if self.filter is not None else FusedTick.of(self.switcher.law, self.execution, self.guard)

    def _run_fused(self, fused: FusedTick, now: float, q: Array, qd: Array, stamp: float) -> bool:
        """Tries the fused tick; False: no state has changed, take the slow path."""
        if (
            self.verdict is not PASSED
            or self.speed != 1.0
            or self.switcher.blending
            or not self.seeded
            or self._predicting
            or (self.contact is not None and self.contact.found)
        ):
            return False
        result = fused.run(now, now - self.now, q, qd, stamp, self.tau)
        if result is None:
            return False
        self._next[:] = result.tau
        self.tau, self._next = self._next, self.tau
        self._measured = self.state = result.state
        self.hold.update(result.state)
        self.now, self._stamp = now, stamp
        self._record()
        return True

    def _await_forecast(self, now: float) -> None:
        """Tells the guard of a trajectory that has started: forecasts for earlier ones do not apply to it."""
        ahead, execution = self.guard.collision_ahead, self.execution
        if ahead is not None and execution.number != ahead.executed:
            # A stream does not wait: each of its goals is short, and the newest forecast applies to it.
            at_rest = not execution.streaming and not (np.abs(execution.reference.qd) > AT_REST).any()
            ahead.begin(execution.number, now, at_rest=at_rest)

    def _waits_for_forecast(self, now: float) -> bool:
        """Whether a trajectory waits at its start for the first collision forecast of its path."""
        ahead = self.guard.collision_ahead
        return ahead is not None and self.execution.phase is GoalPhase.RUNNING and ahead.awaits(now)

    def hold_tick(self) -> None:
        """A tick that only holds, after an exception in the normal one."""
        period = self.settings.period
        self._predict(period)
        self.guard.limit(self.hold.step(period), self.tau, period, self._next)
        np.copyto(self._friction, self.hold.friction_effort)
        self.tau, self._next = self._next, self.tau

    def _predict(self, dt: float) -> None:
        """Predicts the state under the efforts sent, without those that joint friction takes."""
        np.subtract(self.tau, self._friction, self._net)
        self.hold.predict(self._net, dt)

    def _record(self) -> None:
        """Keeps the state of this tick and its efforts, for a prediction that has to begin earlier."""
        np.subtract(self.tau, self._friction, self._net)
        self.recent.record(self.hold.state, self._net)

    def _seed(self) -> bool:
        """Starts from the measured state: an arm at rest is held, a moving arm is slowed down; False: it cannot be."""
        self.seeded = self._take_hold()
        if self.seeded:
            self._resume()
        return self.seeded

    def _take_hold(self) -> bool:
        """Brakes and holds the arm from the present state on, whatever was sent before; False: no finite efforts do."""
        self.hold.capture()
        efforts, limit = self.hold.step(0.0), self.chain.limits.effort
        if not np.isfinite(efforts).all():
            return False
        np.clip(efforts, -limit, limit, self.tau)
        np.copyto(self._friction, self.hold.friction_effort)
        return True

    def _resume(self) -> None:
        """Restarts the law from the measured motion and the present efforts."""
        self.execution.stop_from(self.hold.state, self.bounds.acceleration)
        self.switcher.restart()

    def _update_state(self, dt: float, measured: bool, new: bool) -> None:
        """Updates the input of the law from a new measurement, or by prediction if there is none."""
        if not new:
            self._predict(dt)
        back, self._predicting = self._predicting and measured, not measured
        if back and self.guard.holding:
            # The arm is not exactly where it was predicted to be; hold it where it is.
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
            elapsed = 0.0 if self._waits_for_forecast(now) else step
            execution.step(now, elapsed, state, speed if speed < guarded else guarded)
            self._await_forecast(now)
        else:
            execution.follow(state)
        reference, last = execution.reference, self.tau
        if self.switcher.starting:
            self.switcher.applied(last)
        tau = self.switcher.step(state, reference, step)
        verdict = self.guard.check_output(
            now, dt, state, reference, tau, last, stiff=law.stiff, cartesian=law.cartesian
        )
        if verdict is PASSED:
            np.copyto(self._next, tau)
        elif verdict.action is Action.SLOW:
            self.guard.limit(tau, last, step, self._next)
        if verdict.action < HOLD:
            np.subtract(law.friction_effort, self._friction, self._balanced)
            if verdict is not PASSED:
                # A clipped change is friction to the same share.
                wanted, given = tau - last, self._next - last
                self._balanced *= np.divide(given, wanted, out=np.ones_like(given), where=wanted != 0.0)
            np.add(self._friction, self._balanced, self._friction)
            peak = self.speed_ahead.peak(now, max(now - self._stamp, 0.0), state, self._next, last, self._balanced)
            ahead = self.guard.check_speed_ahead(state, peak)
            return verdict if ahead is PASSED else ahead
        return verdict


def _refusal(text: str) -> Outcome:
    return Outcome(GoalStatus.ABORTED, ErrorCode.INVALID_GOAL, text)
