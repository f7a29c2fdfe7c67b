"""A simulated arm under control, as real processes: what the tests of sim_bridge and controller do with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from lifecycle_msgs.msg import Transition
from manipapy_msgs.msg import ControllerStatus
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.action import ActionClient
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectoryPoint

from manipapy_ros.common import qos
from manipapy_ros.realtime.polled_topics import PolledSubscription

JOINTS = (
    "shoulder_pan_joint",
    "shoulder_lift_joint",
    "elbow_joint",
    "wrist_1_joint",
    "wrist_2_joint",
    "wrist_3_joint",
)
HOME = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])
"""Of the UR5, clear of everything [rad]."""
HOME_TRIES = 5
SUCCEEDED, CANCELED, ABORTED = GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED
RECORDING = 60.0
"""Longest time that recording may take [s]."""
STILL = 0.01
"""Slower than this is at rest [rad/s]."""
Result = FollowJointTrajectory.Result


def bring_up(peer, node) -> None:
    """Configure and activate."""
    assert peer.transition(node, Transition.TRANSITION_CONFIGURE)
    assert peer.transition(node, Transition.TRANSITION_ACTIVATE)


def stamp_of(state: JointState) -> float:
    return state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec


class StateWatch:
    """The newest joint state of a namespace, whenever it is wanted."""

    def __init__(self, peer, namespace: str):
        self._peer = peer
        self._states = PolledSubscription(peer.node, JointState, f"{namespace}/joint_states", qos.NEWEST)

    def next(self) -> JointState:
        """The next one that arrives."""
        self._states.newest()
        found: list[JointState] = []

        def look() -> bool:
            state = self._states.newest()
            if state is not None:
                found.append(state)
            return bool(found)

        self._peer.wait_for(look, "a joint state")
        return found[0]

    def after(self, stamp: float) -> JointState:
        """The first one seen that is later than this simulated time [s]."""
        while stamp_of(state := self.next()) <= stamp:
            pass
        return state

    def record(self, until: float) -> list[JointState]:
        """As many states as can be had up to this simulated time [s]; not through an executor, which would lag."""
        states = [self.next()]
        deadline = time.monotonic() + RECORDING
        while stamp_of(states[-1]) < until:
            assert time.monotonic() < deadline, "simulated time does not continue"
            state = self._states.newest()
            if state is None:
                time.sleep(5e-4)
            else:
                states.append(state)
        return states

    def q(self) -> np.ndarray:
        return np.array(self.next().position)

    def assert_still(self, seconds: float = 0.3) -> None:
        """The arm does not move, and stays still for a while of simulated time."""
        first = self.next()
        while True:
            state = self.next()
            assert np.abs(state.velocity).max() < STILL, f"the arm moves: {list(state.velocity)}"
            if stamp_of(state) > stamp_of(first) + seconds:
                break
        np.testing.assert_allclose(state.position, first.position, atol=2e-3)

    def wait_until(self, condition: Callable[[JointState], bool], what: str) -> JointState:
        """The first state that fulfils a condition."""
        found: list[JointState] = []

        def look() -> bool:
            state = self._states.newest()
            if state is not None and condition(state):
                found.append(state)
            return bool(found)

        self._peer.wait_for(look, what)
        return found[0]

    def wait_until_still(self) -> None:
        self.wait_until(lambda state: np.abs(state.velocity).max() < STILL, "the arm to come to rest")

    def wait_until_moving(self, speed: float = 0.1) -> JointState:
        return self.wait_until(lambda state: np.abs(state.velocity).max() > speed, "the arm to move")


class Arm:
    """A UR5 in the bridge and its controller, both active."""

    def __init__(self, peer, start, namespace: str = "", bridge: Sequence[str] = (), controller: Sequence[str] = ()):
        self.peer, self.namespace = peer, namespace
        own_clock = ("-r", "/clock:=clock")
        home = f"initial_positions:={HOME.tolist()}"
        self.bridge = start("sim_bridge", "-p", home, *bridge, namespace=namespace)
        self.controller = start("controller", "-p", "use_sim_time:=true", *own_clock, *controller, namespace=namespace)
        bring_up(peer, self.bridge)
        bring_up(peer, self.controller)
        self.states = StateWatch(peer, namespace)
        self._action = ActionClient(
            peer.node, FollowJointTrajectory, f"{self.controller.full_name}/follow_joint_trajectory"
        )
        self._statuses: list[ControllerStatus] = []
        peer.node.create_subscription(
            ControllerStatus, f"{self.controller.full_name}/status", self._on_status, qos.NEWEST
        )
        self.status(lambda status: status.seeded)

    def _on_status(self, status: ControllerStatus) -> None:
        self._statuses[:] = [status]

    def status(self, condition: Callable[[ControllerStatus], bool] = lambda _: True) -> ControllerStatus:
        """The first status from now on that fulfils the condition."""
        self._statuses.clear()
        found: list[ControllerStatus] = []

        def look() -> bool:
            found.extend(status for status in self._statuses if condition(status))
            return bool(found)

        self.peer.wait_for(look, "a status of the controller")
        return found[0]

    def goal(self, *points: np.ndarray, seconds: float = 1.0, names: Sequence[str] = JOINTS, still: bool = True):
        """A goal through points, `seconds` from one to the next; with zero velocities at the end."""
        goal = FollowJointTrajectory.Goal()
        goal.trajectory.joint_names = list(names)
        for number, q in enumerate(points, start=1):
            point = JointTrajectoryPoint(positions=[float(value) for value in q])
            if still and len(points) == 1:
                point.velocities, point.accelerations = [0.0] * len(q), [0.0] * len(q)
            when = round(number * seconds * 1e9)
            point.time_from_start.sec, point.time_from_start.nanosec = divmod(when, 1_000_000_000)
            goal.trajectory.points.append(point)
        return goal

    def send(self, goal, feedback: Callable | None = None):
        """The handle of a goal; it is always accepted."""
        self.peer.wait_for(self._action.server_is_ready, "the action server")
        answer = self._action.send_goal_async(goal, feedback_callback=feedback)
        self.peer.wait_for(answer.done, "an answer to the goal")
        assert answer.result().accepted
        return answer.result()

    def outcome(self, handle):
        """Status and result of a goal, once it has ended."""
        answer = handle.get_result_async()
        self.peer.wait_for(answer.done, "the result of the goal")
        return answer.result().status, answer.result().result

    def execute(self, goal):
        """Send and wait."""
        return self.outcome(self.send(goal))

    def cancel(self, handle) -> None:
        answer = handle.cancel_goal_async()
        self.peer.wait_for(answer.done, "an answer to the cancel request")
        assert answer.result().goals_canceling

    def trigger(self, node, name: str) -> Trigger.Response:
        return self.peer.call(Trigger, node, name, Trigger.Request())

    def set(self, **parameters):
        """Parameters of the controller, all or none; dots are written as double underscores."""
        request = SetParametersAtomically.Request(
            parameters=[
                Parameter(name.replace("__", "."), value=value).to_parameter_msg() for name, value in parameters.items()
            ]
        )
        return self.peer.call(SetParametersAtomically, self.controller, "set_parameters_atomically", request).result

    def go_home(self) -> None:
        """Back to HOME, whatever happened before.

        This prepares tests and is none: where the machine itself stood still, the guard is right to hold the arm on
        the way, and the arm sets out again.
        """
        for _ in range(HOME_TRIES):
            self.peer.wait_for(lambda: self.trigger(self.controller, "reset").success, "a reset")
            status, result = self.execute(self.goal(HOME, seconds=1.5))
            if status == SUCCEEDED:
                break
        assert status == SUCCEEDED, f"not home after {HOME_TRIES} tries: {result.error_string}"
        self.states.wait_until_still()


def wait(seconds: float) -> None:
    """Of real time, for events that must not happen meanwhile."""
    time.sleep(seconds)
