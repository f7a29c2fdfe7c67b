"""A rig for faults: bridge and controller as processes, and the truth that the bridge records at every step."""

from __future__ import annotations

import functools
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
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

import ros_arm
from manipapy_core import Robot, kinematics
from manipapy_core.model.chain import Chain
from manipapy_core.trajectory import BrakingLimits
from manipapy_ros.client.session import destroy_node
from manipapy_ros.sim_bridge.truth_log import Truth, read_truth
from ros.conftest import NodeProcess, Peer, node_processes
from ros.suites import free_domain, ros_environment

REACTION = 0.05
"""Time before an arm must begin to brake [s]: more than twice the command timeout of the drives."""
AT_REST = 0.01
"""[rad/s or m/s]"""


@dataclass(frozen=True, eq=False)
class Bot:
    """A robot of the rig: where it starts and where it moves to."""

    name: str
    base: str
    tip: str
    joints: tuple[str, ...]
    home: np.ndarray
    away: np.ndarray

    @functools.cached_property
    def chain(self) -> Chain:
        return Robot.from_urdf(self.name).chain(self.base, self.tip)


UR5 = Bot(
    "ur5",
    "base_link",
    "tool0",
    ros_arm.JOINTS,
    ros_arm.HOME,
    ros_arm.HOME + np.array([1.2, 0.5, -0.7, 0.5, 0.4, -0.9]),
)


PANDA_HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
PANDA = Bot(
    "panda",
    "panda_link0",
    "panda_hand_tcp",
    tuple(f"panda_joint{number}" for number in range(1, 8)),
    PANDA_HOME,
    PANDA_HOME + np.array([1.2, 0.4, 0.5, 0.6, -0.6, 0.5, -0.8]),
)
BOTS = {bot.name: bot for bot in (UR5, PANDA)}


@dataclass(eq=False)
class Rig:
    """A running arm."""

    bot: Bot
    peer: Peer
    arm: ros_arm.Arm
    log: Path
    namespace: str
    start: Callable[..., NodeProcess]
    bridge_arguments: Sequence[str] = ()
    controller_arguments: Sequence[str] = ()
    children: list[subprocess.Popen] = field(default_factory=list)

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

    def rogue(self, *arguments: str) -> subprocess.Popen:
        """Starts a rogue; it prints a line when it is ready, and publishes from the first line of its input on."""
        command = [sys.executable, "-m", "faults.rogue", *arguments, "--namespace", self.namespace]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.children.append(process)
        return process

    def truth_since(self, wall: float) -> Truth:
        """The motion of the arm's joints from a monotonic time on [s]; of a new simulation, all of it."""
        found = self.truth().since(wall)
        which = [found.joint_names.index(name) for name in self.bot.joints]
        return Truth(self.bot.joints, found.time, found.wall, found.q[:, which], found.qd[:, which])

    def prepare(self, *arguments: str) -> None:
        """Starts a rogue and waits until it is ready."""
        self.rogue(*arguments).stdout.readline()

    def release(self) -> float:
        """Lets the last rogue publish; the monotonic time of its first message [s]."""
        rogue = self.children[-1]
        rogue.stdin.write("go\n")
        rogue.stdin.flush()
        return float(rogue.stdout.readline())

    def process(self, name: str) -> NodeProcess:
        """The running node of a name."""
        return self.arm.bridge if name == "sim_bridge" else self.arm.controller

    def restart(self, name: str) -> None:
        """Starts a node again after its end."""
        if name == "sim_bridge":
            self.arm.bridge = self.start(name, *self.bridge_arguments, namespace=self.namespace)
        else:
            self.arm.controller = self.start(name, *self.controller_arguments, namespace=self.namespace)
        ros_arm.bring_up(self.peer, self.process(name))

    @property
    def alive(self) -> bool:
        return self.arm.bridge.is_running and self.arm.controller.is_running

    def said(self) -> list[str]:
        """Warnings and errors of both nodes in the order of their time."""
        lines = (self.arm.controller.printed + "\n" + self.arm.bridge.printed).splitlines()
        found = [line for line in lines if line.startswith(("[WARN]", "[ERROR]"))]
        return sorted(found, key=lambda line: line.partition("] [")[2])

    def outcome(self, handle: Any) -> tuple[int, str] | None:
        """Status and text of a goal; None if it has not ended, as after the death of the controller."""
        if handle is None:
            return None
        answer = handle.get_result_async()
        end = time.monotonic() + 3.0
        while not answer.done() and time.monotonic() < end:
            self.peer.spin_for(0.05)
        return (answer.result().status, answer.result().result.error_string) if answer.done() else None

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
        """Until the first joint has gone this share of its way."""
        bot, end = self.bot, time.monotonic() + 30.0
        while (self.newest()[0][0] - bot.home[0]) / (bot.away[0] - bot.home[0]) < share:
            assert time.monotonic() < end, "the arm does not move"
            self.peer.spin_for(0.005)

    def wait_until_moving(self, speed: float = 0.3) -> None:
        """Until the truth shows it."""
        end = time.monotonic() + 30.0
        while np.abs(self.newest()[1]).max() < speed:
            assert time.monotonic() < end, "the arm does not move"
            self.peer.spin_for(0.005)


@contextmanager
def rig(bot: Bot = UR5, namespace: str = "/rig") -> Iterator[Rig]:
    """An arm in effort mode."""
    with TemporaryDirectory() as folder, free_domain() as domain, ros_environment(domain):
        context = Context()
        rclpy.init(context=context)
        node = Node("fault_peer", context=context)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        peer, log = Peer(node, executor), Path(folder) / "truth"
        with node_processes() as start:
            robot = ("robot", bot.name), ("base_link", bot.base), ("tip_link", bot.tip)
            common = [word for name, value in robot for word in ("-p", f"{name}:={value}")]
            start_at = f"initial_positions:={[float(value) for value in bot.home]}"
            bridge = ["-p", start_at, "-p", f"truth_log:={log}", *common]
            controller = ["-p", "use_sim_time:=true", "-r", "/clock:=clock", *common]
            arm = ros_arm.Arm(peer, start, namespace, bridge, common)
            made = Rig(bot, peer, arm, log, namespace, start, bridge, controller)
            try:
                yield made
            finally:
                for child in made.children:
                    child.kill()
                    child.wait()
        executor.shutdown()
        destroy_node(node)
        rclpy.shutdown(context=context)


def peak_ratio(chain: Chain, truth: Truth) -> float:
    """Largest speed over its limit."""
    return float((np.abs(truth.qd) / chain.limits.velocity).max())


def beyond_braking(chain: Chain, truth: Truth) -> float:
    """Tip distance from the start of the record beyond that of an ideal stop [m]."""
    limits = BrakingLimits.of(chain)
    q, qd = truth.q[0], truth.qd[0]
    stop = np.abs(qd) / limits.brake
    times = np.linspace(0.0, REACTION + float(stop.max()), 200)
    late = np.maximum(times - REACTION, 0.0)[:, None]
    t = np.minimum(late, stop)
    path = q + qd * np.minimum(times, REACTION)[:, None] + np.sign(qd) * (np.abs(qd) * t - 0.5 * limits.brake * t * t)
    allowed = np.linalg.norm(tips(chain, path) - tips(chain, path[:1]), axis=1).max()
    return float(np.linalg.norm(tips(chain, truth.q) - tips(chain, truth.q[:1]), axis=1).max() - allowed)


def tips(chain: Chain, q: np.ndarray) -> np.ndarray:
    """Tip positions [m], shape (..., 3)."""
    return kinematics.forward(chain, q)[..., :3, 3]
