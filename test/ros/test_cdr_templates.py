"""Joint states read and numbers sent in serialized form, against the messages that rclpy makes of them."""

from __future__ import annotations

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from manipapy_ros.common import qos
from manipapy_ros.common.conversions import JointStateReader
from manipapy_ros.realtime.polled_topics import NumbersPublisher, PolledSubscription

WANTED = ["elbow", "shoulder", "wrist_3"]
rng = np.random.default_rng(4)


def joint_state(names, frame="", effort=True, sec=7, nanosec=5, positions=None, velocities=None):
    n = len(names)
    message = JointState(name=names)
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = sec, nanosec
    message.position = list(rng.normal(size=n) if positions is None else positions)
    message.velocity = list(rng.normal(size=n) if velocities is None else velocities)
    message.effort = list(rng.normal(size=n)) if effort else []
    return message


def check(reader, message):
    """The reader's numbers against those of the message, by name."""
    assert reader.read(serialize_message(message)), reader.problem
    names = list(message.name)
    assert np.array_equal(reader.q, [message.position[names.index(name)] for name in WANTED], equal_nan=True)
    assert np.array_equal(reader.qd, [message.velocity[names.index(name)] for name in WANTED], equal_nan=True)
    assert reader.stamp == (message.header.stamp.sec, message.header.stamp.nanosec)
    assert reader.problem == ""


@pytest.mark.parametrize("frame", ["", "a", "base", "base_link"])
@pytest.mark.parametrize("extra", [[], ["x"], ["gripper", "finger_2", "äöü"]])
@pytest.mark.parametrize("effort", [True, False])
def test_every_message_is_read_whatever_its_alignment(frame, extra, effort):
    """Strings of all lengths shift the numbers; the second and third message go the quick way."""
    names, reader = [*extra, *reversed(WANTED)], JointStateReader(WANTED)
    for tick in range(3):
        check(reader, joint_state(names, frame, effort, sec=10 + tick, nanosec=999_999_999 - tick))
    assert reader._layout is not None


def test_zeros_are_located_too():
    """Padding is zeros as well: where the numbers begin must not be guessed from their values."""
    reader, n = JointStateReader(WANTED), len(WANTED)
    check(reader, joint_state(WANTED, positions=[0.0] * n, velocities=[0.0] * n, effort=False))
    for _ in range(2):
        check(reader, joint_state(WANTED, effort=False))


def test_numbers_that_are_not_finite_are_passed_on_for_the_guard():
    reader = JointStateReader(WANTED)
    check(reader, joint_state(WANTED))
    check(reader, joint_state(WANTED, positions=[np.nan, np.inf, 1.0], velocities=[-np.inf, 0.0, np.nan]))


def test_a_message_that_changes_its_form_is_noticed():
    """Other names of the same length, another order, another number of joints, another frame: one after the other."""
    reader = JointStateReader(WANTED)
    for names in (WANTED, WANTED[::-1], [*WANTED, "x"], ["shoulder", "elbow", "wrist_3"], WANTED):
        for frame in ("", "b"):
            check(reader, joint_state(names, frame))
            check(reader, joint_state(names, frame))


def test_what_lacks_something_is_refused_and_the_old_numbers_stay():
    reader = JointStateReader(WANTED)
    check(reader, joint_state(WANTED))
    kept = reader.q.copy(), reader.qd.copy(), reader.stamp
    for wrong, why in (
        (joint_state(["elbow", "shoulder", "wrist_2"]), "no position for wrist_3"),
        (joint_state(WANTED, velocities=[]), "0 velocities"),
        (joint_state(WANTED, positions=[0.0, 1.0]), "2 positions"),
        (joint_state([]), "no position for"),
    ):
        assert not reader.read(serialize_message(wrong))
        assert why in reader.problem
        assert np.array_equal(reader.q, kept[0]) and np.array_equal(reader.qd, kept[1]) and reader.stamp == kept[2]
    check(reader, joint_state(WANTED))


def test_a_message_whose_velocities_become_efforts_is_not_misread():
    """The same size and the same head, but efforts in place of velocities."""
    reader = JointStateReader(WANTED)
    message = joint_state(WANTED, effort=False)
    check(reader, message)
    check(reader, message)
    shifted = joint_state(WANTED, velocities=[])
    assert not reader.read(serialize_message(shifted)) and "0 velocities" in reader.problem


def arrived(peer, take):
    """What a subscription gives as soon as there is something."""
    taken = []
    peer.wait_for(lambda: taken.append(take()) or taken[-1] is not None, "the numbers")
    return taken[-1]


@pytest.mark.parametrize("size", [1, 6, 7])
def test_numbers_arrive_as_a_message(peer, size):
    publisher = NumbersPublisher(peer.node, f"numbers_{size}", qos.COMMAND, size)
    plain, serialized = (
        PolledSubscription(peer.node, Float64MultiArray, f"numbers_{size}", qos.NEWEST) for _ in range(2)
    )
    peer.wait_for(lambda: publisher._publisher.get_subscription_count() == 2, "the three to find each other")
    for _ in range(3):
        values = rng.normal(size=size)
        publisher.publish(values)
        message, again = arrived(peer, plain.newest), arrived(peer, serialized.newest_serialized)
        assert np.array_equal(message.data, values) and list(message.layout.dim) == []
        assert np.array_equal(deserialize_message(again, Float64MultiArray).data, values)
    assert serialized.newest_serialized() is None
    for topic in (publisher, plain, serialized):
        topic.destroy()
