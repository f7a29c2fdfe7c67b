"""The mocked robot behind ros2_control's names: what a driver and its trajectory controller would do."""

from __future__ import annotations

import itertools
import threading
import time

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration, Time
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTrajectoryControllerState
from lifecycle_msgs.msg import Transition
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from manipapy_core import Robot
from manipapy_core.trajectory import joint_trajectory
from manipapy_ros.client.arm import ArmClient, MotionFailed
from manipapy_ros.client.session import RosSession
from manipapy_ros.client.stop_client import StopClient
from manipapy_ros.common import qos
from manipapy_ros.common.conversions import positions_by_name
from manipapy_ros.mock_hardware.controller_goals import refusal
from manipapy_ros.mock_hardware.node import PerfectArm

HOME = [0.0, -1.57, 1.57, -1.57, -1.57, 0.0]
NAMESPACE = "/mocked"


@pytest.fixture(scope="module")
def joints() -> tuple[str, ...]:
    return Robot.from_urdf("ur5").chain("base_link", "tool0").joint_names


@pytest.fixture(scope="module")
def mock(start_for_module, peer):
    node = start_for_module("mock_hardware", "-p", f"initial_positions:={HOME}", namespace=NAMESPACE)
    assert peer.transition(node, Transition.TRANSITION_CONFIGURE)
    assert peer.transition(node, Transition.TRANSITION_ACTIVATE)
    return node


@pytest.fixture(scope="module")
def states(mock, peer):
    """Every joint state since the start."""
    heard: list[JointState] = []
    peer.node.create_subscription(JointState, f"{NAMESPACE}/joint_states", heard.append, qos.STATE)
    peer.wait_for(lambda: bool(heard), "joint_states")
    return heard


@pytest.fixture(scope="module")
def action(mock, peer):
    name = f"{NAMESPACE}/joint_trajectory_controller/follow_joint_trajectory"
    client = ActionClient(peer.node, FollowJointTrajectory, name)
    peer.wait_for(client.server_is_ready, name)
    yield client
    client.destroy()


def one_point(names, positions, seconds: float) -> JointTrajectory:
    whole = int(seconds)
    point = JointTrajectoryPoint(
        positions=[float(value) for value in positions],
        velocities=[0.0] * len(positions),
        time_from_start=Duration(sec=whole, nanosec=int(1e9 * (seconds - whole))),
    )
    return JointTrajectory(joint_names=list(names), points=[point])


def accepted(peer, action, trajectory):
    sent = action.send_goal_async(FollowJointTrajectory.Goal(trajectory=trajectory))
    peer.wait_for(sent.done, "an answer to the goal")
    assert sent.result().accepted
    return sent.result()


def ended(peer, handle):
    result = handle.get_result_async()
    peer.wait_for(result.done, "the end of the goal")
    return result.result()


def test_starts_at_its_initial_positions_and_stands_still(states, joints):
    assert list(states[0].name) == sorted(joints), "joint_state_broadcaster has the order of the alphabet"
    np.testing.assert_allclose(positions_by_name(states[0], joints), HOME)
    np.testing.assert_allclose(positions_by_name(states[-1], joints), HOME)


def test_stamps_belong_to_the_positions_when_a_cycle_takes_long(peer, joints):
    """A guard downstream compares steps of positions with steps of stamps."""
    chain = Robot.from_urdf("ur5").chain("base_link", "tool0")
    arm, heard, count = PerfectArm(peer.node, chain, np.array(HOME), 250.0), [], itertools.count()
    tick = arm.controller.tick

    def held_up(*arguments) -> None:
        tick(*arguments)
        if next(count) % 20 == 10:
            time.sleep(0.03)

    arm.controller.tick = held_up
    subscription = peer.node.create_subscription(JointState, "joint_states", heard.append, qos.STATE)
    arm.start()
    try:
        peer.wait_for(lambda: bool(heard), "joint states")
        goal = np.array(HOME) + 0.5
        submitted = arm.controller.submit(joint_trajectory(HOME, goal, 0.7, 50))
        peer.wait_for(lambda: submitted.outcome is not None, "the end of the motion")
        peer.spin_for(0.1)
    finally:
        arm.destroy()
        peer.node.destroy_subscription(subscription)
    assert submitted.outcome.code == 0, submitted.outcome
    q = np.array([state.position for state in heard])
    t = np.array([state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec for state in heard])
    fastest = max(np.abs(state.velocity).max() for state in heard)
    assert fastest > 1.0
    assert np.all(np.abs(np.diff(q, axis=0)).max(axis=1) <= 1.05 * fastest * np.diff(t) + 2e-3)


def test_a_trajectory_in_another_joint_order_is_followed_exactly(mock, peer, states, action, joints):
    goal = dict(zip(joints, [0.4, -1.2, 1.2, -1.4, -1.3, 0.3]))
    names = [joints[i] for i in (5, 2, 0, 4, 1, 3)]
    answer = ended(peer, accepted(peer, action, one_point(names, [goal[name] for name in names], 1.0)))
    assert answer.status == GoalStatus.STATUS_SUCCEEDED, answer.result.error_string
    seen = len(states)
    peer.wait_for(lambda: len(states) > seen, "a later joint state")
    np.testing.assert_allclose(positions_by_name(states[-1], joints), [goal[name] for name in joints], atol=1e-9)
    velocities = np.array([state.velocity for state in states])
    assert np.abs(velocities).max() > 0.1


def test_cancel_holds_the_arm_where_it_is(mock, peer, states, action, joints):
    """Within a cycle, without deceleration, and with an empty result."""
    begin, first = positions_by_name(states[-1], joints), len(states)
    handle = accepted(peer, action, one_point(joints, begin + 0.8, 2.0))
    peer.wait_for(lambda: np.abs(np.array(states[-1].velocity)).max() > 0.2, "motion")
    cancelled = handle.cancel_goal_async()
    peer.wait_for(cancelled.done, "an answer to the cancellation")
    answer = ended(peer, handle)
    assert answer.status == GoalStatus.STATUS_CANCELED
    assert (answer.result.error_code, answer.result.error_string) == (0, "")
    peer.wait_for(lambda: not np.any(states[-1].velocity), "rest")
    speeds = [np.abs(state.velocity).max() for state in states[first:]]
    last = max(index for index, speed in enumerate(speeds) if speed > 0.0)
    assert speeds[last] > 0.19, "the arm was still fast in the cycle before"
    held, seen = np.array(states[-1].position), len(states)
    peer.wait_for(lambda: len(states) > seen + 50, "more joint states")
    np.testing.assert_array_equal(states[-1].position, held)
    np.testing.assert_array_equal(states[-1].velocity, np.zeros(6))


def test_a_motion_that_another_client_cancels_says_so(mock, peer, states, joints):
    """ros2_control gives no reason."""
    goal, failures = positions_by_name(states[-1], joints) + 0.6, []

    def move() -> None:
        with RosSession("mover", NAMESPACE) as session:
            try:
                ArmClient(session).move(one_point(joints, goal, 20.0))
            except MotionFailed as failure:
                failures.append(failure)

    thread = threading.Thread(target=move)
    thread.start()
    peer.wait_for(lambda: bool(np.any(states[-1].velocity)), "motion")
    with RosSession("holder", NAMESPACE) as session:
        StopClient(session).hold(30.0)
    peer.wait_for(lambda: not thread.is_alive(), "the end of the motion")
    assert "another client cancelled it" in str(failures[0])


def test_cancel_decelerates_if_the_parameter_says_so(start, peer, joints):
    """As joint_trajectory_controller with `constraints.decelerate_on_cancel`."""
    namespace = "/decelerating"
    arguments = [f"initial_positions:={HOME}", "decelerate_on_cancel:=true"]
    node = start("mock_hardware", *(word for text in arguments for word in ("-p", text)), namespace=namespace)
    assert peer.transition(node, Transition.TRANSITION_CONFIGURE)
    assert peer.transition(node, Transition.TRANSITION_ACTIVATE)
    heard: list[JointState] = []
    peer.node.create_subscription(JointState, f"{namespace}/joint_states", heard.append, qos.STATE)
    name = f"{namespace}/joint_trajectory_controller/follow_joint_trajectory"
    client = ActionClient(peer.node, FollowJointTrajectory, name)
    peer.wait_for(lambda: client.server_is_ready() and bool(heard), name)
    handle = accepted(peer, client, one_point(joints, np.array(HOME) + 0.8, 2.0))
    peer.wait_for(lambda: np.abs(np.array(heard[-1].velocity)).max() > 0.3, "motion")
    handle.cancel_goal_async()
    assert ended(peer, handle).status == GoalStatus.STATUS_CANCELED
    peer.wait_for(lambda: not np.any(heard[-1].velocity), "rest")
    speeds = [np.abs(state.velocity).max() for state in heard]
    assert speeds[max(index for index, speed in enumerate(speeds) if speed > 0.0)] < 0.05
    client.destroy()


def changed(trajectory: JointTrajectory, **fields) -> JointTrajectory:
    """A trajectory with other fields of its last point, or of itself."""
    for name, value in fields.items():
        setattr(trajectory if hasattr(trajectory, name) else trajectory.points[-1], name, value)
    return trajectory


REFUSED = {
    "unknown joint": (lambda names: one_point([*names[:5], "no_such_joint"], HOME, 1.0), "no_such_joint"),
    "some joints": (lambda names: one_point(names[:5], HOME[:5], 1.0), "its joints are"),
    "no points": (lambda names: JointTrajectory(joint_names=list(names)), "no points"),
    "moves at the end": (lambda names: changed(one_point(names, HOME, 1.0), velocities=[0.1] * 6), "still move"),
    "in the past": (lambda names: changed(one_point(names, HOME, 1.0), header=Header(stamp=Time(sec=9))), "the past"),
    "efforts": (lambda names: changed(one_point(names, HOME, 1.0), effort=[0.0] * 6), "efforts"),
    "too few velocities": (lambda names: changed(one_point(names, HOME, 1.0), velocities=[0.0]), "1 velocities"),
    "no positions": (lambda names: changed(one_point(names, HOME, 1.0), positions=[]), "0 positions"),
    "same time twice": (
        lambda names: changed(one_point(names, HOME, 1.0), points=2 * one_point(names, HOME, 1.0).points),
        "not later",
    ),
}
"""Trajectories that joint_trajectory_controller rejects, and a part of the reason."""


@pytest.mark.parametrize("name", REFUSED)
def test_a_goal_that_the_real_controller_rejects_is_rejected(mock, peer, action, joints, name):
    trajectory, reason = REFUSED[name][0](joints), REFUSED[name][1]
    assert reason in refusal(trajectory, joints, now=1e9)
    sent = action.send_goal_async(FollowJointTrajectory.Goal(trajectory=trajectory))
    peer.wait_for(sent.done, "an answer to the goal")
    assert not sent.result().accepted


def test_an_empty_trajectory_on_the_topic_does_not_stop_the_arm(mock, peer, states, action, joints):
    topic = f"{NAMESPACE}/joint_trajectory_controller/joint_trajectory"
    publisher = peer.node.create_publisher(JointTrajectory, topic, 1)
    begin = positions_by_name(states[-1], joints)
    handle = accepted(peer, action, one_point(joints, begin + 0.1, 2.0))
    peer.wait_for(lambda: publisher.get_subscription_count() > 0, topic)
    publisher.publish(JointTrajectory(joint_names=list(joints)))
    assert ended(peer, handle).status == GoalStatus.STATUS_SUCCEEDED
    np.testing.assert_allclose(positions_by_name(states[-1], joints), begin + 0.1, atol=1e-3)


def test_a_trajectory_on_the_topic_takes_over_the_goal_that_runs(mock, peer, states, action, joints):
    """The goal stays active and succeeds at the end of the new motion."""
    topic = f"{NAMESPACE}/joint_trajectory_controller/joint_trajectory"
    publisher = peer.node.create_publisher(JointTrajectory, topic, 1)
    begin = positions_by_name(states[-1], joints)
    peer.wait_for(lambda: publisher.get_subscription_count() > 0, topic)
    handle = accepted(peer, action, one_point(joints, begin + 0.3, 3.0))
    peer.wait_for(lambda: np.abs(positions_by_name(states[-1], joints) - begin).max() > 0.02, "motion")
    publisher.publish(one_point(joints, begin - 0.1, 1.5))
    assert ended(peer, handle).status == GoalStatus.STATUS_SUCCEEDED
    np.testing.assert_allclose(positions_by_name(states[-1], joints), begin - 0.1, atol=1e-3)


def test_rounding_of_the_last_velocity_is_rest(mock, peer, states, action, joints):
    trajectory = one_point(joints, positions_by_name(states[-1], joints), 0.2)
    trajectory.points[-1].velocities = [1e-8] * 6
    assert ended(peer, accepted(peer, action, trajectory)).status == GoalStatus.STATUS_SUCCEEDED


def test_a_new_goal_aborts_the_one_before(mock, peer, states, action, joints):
    begin = positions_by_name(states[-1], joints)
    first = accepted(peer, action, one_point(joints, begin + 0.5, 5.0))
    second = accepted(peer, action, one_point(joints, begin, 1.0))
    answer = ended(peer, first)
    assert answer.status == GoalStatus.STATUS_ABORTED
    assert answer.result.error_code == FollowJointTrajectory.Result.INVALID_GOAL
    assert ended(peer, second).status == GoalStatus.STATUS_SUCCEEDED


def test_knows_no_heartbeats_and_no_streams(mock, peer):
    """A planner that dies is not noticed by ros2_control."""
    subscribed = {
        name for name, _ in peer.node.get_subscriber_names_and_types_by_node("joint_trajectory_controller", NAMESPACE)
    }
    assert f"{NAMESPACE}/joint_trajectory_controller/joint_trajectory" in subscribed
    assert not {name for name in subscribed if name.endswith(("/watch", "/joint_stream"))}


def test_tells_its_state_like_the_real_controller(mock, peer, joints):
    heard: list[JointTrajectoryControllerState] = []
    topic = f"{NAMESPACE}/joint_trajectory_controller/controller_state"
    peer.node.create_subscription(JointTrajectoryControllerState, topic, heard.append, qos.STATE)
    peer.wait_for(lambda: bool(heard), topic)
    assert tuple(heard[0].joint_names) == joints
    assert len(heard[0].feedback.positions) == len(joints)


def test_up_and_down_again(mock, peer, states, joints):
    for _ in range(2):
        assert peer.transition(mock, Transition.TRANSITION_DEACTIVATE)
        assert peer.transition(mock, Transition.TRANSITION_CLEANUP)
        assert peer.transition(mock, Transition.TRANSITION_CONFIGURE)
        assert peer.transition(mock, Transition.TRANSITION_ACTIVATE)
    seen = len(states)
    peer.wait_for(lambda: len(states) > seen + 10, "joint states")
    np.testing.assert_allclose(positions_by_name(states[-1], joints), HOME)
    assert mock.stop() == 0
    assert "Traceback" not in mock.close()
