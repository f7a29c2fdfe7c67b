"""Heartbeats between two nodes, and subscriptions that are polled."""

from __future__ import annotations

import numpy as np
from std_msgs.msg import Float64MultiArray

from manipapy_ros.common.heartbeat import HEARTBEAT_QOS, Heartbeat, HeartbeatMonitor, heartbeat_publisher
from manipapy_ros.realtime.polled_topics import PolledSubscription
from ros_arm import wait

GOAL, OTHER = bytes(range(16)), bytes(16)


def connected(peer):
    """The controller's side, and the publisher of a monitor."""
    monitor = HeartbeatMonitor(peer.node, silence=1.0)
    publisher = heartbeat_publisher(peer.node, f"/{peer.node.get_name()}")
    peer.wait_for(lambda: publisher.get_subscription_count() > 0, "the two to find each other")
    return monitor, publisher


def lost(monitor: HeartbeatMonitor, goal: bytes) -> str | None:
    monitor.update()
    return monitor.lost(goal)


def test_monitor_is_lost_when_heartbeats_stop_and_not_before(peer):
    monitor, publisher = connected(peer)
    with Heartbeat(publisher, GOAL, "/planner") as heartbeat:
        for _ in range(20):
            heartbeat.keep_alive()
            wait(0.05)
            assert lost(monitor, GOAL) is None
    peer.wait_for(lambda: lost(monitor, GOAL) == "/planner", "the silence to be noticed")
    assert lost(monitor, OTHER) is None, "this goal has no monitor"
    monitor.destroy()


def test_stuck_monitor_sends_no_heartbeats(peer):
    monitor, publisher = connected(peer)
    with Heartbeat(publisher, GOAL, "/planner"):
        peer.wait_for(lambda: lost(monitor, GOAL) == "/planner", "the heartbeats to stop")
    monitor.destroy()


def test_polled_messages_are_in_order_and_old_ones_are_dropped(peer):
    topic: PolledSubscription[Float64MultiArray] = PolledSubscription(
        peer.node, Float64MultiArray, "numbers", HEARTBEAT_QOS
    )
    publisher = peer.node.create_publisher(Float64MultiArray, "numbers", HEARTBEAT_QOS)
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
