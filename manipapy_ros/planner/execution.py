"""A planned motion carried out: sent to the controller, watched, stopped and planned anew when something comes near."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from control_msgs.action import FollowJointTrajectory
from manipapy_msgs.msg import MotionRequest
from sensor_msgs.msg import JointState

from manipapy_core.geometry import WorldSnapshot
from manipapy_core.motion import PlanPhase, PlanResult, PlanStatus
from manipapy_core.trajectory import JointTrajectory
from manipapy_core.typing import Array

from ..client.arm import ArmClient
from ..client.session import GivenUp, NoAnswer
from ..common.conversions import positions_by_name
from ..controller.trajectory_messages import seconds
from .requests import Requests, trajectory_message
from .world_messages import with_margin

ANSWER = 5.0
"""How long joint states and the controller may keep one waiting [s]."""
TELL_EVERY = 0.1
"""Between two reports on a motion [s]: each wakes the executors of both sides."""
LOOK = 0.05
"""Between two looks at an arm that comes to rest [s]."""
WARIER = 0.02
"""Distance to what cameras see that is kept in addition, as often as a motion was planned [m]."""
MARGIN_SHARES = (1.0, 0.5, 0.0)
"""Of it, that are tried one after the other."""
REST = 5e-4
"""An arm that moves less than this between two looks is at rest [rad or m]."""
Tell = Callable[[str, float, int], None]
"""Is told the phase, the share that is done, and the number of the attempt."""


@dataclass(frozen=True)
class Ended:
    """How a motion ended."""

    status: PlanStatus | None
    """None: for a reason that planning does not know."""
    text: str
    planned: int = 0


class PlannedMotion:
    """Moves an arm along plans; called by planning threads.

    Args:
        arm: Talks to the controller on a thread of its own, so that the node may wait for a motion to end.
        requests: Plans.
        snapshot: The world as it is now.
        tries: Motions that may be planned for a goal that does not say.
        show: Is given every path that was found.
        say: For the log.
    """

    def __init__(
        self,
        arm: ArmClient,
        requests: Requests,
        snapshot: Callable[[], WorldSnapshot],
        tries: int,
        show: Callable[[PlanResult], None],
        say: Callable[[str], object],
    ):
        self.snapshot = snapshot
        self._arm = arm
        self._requests, self._tries, self._show, self._say = requests, tries, show, say
        self._states = threading.Lock()

    def state(self, cancel: threading.Event | None = None) -> JointState:
        """Where the arm is now.

        Raises:
            NoAnswer: No joint state comes.
            GivenUp: None came before it was cancelled.
        """
        with self._states:
            return self._arm.new_joint_state(ANSWER, give_up=lambda: cancel is not None and cancel.is_set())

    def positions(self, cancel: threading.Event | None = None) -> Array:
        """Where the arm is now [rad or m], shape (n,).

        Raises:
            NoAnswer: No joint state comes.
            GivenUp: None came before it was cancelled.
            InputError: The joint states lack a joint of the arm, or hold numbers that are none.
        """
        return positions_by_name(self.state(cancel), self._requests.model.chain.joint_names)

    def reached(self) -> JointState:
        """Where the arm is now; an empty message if nobody tells."""
        try:
            return self.state()
        except NoAnswer:
            return JointState()

    def carry_out(self, request: MotionRequest, tries: int, cancel: threading.Event, tell: Tell) -> Ended:
        """Plan, move, and plan again while something is in the way.

        Raises:
            InputError: The request makes no sense.
            NoAnswer: There is no arm to move.
            MotionFailed: The controller ended the motion; the text says why.
        """
        try:
            return self._carry_out(request, tries, cancel, tell)
        except GivenUp:
            if not cancel.is_set():
                raise
            return Ended(PlanStatus.CANCELLED, "cancelled while waiting for joint states or for the controller")

    def _carry_out(self, request: MotionRequest, tries: int, cancel: threading.Event, tell: Tell) -> Ended:
        allowed, blocked_by = tries or self._tries, ""
        for attempt in range(1, allowed + 1):
            world = self.snapshot()

            def planning(phase: PlanPhase, _: float, attempt: int = attempt) -> None:
                tell(phase.value, 0.0, attempt)

            plan = self._plan(request, WARIER * attempt, world, cancel, planning)
            self._show(plan)
            if not plan.success or plan.trajectory is None:
                after = f" (the way was blocked by {blocked_by})" if blocked_by else ""
                return Ended(plan.status, f"{plan.message}{after}", attempt)
            tell("waiting", 0.0, attempt)
            self._arm.controller(ANSWER, give_up=cancel.is_set)
            if cancel.is_set():
                return Ended(PlanStatus.CANCELLED, "cancelled before the arm moved", attempt)
            follower = _Follower(self, request, plan.trajectory, world, cancel)
            self._arm.move(
                trajectory_message(plan.trajectory, self._requests.model.chain.joint_names),
                while_moving=lambda follower=follower, attempt=attempt: follower.look(attempt, tell),
                on_feedback=follower.hear,
                seconds=ANSWER,
            )
            if follower.unhindered:
                return Ended(PlanStatus.SUCCESS, f"arrived after {plan.trajectory.times[-1]:.2f} s", attempt)
            self._wait_for_rest()
            if cancel.is_set():
                return Ended(PlanStatus.CANCELLED, "cancelled; the arm is at rest", attempt)
            blocked_by = self.in_the_way(plan.trajectory)
            self._say(f"stopped: the way is blocked by {blocked_by}; attempt {attempt} of {allowed}")
        text = f"the way was blocked again and again, last by {blocked_by}; {allowed} tries"
        return Ended(PlanStatus.NO_PATH, text, allowed)

    def _plan(
        self,
        request: MotionRequest,
        margin: float,
        world: WorldSnapshot,
        cancel: threading.Event,
        tell: Callable[[PlanPhase, float], None],
    ) -> PlanResult:
        """A motion that stays away from what cameras see by a margin [m], or by less where there is no room.

        What cameras see trembles: a way that only just fits would soon be blocked again.
        """
        q = self.positions(cancel)
        for share in MARGIN_SHARES:
            thicker = with_margin(world, share * margin)
            plan = self._requests.plan(request, q, thicker, cancel, tell)
            if plan.success or plan.status is PlanStatus.CANCELLED or thicker is world:
                break
        return plan

    def _wait_for_rest(self) -> None:
        """Until the arm stands still; a cancelled trajectory ends before the arm does.

        Raises:
            NoAnswer: It does not come to rest.
        """
        before, deadline = self.positions(), time.monotonic() + ANSWER
        while time.monotonic() < deadline:
            time.sleep(LOOK)
            now = self.positions()
            if np.abs(now - before).max() < REST:
                return
            before = now
        raise NoAnswer("an arm at rest", ANSWER, exists=True)

    def touches(self, q: Array, request: MotionRequest, world: WorldSnapshot) -> bool:
        """Whether any of the configurations, shape (points, n), touches what the request does not allow."""
        seen = self._requests.touching(world, request)
        return len(q) > 0 and bool(self._requests.checker.check(q, snapshot=seen).any())

    def in_the_way(self, trajectory: JointTrajectory) -> str:
        """Names of what a trajectory touches now."""
        world, checker = self.snapshot(), self._requests.checker
        hits = checker.check(trajectory.positions, snapshot=world)
        if not hits.any():
            return "something that is gone again"
        near = checker.distances(trajectory.positions[hits], snapshot=world)
        found = np.unique(near.object_index[near.distance < 0.0])
        return ", ".join(near.object_names[index] for index in found if index >= 0) or "the arm itself"


class _Follower:
    """Stays with one motion: looks at the way ahead whenever the world has changed."""

    def __init__(
        self,
        motion: PlannedMotion,
        request: MotionRequest,
        trajectory: JointTrajectory,
        world: WorldSnapshot,
        cancel: threading.Event,
    ):
        self.blocked = False
        self._motion, self._request, self._trajectory = motion, request, trajectory
        self._checked, self._cancel, self._time = world, cancel, 0.0
        self._told = -np.inf

    @property
    def unhindered(self) -> bool:
        """Whether nothing has stopped the arm."""
        return not self.blocked and not self._cancel.is_set()

    def hear(self, feedback: FollowJointTrajectory.Feedback) -> None:
        self._time = seconds(feedback.desired.time_from_start)

    def look(self, attempt: int, tell: Tell) -> bool:
        """False to stop the arm."""
        if not self.blocked and not self._cancel.is_set() and (now := self._motion.snapshot()) is not self._checked:
            self._checked = now
            ahead = self._trajectory.positions[self._trajectory.times >= self._time]
            self.blocked = self._motion.touches(ahead, self._request, now)
        now_s = time.monotonic()
        if now_s - self._told > TELL_EVERY:
            self._told = now_s
            tell("moving" if self.unhindered else "stopping", self._time / float(self._trajectory.times[-1]), attempt)
        return self.unhindered
