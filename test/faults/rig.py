"""A rig for faults: nodes as processes, and the truth that the bridge records at every step."""

from __future__ import annotations

import enum
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import rclpy
from manipapy_msgs.msg import ObstacleArray
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

import ros_arm
from manipapy_ros.client.session import destroy_node
from manipapy_ros.sim_bridge.truth_log import Truth, read_truth
from ros.conftest import NodeProcess, Peer, node_processes
from ros.suites import free_domain, ros_environment

from .bots import BOTS, UR5, Bot

__all__ = ["BOTS", "UR5", "Bot", "HeldBefore", "Nodes", "Rig", "rig"]
SEEING = ("-p", "disable_self_filter:=true", "-p", "camera.frozen_after:=1.0")
ABOVE = "0 0 5 0 0 0"
"""Pose of the camera, which looks up and sees no robot [m, rad]."""
RAW_STATES = "joint_states_raw"
"""Topic of the bridge where a relay passes joint states on."""


class Nodes(enum.Enum):
    """Processes of a rig."""

    WORLD = "bridge, controller, planner and collision_monitor, whose forecasts are required"
    CAMERA = "the same with perception, without which the planner moves nothing, and a camera"
    RELAY = "bridge and controller, with a process between them that can spoil joint states"
    ARM = "bridge and controller"


class HeldBefore(AssertionError):
    """The arm was held on its way to the phase, as by a machine that is late."""


@dataclass(eq=False)
class Rig:
    """A running arm."""

    bot: Bot
    peer: Peer
    arm: ros_arm.Arm
    log: Path
    namespace: str
    start: Callable[..., NodeProcess]
    arguments: dict[str, Sequence[str]]
    """Of each node, for a restart."""
    others: dict[str, NodeProcess] = field(default_factory=dict)
    """Nodes beside bridge and controller."""
    children: list[subprocess.Popen] = field(default_factory=list)
    target: np.ndarray | None = None
    """Goal of the present motion [rad], shape (n,)."""
    answers: list[str] = field(default_factory=list)
    """Reasons in the answers to requests of the present case."""
    objects: Any = None
    """What the present case has put into the way (world_faults.py)."""

    def truth(self) -> Truth:
        """Everything so far."""
        return read_truth(self.log)

    def newest(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities of the arm's joints after the last step, shape (n,) each."""
        with self.log.open("rb") as file:
            head = file.read(4096)
            names = head.split(b"\n", 2)[1].decode().split(",")
            start, size = len(head) - len(head.split(b"\n", 2)[2]), 8 * (2 + 2 * len(names))
            rows = (file.seek(0, os.SEEK_END) - start) // size
            file.seek(start + (rows - 1) * size)
            numbers = np.frombuffer(file.read(size))
        which = [names.index(name) for name in self.bot.joints]
        return numbers[2 : 2 + len(names)][which], numbers[2 + len(names) :][which]

    def truth_since(self, wall: float) -> Truth:
        """The motion of the arm's joints from a monotonic time on [s]; of a new simulation, all of it."""
        found = self.truth().since(wall)
        which = [found.joint_names.index(name) for name in self.bot.joints]
        return Truth(self.bot.joints, found.time, found.wall, found.q[:, which], found.qd[:, which])

    def child(self, module: str, *arguments: str) -> subprocess.Popen:
        """Starts a process of this package, which is told by lines what to do."""
        command = [sys.executable, "-m", f"faults.{module}", *arguments, "--namespace", self.namespace]
        self.children.append(subprocess.Popen(command, **_with_pipes()))
        return self.children[-1]

    def rogue(self, *arguments: str) -> subprocess.Popen:
        """Starts a rogue; it prints a line when it is ready, and publishes from the first line of its input on."""
        return self.child("rogue", *arguments)

    def prepare(self, *arguments: str) -> None:
        """Starts a rogue and waits until it is ready."""
        self.rogue(*arguments).stdout.readline()

    def release(self) -> float:
        """Lets the last rogue publish; the monotonic time of its first message [s]."""
        return tell(self.children[-1], "go")

    def process(self, name: str) -> NodeProcess:
        """The running node of a name."""
        return {"sim_bridge": self.arm.bridge, "controller": self.arm.controller, **self.others}[name]

    def restart(self, name: str) -> None:
        """Starts a node again after its end."""
        made = self.start(name, *self.arguments[name], namespace=self.namespace)
        if name == "sim_bridge":
            self.arm.bridge = made
        elif name == "controller":
            self.arm.controller = made
        else:
            self.others[name] = made
        ros_arm.bring_up(self.peer, made)

    @property
    def nodes(self) -> list[NodeProcess]:
        return [self.arm.controller, self.arm.bridge, *self.others.values()]

    @property
    def alive(self) -> bool:
        return all(node.is_running for node in self.nodes)

    def said(self) -> list[str]:
        """Warnings and errors of all nodes in the order of their time."""
        lines = "\n".join(node.printed for node in self.nodes).splitlines()
        found = [line for line in lines if line.startswith(("[WARN]", "[ERROR]"))]
        return sorted(found, key=lambda line: line.partition("] [")[2])

    def outcome(self, answer: Any) -> tuple[int, str] | None:
        """Status and text of a goal; None if it has not ended, as after the death of the controller.

        Args:
            answer: Of `get_result_async`, called as soon as the goal was accepted, as clients do; None: no goal.
        """
        if answer is None:
            return None
        end = time.monotonic() + 3.0
        while not answer.done() and time.monotonic() < end:
            self.peer.spin_for(0.05)
        if not answer.done():
            return None
        result = answer.result().result
        return answer.result().status, result.error_string if hasattr(result, "error_string") else result.text

    def at(self, q: np.ndarray) -> bool:
        """Whether the arm is at rest in a configuration."""
        now, speed = self.newest()
        return bool(np.abs(now - q).max() < 0.005 and np.abs(speed).max() < 0.01)

    def recover(self, q: np.ndarray) -> bool:
        """Whether the arm moves to a configuration, after a reset, without any restart."""
        for _ in range(5):
            self.peer.spin_for(0.3)
            if not self.arm.trigger(self.arm.controller, "reset").success:
                self.peer.spin_for(1.0)
                continue
            status, _ = self.arm.execute(self.arm.goal(q, seconds=1.5, names=self.bot.joints))
            if status == ros_arm.SUCCEEDED:
                return True
        return False

    def wait_until_on_the_way(self, share: float) -> None:
        """Until the arm has gone this share of its way."""
        home, end = self.bot.home, time.monotonic() + 10.0
        way = (self.bot.away if self.target is None else self.target) - home
        while (self.newest()[0] - home) @ way / (way @ way) < share:
            if time.monotonic() > end:
                raise HeldBefore("the arm does not move")
            self.peer.spin_for(0.005)

    def wait_until_seen(self) -> None:
        """Until perception has published obstacles."""
        seen: list[ObstacleArray] = []
        topic = f"{self.namespace}/obstacles"
        subscription = self.peer.node.create_subscription(ObstacleArray, topic, seen.append, 1)
        self.peer.wait_for(lambda: len(seen) > 3, "obstacles")
        self.peer.node.destroy_subscription(subscription)

    def wait_until_moving(self, speed: float = 0.3) -> None:
        """Until the truth shows it."""
        end = time.monotonic() + 30.0
        while np.abs(self.newest()[1]).max() < speed:
            assert time.monotonic() < end, "the arm does not move"
            self.peer.spin_for(0.005)


def tell(child: subprocess.Popen, line: str) -> float:
    """Tells a process what to do; the monotonic time at which it began [s]."""
    child.stdin.write(line + "\n")
    child.stdin.flush()
    return float(child.stdout.readline())


def _with_pipes() -> dict[str, Any]:
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    return {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "text": True,
        "env": {**os.environ, "PYTHONPATH": path},
    }


@contextmanager
def rig(bot: Bot = UR5, namespace: str = "/rig", nodes: Nodes = Nodes.ARM) -> Iterator[Rig]:
    """An arm in effort mode."""
    with TemporaryDirectory() as folder, free_domain() as domain, ros_environment(domain):
        context = Context()
        rclpy.init(context=context)
        node = Node("fault_peer", context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        peer, log = Peer(node, executor), Path(folder) / "truth"
        children: list[subprocess.Popen] = []
        with node_processes() as start:
            robot = ("robot", bot.name), ("base_link", bot.base), ("tip_link", bot.tip)
            common = [word for name, value in robot for word in ("-p", f"{name}:={value}")]
            follower = ["-p", "use_sim_time:=true", "-r", "/clock:=clock", *common]
            home = f"initial_positions:={[float(value) for value in bot.home]}"
            bridge, controller = ["-p", home, "-p", f"truth_log:={log}", *common], common
            if nodes is Nodes.RELAY:
                bridge += ["-r", f"joint_states:={RAW_STATES}", "-p", "late_effort_timeout:=0.05"]
                command = [sys.executable, "-m", "faults.relay", "--namespace", namespace, "--source", RAW_STATES]
                children.append(subprocess.Popen(command, **_with_pipes()))
            planned = nodes in (Nodes.WORLD, Nodes.CAMERA)
            if nodes is Nodes.CAMERA:
                command = [sys.executable, "-m", "faults.camera", "--namespace", namespace]
                children.append(subprocess.Popen(command, **_with_pipes()))
                children[0].stdout.readline()
            if planned:
                controller = [*common, "-p", "collision_forecast:=require"]
            arm = ros_arm.Arm(peer, start, namespace, bridge, controller)
            arguments = {"sim_bridge": bridge, "controller": [*follower, *controller[len(common) :]]}
            made = Rig(bot, peer, arm, log, namespace, start, dict(arguments), children=children)
            try:
                if planned:
                    made.arguments |= {"planner": follower, "collision_monitor": follower}
                if nodes is Nodes.CAMERA:
                    expected = ["-p", "obstacles.expected:=true", "-p", "obstacles.wait:=2.0"]
                    made.arguments["planner"] = [*follower, *expected]
                    made.arguments["perception"] = [*follower, *SEEING, "-p", f"camera.pose:={bot.base} {ABOVE}"]
                for name in made.arguments:
                    if name not in arguments:
                        made.restart(name)
                if nodes is Nodes.CAMERA:
                    made.wait_until_seen()
                yield made
            finally:
                for child in made.children:
                    child.kill()
                    child.wait()
        executor.shutdown()
        destroy_node(node)
        rclpy.shutdown(context=context)
