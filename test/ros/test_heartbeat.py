"""Heartbeats between two nodes, and subscriptions that are polled."""

from __future__ import annotations

import numpy as np
from std_msgs.msg import Float64MultiArray

from manipapy_ros.common.heartbeat import BEATS, Heartbeat, HeartbeatMonitor, heartbeat_publisher
from manipapy_ros.realtime.polled_topics import PolledSubscription
from ros_arm import wait

GOAL, OTHER = bytes(range(16)), bytes(16)


def connected(peer):
    """What the controller has, and the publisher of a watcher."""
    watchers = HeartbeatMonitor(peer.node, silence=1.0)
    publisher = heartbeat_publisher(peer.node, f"/{peer.node.get_name()}")
    peer.wait_for(lambda: publisher.get_subscription_count() > 0, "the two to find each other")
    return watchers, publisher


def lost(watchers: HeartbeatMonitor, goal: bytes) -> str | None:
    watchers.listen()
    return watchers.lost(goal)


def test_a_watcher_is_lost_when_its_heart_has_stopped_and_not_before(peer):
    watchers, publisher = connected(peer)
    with Heartbeat(publisher, GOAL, "/planner") as heart:
        for _ in range(20):
            heart.keep_alive()
            wait(0.05)
            assert lost(watchers, GOAL) is None
    peer.wait_for(lambda: lost(watchers, GOAL) == "/planner", "the silence to be noticed")
    assert lost(watchers, OTHER) is None, "nobody ever watched over this one"
    watchers.destroy()


def test_a_watcher_that_is_stuck_does_not_go_on_beating(peer):
    watchers, publisher = connected(peer)
    with Heartbeat(publisher, GOAL, "/planner"):
        peer.wait_for(lambda: lost(watchers, GOAL) == "/planner", "the heart to stop")
    watchers.destroy()


def test_polled_messages_come_in_order_and_old_ones_are_dropped(peer):
    topic: PolledSubscription[Float64MultiArray] = PolledSubscription(peer.node, Float64MultiArray, "numbers", BEATS)
    publisher = peer.node.create_publisher(Float64MultiArray, "numbers", BEATS)
    peer.wait_for(lambda: publisher.get_subscription_count() > 0, "the two to find each other")

    def publish(*numbers: float) -> None:
        for number in numbers:
            publisher.publish(Float64MultiArray(data=[number]))
        wait(0.2)

    publish(1.0, 2.0, 3.0)
    np.testing.assert_array_equal([message.data[0] for message in topic.all_new()], [1.0, 2.0, 3.0])
    publish(4.0, 5.0)
    assert topic.newest(within=0.05) is None
    assert topic.newest() is None, "what was too old is gone"
    publish(6.0, 7.0)
    assert topic.newest(within=60.0).data[0] == 7.0
    topic.destroy()
