"""Input of joint states: those of one publisher, and whether another one contradicts it."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node
from sensor_msgs.msg import JointState

from ..common import qos
from ..common.conversions import JointStateReader, names_of_joint_state
from ..realtime.bound_source import MAX_SOURCES, BoundSource
from ..realtime.polled_topics import PolledSubscription

OBSERVE = 0.25
"""How long a publisher must be alone before its joint states are used [s]."""
RELEASE = 1.0
"""Silence after which a publisher of joint states counts as gone [s]."""
MAX_TAKES = 32
"""Messages that are taken in one tick."""
MAX_SIZE = 65536
"""A larger joint state is not read [B]."""


class StateInput:
    """Polls `joint_states` and accepts one publisher.

    Messages that name no joint of the arm, such as those of a gripper's driver, are left aside.

    Args:
        node: Owner of the subscription.
        joint_names: Of the arm.
    """

    def __init__(self, node: Node, joint_names: Sequence[str]):
        self.reader = JointStateReader(joint_names)
        self._joint_names = frozenset(joint_names)
        self._states: PolledSubscription[JointState] = PolledSubscription(node, JointState, "joint_states", qos.STATES)
        self._sources = BoundSource(observe=OBSERVE, release=RELEASE)
        self._bound: bytes | None = None
        self._of_this_arm: dict[bytes, tuple[int, bool]] = {}
        """By publisher: size of its last message, and whether it names a joint of this arm."""
        self.changed = False
        """Whether the last valid message came from another publisher than the one before."""
        self.disputed = False
        """Whether several publishers give joint states of this arm."""

    def poll(self, now: float) -> bool:
        """Takes all messages; whether the reader has a new one of the accepted publisher.

        Args:
            now: Monotonic time [s].
        """
        newest, sources = None, self._sources
        inspect = True
        for _ in range(MAX_TAKES):
            taken = self._states.take_identified()
            if taken is None:
                break
            message, source = taken
            known = self._of_this_arm.get(source)
            if known is None or known[0] != len(message):
                if not inspect:
                    continue
                known, inspect = self._inspect(source, message), False  # takes time: one in a tick
            if known[1] and sources.heard(source, now):
                newest = message
        sources.update(now)
        self.disputed = bool(sources.others(now))
        if newest is None or not self.reader.read(newest):
            return False
        self.changed, self._bound = sources.bound != self._bound, sources.bound
        return True

    def drop(self) -> None:
        """Drops what has arrived, and accepts no publisher yet."""
        while self._states.take_identified() is not None:
            pass
        self._sources.reset()
        self._bound, self.disputed = None, False

    @property
    def publishers(self) -> int:
        """Number of publishers of joint states, of any joints."""
        return self._states.publishers

    def other_publishers(self) -> tuple[str, ...]:
        """Names of the nodes that publish joint states of this arm; takes some 100 µs, not for the loop."""
        of_arm = [source for source, (_, ours) in tuple(self._of_this_arm.items()) if ours]
        names = self._states.publisher_names()
        return tuple(sorted({names[source] for source in of_arm if source in names}))

    def destroy(self) -> None:
        """Unsubscribes."""
        self._states.destroy()

    def _inspect(self, source: bytes, message: bytes) -> tuple[int, bool]:
        """Size of a message, and whether it names a joint of this arm."""
        names = names_of_joint_state(message) if len(message) <= MAX_SIZE else ()
        ours = not self._joint_names.isdisjoint(names)
        if names and not ours and self._bound is None:
            self.reader.read(message)  # says what the message lacks
        if len(self._of_this_arm) >= MAX_SOURCES:
            self._of_this_arm.clear()
        known = self._of_this_arm[source] = len(message), ours
        return known
