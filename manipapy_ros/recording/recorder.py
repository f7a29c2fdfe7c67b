"""Records topics of a running robot to an MCAP file, as `manipapy record` does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy

from manipapy_core.recording import RecordingWriter

from ..client.session import RosSession
from ..realtime.polled_topics import PolledSubscription
from .definitions import UnknownMessage, definition_of, message_class

TOPICS = (
    *("joint_states", "robot_description", "/clock", "tf", "tf_static"),
    *("controller/status", "controller/controller_state", "controller/joint_trajectory", "controller/joint_stream"),
    *("forward_effort_controller/commands", "forward_position_controller/commands"),
    *("joint_trajectory_controller/controller_state", "joint_trajectory_controller/joint_trajectory"),
    *("planner/display_path", "planner/world", "planner/world_diffs", "obstacles", "collision_monitor/forecast"),
    *("servo/status", "sim_bridge/ground_truth", "/diagnostics"),
)
"""Recorded where they exist; relative names are in the namespace of the robot."""
IMAGES = (
    *("left/image_rect", "left/camera_info", "right/image_rect", "right/camera_info"),
    *("depth/image_rect", "depth/camera_info", "disparity", "points2"),
)
"""Recorded on request: 20 to 100 MB per second."""
POLL_PERIOD, COMMIT_PERIOD, LOOK_PERIOD = 0.02, 1.0, 0.5
"""Seconds between two looks for messages, two commits, two looks for topics."""
QUEUE = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=2000, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Matches every publisher, and no publisher waits for the recorder; two seconds at 1 kHz may be waiting."""
LATCHED_QUEUE = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=100,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
"""For topics whose publishers are all latched: what was published before the recording is in it."""


@dataclass(frozen=True)
class _Recorded:
    subscription: PolledSubscription[object]
    number: int


class Recorder:
    """Records until `record` is told to stop.

    Args:
        session: ROS session of the caller, in the namespace of the robot.
        path: New file.
        topics: Names, also of topics that do not exist yet.

    Raises:
        InputError: The file exists or cannot be written.
    """

    def __init__(self, session: RosSession, path: str | os.PathLike[str], topics: Sequence[str] = TOPICS):
        self._session = session
        self._wanted = {session.node.resolve_topic_name(topic) for topic in topics}
        self._recorded: dict[str, _Recorded] = {}
        self.writer = RecordingWriter(path)

    @property
    def topics(self) -> tuple[str, ...]:
        """Full names of those that are recorded so far."""
        return tuple(sorted(self._recorded))

    def record(self, stop: Callable[[], bool], progress: Callable[[int, int], None] = lambda *_: None) -> None:
        """Record until `stop` returns True, then close the file.

        Args:
            progress: Called at every commit with the numbers of messages and topics.
        """
        looked = committed = -1e9
        try:
            while not stop():
                now = time.monotonic()
                if now - looked >= LOOK_PERIOD:
                    self._find_topics()
                    looked = now
                self._take()
                if now - committed >= COMMIT_PERIOD:
                    self.writer.commit()
                    progress(self.writer.messages, len(self._recorded))
                    committed = now
                time.sleep(POLL_PERIOD)
            self._take()
        finally:
            for recorded in self._recorded.values():
                recorded.subscription.destroy()
            self.writer.close()

    def _find_topics(self) -> None:
        node = self._session.node
        for topic, types in node.get_topic_names_and_types():
            if topic not in self._wanted or topic in self._recorded:
                continue
            offered = [info.qos_profile.durability for info in node.get_publishers_info_by_topic(topic)]
            if not offered:
                continue
            try:
                kind = message_class(types[0])
            except UnknownMessage as error:
                node.get_logger().warning(f"{topic} is not recorded: {error}")
                self._wanted.discard(topic)
                continue
            latched = all(durability == DurabilityPolicy.TRANSIENT_LOCAL for durability in offered)
            number = self.writer.add_topic(topic, types[0], definition_of(kind))
            subscription = PolledSubscription(node, kind, topic, LATCHED_QUEUE if latched else QUEUE)
            self._recorded[topic] = _Recorded(subscription, number)

    def _take(self) -> None:
        for recorded in self._recorded.values():
            for data, received, sent in recorded.subscription.all_serialized():
                self.writer.add(recorded.number, data, received, sent)
