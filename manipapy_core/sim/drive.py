"""Drives of a simulated robot: command modes, watchdog and hold.

Every joint is in one of four modes. EFFORT applies the commanded effort. VELOCITY and POSITION follow a reference
within the joint's velocity and acceleration limits. HOLD brakes the joint and then holds it by gravity compensation and
a stiff servo, never by zero effort. A joint whose effort or velocity command times out goes to HOLD: the last torque of
a controller that died does not stay applied. As in a real drive, efforts may be limited in their rate, and efforts that
would make the arm too fast trip the drive: all joints brake and are held, until commands arrive that hold the arm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from .. import dynamics
from ..errors import InputError, UnknownJoint
from ..model.chain import Chain
from ..typing import Array
from .drive_types import DriveMode, DriveSettings, DriveState, DriveStatus, HoldReason, ResumePolicy
from .errors import CommandRefused
from .joint_friction import ImplicitFriction
from .servo import Servo, ServoReference

CACHED_SELECTIONS = 64
"""Maximum number of cached lists of joint names."""

RESUME_TIME = 0.02
"""A tripped drive takes commands again whose acceleration changes the speed within this time [s] by less than"""
RESUME_SHARE = 0.1
"""this share of the velocity limit, while the arm moves no faster than that."""

Measure = Callable[[], tuple[Array, Array]]


class Drive:
    """Modes, commands and watchdog of all joints of one robot, independent of the physics engine."""

    def __init__(self, chain: Chain, gravity_base: Array, time_step: float, settings: DriveSettings):
        self._chain, self._time_step = chain, time_step
        self._servo = Servo(chain, gravity_base, time_step)
        self._friction = ImplicitFriction.of(chain, gravity_base, time_step)
        self._timeout = np.full(len(DriveMode), np.inf)
        """Maximum age of a command [s], by mode."""
        limits = chain.limits
        self._bounds = {
            DriveMode.EFFORT: (-limits.effort, limits.effort),
            DriveMode.VELOCITY: (-limits.velocity, limits.velocity),
            DriveMode.POSITION: (limits.lower, limits.upper),
        }
        self._selections: dict[tuple[str, ...], np.ndarray] = {}
        self._timeouts = self._refusals = self._trips = 0
        self._last_refusal = self._last_trip = ""
        self._gravity, self._zeros = gravity_base, np.zeros(chain.n)
        self._most_effort = limits.effort.copy()
        """Largest effort of each joint under its servo [N m or N], shape (n,)."""
        self.reset(np.zeros(chain.n))
        self.settings = settings

    @property
    def settings(self) -> DriveSettings:
        """Timeouts and resume policy."""
        return self._settings

    @settings.setter
    def settings(self, settings: DriveSettings) -> None:
        self._settings = settings
        # Half a step of tolerance: times are sums of steps.
        self._timeout[DriveMode.EFFORT] = settings.command_timeout - 0.5 * self._time_step
        self._timeout[DriveMode.VELOCITY] = settings.velocity_timeout - 0.5 * self._time_step
        limits = self._chain.limits
        self._most_change = np.full(self._chain.n, np.inf)
        """Largest change of a commanded effort in one step [N m or N], shape (n,)."""
        if settings.effort_rise_time > 0.0:
            self._most_change = limits.effort * (self._time_step / settings.effort_rise_time)
        self._fastest = settings.overspeed * limits.velocity
        self._mode_changed()

    @property
    def state(self) -> DriveState:
        """State that changes from step to step."""
        return self._state

    @state.setter
    def state(self, state: DriveState) -> None:
        self._state = state
        self._qd_before: Array | None = None
        self._mode_changed()

    def reset(self, q: Array) -> None:
        """Clear all commands and hold this position [rad or m], shape (n,)."""
        n = self._chain.n
        self._most_effort[:] = self._chain.limits.effort
        self.state = DriveState(
            mode=np.full(n, DriveMode.HOLD, dtype=np.int8),
            reason=np.full(n, HoldReason.START, dtype=np.int8),
            command=np.zeros(n),
            stamp=np.zeros(n),
            limited=np.zeros(n, dtype=bool),
            effort=np.zeros(n),
            reference=ServoReference.at(q, self._chain.limits, self._servo.max_lead),
        )

    def command(
        self, mode: DriveMode, values: ArrayLike, joints: Sequence[str] | None, time: float, measure: Measure
    ) -> tuple[str, ...]:
        """Set a command; joints that it does not name keep theirs.

        Args:
            mode: EFFORT, VELOCITY or POSITION.
            values: One number per joint [N m or N, rad/s or m/s, rad or m].
            joints: Names in the order of the values; all joints in chain order if not given.
            time: Now [s].
            measure: Returns measured positions and velocities, each of shape (n,), where joints that change mode start.

        Returns:
            Names of the joints whose value was clipped to a limit.

        Raises:
            CommandRefused: The command is invalid or the joint is held; the last command stays.
        """
        try:
            which = self._select(joints)
            wanted = self._check(mode, values, which)
        except InputError as problem:
            refusal = problem if isinstance(problem, CommandRefused) else CommandRefused(str(problem))
            self._refusals += 1
            self._last_refusal = refusal.reason
            raise refusal from None
        state, (lower, upper) = self.state, self._bounds[mode]
        given = np.minimum(np.maximum(wanted, lower[which]), upper[which])
        if self._tripped:
            self._end_trip(mode, given, which, measure)
        entering = which[state.mode[which] != mode]
        if entering.size:
            state.mode[entering] = mode
            state.reason[entering] = HoldReason.NONE
            state.reference.start(entering, *measure())
        state.command[which] = given
        state.stamp[which] = time
        if entering.size:
            self._mode_changed()
        clipped = given != wanted
        state.limited[which] = clipped
        return tuple(self._chain.joint_names[index] for index in which[clipped]) if clipped.any() else ()

    def hold(self, joints: Sequence[str] | None = None) -> None:
        """Hold joints (all if not given) now."""
        self._hold(self._select(joints), HoldReason.REQUESTED)

    def enable(self, joints: Sequence[str] | None = None) -> None:
        """Let held joints (all if not given) take commands again; they stay held until the next command."""
        which = self._select(joints)
        held = which[self.state.mode[which] == DriveMode.HOLD]
        self.state.reason[held] = HoldReason.START

    def limit_effort(self, joints: Sequence[str], effort: float) -> None:
        """Limit the effort with which joints are moved to positions, until the next reset.

        Args:
            effort: [N m or N]; above the limit of the joint, and inf, mean that limit.
        """
        if not effort > 0.0:
            raise InputError(f"the effort is {effort!r}; give a number above 0")
        which = self._select(joints)
        self._most_effort[which] = np.minimum(effort, self._chain.limits.effort[which])

    def efforts(self, q: Array, qd: Array, time: float) -> Array:
        """Efforts for the next step, within the limits [N m or N], shape (n,).

        Args:
            q: Measured positions [rad or m], shape (n,).
            qd: Measured velocities [rad/s or m/s], shape (n,).
            time: Now [s].
        """
        try:
            return self._efforts(q, qd, time)
        finally:
            self._qd_before = qd

    def _efforts(self, q: Array, qd: Array, time: float) -> Array:
        state = self.state
        if time > self._next_check:
            self._hold_timed_out(time)
        servo = state.mode != DriveMode.EFFORT
        before = state.effort.copy()
        given = np.minimum(np.maximum(state.command, before - self._most_change), before + self._most_change)
        if not servo.all() and self._causes_overspeed(q, qd, np.where(servo, before, given), ~servo):
            servo = state.mode != DriveMode.EFFORT
        if not servo.any():
            state.effort[:] = given
            return state.effort
        to_position, at_velocity = state.mode == DriveMode.POSITION, state.mode == DriveMode.VELOCITY
        r, rd, rdd = state.reference.advance(q, qd, state.command, to_position, at_velocity, self._time_step)
        wanted = self._servo.efforts(q, qd, r, rd, rdd, servo, state.reference.braking, given)
        limit = np.where(servo, self._most_effort, self._chain.limits.effort)
        state.effort[:] = np.minimum(np.maximum(wanted, -limit), limit)
        state.limited[servo] = (state.effort != wanted)[servo]
        return state.effort

    def _causes_overspeed(self, q: Array, qd: Array, effort: Array, commanded: np.ndarray) -> bool:
        """Trips the drive if efforts would make a commanded joint too fast within the next step; whether it did."""
        if self.settings.overspeed == math.inf:
            return False
        both = np.stack([effort, self.state.effort])
        model = dynamics.forward_dynamics(self._chain, [q, q], [qd, qd], both, gravity=self._gravity)
        # The last acceleration was measured, so that contacts count; the model tells what the change of effort adds.
        change = qd - self._qd_before if self._qd_before is not None else self._zeros
        speed = np.abs(qd + change + self._time_step * (model[0] - model[1]))
        beyond = self._too_fast(speed, qd, commanded)
        if beyond.any() and self._friction is not None:
            # A reversal changes the effort by twice the friction, which moves nothing.
            after, without = (self._friction.velocity_after(q, qd, each) for each in both)
            speed = np.abs(qd + change + after - without)
            beyond = self._too_fast(speed, qd, commanded)
        if not beyond.any():
            return False
        j = int(np.argmax(np.where(beyond, speed / self._fastest, 0.0)))
        self._trips += 1
        self._last_trip = (
            f"the efforts would move joint {self._chain.joint_names[j]!r} at {speed[j]:.3g}, "
            f"above {self._fastest[j]:.3g} ({self.settings.overspeed:g} of its velocity limit)"
        )
        self._hold(np.arange(self._chain.n), HoldReason.OVERSPEED)
        return True

    def _too_fast(self, speed: Array, qd: Array, commanded: np.ndarray) -> np.ndarray:
        """Which joints would be above their speed limit and faster than now."""
        # Joints that the drive holds (a light finger at its end stop) do not count.
        # Faster already: the efforts of a controller that brakes the arm are better than a trip.
        fast: np.ndarray = commanded & (speed > self._fastest) & (speed > np.abs(qd))
        return fast

    def _end_trip(self, mode: DriveMode, given: Array, which: np.ndarray, measure: Measure) -> None:
        """Ends a trip if a command holds the arm and the arm rests; joints without a command stay held.

        Raises:
            CommandRefused: It does not.
        """
        q, qd = measure()
        change = np.zeros_like(q)
        if mode is DriveMode.EFFORT:
            effort = self.state.effort.copy()
            effort[which] = given
            change = RESUME_TIME * dynamics.forward_dynamics(self._chain, q, qd, effort, gravity=self._gravity)
        if (np.maximum(np.abs(change), np.abs(qd)) > RESUME_SHARE * self._chain.limits.velocity).any():
            self._refusals += 1
            self._last_refusal = f"the drive has tripped: {self._last_trip}; it takes commands again that hold the arm"
            raise CommandRefused(self._last_refusal)
        reason = self.state.reason
        reason[reason == HoldReason.OVERSPEED] = HoldReason.START
        self._mode_changed()

    def _hold_timed_out(self, time: float) -> None:
        expired = time - self.state.stamp > self._timeout[self.state.mode]
        if expired.any():
            self._timeouts += 1
            self._hold(np.flatnonzero(expired), HoldReason.TIMEOUT)
        self._mode_changed()

    def _mode_changed(self) -> None:
        """Update values that depend only on modes and commands."""
        self._tripped = bool((self.state.reason == HoldReason.OVERSPEED).any())
        # New commands only postpone timeouts, so none expires before this time.
        self._next_check = float(np.min(self.state.stamp + self._timeout[self.state.mode]))

    def status(self) -> DriveStatus:
        """Modes, holds with their reasons, limited joints and counters."""
        names, state = self._chain.joint_names, self.state
        return DriveStatus(
            modes={name: DriveMode(mode) for name, mode in zip(names, state.mode)},
            held={name: HoldReason(why) for name, why in zip(names, state.reason) if why != HoldReason.NONE},
            limited=tuple(name for name, limited in zip(names, state.limited) if limited),
            timeouts=self._timeouts,
            trips=self._trips,
            last_trip=self._last_trip,
            refusals=self._refusals,
            last_refusal=self._last_refusal,
        )

    def _hold(self, which: np.ndarray, reason: HoldReason) -> None:
        entering = which[self.state.mode[which] != DriveMode.HOLD]
        self.state.mode[entering] = DriveMode.HOLD
        self.state.reason[which] = reason
        self.state.reference.brake(entering)
        self._mode_changed()

    def _select(self, joints: Sequence[str] | None) -> np.ndarray:
        """Indices of joints by name, cached per list of names."""
        key = self._chain.joint_names if joints is None else tuple(joints)
        which = self._selections.get(key)
        if which is None:
            for name in key:
                if name not in self._chain.joint_names:
                    raise UnknownJoint(name, self._chain.joint_names)
                if key.count(name) > 1:
                    raise InputError(f"joint {name!r} is named twice; name each joint once")
            which = np.array([self._chain.joint_names.index(name) for name in key], dtype=int)
            if len(self._selections) >= CACHED_SELECTIONS:
                self._selections.clear()
            self._selections[key] = which
        return which

    def _check(self, mode: DriveMode, values: ArrayLike, which: np.ndarray) -> Array:
        """The values as numbers, if they are a valid command."""
        if mode not in self._bounds:
            raise CommandRefused(f"mode {mode!r} is not a command mode; use EFFORT, VELOCITY or POSITION, or hold()")
        try:
            wanted = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise CommandRefused(f"the values are not a list of numbers ({error})") from None
        if wanted.shape != which.shape:
            raise CommandRefused(f"{wanted.size} values (shape {wanted.shape}) for {which.size} joints; give one each")
        finite = np.isfinite(wanted)
        if not finite.all():
            index = int(np.argmin(finite))
            name = self._chain.joint_names[which[index]]
            raise CommandRefused(f"{mode.name.lower()} of joint {name!r} is {wanted[index]}; give finite numbers", name)
        if self.settings.resume is ResumePolicy.ENABLE:
            locked = self.state.reason[which] >= HoldReason.TIMEOUT
            if locked.any():
                index = which[int(np.argmax(locked))]
                name = self._chain.joint_names[index]
                timeout = self.state.reason[index] == HoldReason.TIMEOUT
                why = "its command timed out" if timeout else "a hold was requested"
                raise CommandRefused(f"joint {name!r} is held because {why}; enable the drive first", name)
        return wanted
