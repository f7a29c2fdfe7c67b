"""Inputs of the nodes: messages to arrays and back, and parameters from their table."""

from __future__ import annotations

import numpy as np
import pytest
import rclpy
from hypothesis import given
from hypothesis import strategies as st
from rclpy.context import Context
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState

from manipapy_core import lie
from manipapy_ros.common import params
from manipapy_ros.common.conversions import MalformedJointState, MissingJoints, pose_from_matrix, positions_by_name

NAMES = ("shoulder", "elbow", "wrist")

TABLE = (
    params.Param("rate", 100.0, "Rate [Hz]", minimum=1.0, maximum=1000.0),
    params.Param("retries", 3, "Attempts", minimum=0),
    params.Param("frame", "base", "Frame", read_only=True),
    params.Param("verbose", False, "Say more"),
)


@given(st.permutations(list(zip(NAMES, (1.0, 2.0, 3.0)))), st.integers(0, 3))
def test_positions_follow_the_names(pairs, place):
    pairs = [*pairs[:place], ("stranger", 9.0), *pairs[place:]]
    state = JointState(name=[name for name, _ in pairs], position=[value for _, value in pairs])
    np.testing.assert_array_equal(positions_by_name(state, NAMES), [1.0, 2.0, 3.0])


def test_missing_joints_are_named():
    with pytest.raises(MissingJoints) as caught:
        positions_by_name(JointState(name=["elbow"], position=[0.0]), NAMES)
    assert caught.value.missing == ("shoulder", "wrist")


def test_a_joint_state_of_velocities_only_is_refused():
    with pytest.raises(MalformedJointState, match="3 names and 0 positions"):
        positions_by_name(JointState(name=list(NAMES), velocity=[0.0, 0.0, 0.0]), NAMES)


@given(st.lists(st.floats(-3.0, 3.0), min_size=6, max_size=6))
def test_pose_message_says_the_same_as_the_matrix(twist):
    T = lie.exp_se3(twist)
    pose = pose_from_matrix(T)
    q = pose.orientation
    np.testing.assert_allclose(lie.rotation_from_quaternion([q.x, q.y, q.z, q.w]), T[:3, :3], atol=1e-12)
    np.testing.assert_array_equal([pose.position.x, pose.position.y, pose.position.z], T[:3, 3])


@pytest.fixture
def make_node(domain):
    """Makes a node with the table's parameters, some overridden."""
    context = Context()
    rclpy.init(context=context)
    nodes = []

    def make(**overrides) -> Node:
        given = [Parameter(name, value=value) for name, value in overrides.items()]
        nodes.append(Node("table_test", context=context, parameter_overrides=given))
        params.declare(nodes[-1], TABLE)
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()
    rclpy.shutdown(context=context)


def test_defaults_and_overrides(make_node):
    assert params.read(make_node(rate=250.0), TABLE) == {"rate": 250.0, "retries": 3, "frame": "base", "verbose": False}


@pytest.mark.parametrize(
    ("override", "error"),
    [
        ({"rate": 0.5}, InvalidParameterValueException),
        ({"retries": -1}, InvalidParameterValueException),
        ({"rate": "fast"}, InvalidParameterTypeException),
    ],
    ids=["too small", "negative", "text for a number"],
)
def test_bad_values_stop_the_start(make_node, override, error):
    with pytest.raises(error):
        make_node(**override)


def test_bad_values_are_refused_at_run_time(make_node):
    node = make_node()
    for name, value in (("rate", 5000.0), ("frame", "tip"), ("retries", 1.5)):
        assert not node.set_parameters([Parameter(name, value=value)])[0].successful
    assert node.set_parameters([Parameter("retries", value=7)])[0].successful
    assert params.read(node, TABLE)["retries"] == 7
