"""A process between the bridge and everything that listens to joint states: passes them on, and spoils them when told.

python -m faults.relay --source joint_states_raw
A line of the input names a kind, an amount and the count of joint states that are spoiled: `delay 30 1000`.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import sys
import time
from collections.abc import Callable

import rclpy
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from manipapy_ros.common import qos
from manipapy_ros.realtime.polled_topics import PolledSubscription

POLL = 2e-4
"""[s]"""
Edit = Callable[[JointState, float, int], None]
"""Changes a message; gets the amount and the number of the spoiled message, from 0."""


def _shift_stamp(state: JointState, amount: float, _: int) -> None:
    stamp = state.header.stamp
    moved = max(0, stamp.sec * 10**9 + stamp.nanosec + round(1e9 * amount))
    stamp.sec, stamp.nanosec = divmod(moved, 10**9)


def _shift(state: JointState, amount: float, _: int) -> None:
    state.position = [q + amount for q in state.position]


def _drift(state: JointState, amount: float, number: int) -> None:
    _shift(state, amount * 1e-3 * number, number)


def _noise(state: JointState, amount: float, _: int) -> None:
    state.position = [q + random.uniform(-amount, amount) for q in state.position]
    state.velocity = [v + random.uniform(-10.0 * amount, 10.0 * amount) for v in state.velocity]


def _scale_velocity(state: JointState, amount: float, _: int) -> None:
    state.velocity = [v * amount for v in state.velocity]


def _shift_velocity(state: JointState, amount: float, _: int) -> None:
    state.velocity = [v + amount for v in state.velocity]


EDITS: dict[str, Edit] = {
    "stamp": _shift_stamp,
    "shift": _shift,
    "drift": _drift,
    "noise": _noise,
    "scale_velocity": _scale_velocity,
    "shift_velocity": _shift_velocity,
}


class Spoiler:
    """What happens to the joint states that pass."""

    def __init__(self) -> None:
        self._kind, self._amount, self._left, self._number = "", 0.0, 0, 0
        self._queue: list[bytes] = []
        self._frozen: JointState | None = None

    def begin(self, kind: str, amount: float, count: int) -> None:
        """Spoils the next messages."""
        random.seed(0)
        self._kind, self._amount, self._left, self._number, self._frozen = kind, amount, count, 0, None

    def passed_on(self, message: bytes) -> list[bytes]:
        """What is published in the place of a message."""
        if self._left == 0:
            flushed, self._queue = [*self._queue, message], []
            return flushed
        self._left -= 1
        self._number += 1
        return getattr(self, f"_{self._kind}")(message) if self._kind not in EDITS else [self._edited(message)]

    def _edited(self, message: bytes) -> bytes:
        state = deserialize_message(message, JointState)
        EDITS[self._kind](state, self._amount, self._number - 1)
        return serialize_message(state)

    def _delay(self, message: bytes) -> list[bytes]:
        self._queue.append(message)
        return [self._queue.pop(0)] if len(self._queue) > self._amount else []

    def _drop(self, message: bytes) -> list[bytes]:
        return [] if random.random() < self._amount else [message]

    def _duplicate(self, message: bytes) -> list[bytes]:
        return [message] * int(self._amount)

    def _reverse(self, message: bytes) -> list[bytes]:
        """The order within blocks is reversed."""
        self._queue.append(message)
        if len(self._queue) < self._amount:
            return []
        reversed_block, self._queue = self._queue[::-1], []
        return reversed_block

    def _freeze(self, message: bytes) -> list[bytes]:
        """Positions stay, stamps go on; velocities stay as well, times the amount."""
        state = deserialize_message(message, JointState)
        if self._frozen is None:
            self._frozen = deserialize_message(message, JointState)
            self._frozen.velocity = [v * self._amount for v in self._frozen.velocity]
        self._frozen.header.stamp = state.header.stamp
        return [serialize_message(self._frozen)]


def main() -> None:
    """Passes messages on until it is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--namespace", default="")
    parser.add_argument("--source", required=True)
    options = parser.parse_args()
    rclpy.init(args=[])
    node = Node("relay", namespace=options.namespace)
    states: PolledSubscription[JointState] = PolledSubscription(node, JointState, options.source, qos.STATES)
    publisher, spoiler = node.create_publisher(JointState, "joint_states", qos.STATE), Spoiler()
    due = 0.0
    while True:
        for message, _, _ in states.all_serialized():
            for passed in spoiler.passed_on(message):
                publisher.publish(passed)
        if (now := time.monotonic()) > due:
            due = now + 0.01
            if select.select([sys.stdin], [], [], 0.0)[0]:
                line = sys.stdin.readline()
                if not line:
                    os._exit(0)
                kind, amount, count = line.split()
                spoiler.begin(kind, float(amount), int(count))
                print(time.monotonic(), flush=True)
        time.sleep(POLL)


if __name__ == "__main__":
    main()
