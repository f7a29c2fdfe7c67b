"""Input of commands: those of one node, whichever of the command topics it uses."""

from __future__ import annotations

from collections.abc import Mapping

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from manipapy_core.sim import DriveMode

from ..common import qos
from ..realtime.bound_source import MAX_SOURCES, BoundSource
from ..realtime.identified_take import PARTICIPANT_SIZE
from ..realtime.polled_topics import PolledSubscription

RELEASE = 0.5
"""Silence of the commanding node after which another one may command [s]."""
MAX_TAKES = 32
"""Messages that are taken from a topic in one step."""
LOOK = 0.25
"""How often the names of unknown publishers are looked up [s]."""


class JointCommandInput:
    """Takes commands from one process: the first that commands, or the one of a given node.

    Args:
        node: Owner of the subscriptions.
        topics: Command topics by mode.
        source: Name of the node that may command, in the namespace of `node` if it is relative; empty: any node.
    """

    def __init__(self, node: Node, topics: Mapping[DriveMode, str], source: str):
        self._node = node
        self._commands = {
            mode: PolledSubscription(node, Float64MultiArray, topic, qos.STATES) for mode, topic in topics.items()
        }
        namespace = node.get_namespace().rstrip("/")
        self._source = source if not source or source.startswith("/") else f"{namespace}/{source}"
        self._bound = BoundSource(observe=0.0, release=RELEASE)
        self._permitted: frozenset[bytes] = frozenset()
        """Processes of the node that may command."""
        self._refused: dict[bytes, bytes] = {}
        """Processes whose commands were refused since the last look, with the publisher."""
        self.refusals = 0
        """Refused messages since the start."""
        self._timer = node.create_timer(LOOK, self._look_up, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def newest(self, mode: DriveMode, now: float) -> bytes | None:
        """The newest serialized command of a mode since the last call; None if there is none.

        Args:
            mode: Of the command.
            now: Monotonic time [s].
        """
        subscription, newest = self._commands[mode], None
        self._bound.update(now)
        for _ in range(MAX_TAKES):
            taken = subscription.take_identified()
            if taken is None:
                break
            message, source = taken
            process = source[:PARTICIPANT_SIZE]
            if (not self._source or not source or process in self._permitted) and self._bound.heard(process, now):
                newest = message
                continue
            self.refusals += 1
            if len(self._refused) < MAX_SOURCES:
                self._refused[process] = source
        return newest

    def topic(self, mode: DriveMode) -> str:
        """Full name of a command topic."""
        return self._commands[mode].topic

    def destroy(self) -> None:
        """Unsubscribes."""
        self._node.destroy_timer(self._timer)
        for subscription in self._commands.values():
            subscription.destroy()

    def _look_up(self) -> None:
        """Finds out who the refused ones are; on the executor, because it takes time."""
        if not self._refused:
            return
        refused, self._refused = self._refused, {}
        names: dict[bytes, str] = {}
        for subscription in self._commands.values():
            names |= subscription.publisher_names()
        found = {source[:PARTICIPANT_SIZE]: name for source, name in names.items()}
        if self._source:
            self._permitted = frozenset(process for process, name in found.items() if name == self._source)
        rogues = sorted(
            {found.get(process, "an unknown node") for process in refused if process not in self._permitted}
        )
        if not rogues:
            return
        bound = self._source or found.get(self._bound.bound or b"", "another node")
        self._node.get_logger().warning(
            f"commands of {', '.join(rogues)} are refused: the arm is commanded by {bound}",
            throttle_duration_sec=1.0,
        )
