"""Soak: random goals, obstacles and killed nodes for hours; memory, threads, descriptors and tracking over time.

python scripts/soak.py --hours 1 starts `manipapy up` for a UR5, plays, and writes docs/soak.md with a figure. It fails
if a node has grown in the second half.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from geometry_msgs.msg import Point, Pose
from manipapy_msgs.msg import CollisionObject, ControllerStatus, MotionRequest
from manipapy_msgs.srv import ChangeWorld
from sensor_msgs.msg import JointState

from manipapy_core.errors import ManipapyError
from manipapy_ros.client.planner import PlannerClient
from manipapy_ros.client.robot import RobotClient

DOCS = Path(__file__).resolve().parents[1] / "docs"
EVERY = 5.0
"""Between two samples [s]."""
KILLED = ("model_server", "collision_monitor")
"""Nodes that are killed at random times; the supervisor starts them again."""
GROWTH = 1.1
"""Allowed ratio of the medians of the last quarter and of the second one, where the warm-up is over."""
HOME = (0.0, -1.57, 1.57, -1.57, -1.57, 0.0)
NAMES = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
JOINTS = tuple(f"{name}_joint" for name in NAMES)
MANIPAPY = (sys.executable, "-c", "from manipapy_ros.quick import main; main()")


@dataclass(frozen=True)
class Sample:
    """One node at one time."""

    time: float
    """[s]"""
    memory: float
    """Resident [MiB]."""
    threads: int
    descriptors: int


def node_pids(parent: int) -> dict[str, int]:
    """Process ids of the nodes that a supervisor has started, by name."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # ended meanwhile
        module = next((word.decode() for word in words if word.startswith(b"manipapy_ros.")), "")
        if module and int(fields[1]) == parent:
            found[module.split(".")[1]] = int(entry.name)
    return found


def sample(pid: int, now: float) -> Sample | None:
    """The state of a process; None if it has ended."""
    folder = Path(f"/proc/{pid}")
    try:
        memory = 4096 * int((folder / "statm").read_text(encoding="ascii").split()[1]) / 2**20
        return Sample(now, memory, len(list((folder / "task").iterdir())), len(list((folder / "fd").iterdir())))
    except OSError:
        return None


def request(q: np.ndarray, speed: float) -> MotionRequest:
    """A motion to joint positions."""
    joints = JointState(name=list(JOINTS), position=q.tolist())
    return MotionRequest(kind=MotionRequest.JOINTS, joints=joints, velocity_scaling=speed)


def obstacle(rng: random.Random) -> CollisionObject:
    """A box beside the arm."""
    at = Point(x=rng.uniform(0.5, 0.8) * rng.choice((-1, 1)), y=rng.uniform(-0.6, 0.6), z=rng.uniform(0.1, 0.9))
    size = [rng.uniform(0.05, 0.2) for _ in range(3)]
    return CollisionObject(id=f"box{rng.randrange(4)}", type="box", dimensions=size, pose=Pose(position=at))


class Soak:
    """Plays with a running suite and records it.

    Args:
        supervisor: Process id of `manipapy up`.
        seconds: How long [s].
        restart_every: Between two kills [s].
    """

    def __init__(self, supervisor: int, seconds: float, restart_every: float):
        self.samples: dict[str, list[Sample]] = defaultdict(list)
        self.motions, self.refused, self.kills = 0, defaultdict(int), 0
        self.tracking: list[tuple[float, float]] = []
        """Time [s] and largest joint error at the end of a motion [mrad]."""
        self.overruns: list[tuple[float, int]] = []
        """Time [s], and ticks that the controller has skipped so far."""
        self._skipped = 0
        self._boxes: set[str] = set()
        self._supervisor, self._seconds, self._restart_every = supervisor, seconds, restart_every

    def play(self, robot: RobotClient) -> None:
        """Until the time is over."""
        rng, planner = random.Random(0), PlannerClient(robot.client)
        robot.client.node.create_subscription(ControllerStatus, "controller/status", self._count_overruns, 10)
        began = time.monotonic()
        next_sample, next_kill = began, began + self._restart_every
        while (now := time.monotonic()) < began + self._seconds:
            if now >= next_sample:
                next_sample = now + EVERY
                for name, pid in node_pids(self._supervisor).items():
                    found = sample(pid, now - began)
                    if found is not None:
                        self.samples[name].append(found)
                self.overruns.append((now - began, self._skipped))
            if now >= next_kill:
                next_kill = now + self._restart_every
                self._kill(rng.choice(KILLED))
            self._edit_world(planner, rng)
            self._move(robot, planner, np.array([q + rng.uniform(-0.8, 0.8) for q in HOME]), now - began)

    def _count_overruns(self, status: ControllerStatus) -> None:
        self._skipped += status.overruns

    def _edit_world(self, planner: PlannerClient, rng: random.Random) -> None:
        box, operation = obstacle(rng), rng.choice(["ADD", "REMOVE", "CLEAR"])
        if operation == "REMOVE":
            if not self._boxes:
                return
            box.id = rng.choice(sorted(self._boxes))
        try:
            planner.change_world(getattr(ChangeWorld.Request, operation), box)
        except ManipapyError as error:
            self.refused[f"world: {str(error)[:60]}"] += 1
            return
        if operation == "CLEAR":
            self._boxes.clear()
        elif operation == "ADD":
            self._boxes.add(box.id)
        else:
            self._boxes.discard(box.id)

    def _move(self, robot: RobotClient, planner: PlannerClient, q: np.ndarray, now: float) -> None:
        try:
            planner.move(request(q, 0.6))
        except ManipapyError as error:
            self.refused[str(error).partition(":")[2].strip()[:60] or str(error)[:60]] += 1
            return
        self.motions += 1
        self.tracking.append((now, 1e3 * float(np.abs(robot.arm.positions(JOINTS) - q).max())))

    def _kill(self, name: str) -> None:
        pid = node_pids(self._supervisor).get(name)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            self.kills += 1

    def grown(self) -> list[str]:
        """Nodes that were not killed and have grown."""
        found = []
        for name, samples in self.samples.items():
            quarter = len(samples) // 4
            if name in KILLED or quarter < 3:
                continue
            for what in ("memory", "threads", "descriptors"):
                values = [getattr(entry, what) for entry in samples]
                early, late = np.median(values[quarter : 2 * quarter]), np.median(values[-quarter:])
                if late > GROWTH * early + 2.0:
                    found.append(f"{what} of {name}: {early:.0f} → {late:.0f}")
        return found


def write_report(soak: Soak, minutes: float) -> None:
    """docs/soak.md and its figure."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(15, 6), layout="constrained")
    for axis, what in zip(axes.flat, ("memory", "threads", "descriptors")):
        for name, samples in soak.samples.items():
            axis.plot([s.time / 60 for s in samples], [getattr(s, what) for s in samples], label=name)
        axis.set(xlabel="time [min]", ylabel=f"{what} [MiB]" if what == "memory" else what)
    axes[0, 0].legend(fontsize=7)
    axes[1, 0].plot([at / 60 for at, _ in soak.tracking], [error for _, error in soak.tracking], ".")
    axes[1, 0].set(xlabel="time [min]", ylabel="joint error at the end [mrad]")
    axes[1, 1].plot([at / 60 for at, _ in soak.overruns], [skipped for _, skipped in soak.overruns])
    axes[1, 1].set(xlabel="time [min]", ylabel="ticks skipped by the controller")
    axes[1, 2].axis("off")
    figure.savefig(DOCS / "images" / "soak.png", dpi=110)
    refused = "".join(f"| {text} | {count} |\n" for text, count in sorted(soak.refused.items()))
    worst = max((error for _, error in soak.tracking), default=0.0)
    (DOCS / "soak.md").write_text(
        "# Soak\n\nWritten by `make soak`: random goals and obstacles for a simulated UR5, with nodes killed on the "
        "way.\n\n"
        f"{minutes:.0f} minutes: {soak.motions} motions arrived, largest joint error at the end {worst:.2f} mrad; "
        f"{soak.overruns[-1][1] if soak.overruns else 0} ticks of 1 ms were skipped; "
        f"{soak.kills} nodes were killed and started again by the supervisor. "
        + ("Grown: " + "; ".join(soak.grown()) if soak.grown() else "Nothing has grown.")
        + "\n\n![memory, threads, descriptors and tracking over time](images/soak.png)\n\n"
        + ("| not done, with the reason | times |\n|---|---|\n" + refused if refused else ""),
        encoding="utf-8",
    )


def main() -> int:
    """Runs it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--restart-every", type=float, default=120.0, help="seconds between two kills of a node")
    options = parser.parse_args()
    seconds = 3600.0 * options.hours
    arguments = ("up", "--robot", "ur5", "--on-failure", "restart", "--scene", "")
    with subprocess.Popen([*MANIPAPY, *arguments], stdout=subprocess.DEVNULL) as suite:
        try:
            soak = Soak(suite.pid, seconds, options.restart_every)
            with RobotClient("") as robot:
                robot.arm.controller(300.0)
                soak.play(robot)
        finally:
            suite.send_signal(signal.SIGINT)
            suite.wait(30.0)
    write_report(soak, seconds / 60.0)
    arrived = soak.motions / max(1, soak.motions + sum(soak.refused.values()))
    print(f"{soak.motions} motions arrived ({100 * arrived:.0f} %), {soak.kills} kills; {dict(soak.refused)}")
    print("\n".join(soak.grown()) or "nothing has grown")
    return 1 if soak.grown() or not soak.motions else 0


if __name__ == "__main__":
    sys.exit(main())
