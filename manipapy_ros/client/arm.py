"""Client of an arm: joint states, trajectories, hold, reset.

Works with our own controller and with ros2_control's joint_trajectory_controller.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from numpy.typing import ArrayLike
from rclpy.action import ActionClient
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from unique_identifier_msgs.msg import UUID

from manipapy_core.errors import InputError, ManipapyError
from manipapy_core.typing import Array

from ..common import qos
from ..common.conversions import duration_message, positions_by_name
from ..common.heartbeat import Heartbeat, heartbeat_publisher
from ..realtime.polled_topics import PolledSubscription
from .session import LONGEST_STEP, POLL_PERIOD, TIMEOUT, NoAnswer, Refused, RosSession
from .stop_client import CONTROLLERS, OURS, StopClient

if TYPE_CHECKING:
    from manipapy_core.model import Chain

MAX_STATE_AGE = 0.02
"""Age up to which a joint state is current [s]."""


class MotionFailed(ManipapyError):
    """A trajectory that did not reach its goal."""

    def __init__(self, code: int, reason: str):
        super().__init__(f"the goal was not reached (code {code}): {reason or 'no reason given'}")
        self.code, self.reason = code, reason


class ArmClient:
    """One arm in the namespace of a session.

    Args:
        client: Whose node is used.
        watcher: Name of the node that monitors motions: when its heartbeats stop, our controller ends them. Empty: a
            motion continues to its end without the client.
        states: Topic of joint states.
    """

    def __init__(self, client: RosSession, *, watcher: str = "", states: str = "joint_states"):
        self.client = client
        self._actions: dict[str, ActionClient] = {}
        self._watcher = watcher
        self._beats: Publisher | None = None
        if watcher:
            self._beats = heartbeat_publisher(client.node, f"{client.namespace}/{OURS}")
            for name in CONTROLLERS:
                self._action(name)  # discovered by the time it is needed
        # Polled: a thousand callbacks a second would cost a fifth of a processor.
        self._states: PolledSubscription[JointState] = PolledSubscription(client.node, JointState, states, qos.NEWEST)

    def joint_state(self, seconds: float = TIMEOUT, *, give_up: Callable[[], bool] = lambda: False) -> JointState:
        """The next joint state.

        Raises:
            NoAnswer: None arrives.
            GivenUp: `give_up` returned True before one arrived.
        """
        state = None

        def arrived() -> bool:
            nonlocal state
            state = self._states.newest()
            return state is not None

        if not self.client.wait_until(arrived, seconds, give_up=give_up):
            raise NoAnswer(self._states.topic, seconds, exists=self._states.publishers > 0)
        return state

    def new_joint_state(self, seconds: float = TIMEOUT, *, give_up: Callable[[], bool] = lambda: False) -> JointState:
        """A current joint state: one that has just arrived, or the next."""
        state = self._states.newest(within=MAX_STATE_AGE)
        return self.joint_state(seconds, give_up=give_up) if state is None else state

    def positions(self, joint_names: Sequence[str], seconds: float = TIMEOUT) -> Array:
        """Current positions [rad or m], in the order of the names, shape (n,)."""
        return positions_by_name(self.joint_state(seconds), joint_names)

    def controller(self, seconds: float = TIMEOUT, *, give_up: Callable[[], bool] = lambda: False) -> str:
        """Name of the node that accepts trajectories.

        Raises:
            NoAnswer: There is none.
            GivenUp: `give_up` returned True before there was one.
        """
        actions = {name: self._action(name) for name in CONTROLLERS}

        def present() -> list[str]:
            return [name for name, action in actions.items() if action.server_is_ready() and self._monitors(name)]

        if not self.client.wait_until(lambda: bool(present()), seconds, give_up=give_up):
            wanted = " or ".join(f"{self.client.namespace}/{name}" for name in CONTROLLERS)
            raise NoAnswer(f"follow_joint_trajectory of {wanted}", seconds, exists=False)
        return present()[0]

    def move(
        self,
        trajectory: JointTrajectory,
        *,
        while_moving: Callable[[], bool] = lambda: True,
        on_feedback: Callable[[FollowJointTrajectory.Feedback], None] = lambda _: None,
        seconds: float = 10.0,
    ) -> None:
        """Follow a trajectory to its end.

        Args:
            while_moving: Called repeatedly until the end; False cancels the goal.
            on_feedback: Called with the controller's feedback.
            seconds: Longest time without feedback; the controller sends it while the arm moves, however slowly
                simulated time passes.

        Raises:
            Refused: The controller rejects the goal.
            MotionFailed: The goal was not reached.
        """
        name, number = self.controller(seconds), uuid.uuid4().bytes
        with contextlib.ExitStack() as stack:
            alive: Callable[[], None] = lambda: None  # noqa: E731
            if self._beats is not None and name == OURS:
                alive = stack.enter_context(Heartbeat(self._beats, number, self._watcher)).keep_alive
            self._follow(name, number, trajectory, while_moving, on_feedback, seconds, alive)

    def _follow(
        self,
        name: str,
        number: bytes,
        trajectory: JointTrajectory,
        while_moving: Callable[[], bool],
        on_feedback: Callable[[FollowJointTrajectory.Feedback], None],
        seconds: float,
        alive: Callable[[], None],
    ) -> None:
        client, label = self.client, f"{self.client.namespace}/{name}"
        silent = 0.0

        def receive(message: Any) -> None:
            nonlocal silent
            silent = 0.0
            on_feedback(message.feedback)

        goal, goal_id = FollowJointTrajectory.Goal(trajectory=trajectory), UUID(uuid=list(number))
        action = self._action(name)
        sent = client.on_thread(lambda: action.send_goal_async(goal, feedback_callback=receive, goal_uuid=goal_id))
        if not client.wait_until(sent.done, seconds):
            raise NoAnswer(f"{label}/follow_joint_trajectory", seconds, exists=True)
        handle = sent.result()
        if not handle.accepted:
            raise Refused(label, "the goal was rejected; the log of the controller has the reason")
        ended, cancelled, before = client.on_thread(handle.get_result_async), False, time.monotonic()
        silent = 0.0
        while not ended.done():
            alive()
            # A process that was stopped for a while has not waited: what arrived meanwhile is still to be read.
            now = time.monotonic()
            silent, before = silent + min(now - before, LONGEST_STEP), now
            if silent > seconds:
                client.on_thread(handle.cancel_goal_async)
                raise NoAnswer(f"{label}/follow_joint_trajectory", seconds, exists=True)
            if not cancelled and not while_moving():
                client.on_thread(handle.cancel_goal_async)
                cancelled = True
            time.sleep(POLL_PERIOD)
        result, status = ended.result().result, ended.result().status
        if status != GoalStatus.STATUS_SUCCEEDED and not cancelled:
            reason = result.error_string
            if status == GoalStatus.STATUS_CANCELED and not reason:  # ros2_control gives none
                reason = "another client cancelled it"
            raise MotionFailed(result.error_code, reason)

    def hold(self, seconds: float = TIMEOUT) -> str:
        """Bring the arm to rest; returns a message that describes how."""
        return StopClient(self.client).hold(seconds)

    def reset(self, seconds: float = TIMEOUT) -> str:
        """End a stop of the guard; returns the controller's message."""
        return StopClient(self.client).reset(seconds)

    def _monitors(self, controller: str) -> bool:
        """Whether a controller receives the heartbeats, if there are any and it is ours."""
        return self._beats is None or controller != OURS or self._beats.get_subscription_count() > 0

    def _action(self, controller: str) -> ActionClient:
        if controller not in self._actions:
            name = f"{self.client.namespace}/{controller}/follow_joint_trajectory"
            self._actions[controller] = ActionClient(self.client.node, FollowJointTrajectory, name)
        return self._actions[controller]


def rest_to_rest(chain: Chain, q: ArrayLike, q_goal: ArrayLike, *, speed: float = 0.5) -> JointTrajectory:
    """A quintic from rest to rest within the limits of every joint.

    Args:
        q: Start [rad or m], shape (n,).
        q_goal: Goal [rad or m], shape (n,).
        speed: Share of the velocity and acceleration limits, above 0 to 1.
    """
    from manipapy_core.model.assumptions import completed_limits  # slow to import; not needed to read states

    if not 0.0 < speed <= 1.0:
        raise InputError(f"speed is {speed!r}; give a share of full speed above 0, at most 1")
    goal = np.asarray(q_goal, dtype=np.float64)
    if goal.shape != (chain.n,):
        raise InputError(f"{goal.size} joint positions for {chain.n} joints: {', '.join(chain.joint_names)}")
    distance = np.abs(goal - np.asarray(q, dtype=np.float64))
    limits = completed_limits(chain)
    # Largest velocity and acceleration of s(x) = 10x³ − 15x⁴ + 6x⁵ are 15/8 and 10/√3.
    by_velocity = 1.875 * distance / (speed * limits.velocity)
    by_acceleration = np.sqrt(10.0 / np.sqrt(3.0) * distance / (speed * limits.acceleration))
    duration = max(float(by_velocity.max()), float(by_acceleration.max()), 0.1)
    zeros = [0.0] * chain.n
    point = JointTrajectoryPoint(
        positions=goal.tolist(),
        velocities=zeros,
        accelerations=zeros,
        time_from_start=duration_message(duration),
    )
    return JointTrajectory(joint_names=list(chain.joint_names), points=[point])
