"""The node model_server as a real process, talked to over DDS."""

from __future__ import annotations

import re
import signal
import time

import numpy as np
import pytest
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from manipapy_msgs.srv import ComputeFK
from rcl_interfaces.srv import DescribeParameters
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from manipapy_core import Robot, kinematics, lie
from manipapy_ros.common import qos
from manipapy_ros.common.process import REPEATED_SIGNAL

CONFIGURE, CLEANUP = Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_CLEANUP
ACTIVATE, DEACTIVATE = Transition.TRANSITION_ACTIVATE, Transition.TRANSITION_DEACTIVATE
Q = np.array([0.3, -1.2, 1.4, -0.7, 0.5, 2.0])


@pytest.fixture(scope="module")
def server(start_for_module, peer):
    """A model_server for the UR5, active."""
    node = start_for_module("model_server")
    assert peer.transition(node, CONFIGURE)
    assert peer.transition(node, ACTIVATE)
    return node


@pytest.fixture(scope="module")
def ur5():
    return Robot.from_urdf("ur5").chain("base_link", "tool0")


def joint_state(names, positions) -> JointState:
    message = JointState(name=list(names), position=[float(value) for value in positions])
    message.header.stamp.sec = 42
    return message


def matrix(pose) -> np.ndarray:
    quaternion = [pose.orientation.x, pose.orientation.y, pose.orientation.z, pose.orientation.w]
    return lie.pose(lie.rotation_from_quaternion(quaternion), [pose.position.x, pose.position.y, pose.position.z])


def ask(peer, node, state, links=()):
    request = ComputeFK.Request(joint_state=state, link_names=list(links))
    return peer.call(ComputeFK, node, "compute_fk", request)


def test_description_reaches_a_late_subscriber(server, peer):
    received = []
    peer.node.create_subscription(String, "robot_description", received.append, qos.ROBOT_DESCRIPTION)
    peer.wait_for(lambda: bool(received), "robot_description")
    assert received[0].data == Robot.from_urdf("ur5").urdf


def test_forward_kinematics_of_the_tip(server, peer, ur5):
    answer = ask(peer, server, joint_state(ur5.joint_names, Q))
    assert answer.success, answer.message
    assert answer.link_names == ["tool0"]
    assert answer.poses[0].header.frame_id == "base_link"
    assert answer.poses[0].header.stamp.sec == 42
    np.testing.assert_allclose(matrix(answer.poses[0].pose), kinematics.forward(ur5, Q), atol=1e-12)


def test_joint_order_does_not_matter_and_unknown_joints_are_ignored(server, peer, ur5):
    order = [3, 0, 5, 1, 4, 2]
    names = [*(ur5.joint_names[i] for i in order), "gripper_joint"]
    answer = ask(peer, server, joint_state(names, [*Q[order], 0.02]))
    np.testing.assert_allclose(matrix(answer.poses[0].pose), kinematics.forward(ur5, Q), atol=1e-12)


def test_poses_of_named_links(server, peer, ur5):
    links = ["wrist_1_link", "shoulder_link", "base_link"]
    answer = ask(peer, server, joint_state(ur5.joint_names, Q), links)
    assert answer.success, answer.message
    assert answer.link_names == links
    expected = kinematics.link_poses(ur5, Q)
    for name, pose in zip(links, answer.poses):
        np.testing.assert_allclose(matrix(pose.pose), expected[ur5.link_names.index(name)], atol=1e-12)


@pytest.mark.parametrize(
    ("spoil", "links", "reason"),
    [
        (lambda state: state.name.pop(), (), "5 names and 6 positions"),
        (lambda state: (state.name.pop(), state.position.pop()), (), "no position for wrist_3_joint"),
        (lambda state: state.name.__setitem__(0, state.name[1]), (), "more than once"),
        (lambda state: state.position.__setitem__(2, float("nan")), (), "elbow_joint = nan"),
        (lambda state: None, ("no_such_link",), "no link 'no_such_link'"),
    ],
    ids=["lengths differ", "joint missing", "joint twice", "nan", "unknown link"],
)
def test_a_bad_question_gets_an_answer_that_says_why(server, peer, ur5, spoil, links, reason):
    state = joint_state(ur5.joint_names, Q)
    spoil(state)
    answer = ask(peer, server, state, links)
    assert not answer.success
    assert reason in answer.message
    assert not answer.poses
    assert ask(peer, server, joint_state(ur5.joint_names, Q)).success


def test_does_not_answer_while_inactive(server, peer, ur5):
    assert peer.transition(server, DEACTIVATE)
    answer = ask(peer, server, joint_state(ur5.joint_names, Q))
    assert peer.transition(server, ACTIVATE)
    assert not answer.success
    assert "not active" in answer.message


def test_impossible_transitions_leave_the_node_alive(server, peer):
    for transition_id in (CONFIGURE, ACTIVATE, CLEANUP, 200):
        assert not peer.transition(server, transition_id)
    request = ChangeState.Request(transition=Transition(label="no_such_transition"))
    assert not peer.call(ChangeState, server, "change_state", request).success
    assert peer.state(server) == "active"
    assert server.is_running


def test_up_and_down_again(server, peer, ur5):
    for _ in range(3):
        assert peer.transition(server, DEACTIVATE)
        assert peer.transition(server, CLEANUP)
        assert peer.state(server) == "unconfigured"
        assert peer.transition(server, CONFIGURE)
        assert peer.transition(server, ACTIVATE)
    assert ask(peer, server, joint_state(ur5.joint_names, Q)).success


def test_unknown_robot_fails_to_configure_and_names_the_cure(start, peer):
    node = start("model_server", "-p", "robot:=no_such_robot", namespace="/unknown")
    assert not peer.transition(node, CONFIGURE)
    assert peer.state(node) == "unconfigured"
    assert node.stop() == 0
    assert re.search(r"configuring failed: no_such_robot.*\n.*ur5", node.close())


def test_parameter_file_and_namespace(start, peer, project):
    node = start("model_server", "--params-file", str(project / "config/panda.yaml"), namespace="/left")
    assert peer.transition(node, CONFIGURE)
    assert peer.transition(node, ACTIVATE)
    panda = Robot.from_urdf("panda").chain("panda_link0", "panda_hand_tcp")
    q = np.linspace(-0.5, 0.4, panda.n)
    answer = ask(peer, node, joint_state(panda.joint_names, q))
    assert answer.success, answer.message
    np.testing.assert_allclose(matrix(answer.poses[0].pose), kinematics.forward(panda, q), atol=1e-12)


def test_parameters_explain_themselves(server, peer):
    request = DescribeParameters.Request(names=["robot", "base_link", "tip_link"])
    answer = peer.call(DescribeParameters, server, "describe_parameters", request)
    assert all(descriptor.description for descriptor in answer.descriptors)


@pytest.mark.parametrize("steps", [(), (CONFIGURE,), (CONFIGURE, ACTIVATE)], ids=["unconfigured", "inactive", "active"])
def test_ctrl_c_ends_the_node_cleanly(start, peer, steps):
    node = start("model_server", namespace=f"/stopped_{len(steps)}")
    assert peer.state(node) == "unconfigured"
    assert all(peer.transition(node, step) for step in steps)
    assert node.stop() == 0
    assert "Traceback" not in node.close()


def test_terminate_ends_the_node_cleanly(start, peer):
    node = start("model_server", namespace="/terminated")
    assert peer.transition(node, CONFIGURE)
    assert node.stop(signal.SIGTERM) == 0


def test_a_signal_that_a_launcher_passes_on_once_more_changes_nothing(start, peer):
    node = start("model_server", namespace="/told_twice")
    assert peer.transition(node, CONFIGURE)
    assert peer.transition(node, ACTIVATE)
    # Again and again until it is gone: every moment of its end is met, the interpreter's own included.
    node.process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + 0.9 * REPEATED_SIGNAL
    while node.process.poll() is None and time.monotonic() < deadline:
        node.process.send_signal(signal.SIGINT)
        time.sleep(0.002)
    assert node.process.wait(5.0) == 0
    assert "Traceback" not in node.close()


def test_ctrl_c_reaches_a_node_whose_parent_ignores_it(start, peer):
    # Shells start background jobs so. Python then raises no KeyboardInterrupt, and all depends on rclpy.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        nodes = [start("model_server", namespace=f"/background_{i}") for i in range(3)]
    finally:
        signal.signal(signal.SIGINT, before)
    for node in nodes:
        assert peer.state(node) == "unconfigured"
        assert node.stop() == 0


def test_shutdown_by_its_manager(start, peer):
    node = start("model_server", namespace="/managed")
    assert peer.transition(node, CONFIGURE)
    assert peer.transition(node, ACTIVATE)
    assert peer.transition(node, Transition.TRANSITION_ACTIVE_SHUTDOWN)
    assert peer.state(node) == "finalized"
    assert node.stop() == 0
