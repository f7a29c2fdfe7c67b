"""Messages that are made by writing numbers into serialized ones, against those that rclpy makes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTrajectoryControllerState
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from manipapy_ros.common import qos
from manipapy_ros.controller.status import StateMessages
from manipapy_ros.controller.trajectory_messages import FeedbackPublisher, point
from manipapy_ros.realtime.cdr_templates import Marks, MessageTemplate, time_bytes
from manipapy_ros.realtime.polled_topics import NumbersReader, PolledSubscription
from manipapy_ros.sim_bridge.physics import _state_template

rng = np.random.default_rng(8)
NAMES = {n: [f"joint_{'x' * k}{k}" for k in range(n)] for n in (1, 2, 6, 7)}


def status(n: int) -> SimpleNamespace:
    """Numbers as a controller has them."""
    arrays = {name: rng.normal(size=n) for name in ("q", "qd", "q_ref", "qd_ref", "qdd_ref", "tau")}
    error = arrays["q_ref"] - arrays["q"]
    return SimpleNamespace(**arrays, error=error, rate=float(rng.uniform()), goal_time=float(rng.uniform(0.0, 100.0)))


@pytest.mark.parametrize("n", NAMES)
def test_controller_states_are_those_of_a_message(n):
    messages = StateMessages(NAMES[n])
    for sec in (0, 1, 2_000_000_000):
        told, stamp = status(n), Time(sec=sec, nanosec=999_999_999)
        expected = JointTrajectoryControllerState(
            joint_names=NAMES[n],
            reference=point(told.q_ref, told.qd_ref, told.qdd_ref),
            feedback=point(told.q, told.qd),
            error=point(told.error, told.qd_ref - told.qd),
            output=point(effort=told.tau),
            speed_scaling_factor=told.rate,
        )
        expected.header.stamp = stamp
        assert deserialize_message(messages.of(told, stamp), JointTrajectoryControllerState) == expected


@pytest.mark.parametrize("n", NAMES)
def test_joint_states_are_those_of_a_message(n):
    template = _state_template(NAMES[n])
    for _ in range(3):
        numbers = rng.normal(size=(3, n))
        expected = JointState(name=NAMES[n], position=numbers[0], velocity=numbers[1], effort=numbers[2])
        expected.header.stamp = Time(sec=12, nanosec=34)
        serialized = template.filled(time_bytes(12, 34), *(row.tobytes() for row in numbers))
        assert deserialize_message(serialized, JointState) == expected


def test_feedback_arrives_as_that_of_an_action(peer):
    kind = FollowJointTrajectory.Impl.FeedbackMessage
    publisher = FeedbackPublisher(peer.node, "an_action", NAMES[6])
    subscription = PolledSubscription(peer.node, kind, "an_action/_action/feedback", qos.NEWEST)
    peer.wait_for(lambda: publisher._publisher.get_subscription_count() == 1, "the two to find each other")
    told, goal = status(6), rng.integers(0, 256, 16, dtype=np.uint8)
    publisher.publish(goal.tobytes(), told, Time(sec=5, nanosec=6))
    found = []
    peer.wait_for(lambda: found.append(subscription.newest()) or found[-1] is not None, "the feedback")
    message, feedback = found[-1], found[-1].feedback
    assert np.array_equal(message.goal_id.uuid, goal) and feedback.joint_names == NAMES[6]
    assert (feedback.header.stamp.sec, feedback.header.stamp.nanosec) == (5, 6)
    for part, arrays in (
        (feedback.desired, (told.q_ref, told.qd_ref, told.qdd_ref)),
        (feedback.actual, (told.q, told.qd, [])),
        (feedback.error, (told.error, told.qd_ref - told.qd, [])),
    ):
        assert [list(part.positions), list(part.velocities), list(part.accelerations)] == [list(a) for a in arrays]
        assert part.time_from_start.sec + 1e-9 * part.time_from_start.nanosec == pytest.approx(told.goal_time)
    publisher.destroy()
    subscription.destroy()


@pytest.mark.parametrize("given", [0, 1, 5, 6, 7])
def test_numbers_are_read_however_many_there_are(given):
    reader, values = NumbersReader(6), rng.normal(size=given)
    assert np.array_equal(reader.read(serialize_message(Float64MultiArray(data=values.tolist()))), values)


def test_numbers_with_a_layout_are_read():
    message = Float64MultiArray(data=[1.0, 2.0])
    message.layout.data_offset = 3
    assert np.array_equal(NumbersReader(2).read(serialize_message(message)), [1.0, 2.0])


def test_a_template_refuses_what_does_not_fit():
    marks = Marks()
    message = Float64MultiArray(data=marks.numbers(2).tolist())
    template = MessageTemplate(message, marks.changing)
    with pytest.raises(AssertionError, match="another length"):
        template.filled(np.zeros(3).tobytes())
    with pytest.raises(AssertionError, match="must be unique"):
        MessageTemplate(Float64MultiArray(data=[1.0, 1.0]), [np.ones(1).tobytes()])
