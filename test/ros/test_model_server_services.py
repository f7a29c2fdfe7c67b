"""Services of model_server over DDS against the library, and how it follows descriptions and makes way for others."""

from __future__ import annotations

import numpy as np
import pytest
from geometry_msgs.msg import Vector3
from lifecycle_msgs.msg import Transition
from manipapy_msgs.srv import ComputeDynamics, ComputeFK, ComputeIK, ComputeJacobian, ComputeManipulability
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from manipapy_core import Robot, dynamics, kinematics, lie
from manipapy_ros.common import qos
from manipapy_ros.common.conversions import pose_from_matrix

Q = np.array([0.3, -1.2, 1.4, -0.7, 0.5, 2.0])
QD = np.array([0.2, -0.4, 0.5, 0.1, -0.6, 0.3])
QDD = np.array([1.0, 0.5, -0.7, 0.2, 0.9, -1.1])
ORDER = [4, 2, 0, 5, 1, 3]


@pytest.fixture(scope="module")
def ur5():
    return Robot.from_urdf("ur5").chain("base_link", "tool0")


def brought_up(peer, node):
    assert peer.transition(node, Transition.TRANSITION_CONFIGURE)
    assert peer.transition(node, Transition.TRANSITION_ACTIVATE)
    return node


@pytest.fixture(scope="module")
def server(start_for_module, peer):
    return brought_up(peer, start_for_module("model_server", namespace="/services"))


def jumbled(ur5, **values) -> JointState:
    names = [ur5.joint_names[i] for i in ORDER]
    return JointState(name=names, **{field: [float(array[i]) for i in ORDER] for field, array in values.items()})


def test_inverse_kinematics_of_a_pose_and_all_its_solutions(server, peer, ur5):
    T = kinematics.forward(ur5, Q)
    request = ComputeIK.Request(seed=jumbled(ur5, position=Q + 0.1))
    request.pose.pose = pose_from_matrix(T)
    answer = peer.call(ComputeIK, server, "compute_ik", request)
    assert answer.success, answer.message
    np.testing.assert_allclose(answer.solutions[0].position, Q, atol=1e-5)
    request.all_solutions = True
    answer = peer.call(ComputeIK, server, "compute_ik", request)
    assert len(answer.solutions) > 1
    for solution in answer.solutions:
        assert tuple(solution.name) == ur5.joint_names
        np.testing.assert_allclose(kinematics.forward(ur5, solution.position), T, atol=1e-5)


def test_a_pose_in_another_fixed_frame_is_understood_and_a_moving_one_refused(server, peer, ur5):
    # `base` of a UR is turned by pi about z against `base_link`.
    T_base_link_base = lie.pose(np.diag([-1.0, -1.0, 1.0]), np.zeros(3))
    request = ComputeIK.Request(seed=jumbled(ur5, position=Q))
    request.pose.header.frame_id = "base"
    request.pose.pose = pose_from_matrix(lie.inverse(T_base_link_base) @ kinematics.forward(ur5, Q))
    answer = peer.call(ComputeIK, server, "compute_ik", request)
    np.testing.assert_allclose(answer.solutions[0].position, Q, atol=1e-5)
    request.pose.header.frame_id = "forearm_link"
    answer = peer.call(ComputeIK, server, "compute_ik", request)
    assert not answer.success and "'forearm_link' moves" in answer.message


def test_a_pose_out_of_reach_says_so_and_gives_the_closest(server, peer, ur5):
    request = ComputeIK.Request()
    request.pose.pose.position.x, request.pose.pose.orientation.w = 5.0, 1.0
    answer = peer.call(ComputeIK, server, "compute_ik", request)
    assert not answer.success and answer.status == "unreachable" and "mm" in answer.message
    assert len(answer.solutions) == 1


def test_jacobians_and_their_derivatives(server, peer, ur5):
    request = ComputeJacobian.Request(joint_state=jumbled(ur5, position=Q, velocity=QD))
    expected = {
        request.SPACE: (kinematics.space_jacobian(ur5, Q), kinematics.space_jacobian_derivative(ur5, Q, QD)),
        request.BODY: (kinematics.body_jacobian(ur5, Q), kinematics.body_jacobian_derivative(ur5, Q, QD)),
    }
    for kind, (matrix, derivative) in expected.items():
        request.kind = kind
        answer = peer.call(ComputeJacobian, server, "jacobian", request)
        assert answer.success, answer.message
        np.testing.assert_allclose(np.reshape(answer.jacobian, (6, 6)), matrix, atol=1e-12)
        np.testing.assert_allclose(np.reshape(answer.jacobian_derivative, (6, 6)), derivative, atol=1e-12)


def test_geometric_jacobian_is_the_rate_of_the_tip(server, peer, ur5):
    request = ComputeJacobian.Request(joint_state=jumbled(ur5, position=Q), kind=ComputeJacobian.Request.GEOMETRIC)
    answer = peer.call(ComputeJacobian, server, "jacobian", request)
    step = 1e-6
    ahead, behind = kinematics.forward(ur5, Q + step * QD), kinematics.forward(ur5, Q - step * QD)
    velocity = (ahead - behind)[:3, 3] / (2.0 * step)
    np.testing.assert_allclose((np.reshape(answer.jacobian, (6, 6)) @ QD)[3:], velocity, atol=1e-8)


def test_dynamics_adds_up_and_forward_undoes_inverse(server, peer, ur5):
    request = ComputeDynamics.Request(
        joint_state=jumbled(ur5, position=Q, velocity=QD), accelerations=[float(QDD[i]) for i in ORDER]
    )
    request.payload_mass, request.payload_com.z = 1.5, 0.08
    request.wrench_tip.force.z = 20.0
    request.gravity = Vector3(x=0.0, y=1.0, z=-9.0)
    answer = peer.call(ComputeDynamics, server, "dynamics", request)
    assert answer.success, answer.message
    payload = dynamics.Payload(1.5, (0.0, 0.0, 0.08))
    wrench = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 20.0])
    tau = dynamics.inverse_dynamics(ur5, Q, QD, QDD, gravity=(0.0, 1.0, -9.0), payload=payload, wrench_tip=wrench)
    np.testing.assert_allclose(answer.efforts, tau, atol=1e-9)
    M = np.reshape(answer.mass_matrix, (6, 6))
    np.testing.assert_allclose(M, M.T, atol=1e-9)
    pressing = kinematics.body_jacobian(ur5, Q).T @ wrench
    total = M @ QDD + np.array(answer.coriolis) + np.array(answer.gravity_efforts) + pressing
    np.testing.assert_allclose(total, tau, atol=1e-9)
    request.joint_state = jumbled(ur5, position=Q, velocity=QD, effort=tau)
    answer = peer.call(ComputeDynamics, server, "dynamics", request)
    np.testing.assert_allclose(answer.accelerations, QDD, atol=1e-7)


def test_manipulability_is_the_volume_of_the_ellipsoid(server, peer, ur5):
    request = ComputeManipulability.Request(joint_state=jumbled(ur5, position=Q))
    answer = peer.call(ComputeManipulability, server, "manipulability", request)
    assert answer.success, answer.message
    J = kinematics.body_jacobian(ur5, Q)
    assert answer.full == pytest.approx(np.sqrt(np.linalg.det(J @ J.T)))
    assert answer.linear == pytest.approx(np.prod(answer.axis_lengths))
    assert answer.condition == pytest.approx(answer.axis_lengths[0] / answer.axis_lengths[2])
    assert answer.tightest_joint in ur5.joint_names and 0.0 <= answer.room <= 1.0


def test_frames_follow_the_joints(server, peer, ur5):
    received = []
    peer.node.create_subscription(TFMessage, "/services/tf", received.append, QoSProfile(depth=100))
    publisher = peer.node.create_publisher(JointState, "/services/joint_states", qos.STATE)
    state = jumbled(ur5, position=Q)

    def arrived() -> bool:
        publisher.publish(state)
        return bool(received)

    peer.wait_for(arrived, "tf")
    static = []
    peer.node.create_subscription(TFMessage, "/services/tf_static", static.append, qos.LATCHED)
    peer.wait_for(lambda: bool(static), "tf_static")
    frames = {frame.child_frame_id: frame for frame in [*static[0].transforms, *received[-1].transforms]}
    T, link = np.eye(4), "tool0"
    while link != "base_link":
        transform = frames[link].transform
        r, t = transform.rotation, transform.translation
        T = lie.pose(lie.rotation_from_quaternion([r.x, r.y, r.z, r.w]), [t.x, t.y, t.z]) @ T
        link = frames[link].header.frame_id
    np.testing.assert_allclose(T, kinematics.forward(ur5, Q), atol=1e-9)


def set_robot(peer, node, name: str):
    value = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=name)
    others = {"panda": ("panda_link0", "panda_hand_tcp"), "ur5": ("base_link", "tool0")}.get(name, ("", "tool0"))
    values = {"base_link": others[0], "tip_link": others[1]}
    parameters = [Parameter(name="robot", value=value)]
    parameters += [
        Parameter(name=key, value=ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=text))
        for key, text in values.items()
    ]
    request = SetParameters.Request(parameters=parameters)
    return peer.call(SetParameters, node, "set_parameters", request).results


def test_a_robot_that_cannot_be_used_changes_nothing(server, peer, ur5):
    results = set_robot(peer, server, "no_such_robot")
    assert not results[0].successful and "no_such_robot" in results[0].reason
    set_robot(peer, server, "ur5")
    answer = peer.call(ComputeFK, server, "compute_fk", ComputeFK.Request(joint_state=jumbled(ur5, position=Q)))
    assert answer.success, answer.message


def test_description_by_topic_and_again_by_topic(start, peer):
    node = brought_up(peer, start("model_server", "-p", "robot:=''", "-p", "tip_link:=tip", namespace="/follower"))
    answer = peer.call(ComputeFK, node, "compute_fk", ComputeFK.Request())
    assert not answer.success and "no robot description" in answer.message
    publisher = peer.node.create_publisher(String, "/follower/robot_description", qos.ROBOT_DESCRIPTION)

    def answers(link_count: int) -> bool:
        state = JointState(name=[f"joint{i}" for i in range(link_count)], position=[0.0] * link_count)
        request = ComputeFK.Request(joint_state=state, link_names=["tip"])
        answer = peer.call(ComputeFK, node, "compute_fk", request)
        return answer.success and answer.poses[0].pose.position.x == pytest.approx(link_count)

    for link_count in (1, 2):
        publisher.publish(String(data=straight_arm(link_count)))
        peer.wait_for(lambda count=link_count: answers(count), f"an arm of {link_count} links")
    publisher.publish(String(data="<robot name='broken'/>"))
    peer.wait_for(lambda: answers(2), "the last good robot")


def test_makes_way_for_a_robot_state_publisher(start, peer):
    node = brought_up(peer, start("model_server", namespace="/modest"))
    peer.wait_for(lambda: peer.node.count_publishers("/modest/tf") == 1, "its own tf")
    publisher = peer.node.create_publisher(String, "/modest/robot_description", qos.ROBOT_DESCRIPTION)
    peer.wait_for(lambda: peer.node.count_publishers("/modest/tf") == 0, "its silence")
    peer.node.destroy_publisher(publisher)
    peer.wait_for(lambda: peer.node.count_publishers("/modest/tf") == 1, "its return")
    assert node.is_running


def straight_arm(links: int) -> str:
    """Joints 1 m apart along x; the frame `tip` is that of the last link."""
    inertial = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
    limit = "<limit lower='-1' upper='1' velocity='1' effort='1'/>"
    parts = ["<link name='link0'/>"]
    for i in range(links):
        parts.append(f"<link name='link{i + 1}'>{inertial}</link>")
        parts.append(
            f"<joint name='joint{i}' type='revolute'><parent link='link{i}'/><child link='link{i + 1}'/>"
            f"<origin xyz='1 0 0'/><axis xyz='0 0 1'/>{limit}</joint>"
        )
    parts.append("<link name='tip'/>")
    parts.append(f"<joint name='end' type='fixed'><parent link='link{links}'/><child link='tip'/></joint>")
    return f"<robot name='straight{links}'>{''.join(parts)}</robot>"
