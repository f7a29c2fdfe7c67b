"""Heartbeats on the controller's topic `~/watch`: a monitored motion ends when its monitor dies.

The planner checks for obstacles while the arm moves. Should its process die, the controller would finish the motion
unchecked. A client that monitors a motion therefore sends heartbeats that name the goal; when they stop, the
controller brings the arm to rest. Goals without heartbeats are not affected.
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
PERIOD = 0.1
"""Between two heartbeats [s]."""
WATCHDOG_TIMEOUT = 3.0
"""Heartbeats stop when the monitor has not called `keep_alive` for so long [s]: one that is stuck does not monitor."""
FORGET_AFTER = 10.0
"""Goals without heartbeats for so long are forgotten [s]."""
HEARTBEAT_QOS = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=16, reliability=ReliabilityPolicy.RELIABLE)
"""Reliable, so that one lost message is no alarm; deep enough for several monitors between two checks."""


def heartbeat_publisher(node: Node, controller: str) -> Publisher:
    """Publisher of heartbeats; create it early, because discovery takes time.

    Args:
        controller: Full name of its node.
    """
    return node.create_publisher(KeyValue, f"{controller}/{TOPIC}", HEARTBEAT_QOS)


class Heartbeat:
    """Sends heartbeats for a goal from the beginning of a `with` statement to its end.

    The first is sent before the statement's body runs, so that it precedes the goal.

    Args:
        publisher: Of the controller that gets the goal.
        goal_id: Of the goal, 16 bytes.
        who: Name of the monitoring node.
    """

    def __init__(self, publisher: Publisher, goal_id: bytes, who: str):
        self._publisher = publisher
        self._message = KeyValue(key=goal_id.hex(), value=who)
        self._stop = threading.Event()
        self._alive = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def keep_alive(self) -> None:
        """To be called repeatedly by the monitor, to show that it is not stuck."""
        self._alive = time.monotonic()

    def __enter__(self) -> Heartbeat:
        self._publisher.publish(self._message)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(PERIOD):
            if time.monotonic() - self._alive < WATCHDOG_TIMEOUT:
                self._publisher.publish(self._message)


@dataclass(frozen=True)
class _Beat:
    who: str
    received: float
    """On the monotonic clock [s]."""


class HeartbeatMonitor:
    """Receives heartbeats by goal; the controller's side.

    Args:
        node: The controller.
        silence: Time without a heartbeat after which a monitor counts as dead [s].
    """

    def __init__(self, node: Node, silence: float):
        self.silence = silence
        # Polled together with the goals: a callback would wake the executor ten times a second.
        self._beats: PolledSubscription[KeyValue] = PolledSubscription(node, KeyValue, f"~/{TOPIC}", HEARTBEAT_QOS)
        self._last: dict[str, _Beat] = {}

    def update(self) -> None:
        """Record the heartbeats since the last call; to be called some fifty times a second."""
        now = time.monotonic()
        for message in self._beats.all_new():
            self._last[message.key] = _Beat(message.value, now)
        if self._last:
            self._last = {key: beat for key, beat in self._last.items() if now - beat.received < FORGET_AFTER}

    def lost(self, goal_id: bytes) -> str | None:
        """Name of the goal's monitor if its heartbeats have stopped; None if not, or if there were none."""
        beat = self._last.get(goal_id.hex())
        return beat.who if beat is not None and time.monotonic() - beat.received > self.silence else None

    def destroy(self) -> None:
        """Unsubscribe."""
        self._beats.destroy()
