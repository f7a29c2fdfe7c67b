"""Execution of planned motions: sent to the controller, monitored, stopped and replanned when the path is blocked."""

from __future__ import annotations

import functools
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from control_msgs.action import FollowJointTrajectory
from sensor_msgs.msg import JointState

from manipapy_core.errors import InputError
from manipapy_core.geometry import WorldSnapshot
from manipapy_core.motion import PlanPhase, PlanResult, PlanStatus
from manipapy_core.trajectory import JointTrajectory
from manipapy_core.typing import Array

from ..client.arm import ArmClient
from ..client.session import GivenUp, NoAnswer
from ..common.conversions import positions_by_name, to_seconds
from .margins import PerceivedMargin, perceived_in, with_margin
from .requests import BoundRequest, Requests, trajectory_message

TIMEOUT = 5.0
"""For joint states and for the controller [s]."""
FEEDBACK_PERIOD = 0.1
"""Between two feedback messages [s]: each wakes the executors of both sides."""
REST_PERIOD = 0.05
"""Between two checks whether the arm is at rest [s]."""
START_TOLERANCE = 0.02
"""How far from its beginning an arm may be to follow a trajectory from elsewhere [rad or m]."""
REST_MOTION = 5e-4
"""An arm that moves less than this between two checks is at rest [rad or m]."""
Feedback = Callable[[str, float, int], None]
"""Called with the phase, the share of the motion that is done, and the number of the attempt."""


@dataclass(frozen=True)
class MotionOutcome:
    """How a motion ended."""

    status: PlanStatus | None
    """None: for a reason outside planning."""
    text: str
    planned: int = 0
    """Motions planned."""
    margin: float = math.inf
    """Kept to perceived obstacles by the last plan [m]; inf when there were none."""
    plan: PlanResult | None = None
    """The last one."""


class PlannedMotion:
    """Moves an arm along plans; called by planning threads.

    Args:
        arm: Client of the controller, on a thread of its own.
        requests: Plans.
        snapshot: Returns the current world.
        tries: Motions that may be planned for a goal that does not set it.
        margin: Kept to perceived obstacles.
        show: Called with every path that was found.
        log: Writes a log line.
    """

    def __init__(
        self,
        arm: ArmClient,
        requests: Requests,
        snapshot: Callable[[], WorldSnapshot],
        tries: int,
        margin: PerceivedMargin,
        show: Callable[[PlanResult], None],
        log: Callable[[str], object],
    ):
        self.snapshot, self.tries, self.margin = snapshot, tries, margin
        self._arm, self._requests, self._show, self._log = arm, requests, show, log
        self._states = threading.Lock()
        self.require: Callable[[threading.Event], None] = lambda cancel: None
        """Called before each motion, with the event that cancels it; raises InputError if the arm must not move."""
        self.interruption: Callable[[], str] = lambda: ""
        """Why a moving arm has to stop, apart from a blocked path; empty: it may go on."""
        self.moving = threading.Lock()
        """Held during a motion: the arm makes one at a time."""

    def state(self, cancel: threading.Event | None = None, seconds: float = TIMEOUT) -> JointState:
        """Current joint state.

        Raises:
            NoAnswer: No joint state arrives.
            GivenUp: Cancelled before one arrived.
        """
        with self._states:
            return self._arm.new_joint_state(seconds, give_up=lambda: cancel is not None and cancel.is_set())

    def positions(self, cancel: threading.Event | None = None) -> Array:
        """Current joint positions [rad or m], shape (n,).

        Raises:
            NoAnswer: No joint state arrives.
            GivenUp: Cancelled before one arrived.
            InputError: The joint states lack a joint of the arm, a position is not finite, or a joint that carries the
                arm is not where it is locked.
        """
        state, model = self.state(cancel), self._requests.model
        model.require_locked(dict(zip(state.name, state.position)))
        return positions_by_name(state, model.chain.joint_names)

    def reached(self) -> JointState:
        """Current joint state; an empty message if none arrives."""
        try:
            return self.state()
        except NoAnswer:
            return JointState()

    def execute(self, request: BoundRequest, tries: int, cancel: threading.Event, feedback: Feedback) -> MotionOutcome:
        """Plan and move, and replan while the path is blocked.

        Raises:
            InputError: An invalid request.
            NoAnswer: There is no arm to move.
            MotionFailed: The controller ended the motion; the text has its reason.
        """
        try:
            return self._execute(request, tries, cancel, feedback)
        except GivenUp:
            if not cancel.is_set():
                raise
            text = "cancelled while waiting for joint states or for the controller"
            return MotionOutcome(PlanStatus.CANCELLED, text)

    def _execute(self, request: BoundRequest, tries: int, cancel: threading.Event, feedback: Feedback) -> MotionOutcome:
        allowed, blocked_by, interrupted, margin = tries or self.tries, "", "", math.inf
        for attempt in range(1, allowed + 1):
            self.require(cancel)
            world = self.snapshot()

            def planning(phase: PlanPhase, _: float, attempt: int = attempt) -> None:
                feedback(phase.value, 0.0, attempt)

            plan, margin = self._plan(request, attempt, world, cancel, planning)
            self._show(plan)
            if not plan.success or plan.trajectory is None:
                after = f" (the path was blocked by {blocked_by})" if blocked_by else ""
                return MotionOutcome(plan.status, f"{plan.message}{after}", attempt, margin, plan)
            kept = margin_text(margin, self.margin.wanted(attempt))
            feedback("waiting", 0.0, attempt)
            self._arm.controller(TIMEOUT, give_up=cancel.is_set)
            if cancel.is_set():
                return MotionOutcome(PlanStatus.CANCELLED, "cancelled before the arm moved", attempt, margin, plan)
            if margin < self.margin.wanted(attempt):
                self._log(f"moving with {kept}")
            monitor = _PathMonitor(self, request, plan.trajectory, world, cancel)
            self._arm.move(
                trajectory_message(plan.trajectory, self._requests.model.chain.joint_names),
                while_moving=functools.partial(monitor.check, attempt, feedback),
                on_feedback=monitor.on_feedback,
                seconds=TIMEOUT,
            )
            if monitor.clear:
                text = f"arrived after {plan.trajectory.times[-1]:.2f} s"
                return MotionOutcome(PlanStatus.SUCCESS, f"{text}; {kept}" if kept else text, attempt, margin, plan)
            self._wait_for_rest()
            if cancel.is_set():
                return MotionOutcome(PlanStatus.CANCELLED, "cancelled; the arm is at rest", attempt, margin, plan)
            if monitor.interruption:
                self._log(f"stopped: {monitor.interruption}; attempt {attempt} of {allowed}")
                interrupted, blocked_by = monitor.interruption, ""
                continue
            interrupted, blocked_by = "", self.blocking(plan.trajectory)
            self._log(f"stopped: the path is blocked by {blocked_by}; attempt {attempt} of {allowed}")
        if interrupted:
            return MotionOutcome(None, f"stopped in each of {allowed} attempts, last because of {interrupted}", allowed)
        text = f"the path was blocked in each of {allowed} attempts, last by {blocked_by}"
        return MotionOutcome(PlanStatus.NO_PATH, text, allowed, margin)

    def follow(self, trajectory: JointTrajectory, cancel: threading.Event, feedback: Feedback) -> MotionOutcome:
        """Move along a trajectory from elsewhere, as long as nothing is in the way.

        Args:
            trajectory: Columns in the order of the arm's joints.

        Raises:
            InputError: It does not begin where the arm is.
            NoAnswer: There is no arm to move.
            MotionFailed: The controller ended the motion; the text has its reason.
        """
        self.require(cancel)
        names, world = self._requests.model.chain.joint_names, self.snapshot()
        away = np.abs(trajectory.positions[0] - self.positions(cancel))
        worst = int(np.argmax(away))
        if len(trajectory.times) > 1 and away[worst] > START_TOLERANCE:
            raise InputError(
                f"the trajectory begins {away[worst]:.3g} away from where joint {names[worst]!r} is, more than "
                f"{START_TOLERANCE:g}; plan again from the current state"
            )
        request = BoundRequest(_not_planned)
        if self.collides(trajectory.positions, request, world):
            return MotionOutcome(None, f"the trajectory is blocked by {self.blocking(trajectory)}; plan again")
        monitor = _PathMonitor(self, request, trajectory, world, cancel)
        self._arm.move(
            trajectory_message(trajectory, names),
            while_moving=functools.partial(monitor.check, 1, feedback),
            on_feedback=monitor.on_feedback,
            seconds=TIMEOUT,
        )
        if monitor.clear:
            return MotionOutcome(PlanStatus.SUCCESS, f"arrived after {trajectory.times[-1]:.2f} s")
        self._wait_for_rest()
        if cancel.is_set():
            return MotionOutcome(PlanStatus.CANCELLED, "cancelled; the arm is at rest")
        why = monitor.interruption or f"the path is blocked by {self.blocking(trajectory)}"
        return MotionOutcome(None, f"stopped: {why}; plan again")

    def _plan(
        self,
        request: BoundRequest,
        attempt: int,
        world: WorldSnapshot,
        cancel: threading.Event,
        progress: Callable[[PlanPhase, float], None],
    ) -> tuple[PlanResult, float]:
        """A motion with the largest margin to perceived obstacles that has a path, and that margin [m]."""
        q, perceived = self.positions(cancel), bool(perceived_in(world))
        for margin in self.margin.steps(attempt):
            plan = request.plan(q, with_margin(world, margin), cancel, progress)
            if plan.success or plan.status is PlanStatus.CANCELLED or not perceived:
                break
        return plan, margin if perceived else math.inf

    def _wait_for_rest(self) -> None:
        """Wait until the arm is at rest; a cancelled trajectory ends before the arm is.

        Raises:
            NoAnswer: It does not come to rest.
        """
        before, deadline = self.positions(), time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            time.sleep(REST_PERIOD)
            now = self.positions()
            if np.abs(now - before).max() < REST_MOTION:
                return
            before = now
        raise NoAnswer("an arm at rest", TIMEOUT, exists=True)

    def collides(self, q: Array, request: BoundRequest, world: WorldSnapshot) -> bool:
        """Whether any configuration, shape (points, n), has a contact that the request does not allow."""
        return len(q) > 0 and bool(self._requests.checker.check(q, snapshot=request.allow(world)).any())

    def blocking(self, trajectory: JointTrajectory) -> str:
        """Names of the objects that a trajectory collides with now."""
        world, checker = self.snapshot(), self._requests.checker
        hits = checker.check(trajectory.positions, snapshot=world)
        if not hits.any():
            return "an object that is gone again"
        near = checker.distances(trajectory.positions[hits], snapshot=world)
        found = np.unique(near.object_index[near.distance < 0.0])
        return ", ".join(near.object_names[index] for index in found if index >= 0) or "the arm itself"


def margin_text(margin: float, wanted: float) -> str:
    """The margin kept to perceived obstacles [m], for the message of a result; empty when there were none."""
    if math.isinf(margin):
        return ""
    if margin < wanted:
        return f"margin to perceived obstacles reduced from {wanted:.3f} m to {margin:.3f} m for lack of space"
    return f"margin to perceived obstacles {margin:.3f} m"


def _not_planned(*_: object) -> PlanResult:
    raise AssertionError("a trajectory from elsewhere is not planned again")


class _PathMonitor:
    """Checks the remaining path of one motion whenever the world has changed."""

    def __init__(
        self,
        motion: PlannedMotion,
        request: BoundRequest,
        trajectory: JointTrajectory,
        world: WorldSnapshot,
        cancel: threading.Event,
    ):
        self._motion, self._request, self._trajectory = motion, request, trajectory
        self._checked, self._cancel = world, cancel
        self._blocked, self._time, self._reported = False, 0.0, -math.inf
        self.interruption = ""
        """Why the arm was stopped, apart from a blocked path."""

    @property
    def clear(self) -> bool:
        """Whether the motion was neither blocked, interrupted nor cancelled."""
        return not self._blocked and not self.interruption and not self._cancel.is_set()

    def on_feedback(self, feedback: FollowJointTrajectory.Feedback) -> None:
        self._time = to_seconds(feedback.desired.time_from_start)

    def check(self, attempt: int, feedback: Feedback) -> bool:
        """False to stop the arm."""
        if self.clear:
            self.interruption = self._motion.interruption()
        if self.clear and (world := self._motion.snapshot()) is not self._checked:
            self._checked = world
            ahead = self._trajectory.positions[self._trajectory.times >= self._time]
            self._blocked = self._motion.collides(ahead, self._request, world)
        now = time.monotonic()
        if now - self._reported > FEEDBACK_PERIOD:
            self._reported = now
            feedback("moving" if self.clear else "stopping", self._time / float(self._trajectory.times[-1]), attempt)
        return self.clear
