"""A process that publishes what it should not: joint states, efforts or time beside those of the suite.

python -m faults.rogue states --kind zeros --rate 10 --stamps sim --joints a,b,c
python -m faults.rogue efforts --amount 150 --rate 1000 --count 6
python -m faults.rogue clock --rate 10
"""

from __future__ import annotations

import argparse
import os
import select
import sys
import time

import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

LISTENERS = 3
"""Of joint states in the rig: the controller, the peer and the rogue itself."""
STALE = 0.3
"""Age of stale joint states [s]."""


class StateRogue:
    """Publishes wrong joint states; listens to the right ones for names, stamps and positions."""

    def __init__(self, node: Node, options: argparse.Namespace):
        self._options, self._joints = options, options.joints.split(",")
        self._publisher = node.create_publisher(JointState, "joint_states", QoSProfile(depth=10))
        self._history: list[JointState] = []
        self.sent = 0.0
        """Monotonic time of the last message [s]."""
        node.create_subscription(JointState, "joint_states", self._hear, QoSProfile(depth=1))

    def _hear(self, state: JointState) -> None:
        if state.header.frame_id != "rogue":
            self._history.append(state)
            del self._history[:-2000]

    @property
    def ready(self) -> bool:
        """Whether the arm's controller and others listen, and right joint states have been heard."""
        return self._publisher.get_subscription_count() >= LISTENERS and bool(self._history)

    def publish(self) -> None:
        """One message."""
        options, n = self._options, len(self._joints)
        heard = self._history[-1] if self._history else None
        message = JointState(name=self._joints, position=[0.0] * n, velocity=[0.0] * n, effort=[0.0] * n)
        message.header.frame_id = "rogue"
        if options.kind != "zeros":
            if heard is None:
                return
            source = heard
            if options.kind in ("stale", "frozen"):
                wanted = _seconds(heard) - STALE
                source = next((state for state in self._history if _seconds(state) >= wanted), heard)
                if options.kind == "frozen":
                    source = self._history[0]
            message.name = list(source.name)
            shift = options.amount if options.kind == "offset" else 0.0
            value = float("nan") if options.kind == "nan" else None
            message.position = [value if value is not None else q + shift for q in source.position]
            message.velocity, message.effort = list(source.velocity), list(source.effort)
        if options.stamps == "wall":
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(time.time_ns(), 1_000_000_000)
        elif options.stamps == "sim" and heard is not None:
            message.header.stamp = heard.header.stamp
        self.sent = time.monotonic()
        self._publisher.publish(message)


class EffortRogue:
    """Publishes efforts of full size that change sign."""

    def __init__(self, node: Node, options: argparse.Namespace):
        self._publisher = node.create_publisher(Float64MultiArray, f"forward_{options.mode}_controller/commands", 1)
        self._options, self._sent = options, 0
        self.sent = 0.0
        """Monotonic time of the last message [s]."""

    @property
    def ready(self) -> bool:
        """Whether the drives listen."""
        return self._publisher.get_subscription_count() > 0

    def publish(self) -> None:
        """One message."""
        self._sent += 1
        sign = -1.0 if (self._sent // max(1, int(0.05 * self._options.rate))) % 2 else 1.0
        message = Float64MultiArray(data=[sign * self._options.amount] * self._options.count)
        self.sent = time.monotonic()
        self._publisher.publish(message)


class ClockRogue:
    """Publishes times that jump forward and back."""

    def __init__(self, node: Node, options: argparse.Namespace):
        self._publisher, self._sent = node.create_publisher(Clock, "clock", 1), 0
        self.sent = 0.0
        """Monotonic time of the last message [s]."""

    @property
    def ready(self) -> bool:
        """Whether nodes listen."""
        return self._publisher.get_subscription_count() > 0

    def publish(self) -> None:
        """One message."""
        self._sent += 1
        message = Clock()
        message.clock.sec = 10_000 if self._sent % 2 else 1
        self.sent = time.monotonic()
        self._publisher.publish(message)


def _seconds(state: JointState) -> float:
    return float(state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec)


ROGUES = {"states": StateRogue, "efforts": EffortRogue, "clock": ClockRogue}


def main() -> None:
    """Publishes, from the first line of the input on, until the time is over."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=tuple(ROGUES))
    parser.add_argument("--kind", default="zeros", choices=("zeros", "offset", "stale", "frozen", "nan"))
    parser.add_argument("--mode", default="effort")
    parser.add_argument("--rate", type=float, default=10.0)
    parser.add_argument("--stamps", default="sim", choices=("sim", "wall", "none"))
    parser.add_argument("--joints", default="")
    parser.add_argument("--amount", type=float, default=0.1)
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--name", default="rogue")
    parser.add_argument("--namespace", default="")
    options = parser.parse_args()
    rclpy.init(args=[])
    node = Node(options.name, namespace=options.namespace)
    rogue = ROGUES[options.what](node, options)
    # Discovery first: what nobody receives yet is not counted.
    end = time.monotonic() + 1.0
    while time.monotonic() < end or not rogue.ready:
        rclpy.spin_once(node, timeout_sec=0.01)
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0.0)[0]:
        rclpy.spin_once(node, timeout_sec=0.01)
    due = time.monotonic()
    end = due + options.seconds
    rogue.publish()
    print(rogue.sent, flush=True)  # a message of the stale kind takes some milliseconds to make
    while time.monotonic() < end:
        rogue.publish()
        due += 1.0 / options.rate
        while (left := due - time.monotonic()) > 0.0:
            rclpy.spin_once(node, timeout_sec=left)
    os._exit(0)


if __name__ == "__main__":
    main()
