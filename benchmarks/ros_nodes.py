"""Starts nodes as processes, and a client node that activates and calls them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import rclpy
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

JOINTS = ["shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint"]
"""Joints of the UR5."""


@contextmanager
def ros() -> Iterator[None]:
    """ROS on localhost, in a domain of its own."""
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    rclpy.init()
    try:
        yield
    finally:
        rclpy.try_shutdown()


@contextmanager
def processes(
    nodes: Mapping[str, Sequence[str]], timeout: float = 20.0
) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Nodes of manipapy_ros by name, with their `--ros-args`; stopped on exit.

    Args:
        timeout: For their shutdown [s].
    """
    started = {
        name: subprocess.Popen([sys.executable, "-m", f"manipapy_ros.{name}.node", "--ros-args", *arguments])
        for name, arguments in nodes.items()
    }
    try:
        yield started
    finally:
        for process in started.values():
            process.send_signal(signal.SIGINT)
        for process in started.values():
            process.wait(timeout)


def parameters(values: Mapping[str, object]) -> list[str]:
    """Parameters as arguments of a node."""
    return [
        word
        for name, value in values.items()
        for word in ("-p", f"{name}:={str(value).lower() if isinstance(value, bool) else value}")
    ]


class Peer:
    """Client node of a benchmark.

    Args:
        name: Name of the node.
        timeout: For responses [s].
    """

    def __init__(self, name: str, timeout: float = 30.0):
        self.node, self._timeout = Node(name), timeout
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._clients: dict[str, Any] = {}

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Destroys the node."""
        self._executor.shutdown()
        self.node.destroy_node()

    def spin(self, seconds: float) -> None:
        """Spins for a time [s]."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._executor.spin_once(timeout_sec=0.001)

    def wait_for(self, condition: Callable[[], bool], seconds: float | None = None) -> None:
        """Spins until a condition holds.

        Raises:
            TimeoutError: It does not hold in time.
        """
        deadline = time.monotonic() + (self._timeout if seconds is None else seconds)
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError("the nodes do not respond; see their output above")
            self._executor.spin_once(timeout_sec=0.05)

    def call(self, kind: type, name: str, request: object) -> Any:
        """Calls a service."""
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = self.node.create_client(kind, name)
        self.wait_for(client.service_is_ready)
        answer = client.call_async(request)
        self.wait_for(answer.done)
        return answer.result()

    def bring_up(self, *names: str) -> None:
        """Configures and activates nodes in order."""
        for name in names:
            for step in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
                self.change(name, step)

    def change(self, name: str, step: int) -> None:
        """One lifecycle transition: a constant of lifecycle_msgs/Transition."""
        request = ChangeState.Request(transition=Transition(id=step))
        if not self.call(ChangeState, f"{name}/change_state", request).success:
            raise RuntimeError(f"{name} refused a lifecycle transition; see its output above")
