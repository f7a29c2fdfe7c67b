"""Every node takes its robot by bundled name, by xacro file with arguments, by parameter, or from the latched topic."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.msg import Transition
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from std_msgs.msg import String

from manipapy_core import Robot
from manipapy_core.errors import InputError
from manipapy_core.model.arms import gravity_in_base
from manipapy_ros.common import qos
from manipapy_ros.common.robot_loader import (
    ROBOT_PARAMETERS,
    LoadedRobot,
    robot_from_parameters,
    robot_from_text,
    with_folder,
    xacro_arguments,
)
from ros_arm import bring_up

XACRO = """<?xml version="1.0"?>
<robot name="$(arg side)_arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="side" default="left"/>
  <xacro:macro name="bar" params="name">
    <link name="${name}">
      <inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
      <collision><origin xyz="0 0 0.1"/><geometry><box size="0.05 0.05 0.2"/></geometry></collision>
    </link>
  </xacro:macro>
  <xacro:macro name="hinge" params="name parent child axis">
    <joint name="${name}" type="revolute">
      <parent link="${parent}"/><child link="${child}"/><origin xyz="0 0 0.25"/><axis xyz="${axis}"/>
      <limit lower="-2" upper="2" velocity="1" effort="50"/>
    </joint>
  </xacro:macro>
  <xacro:bar name="foot"/>
  <xacro:bar name="upper"/>
  <xacro:bar name="hand"/>
  <xacro:hinge name="$(arg side)_shoulder" parent="foot" child="upper" axis="0 1 0"/>
  <xacro:hinge name="$(arg side)_elbow" parent="upper" child="hand" axis="1 0 0"/>
</robot>
"""
LINKS = ("-p", "tip_link:=hand")
FROM_TOPIC = ("-p", "robot:=''")
NODES = ("controller", "sim_bridge", "planner")
DEFAULTS = {row.name: row.default for row in ROBOT_PARAMETERS}


@pytest.fixture(scope="module")
def xacro_file(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("robots") / "arm.urdf.xacro"
    file.write_text(XACRO)
    return file


@pytest.fixture(scope="module")
def urdf(xacro_file) -> str:
    return Robot.from_urdf(xacro_file, xacro_args={"side": "middle"}).urdf


def assert_robot(peer, node, robot: str, joints: str) -> None:
    """The node works with this robot, as diagnostics name it, and these joints, as its log names them."""
    name, seen = node.full_name.lstrip("/"), set()

    def note(message: DiagnosticArray) -> None:
        seen.update(status.hardware_id for status in message.status if status.name == name)

    subscription = peer.node.create_subscription(DiagnosticArray, "/diagnostics", note, 10)
    peer.wait_for(lambda: bool(seen), f"diagnostics of {name}")
    peer.node.destroy_subscription(subscription)
    assert seen == {robot}
    assert joints in node.printed


@pytest.mark.parametrize("name", NODES)
def test_bundled_name(start, peer, name):
    node = start(name, "-p", "robot:=iiwa14", "-p", "tip_link:=iiwa_link_ee", namespace="/by_name")
    bring_up(peer, node)
    assert_robot(peer, node, "iiwa14", "iiwa_joint_1, iiwa_joint_2")


@pytest.mark.parametrize("name", NODES)
def test_xacro_file_with_arguments(start, peer, xacro_file, name):
    file = ("-p", f"robot:={xacro_file}", "-p", "xacro_args:=side:=right", *LINKS)
    node = start(name, *file, namespace="/by_file")
    bring_up(peer, node)
    assert_robot(peer, node, "right_arm", "right_shoulder, right_elbow")


@pytest.mark.parametrize("name", NODES)
def test_latched_topic(start, peer, urdf, name):
    publisher = peer.node.create_publisher(String, "/by_topic/robot_description", qos.ROBOT_DESCRIPTION)
    publisher.publish(String(data=urdf))
    node = start(name, *FROM_TOPIC, *LINKS, namespace="/by_topic")
    bring_up(peer, node)
    assert_robot(peer, node, "middle_arm", "middle_shoulder, middle_elbow")
    peer.node.destroy_publisher(publisher)


def test_description_parameter_takes_precedence(start, peer, urdf):
    text = urdf.replace("\n", " ").replace("'", '"')
    node = start("controller", "-p", f"robot_description:='{text}'", *LINKS, namespace="/by_text")
    bring_up(peer, node)
    assert_robot(peer, node, "middle_arm", "middle_shoulder, middle_elbow")


def test_configuring_fails_without_a_description_and_succeeds_with_one(start, peer, urdf):
    timeout = ("-p", "robot_description_timeout:=0.1")
    node = start("mock_hardware", *FROM_TOPIC, *LINKS, *timeout, namespace="/too_early")
    assert not peer.transition(node, Transition.TRANSITION_CONFIGURE)
    assert peer.state(node) == "unconfigured"
    assert "no robot description arrived on /too_early/robot_description" in node.printed
    publisher = peer.node.create_publisher(String, "/too_early/robot_description", qos.ROBOT_DESCRIPTION)
    publisher.publish(String(data=urdf))
    set_parameter(peer, node, "robot_description_timeout", 60.0)
    bring_up(peer, node)
    assert_robot(peer, node, "middle_arm", "middle_shoulder, middle_elbow")


def test_a_signal_ends_the_wait_for_a_description(start, peer):
    node = start("mock_hardware", *FROM_TOPIC, "-p", "robot_description_timeout:=3600.0", namespace="/waiting")
    from lifecycle_msgs.srv import ChangeState

    assert peer.state(node) == "unconfigured"
    client = peer.node.create_client(ChangeState, f"{node.full_name}/change_state")
    peer.wait_for(client.service_is_ready, "the service change_state")
    client.call_async(ChangeState.Request(transition=Transition(id=Transition.TRANSITION_CONFIGURE)))
    peer.wait_for(lambda: "waiting for /waiting/robot_description" in node.printed, "the wait to begin")
    assert node.stop() == 0


def test_another_robot_is_refused_while_configured(start, peer):
    node = start("mock_hardware", namespace="/fixed")
    bring_up(peer, node)
    result = set_parameter(peer, node, "robot", "panda")
    assert not result.successful
    assert "robot is read when the node is configured" in result.reason
    assert set_parameter(peer, node, "robot", "ur5").successful, "setting the value it has changes nothing"


def set_parameter(peer, node, name, value):
    request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
    return peer.call(SetParameters, node, "set_parameters", request).results[0]


def test_order_of_precedence():
    assert robot_from_parameters({**DEFAULTS, "robot": ""}) is None
    text = Robot.from_urdf("panda").urdf
    assert robot_from_parameters({**DEFAULTS, "robot_description": text}).name == "panda"
    assert robot_from_parameters(DEFAULTS).name == "ur5"


def test_xacro_from_the_topic_is_refused():
    with pytest.raises(InputError, match="xacro"):
        robot_from_text(XACRO, DEFAULTS)


def test_xacro_arguments_are_split_like_a_command_line():
    assert xacro_arguments("") is None
    assert xacro_arguments("a:=1 b:='two words' c:=x:=y") == {"a": "1", "b": "two words", "c": "x:=y"}
    with pytest.raises(InputError, match="'side=left'; write name:=value"):
        xacro_arguments("side=left")


def test_an_arm_without_joints_is_refused():
    with pytest.raises(InputError, match="no joint moves between 'base_link' and 'base_link_inertia'"):
        LoadedRobot.of(Robot.from_urdf("ur5"), {**DEFAULTS, "base_link": "base_link", "tip_link": "base_link_inertia"})


LIFTED = """<robot name="lifted"><link name="floor"/><link name="torso"/><link name="upper"/><link name="lower"/>
  <link name="hand"><inertial><mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><mesh filename="package://nowhere/hand.stl"/></geometry></collision></link>
  <joint name="lift" type="prismatic"><parent link="floor"/><child link="torso"/><origin rpy="0 1.5707963267948966 0"/>
    <axis xyz="1 0 0"/><limit lower="-0.5" upper="-0.1" velocity="1" effort="10"/></joint>
  <joint name="first" type="continuous"><parent link="torso"/><child link="upper"/><origin xyz="0 0 0.3"/></joint>
  <joint name="second" type="continuous"><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/></joint>
  <joint name="third" type="continuous"><parent link="lower"/><child link="hand"/><axis xyz="0 0 1"/></joint></robot>"""
ARM = {**DEFAULTS, "robot": "", "robot_description": LIFTED, "base_link": "torso", "tip_link": "hand"}


def test_joints_below_the_arm_are_locked_and_their_positions_checked():
    robot = robot_from_parameters(ARM)
    assert robot is not None
    model = LoadedRobot.of(robot, {**ARM, "locked_joints": "lift:=-0.3"})
    assert model.carrying_joints == {"lift": -0.3}
    # The root is 0.3 m along the lift's axis from the torso, and turned.
    np.testing.assert_allclose(model.fixed_pose("floor")[:3, 3], [0.3, 0.0, 0.0], atol=1e-12)
    model.require_locked({"lift": -0.305, "first": 2.0})
    model.require_locked({"first": 2.0})
    with pytest.raises(
        InputError, match=r"'lift' carries the arm and is at -0.4, not at -0.3.*locked_joints lift:=-0.4"
    ):
        model.require_locked({"lift": -0.4})
    assert LoadedRobot.of(robot, ARM).carrying_joints == {"lift": -0.1}
    with pytest.raises(InputError, match=r"locked_joints has lift:='high'; write the position as a number"):
        LoadedRobot.of(robot, {**ARM, "locked_joints": "lift:=high"})


def test_gravity_follows_the_mounting_of_the_arm():
    robot = robot_from_parameters(ARM)
    np.testing.assert_allclose(gravity_in_base(robot, LoadedRobot.of(robot, ARM).chain), [9.81, 0, 0], atol=1e-12)


def test_missing_collision_mesh_is_an_error_where_collisions_are_checked_and_may_be_ignored():
    robot = robot_from_parameters(ARM)
    with pytest.raises(InputError, match=r"'package://nowhere/hand.stl' of link 'hand' is not found; .*package_paths"):
        LoadedRobot.of(robot, ARM).require_collision_meshes()
    careless = {**ARM, "ignore_missing_meshes": True}
    LoadedRobot.of(robot_from_parameters(careless), careless).require_collision_meshes()


def test_nodes_assume_limits_that_are_missing():
    robot = robot_from_parameters(ARM)
    assert robot.assumed_of("first") == ("velocity", "effort", "acceleration", "jerk")
    assert np.isfinite(LoadedRobot.of(robot, ARM).chain.limits.acceleration).all()


def test_a_robot_folder_brings_the_parameters_that_are_not_set(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "lifted.urdf").write_text(LIFTED)
    lines = "{base_link: torso, tip_link: hand, locked_joints: 'lift:=-0.2', ignore_missing_meshes: true}"
    (tmp_path / "config" / "lifted.yaml").write_text(f"/**: {{ros__parameters: {lines}}}")
    (tmp_path / "config" / "joint_limits.yaml").write_text("joint_limits: {first: {max_velocity: 0.7}}")
    values = with_folder({**DEFAULTS, "robot": str(tmp_path), "tip_link": "lower"})
    assert (values["base_link"], values["tip_link"], values["locked_joints"]) == ("torso", "lower", "lift:=-0.2")
    robot = robot_from_parameters(values)
    assert robot.joints["first"].velocity == 0.7 and robot.assumed_of("first") == ("effort", "acceleration", "jerk")
    chain = LoadedRobot.of(robot, values).chain
    assert chain.joint_names == ("first", "second") and dict(chain.locked)["lift"] == -0.2
    with pytest.raises(InputError, match="is a folder without a robot"):
        with_folder({**DEFAULTS, "robot": str(tmp_path / "config")})


def test_a_parameter_of_the_wrong_type_ends_the_node_with_a_sentence(domain):
    command = [sys.executable, "-m", "manipapy_ros.model_server.node", "--ros-args", "-p", "robot:=5"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 2
    assert "cannot start: Trying to set parameter 'robot' to '5'" in ended.stderr
    assert "Traceback" not in ended.stderr
