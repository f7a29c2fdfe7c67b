"""Publishes a recording again, as `manipapy replay` does."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile

from manipapy_core.errors import InputError, ManipapyError
from manipapy_core.recording import Recording

from ..client.session import RosSession
from ..common import qos
from .definitions import message_class

COMMANDS = ("commands", "joint_trajectory", "joint_stream")
"""Last parts of the names of topics that move an arm: published only when they are named."""
LATCHED = ("robot_description", "tf_static", "display_path", "world", "world_diffs")
DISCOVERY = 3.5
"""Time for others to subscribe, and for their publishers to be seen, before the first message [s]: Fast DDS announces
participants every 3 s, and the first announcements of a new one may be lost."""
LONGEST_SLEEP, CHECK_PERIOD = 0.05, 0.5
"""[s]"""


class AlreadyPublished(ManipapyError):
    """A topic that another node publishes now."""

    def __init__(self, topic: str, node: str):
        super().__init__(
            f"{topic} is published by {node}: two sources on one topic would contradict each other; end that node, "
            "choose another ROS_DOMAIN_ID, or leave the topic out with --topic"
        )
        self.topic, self.node = topic, node


def replayed_topics(recording: Recording, asked: Sequence[str]) -> list[str]:
    """Topics to publish: those requested, or all that move nothing.

    Raises:
        InputError: One that was requested is not in the recording.
    """
    for topic in asked:
        if topic not in recording.topics:
            raise InputError(f"{recording.path} has no topic {topic!r}; it has: {', '.join(sorted(recording.topics))}")
    return list(asked) or [topic for topic in sorted(recording.topics) if topic.rpartition("/")[2] not in COMMANDS]


def replay(
    session: RosSession,
    recording: Recording,
    topics: Sequence[str],
    *,
    speed: float = 1.0,
    progress: Callable[[float], None] = lambda _: None,
) -> int:
    """Publish messages with their original distances in time; returns how many.

    Args:
        topics: From `replayed_topics`.
        speed: Recorded seconds per second.
        progress: Called with the time in the recording [s].

    Raises:
        AlreadyPublished: Another node publishes one of the topics, or begins to.
    """
    if not 0.0 < speed <= 100.0:
        raise InputError(f"speed is {speed}; give a number above 0, at most 100")
    publishers = {topic: _publisher(session, topic, recording.topics[topic][0]) for topic in topics}
    discovered = time.monotonic() + DISCOVERY
    while time.monotonic() < discovered:
        _require_no_other_publisher(session, topics)
        time.sleep(LONGEST_SLEEP)
    began = checked = time.monotonic()
    count = 0
    for message in recording.messages(topics, decode=False):
        while (left := began + message.time / speed - time.monotonic()) > 0.0:
            time.sleep(min(left, LONGEST_SLEEP))
            progress(message.time)
        if time.monotonic() > checked + CHECK_PERIOD:
            _require_no_other_publisher(session, topics)
            checked = time.monotonic()
        publishers[message.topic].publish(message.data)
        count += 1
    return count


def _require_no_other_publisher(session: RosSession, topics: Sequence[str]) -> None:
    own = session.node.get_name()
    for topic in topics:
        for info in session.node.get_publishers_info_by_topic(topic):
            if info.node_name != own:
                raise AlreadyPublished(topic, f"{info.node_namespace.rstrip('/')}/{info.node_name}")


def _publisher(session: RosSession, topic: str, type_name: str) -> Publisher:
    latched = topic.rpartition("/")[2] in LATCHED
    profile = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL) if latched else qos.STATE
    return session.node.create_publisher(message_class(type_name), topic, profile)
