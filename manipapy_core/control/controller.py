"""Requests from other threads to the loop, which never waits for them.

The controller of an arm as others see it: goals, laws, holds and status from any thread, ticks from the loop.

What other threads want is put into an inbox that the loop empties; what takes time (checking a trajectory, compiling
a law) happens in their own thread first. The loop never waits.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from ..dynamics import Payload
from ..errors import InputError, ManipapyError
from ..model.chain import Chain
from ..trajectory.joint_trajectory import JointTrajectory
from ..typing import Array
from .execution.goal import GoalTolerances
from .execution.preview import TrajectoryPreview
from .execution.validation import ValidatedGoal, prepare
from .fused_tick import prepare as prepare_steady
from .guard.checks import Action, Check, Verdict
from .guard.collision import CollisionAhead
from .guard.hold import Hold
from .laws.law import Gains, Law
from .laws.registry import make_law
from .pipeline import ControlPipeline
from .settings import ControllerSettings
from .state import Reference
from .status import Status

Request = Callable[[float], None]
"""Carried out in the loop; gets the time of the tick [s]."""

CAPACITY = 256
PER_TICK = 8
"""So that a flood of requests cannot make a tick late."""


class InboxFull(ManipapyError):
    """Requests are not being taken out: the loop does not run."""

    def __init__(self) -> None:
        super().__init__(f"{CAPACITY} requests wait and none is taken; is the control loop running?")


class Inbox:
    """A queue without a lock: appending to and taking from a deque are atomic."""

    def __init__(self) -> None:
        self._requests: deque[Request] = deque()

    def post(self, request: Request) -> None:
        """From any thread.

        Raises:
            InboxFull: Nobody takes requests out.
        """
        if len(self._requests) >= CAPACITY:
            raise InboxFull()
        self._requests.append(request)

    def carry_out(self, now: float) -> None:
        """In the loop: the oldest requests, a few per tick, in the order they came."""
        requests = self._requests
        if not requests:
            return
        for _ in range(min(len(requests), PER_TICK)):
            requests.popleft()(now)

    def __len__(self) -> int:
        return len(self._requests)


PATIENCE = 0.5
"""How long a status is waited for [s]: the processor may be taken away from a loop in the middle of a tick."""


class ArmController:
    """Controls one arm by efforts.

    Until the arm has been seen once there is nothing to send. From then on every tick gives finite efforts within the
    limits: of the law, or of the hold that the guard put in its place. An arm that is lost from sight is braked by
    prediction first. When it is stopped for that there is nothing to send again, until it is seen: whatever executes
    the efforts must hold the arm by its own sensors when they stop coming.

    Args:
        chain: The arm.
        settings: Law, gains, tolerances, guard.
    """

    def __init__(self, chain: Chain, settings: ControllerSettings | None = None):
        self.chain = chain
        self.settings = settings or ControllerSettings()
        self.failure: BaseException | None = None
        """What a tick raised; its traceback says where. None if nothing ever did."""
        self._pipeline = ControlPipeline(chain, self.settings)
        self._inbox = Inbox()
        self._preview = TrajectoryPreview(chain, self.settings.execution, self._pipeline.bounds)
        self._law = self._pipeline.switcher.law
        self._payload = self.settings.payload
        self._sequence = 0
        self._ticks = 0

    # From any thread.

    def submit(self, trajectory: JointTrajectory, tolerances: GoalTolerances | None = None) -> ValidatedGoal:
        """Gives the arm a goal, in place of the present one.

        Returns:
            The goal; its `outcome` tells how it ended, `wait` waits for that.

        Raises:
            GoalRefused: The goal can never be executed; code and text say why. What depends on the moment (too far
                away, stopped) ends the goal instead.
        """
        now = self._pipeline.now if self._pipeline.seeded else None
        plan = prepare(self.chain, trajectory, tolerances, settings=self.settings.execution, now=now)
        self._inbox.post(lambda now: self._pipeline.start_goal(plan, now))
        return plan

    def cancel(self, goal: ValidatedGoal | None = None) -> None:
        """Ends a goal (any, if none is given) and brings the arm to rest on its path."""
        execution = self._pipeline.execution
        self._inbox.post(lambda _: execution.cancel() if goal in (None, execution.goal) else None)

    def hold(self) -> None:
        """Brings the arm to rest and keeps it there until the next goal or change of law."""
        self._inbox.post(self._hold)

    def stop(self, reason: str) -> None:
        """Brakes the arm as hard as a hold does; only `reset` lets it move again."""
        verdict = Verdict(Action.STOP, Check.OPERATOR, reason)
        self._inbox.post(lambda _: self._pipeline.begin_hold(verdict))

    def reset(self) -> None:
        """Ends a stop; the arm stays where it is until it gets a goal."""
        self._inbox.post(lambda _: self._pipeline.reset())

    def set_law(self, law: str | Law, gains: Gains | None = None) -> Law:
        """Another law, taken up without a jump.

        Args:
            law: Its name, or a law made for this arm.
            gains: In place of the defaults, if a name is given.

        Raises:
            UnknownLaw: There is no law of this name.
            GainError: A gain that cannot be used.
        """
        if isinstance(law, str):
            law = self.make_law(law, gains)
        elif law.chain is not self.chain:
            raise InputError("this law was made for another chain; make it with the controller's own")
        prepare_steady(law)
        chosen = self._law = law
        self._inbox.post(lambda _: self._pipeline.change_law(chosen))
        return chosen

    def make_law(self, name: str, gains: Gains | None = None) -> Law:
        """A law under this arm's gravity and with its payload, compiled and checked but not taken up.

        Raises:
            UnknownLaw: There is no law of this name.
            GainError: A gain that cannot be used.
        """
        law = make_law(name, self.chain, gains, gravity=self.settings.gravity, payload=self._payload)
        prepare_steady(law)
        return law

    def set_gains(self, gains: Gains) -> Law:
        """Other gains for the present law; those not given stay. Taken up without a jump."""
        return self.set_law(self._law.with_gains(gains))

    def set_payload(self, payload: Payload | None) -> None:
        """What the tip holds from now on; law and hold count with it."""
        self._payload = payload
        hold = Hold(self.chain, self._pipeline.bounds, gravity=self.settings.gravity, payload=payload)
        self.set_law(self._law.with_payload(payload))
        self._inbox.post(lambda _: self._pipeline.change_hold(hold))

    def set_speed(self, share: float) -> None:
        """Rate at which trajectories run from now on, above 0 to 1."""
        if not 0.0 < share <= 1.0:
            raise InputError(f"speed is {share!r}; give a share of full speed above 0, at most 1")
        self._pipeline.speed = float(share)

    def watch_for_collisions(self, forecast: CollisionAhead | None) -> None:
        """Has the guard slow or hold the arm as the newest forecast says; None: collisions are not forecast."""
        self._pipeline.guard.collision_ahead = forecast

    def path_ahead(self, count: int, spacing: float) -> tuple[Array, float] | None:
        """The part of the active trajectory that lies ahead, from one thread at a time.

        Args:
            count: Rows.
            spacing: Trajectory time between two rows [s].

        Returns:
            Joint positions [rad or m], the present reference first, shape (count, n), and the present rate; None if
            there is no active trajectory.
        """
        return self._preview.ahead(self._pipeline.execution, count, spacing)

    def status(self) -> Status:
        """A consistent picture of the last tick.

        Raises:
            ControllerBusy: A tick does not come to its end.
        """
        pipeline, deadline = self._pipeline, time.monotonic() + PATIENCE
        while True:
            before = self._sequence
            if before % 2 == 0:
                picture = self._picture(pipeline)
                if self._sequence == before:
                    return picture
            if time.monotonic() > deadline:
                raise ControllerBusy(PATIENCE)
            time.sleep(1e-5)

    # From the loop.

    def tick(self, now: float, q: Array, qd: Array, stamp: float) -> Array | None:
        """One cycle of control.

        Args:
            now: Time of the tick [s], on any clock that the loop keeps to.
            q: Measured positions [rad or m], shape (n,), C-contiguous float64, in the order of the chain.
            qd: Measured velocities [rad/s or m/s], likewise.
            stamp: When they were measured, on the clock of `now` [s].

        Returns:
            Efforts for the arm [N m or N], shape (n,): a buffer, valid until the next tick. None as long as the arm has
            not been seen, or was stopped because it cannot be seen any more.
        """
        pipeline = self._pipeline
        self._sequence += 1
        try:
            self._inbox.carry_out(now)
            ready = pipeline.tick(now, q, qd, stamp)
        except Exception as error:  # whatever went wrong, the arm is held and the cause is kept
            ready = self._rescue(error)
        self._ticks += 1
        self._sequence += 1
        return pipeline.tau if ready else None

    @property
    def seen(self) -> bool:
        """True once the arm has been seen."""
        return self._pipeline.seeded

    @property
    def wanted(self) -> Array:
        """Where the last tick wanted the arm to be [rad or m], shape (n,): a buffer, valid until the next tick."""
        return self._reference(self._pipeline).q

    def fail(self, error: Exception) -> None:
        """Stops the arm because something around the controller failed; the cause is kept."""
        self.failure = error
        what = f"{type(error).__name__}: {error}"
        self._inbox.post(lambda _: self._pipeline.begin_hold(Verdict(Action.STOP, Check.SOFTWARE, what)))

    def _rescue(self, error: Exception) -> bool:
        self.failure = error
        pipeline = self._pipeline
        if not pipeline.seeded:
            return False
        try:
            pipeline.begin_hold(Verdict(Action.STOP, Check.SOFTWARE, f"{type(error).__name__}: {error}"))
            pipeline.hold_tick()
        except Exception as second:  # nothing is left but the last efforts, which were finite and within limits
            second.__cause__ = error
            self.failure = second
        return True

    def _hold(self, _: float) -> None:
        pipeline = self._pipeline
        if pipeline.switcher.law.follows:
            pipeline.execution.cancel("held by request")
        else:
            pipeline.begin_hold(Verdict(Action.HOLD, Check.OPERATOR, "asked for"))

    @staticmethod
    def _reference(pipeline: ControlPipeline) -> Reference:
        return pipeline.hold.reference if pipeline.guard.holding else pipeline.execution.reference

    def _picture(self, pipeline: ControlPipeline) -> Status:
        execution, guard, reference = pipeline.execution, pipeline.guard, self._reference(pipeline)
        return Status(
            time=pipeline.now,
            ticks=self._ticks,
            law=pipeline.switcher.law.name,
            phase=execution.phase,
            verdict=pipeline.verdict,
            held=guard.held,
            goal=execution.goal,
            goal_time=execution.time,
            rate=execution.rate,
            q=pipeline.state.q.copy(),
            qd=pipeline.state.qd.copy(),
            q_ref=reference.q.copy(),
            qd_ref=reference.qd.copy(),
            qdd_ref=reference.qdd.copy(),
            tau=pipeline.tau.copy(),
            failure=self.failure,
        )


class ControllerBusy(ManipapyError):
    """No tick came to its end while its status was asked for."""

    def __init__(self, seconds: float):
        super().__init__(f"no tick came to its end within {seconds:g} s; something keeps the loop from its processor")
        self.seconds = seconds
