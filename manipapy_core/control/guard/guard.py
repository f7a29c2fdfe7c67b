"""The guard: checks the input and the output of every tick, and decides to slow, hold or stop the arm."""

from __future__ import annotations

import numpy as np

from ...checks import joint_units
from ...compiler import UNLIMITED
from ...model.chain import Chain
from ...trajectory.bounds import BrakingLimits
from ...typing import Array
from ..state import Reference, State
from .checks import PASSED, Action, Check, GuardSettings, Verdict
from .collision import MIN_SPEED, CollisionAhead
from .far_side import FarSide
from .measures import (
    EFFORT,
    LARGEST,
    LARGEST_WITHOUT_TRACKING,
    POSITION,
    RATE,
    TRACKING,
    VELOCITY,
    ConditionNumber,
    clipping_kernel,
    copying_kernel,
    joint_bounds,
    lost_time,
    measures_kernel,
)
from .plausibility import Plausibility

DISPUTED = Verdict(Action.HOLD, Check.SOURCE, "another node publishes joint states of this arm")


class Guard:
    """Checks the input of a tick, then its output, and latches holds and stops.

    Checks run in the order of `Check`. The first that requires a hold or a stop decides. After a slow-down the checks
    continue: it must not hide a later hold.

    Args:
        chain: The arm.
        settings: Limits of the checks.
        bounds: Decelerations of a hold.
        period: Nominal time between ticks [s].
    """

    def __init__(
        self,
        chain: Chain,
        settings: GuardSettings | None = None,
        bounds: BrakingLimits | None = None,
        period: float = 1e-3,
    ):
        self.chain = chain
        self.settings = settings or GuardSettings()
        bounds = bounds or BrakingLimits.of(chain, self.settings.brake_factor)
        self.period = period
        self.collision_ahead: CollisionAhead | None = None
        """The newest collision forecast; None: collisions are not forecast."""
        self.held: Verdict | None = None
        """Why the arm is held or stopped; None while it is not."""
        self._units = joint_units(chain)
        self._effort_units = ["N m" if unit == "rad" else "N" for unit in self._units]
        self._limits, self.bounds = chain.limits, joint_bounds(chain, self.settings, bounds)
        """Constants of the measures, shape (n, 8)."""
        self.lost_time = lost_time(self.settings)
        """Time before a stop takes effect [s]."""
        self._normal_dt = 0.1 * period, min(5.0 * period, self.settings.late_slow, self.settings.longest_tick)
        """Shortest and longest normal time between ticks [s]."""
        self._rates, self._errors = self.settings.torque_rates(chain), self.settings.tracking_errors(chain)
        self._kernel = measures_kernel(chain.n)
        self._found = np.zeros(5 * chain.n + 2)
        self._measures = self._found[:-2].reshape(chain.n, 5)
        self._tick = np.array([self.lost_time, 1.0 / period])
        self._effort, self._most_rate = (np.minimum(x, UNLIMITED) for x in (chain.limits.effort, self._rates))
        self._clip, self._copy = clipping_kernel(chain.n), copying_kernel(chain.n)
        self._step = np.zeros(1)
        self.fastest = self.settings.velocity_slow * np.minimum(chain.limits.velocity, UNLIMITED)
        """Speed that efforts may cause [rad/s or m/s], shape (n,)."""
        # The measurement of this tick, and the last accepted one, which invalid measurements must not overwrite.
        self._measured, self._accepted = np.zeros((2, chain.n)), np.zeros((2, chain.n))
        self._state, self._accepted_state = State.of_block(self._measured), State.of_block(self._accepted)
        self._condition = ConditionNumber(chain)
        self.plausibility, self.far_side = Plausibility(chain, self.settings), FarSide(self.settings)
        self._valid_at = self._stamp = -np.inf
        self._rate_exceeded = 0.0

    @property
    def holding(self) -> bool:
        """Whether the arm is held or stopped."""
        return self.held is not None

    @property
    def stopped(self) -> bool:
        """Whether the arm is stopped until a reset."""
        return self.held is not None and self.held.action is Action.STOP

    def trip(self, verdict: Verdict) -> None:
        """Latches a hold or a stop, unless one as severe is latched already."""
        if verdict.action < Action.HOLD:
            return
        held = self.held
        if held is None or verdict.action > held.action:
            self.held = verdict
        elif held.check is Check.CONTACT and verdict.check is Check.PLAUSIBLE and verdict.action is Action.STOP:
            self.held = verdict  # wrong joint states looked like a contact

    def release(self) -> None:
        """Ends a hold, not a stop."""
        if not self.stopped:
            self.held = None

    def reset(self) -> None:
        """Ends a hold or a stop; a fault that persists trips the guard again in the next tick."""
        self.held = None
        self._rate_exceeded = 0.0
        self._stamp = -np.inf
        if self.plausibility.contradiction:
            self.plausibility.reset()

    def forget_state(self) -> None:
        """Compares the next joint state with none before, because it comes from another source."""
        self._stamp = -np.inf
        self.plausibility.reset()

    def check_input(
        self, now: float, dt: float, q: Array, qd: Array, stamp: float, *, disputed: bool = False
    ) -> Verdict:
        """Checks measurement and clock of a tick.

        Args:
            now: Time of the tick [s].
            dt: Since the last tick [s].
            q: Measured positions [rad or m], shape (n,).
            qd: Measured velocities [rad/s or m/s], shape (n,).
            stamp: When they were measured, on the clock of `now` [s].
            disputed: Whether several sources give joint states of this arm.
        """
        s = self.settings
        if self._valid_at == -np.inf:
            self._valid_at = now
        if not self._copy(q, qd, self._measured):
            long = now - self._valid_at > s.state_stop_after
            return self._not_finite(q, qd, Action.STOP if long else Action.HOLD)
        age, unseen = now - stamp, now - self._valid_at
        # Not `age >`: a stamp that is not a number is not fresh.
        if not age <= s.state_hold_after:
            if age > s.state_stop_after:
                return Verdict(Action.STOP, Check.FRESH, "age of the joint state", None, age, s.state_stop_after, "s")
            if unseen > s.state_stop_after:
                # States that keep arriving, all too late: a prediction alone holds no arm for longer.
                what = "time without a joint state that was not late"
                return Verdict(Action.STOP, Check.FRESH, what, None, unseen, s.state_stop_after, "s")
            return Verdict(Action.HOLD, Check.FRESH, "age of the joint state", None, age, s.state_hold_after, "s")
        if disputed:
            return DISPUTED
        plausible = self.plausibility
        if not (plausible.accepted if stamp == self._stamp else plausible.check(q, qd, stamp)):
            j, unit = plausible.joint, self._units[plausible.joint] + ("/s" if plausible.per_second else "")
            amount, limit = plausible.amount, plausible.limit
            action = Action.STOP if plausible.contradiction else Action.HOLD
            return self._of_joint(j, action, Check.PLAUSIBLE, plausible.what, amount, limit, unit)
        if not 0.0 < dt <= s.longest_tick:
            return Verdict(Action.HOLD, Check.CLOCK, "time between ticks", None, dt, s.longest_tick, "s")
        if age < -s.clock_ahead:
            return Verdict(Action.HOLD, Check.CLOCK, "lead of the joint state's stamp", None, -age, s.clock_ahead, "s")
        if stamp < self._stamp:
            back, self._stamp = self._stamp - stamp, stamp
            return Verdict(Action.HOLD, Check.CLOCK, "step back of the joint state's stamp", None, back, 0.0, "s")
        self._stamp, self._valid_at = stamp, now
        return PASSED

    def on_time(self, now: float, dt: float, stamp: float) -> bool:
        """Whether a new measurement passes the timing checks of `check_input`, and neither a hold nor a collision
        forecast is in effect. Changes nothing.

        Args:
            now: Time of the tick [s].
            dt: Since the last tick [s].
            stamp: Time of the measurement, on the clock of `now` [s].
        """
        s, (shortest, longest) = self.settings, self._normal_dt
        return (
            self.held is None
            and (self.collision_ahead is None or self.collision_ahead.free(now))
            and shortest <= dt <= longest
            and -s.clock_ahead <= now - stamp <= s.state_hold_after
            and stamp > self._stamp
            and self.plausibility.accepted
            and self.plausibility.consistency.consistent
        )

    def passed(self, now: float, stamp: float, q: Array) -> None:
        """Records a fused tick that has passed all checks: its time, and stamp and positions of its measurement."""
        self.plausibility.record(q, stamp)
        self._stamp, self._valid_at, self._rate_exceeded = stamp, now, 0.0

    def accept(self) -> State:
        """Accepts the measurement last checked by `check_input`: a buffer, valid until the next call."""
        self._measured, self._accepted = self._accepted, self._measured
        self._state, self._accepted_state = self._accepted_state, self._state
        return self._accepted_state

    def check_output(
        self,
        now: float,
        dt: float,
        state: State,
        reference: Reference,
        tau: Array,
        last: Array,
        *,
        stiff: bool = True,
        cartesian: bool = False,
    ) -> Verdict:
        """Checks state, reference and efforts of a tick.

        Args:
            now: Time of the tick [s].
            dt: Since the last tick [s].
            state: Measured or filtered.
            reference: Desired.
            tau: Efforts of the law [N m or N], shape (n,).
            last: Efforts of the last tick [N m or N], shape (n,).
            stiff: Whether the law keeps the arm at the reference, so that the tracking error is checked.
            cartesian: Whether the law acts along the axes of the tip, so that singularities are checked.
        """
        self._tick[1] = 1.0 / dt
        found = self._found
        if not self._kernel(state.q, state.qd, tau, last, reference.q, self.bounds, self._tick, found):
            return self._not_finite(state.q, tau, Action.STOP)
        slow = PASSED
        if found.item(LARGEST if stiff else LARGEST_WITHOUT_TRACKING) > 1.0:
            if not stiff:
                self._measures[:, TRACKING] = 0.0
            slow = self._judge(dt, state, reference, tau, last)
            if slow.action >= Action.HOLD:
                return slow
        else:
            self._rate_exceeded = 0.0
        if cartesian:
            slow = _worse(slow, self._singular(state))
        if slow.action < Action.HOLD and self.collision_ahead is not None:
            slow = _worse(slow, self.collision_ahead.verdict(now))
        if slow.action < Action.HOLD and dt > self.settings.late_slow:
            slow = _worse(slow, self._late(dt))
        return slow

    def check_speed_ahead(self, state: State, peak: Array) -> Verdict:
        """Checks the speeds that efforts would cause, before they are sent.

        Args:
            state: Measured or predicted.
            peak: Largest velocities that the efforts would cause [rad/s or m/s], shape (n,).
        """
        beyond = np.abs(peak) - self.fastest
        j = int(beyond.argmax())
        if beyond[j] <= 0.0:
            return PASSED
        # An arm that is too fast already is slowed down, and held by the check of its speed.
        speed, limit, caused = abs(float(state.qd[j])), float(self.fastest[j]), abs(float(peak[j]))
        if speed > limit:
            limit *= self.settings.velocity_hold / self.settings.velocity_slow
        if caused <= max(speed, limit):
            return PASSED
        what, unit = "speed that the efforts would cause", self._units[j] + "/s"
        return self._of_joint(j, Action.HOLD, Check.VELOCITY, what, caused, limit, unit)

    def limit(self, tau: Array, last: Array, dt: float, out: Array) -> None:
        """Clips efforts to the effort and torque-rate limits; an effort that is not finite becomes the last one.

        Args:
            tau: [N m or N], shape (n,).
            last: Efforts of the last tick [N m or N], shape (n,).
            dt: Since the last tick [s].
            out: Clipped efforts [N m or N], shape (n,).
        """
        self._step[0] = min(max(dt, 0.1 * self.period), 5.0 * self.period)
        if not self._clip(tau, last, self._effort, self._most_rate, self._step, out):
            np.copyto(out, np.where(np.isfinite(tau), tau, last))
            self._clip(out.copy(), last, self._effort, self._most_rate, self._step, out)

    def _judge(self, dt: float, state: State, reference: Reference, tau: Array, last: Array) -> Verdict:
        """The checks per joint in order, after one of them has failed."""
        s, limits = self.settings, self._limits
        worst, most = self._measures.argmax(axis=0), self._measures.max(axis=0)
        if most[POSITION] > 1.0:
            j = int(worst[POSITION])
            limit = limits.upper[j] if state.qd[j] > 0.0 else limits.lower[j]
            point = self._stopping_point(state, j)
            return self._of_joint(j, Action.HOLD, Check.POSITION, "stopping point", point, limit)
        slow = PASSED
        if most[VELOCITY] > s.velocity_slow:
            j = int(worst[VELOCITY])
            action = Action.HOLD if most[VELOCITY] > s.velocity_hold else Action.SLOW
            share = s.velocity_hold if action is Action.HOLD else s.velocity_slow
            speed = _share(1.0 / most[VELOCITY])
            found = abs(state.qd[j])
            limit = share * limits.velocity[j]
            slow = self._of_joint(j, action, Check.VELOCITY, "speed", found, limit, self._units[j] + "/s", speed)
            if action is Action.HOLD:
                return slow
        if most[EFFORT] > 1.0:
            j = int(worst[EFFORT])
            speed = _share(1.0 / most[EFFORT])
            unit, found = self._effort_units[j], abs(tau[j])
            effort = self._of_joint(j, Action.SLOW, Check.EFFORT, "effort", found, limits.effort[j], unit, speed)
            slow = _worse(slow, effort)
        self._rate_exceeded = self._rate_exceeded + dt if most[RATE] > 1.0 else 0.0
        if most[RATE] > 1.0:
            j = int(worst[RATE])
            action = Action.HOLD if self._rate_exceeded > s.torque_rate_hold_after else Action.SLOW
            found, unit = abs(tau[j] - last[j]) / dt, self._effort_units[j] + "/s"
            rate = self._of_joint(j, action, Check.TORQUE_RATE, "torque rate", found, self._rates[j], unit)
            slow = _worse(slow, rate)
            if action is Action.HOLD:
                return slow
        if most[TRACKING] > 1.0:
            j = int(worst[TRACKING])
            error = abs(reference.q[j] - state.q[j])
            what = "distance to the reference"
            return self._of_joint(j, Action.HOLD, Check.TRACKING, what, error, self._errors[j])
        return slow

    def _stopping_point(self, state: State, j: int) -> float:
        v = float(state.qd[j])
        return float(state.q[j]) + v * float(self._tick[0]) + v * abs(v) * float(self.bounds[j, 2])

    def _of_joint(
        self,
        j: int,
        action: Action,
        check: Check,
        what: str,
        amount: float,
        limit: float,
        unit: str | None = None,
        speed: float = 1.0,
    ) -> Verdict:
        unit = self._units[j] if unit is None else unit
        return Verdict(action, check, what, self.chain.joint_names[j], float(amount), float(limit), unit, speed)

    def _not_finite(self, first: Array, second: Array, action: Action) -> Verdict:
        wrong = ~(np.isfinite(first) & np.isfinite(second))
        joint = self.chain.joint_names[int(wrong.argmax())] if wrong.any() else None
        return Verdict(action, Check.FINITE, "a number that is not finite in state, reference or effort", joint)

    def _singular(self, state: State) -> Verdict:
        s = self.settings
        number = self._condition.at(state.q)
        if number <= s.singular_slow:
            return PASSED
        rising = self._condition.rises(state, number)
        share = (s.singular_hold - number) / (s.singular_hold - s.singular_slow)
        action = Action.HOLD if share <= 0.0 and rising else Action.SLOW
        limit = s.singular_hold if action is Action.HOLD else s.singular_slow
        what, speed = "condition number of the tip", _share(share) if rising else 1.0
        return Verdict(action, Check.SINGULAR, what, None, number, limit, "1", speed)

    def _late(self, dt: float) -> Verdict:
        s, lost = self.settings, self.far_side.lost
        if dt <= s.late_hold < lost:
            return Verdict(Action.HOLD, Check.DEADLINE, "time lost between ticks", None, lost, s.late_hold, "s")
        action = Action.HOLD if dt > s.late_hold else Action.SLOW
        limit = s.late_hold if action is Action.HOLD else s.late_slow
        return Verdict(action, Check.DEADLINE, "time between ticks", None, dt, limit, "s", _share(self.period / dt))


def _share(value: float) -> float:
    return min(max(float(value), MIN_SPEED), 1.0)


def _worse(first: Verdict, second: Verdict) -> Verdict:
    """The more severe of two verdicts; the first if they are equal."""
    return second if second.action > first.action else first
