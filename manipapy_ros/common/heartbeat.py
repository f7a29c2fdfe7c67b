"""Motions that end when whoever watches over them dies: heartbeats on the controller's topic `~/watch`.

The planner looks out for obstacles while an arm moves. Should its process die, the controller would finish the motion
with nobody looking. So a client that watches says so ten times a second, naming the goal; when it has fallen silent,
the controller brings the arm to rest. Goals that nobody ever said to watch are none of this file's business.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from types import TracebackType

from diagnostic_msgs.msg import KeyValue
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

from ..realtime.polled_topics import PolledSubscription

TOPIC = "watch"
BEAT = 0.1
"""Between two heartbeats [s]."""
INATTENTION = 3.0
"""How long the work of a watcher may take before its heart stops [s]: one that is stuck does not watch."""
FORGET = 10.0
"""After so long, goals that nobody talks about any more are forgotten [s]."""
BEATS = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=16, reliability=ReliabilityPolicy.RELIABLE)
"""Reliable, so that one lost message is no alarm; deep enough for several watchers between two looks."""


def heartbeat_publisher(node: Node, controller: str) -> Publisher:
    """On which the heart beats; make it early, because finding each other takes a moment.

    Args:
        controller: Full name of its node.
    """
    return node.create_publisher(KeyValue, f"{controller}/{TOPIC}", BEATS)


class Heartbeat:
    """Says that a goal is watched, from the beginning of a `with` statement to its end.

    The first beat is sent before the statement's body runs, so that the controller knows before the goal comes.

    Args:
        publisher: Of the controller that gets the goal.
        goal_id: Number of the goal, 16 bytes.
        who: Name of the watching node.
    """

    def __init__(self, publisher: Publisher, goal_id: bytes, who: str):
        self._publisher = publisher
        self._message = KeyValue(key=goal_id.hex(), value=who)
        self._ended = threading.Event()
        self._attentive = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def attend(self) -> None:
        """To be called again and again by the watcher: it is not stuck."""
        self._attentive = time.monotonic()

    def __enter__(self) -> Heartbeat:
        self._publisher.publish(self._message)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(BEAT):
            if time.monotonic() - self._attentive < INATTENTION:
                self._publisher.publish(self._message)


@dataclass(frozen=True)
class _Beat:
    who: str
    heard: float
    """On the monotonic clock [s]."""


class HeartbeatMonitor:
    """Who watches over which goal; the controller's side.

    Args:
        node: The controller.
        silence: Of a watcher, after which it counts as dead [s].
    """

    def __init__(self, node: Node, silence: float):
        self.silence = silence
        # Looked at when goals are: a callback would wake the executor ten times a second.
        self._beats: PolledSubscription[KeyValue] = PolledSubscription(node, KeyValue, f"~/{TOPIC}", BEATS)
        self._last: dict[str, _Beat] = {}

    def listen(self) -> None:
        """Takes note of what has come since the last call; to be called some fifty times a second."""
        now = time.monotonic()
        for message in self._beats.all_new():
            self._last[message.key] = _Beat(message.value, now)
        if self._last:
            self._last = {key: beat for key, beat in self._last.items() if now - beat.heard < FORGET}

    def lost(self, goal_id: bytes) -> str | None:
        """Name of the watcher of a goal that has fallen silent; None if it has not, or never was."""
        beat = self._last.get(goal_id.hex())
        return beat.who if beat is not None and time.monotonic() - beat.heard > self.silence else None

    def destroy(self) -> None:
        """Unsubscribes."""
        self._beats.destroy()
