"""The controller of an arm: goals, laws, holds and status from any thread, ticks from the loop.

Requests of other threads are queued in an inbox that the loop empties. Work that takes time (validating a trajectory,
compiling a law) is done in the caller's thread first. The loop never waits.
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
from .execution.preview import PathAhead, TrajectoryPreview
from .execution.validation import ValidatedGoal, prepare
from .fused_tick import compile_fused_tick
from .guard.checks import Action, Check, Verdict
from .guard.collision import CollisionAhead
from .guard.contact import ContactObserver
from .guard.hold import Hold
from .guard.speed_ahead import SpeedAhead
from .laws.law import Gains, Law
from .laws.registry import make_law
from .payload_ramp import PayloadRamp, following
from .pipeline import ControlPipeline
from .settings import ControllerSettings
from .state import Reference
from .status import Status

Request = Callable[[float], None]
"""Called in the loop with the time of the tick [s]."""

INBOX_CAPACITY = 256
REQUESTS_PER_TICK = 8
"""Limits the time that requests take in one tick."""


class InboxFull(ManipapyError):
    """The inbox is full, because the control loop does not run."""

    def __init__(self) -> None:
        super().__init__(f"{INBOX_CAPACITY} requests are waiting and none is taken; is the control loop running?")


class Inbox:
    """A queue of requests without a lock: append and popleft of a deque are atomic."""

    def __init__(self) -> None:
        self._requests: deque[Request] = deque()

    def post(self, request: Request) -> None:
        """Queues a request; for any thread.

        Raises:
            InboxFull: The loop does not take requests.
        """
        if len(self._requests) >= INBOX_CAPACITY:
            raise InboxFull()
        self._requests.append(request)

    def run_requests(self, now: float) -> None:
        """Runs the oldest requests in order, at most `REQUESTS_PER_TICK`; for the loop."""
        requests = self._requests
        if not requests:
            return
        for _ in range(min(len(requests), REQUESTS_PER_TICK)):
            requests.popleft()(now)

    def __len__(self) -> int:
        return len(self._requests)


STATUS_TIMEOUT = 0.5
"""How long `status` waits for the end of a tick [s]: the loop may be preempted in the middle of one."""


class ArmController:
    """Controls one arm by efforts.

    Nothing is sent before the first joint state has arrived. From then on every tick gives finite efforts within the
    limits: those of the law, or of the hold by which the guard replaces it. When joint states are missing, or are not
    accepted, the arm is braked by prediction. After that nothing is sent until accepted joint states arrive: the
    hardware or simulation that executes the efforts must hold the arm by its own sensors when they stop coming.

    Args:
        chain: The arm.
        settings: Law, gains, tolerances, guard.
    """

    def __init__(self, chain: Chain, settings: ControllerSettings | None = None):
        self.chain = chain
        self.settings = settings or ControllerSettings()
        self.failure: BaseException | None = None
        """Last exception of a tick, with its traceback; None if there was none."""
        self._pipeline = ControlPipeline(chain, self.settings)
        self._inbox = Inbox()
        self._preview = TrajectoryPreview(chain, self.settings.execution, self._pipeline.bounds)
        self._law = self._pipeline.switcher.law
        self._payload = self.settings.payload
        self._sequence = 0
        self._ticks = 0

    # From any thread.

    def submit(self, trajectory: JointTrajectory, tolerances: GoalTolerances | None = None) -> ValidatedGoal:
        """Executes a trajectory in place of the present goal.

        Returns:
            The goal; `outcome` is its result, `wait` blocks until there is one.

        Raises:
            GoalRefused: The goal is invalid; code and text give the reason. Reasons that depend on the state of the arm
                (start too far away, stopped) end the goal instead.
        """
        now = self._pipeline.now if self._pipeline.seeded else None
        plan = prepare(self.chain, trajectory, tolerances, settings=self.settings.execution, now=now)
        self._inbox.post(lambda now: self._pipeline.start_goal(plan, now))
        return plan

    def stream(self, trajectory: JointTrajectory) -> ValidatedGoal:
        """Executes a short trajectory in place of the one before in the same stream, as servos send them.

        It ends at rest, so that a sender that dies leaves the arm at rest. A stream does not take the arm from another
        goal, and it ends a hold of the guard only after a pause.

        Raises:
            GoalRefused: The trajectory is invalid; code and text give the reason.
        """
        now = self._pipeline.now if self._pipeline.seeded else None
        plan = prepare(self.chain, trajectory, settings=self.settings.execution, now=now, streamed=True)
        self._inbox.post(lambda now: self._pipeline.start_goal(plan, now))
        return plan

    def cancel(self, goal: ValidatedGoal | None = None) -> None:
        """Cancels a goal (the present one if none is given) and brings the arm to rest on its path."""
        execution = self._pipeline.execution
        self._inbox.post(lambda _: execution.cancel() if goal in (None, execution.goal) else None)

    def hold(self) -> None:
        """Brings the arm to rest and keeps it there until the next goal or change of law."""
        self._inbox.post(self._hold)

    def stop(self, reason: str) -> None:
        """Brakes and holds the arm; only `reset` lets it move again."""
        verdict = Verdict(Action.STOP, Check.OPERATOR, reason)
        self._inbox.post(lambda _: self._pipeline.begin_hold(verdict))

    def reset(self) -> None:
        """Ends a stop; the arm stays where it is until the next goal."""
        self._inbox.post(lambda _: self._pipeline.reset())

    def set_law(self, law: str | Law, gains: Gains | None = None) -> Law:
        """Switches to another law, without a jump of the efforts.

        Args:
            law: Name, or a law made for this arm.
            gains: In place of the defaults, if a name is given.

        Raises:
            UnknownLaw: There is no law of this name.
            GainError: A gain that cannot be used.
        """
        if isinstance(law, str):
            law = self.make_law(law, gains)
        elif law.chain is not self.chain:
            raise InputError("this law was made for another chain; make it with the controller's own")
        compile_fused_tick(law)
        chosen = self._law = law
        self._inbox.post(lambda _: self._pipeline.change_law(chosen))
        return chosen

    def make_law(self, name: str, gains: Gains | None = None) -> Law:
        """Makes a law with the gravity and payload of this controller, without switching to it.

        Raises:
            UnknownLaw: There is no law of this name.
            GainError: A gain that cannot be used.
        """
        law = make_law(name, self.chain, gains, gravity=self.settings.gravity, payload=self._payload)
        compile_fused_tick(law)
        return law

    def set_gains(self, gains: Gains) -> Law:
        """Changes gains of the present law without a jump of the efforts; gains that are not given stay."""
        return self.set_law(self._law.with_gains(gains))

    def set_payload(self, payload: Payload | None) -> None:
        """Changes the payload of the tip, for law, hold and guard, gradually and as far as the arm carries it."""
        payload = following(payload, self._payload)
        if payload is None:
            return
        self._payload = payload
        guard = self.settings.guard
        hold = Hold(self.chain, self._pipeline.bounds, gravity=self.settings.gravity, payload=payload)
        ahead = SpeedAhead(self.chain, guard, hold.model, self.settings.period)
        contact = ContactObserver.of(self.chain, guard, hold.model)
        ramp = PayloadRamp(self.chain, hold.model, guard.payload_tolerance)
        law = self._law = self._law.with_payload(payload)
        compile_fused_tick(law)
        self._inbox.post(lambda _: self._pipeline.change_payload(law, hold, ahead, contact, ramp))

    def set_speed(self, share: float) -> None:
        """Sets the speed scaling of trajectories, above 0 to 1."""
        if not 0.0 < share <= 1.0:
            raise InputError(f"speed is {share!r}; give a share of full speed above 0, at most 1")
        self._pipeline.speed = float(share)

    def watch_for_collisions(self, forecast: CollisionAhead | None) -> None:
        """Lets the guard slow or hold the arm by collision forecasts; None: without forecasts."""
        self._pipeline.guard.collision_ahead = forecast

    def path_ahead(self, count: int, spacing: float) -> PathAhead | None:
        """The part of the active trajectory that lies ahead, from one thread at a time.

        Args:
            count: Rows.
            spacing: Trajectory time between two rows [s].

        Returns:
            None if there is no active trajectory.
        """
        return self._preview.ahead(self._pipeline.execution, count, spacing)

    def status(self) -> Status:
        """A consistent snapshot of the last tick.

        Raises:
            ControllerBusy: No tick has ended in time.
        """
        pipeline, deadline = self._pipeline, time.monotonic() + STATUS_TIMEOUT
        while True:
            before = self._sequence
            if before % 2 == 0:
                snapshot = self._snapshot(pipeline)
                if self._sequence == before:
                    return snapshot
            if time.monotonic() > deadline:
                raise ControllerBusy(STATUS_TIMEOUT)
            time.sleep(1e-5)

    # From the loop.

    def tick(self, now: float, q: Array, qd: Array, stamp: float, *, disputed: bool = False) -> Array | None:
        """One cycle of control.

        Args:
            now: Time of the tick [s], on the clock of the loop.
            q: Measured positions [rad or m], shape (n,), C-contiguous float64, in the order of the chain.
            qd: Measured velocities [rad/s or m/s], likewise.
            stamp: When they were measured, on the clock of `now` [s].
            disputed: Whether several sources give joint states of this arm, so that none of them is accepted.

        Returns:
            Joint efforts [N m or N], shape (n,): a buffer, valid until the next tick. None before the first joint
            state, after a stop because joint states are missing, and at rest while they are not accepted.
        """
        pipeline = self._pipeline
        self._sequence += 1
        try:
            self._inbox.run_requests(now)
            ready = pipeline.tick(now, q, qd, stamp, disputed)
        except Exception as error:  # any failure holds the arm, and its cause is kept
            ready = self._hold_after_failure(error)
        self._ticks += 1
        self._sequence += 1
        return pipeline.tau if ready else None

    def change_source(self) -> None:
        """Tells, between two ticks, that the next joint state comes from another source."""
        self._pipeline.change_source()

    @property
    def has_state(self) -> bool:
        """Whether a joint state has arrived."""
        return self._pipeline.seeded

    @property
    def q_ref(self) -> Array:
        """Reference positions of the last tick [rad or m], shape (n,): a buffer, valid until the next tick."""
        return self._reference(self._pipeline).q

    def fail(self, error: Exception) -> None:
        """Stops the arm because of a failure outside the controller; the cause is kept."""
        self.failure = error
        what = f"{type(error).__name__}: {error}"
        self._inbox.post(lambda _: self._pipeline.begin_hold(Verdict(Action.STOP, Check.SOFTWARE, what)))

    def _hold_after_failure(self, error: Exception) -> bool:
        self.failure = error
        pipeline = self._pipeline
        if not pipeline.seeded:
            return False
        try:
            pipeline.begin_hold(Verdict(Action.STOP, Check.SOFTWARE, f"{type(error).__name__}: {error}"))
            pipeline.hold_tick()
        except Exception as second:  # the last efforts stay, which were finite and within limits
            second.__cause__ = error
            self.failure = second
        return True

    def _hold(self, _: float) -> None:
        pipeline = self._pipeline
        if pipeline.switcher.law.follows:
            pipeline.execution.cancel("held by request")
        else:
            pipeline.begin_hold(Verdict(Action.HOLD, Check.OPERATOR, "hold requested"))

    @staticmethod
    def _reference(pipeline: ControlPipeline) -> Reference:
        return pipeline.hold.reference if pipeline.guard.holding else pipeline.execution.reference

    def _snapshot(self, pipeline: ControlPipeline) -> Status:
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
            payload_share=1.0 if pipeline.payload is None else pipeline.payload.share,
        )


class ControllerBusy(ManipapyError):
    """No tick has ended while the status was read."""

    def __init__(self, seconds: float):
        super().__init__(f"no tick ended within {seconds:g} s; the control loop gets no processor time")
        self.seconds = seconds
