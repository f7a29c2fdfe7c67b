"""Polytopes over DDS while the arm moves: `make bench-capability-node`.

The arm (mock_hardware, a UR5 that follows sines) and the capability node run as two processes; this one records only
the number, size and arrival time of messages, because decoding them in Python would dominate. The age is the time
from the stamp of the joint state to the arrival of its polytopes. Needs ROS.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from manipapy_msgs.msg import Obstacle, ObstacleArray, PolytopeArray
from measure import machine, version_of
from report import Report
from ros_nodes import JOINTS, Peer, parameters, processes, ros
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import MarkerArray

from manipapy_ros.common import qos
from manipapy_ros.common.names import TRAJECTORY_CONTROLLER
from manipapy_ros.realtime.polled_topics import PolledSubscription

HOME = np.array([0.0, -1.2, 1.4, -1.7, -1.57, 0.0])
AMPLITUDE = np.array([0.7, 0.3, 0.4, 0.5, 0.5, 0.8])
PERIODS = np.array([4.0, 3.0, 2.5, 2.0, 2.2, 1.8])
"""Of the sines that the joints follow [s]."""
MIN_RATE = 50.0
"""[Hz]"""
REQUESTED_RATE = 100.0
"""Rate parameter of the node [Hz]: above the bar, so that the node's own limit is measured."""
TIMEOUT = 60.0
"""[s]"""
CASES = {
    "velocity, nothing around": (["velocity"], 0),
    "velocity, 20 boxes": (["velocity"], 20),
    "all five, 20 boxes": (["velocity", "motion", "force", "acceleration", "reach"], 20),
}
REQUIRED = ("velocity, nothing around", "velocity, 20 boxes")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15.0, help="duration of each case (15)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    options = parser.parse_args()
    report = Report()
    report.heading("Polytopes over DDS while the arm moves")
    report.note(machine())
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    report.note(f"Python {platform.python_version()}, numpy {version_of('numpy')}, load {load}")
    rows, rates = [], {}
    with ros():
        for name, (polytopes, boxes) in CASES.items():
            result = measure(polytopes, boxes, options.seconds)
            rates[name] = result["rate"]
            figures = ("rate", "slowest", "age", "oldest", "work", "kilobytes")
            rows.append([name, "", *(f"{result[figure]:.1f}" for figure in figures)])
            report.measurements[name] = result
    heads = ["case", "", "per second", "slowest second", "age [ms]", "age p99", "CPU each [ms]", "kB each"]
    report.table(heads, rows)
    report.note("The CPU time is that of the whole node, its executor and both messages included.")
    report.promise(
        "polytopes per second", {name: rates[name] for name in REQUIRED}, MIN_RATE, at_least=True, unit=" Hz"
    )
    report.print_bars()
    if options.json:
        report.save(options.json)
    return 0


class Bench(Peer):
    """Client of the nodes."""

    def __init__(self) -> None:
        super().__init__("bench_capability", TIMEOUT)
        self.trajectories = self.node.create_publisher(JointTrajectory, f"{TRAJECTORY_CONTROLLER}/joint_trajectory", 1)
        self.obstacles = self.node.create_publisher(ObstacleArray, "obstacles", 1)

    def move(self, seconds: float) -> None:
        """Sines around HOME that start and end at rest, a point every 20 ms."""

        def at(t: float) -> np.ndarray:
            fade = np.clip(min(t, seconds - t), 0.0, 1.0)
            return HOME + fade**2 * (3.0 - 2.0 * fade) * AMPLITUDE * np.sin(2.0 * np.pi * t / PERIODS)

        message = JointTrajectory(joint_names=JOINTS)
        for t in np.linspace(0.0, seconds, round(50 * seconds) + 1)[1:]:
            point = JointTrajectoryPoint(positions=at(t).tolist())
            point.velocities = ((at(t + 1e-4) - at(t - 1e-4)) / 2e-4 if t < seconds else 0.0 * HOME).tolist()
            point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(t * 1e9), 1_000_000_000)
            message.points.append(point)
        self.trajectories.publish(message)

    def surround(self, boxes: int) -> None:
        """Boxes on a ring around the arm, sometimes within the avoidance distance."""
        message = ObstacleArray()
        for index in range(boxes):
            angle = 2.0 * np.pi * index / max(boxes, 1)
            box = Obstacle(id=index + 1)
            box.pose.position.x, box.pose.position.y = 0.85 * np.cos(angle), 0.85 * np.sin(angle)
            box.pose.position.z, box.pose.orientation.w = 0.1 + 0.02 * index, 1.0
            box.size.x = box.size.y = box.size.z = 0.12
            message.obstacles.append(box)
        self.obstacles.publish(message)


@contextmanager
def nodes(polytopes: list[str]) -> Iterator[tuple[Bench, subprocess.Popen[bytes]]]:
    """Both processes, active; stopped on exit."""
    arm = parameters({"initial_positions": HOME.tolist(), "update_rate": 250.0})
    capability = parameters({"polytopes": polytopes, "rate": REQUESTED_RATE})
    with processes({"mock_hardware": arm, "capability": capability}) as started, Bench() as bench:
        bench.bring_up("mock_hardware", "capability")
        yield bench, started["capability"]


def measure(polytopes: list[str], boxes: int, seconds: float) -> dict[str, float]:
    """Rate, age, size and CPU time of the messages while the arm moves."""
    with nodes(polytopes) as (bench, process):
        topic = PolledSubscription(bench.node, PolytopeArray, "capability/polytopes", qos.STATE)
        PolledSubscription(
            bench.node, MarkerArray, "capability/polytope_markers", qos.NEWEST
        )  # markers are published only with a subscriber
        bench.wait_for(lambda: topic.publishers > 0 and bench.trajectories.get_subscription_count() > 0)
        bench.surround(boxes)
        bench.move(seconds + 10.0)
        bench.wait_for(lambda: topic.newest() is not None)
        time.sleep(2.0)
        topic.newest()
        arrived, ages, sizes = [], [], []
        cpu, began = cpu_seconds(process.pid), time.monotonic()
        while time.monotonic() - began < seconds:
            message = topic.newest()
            if message is None:
                time.sleep(0.0005)
                continue
            now = bench.node.get_clock().now().nanoseconds
            arrived.append(time.monotonic() - began)
            stamp = message.header.stamp
            ages.append(1e-6 * (now - stamp.sec * 1_000_000_000 - stamp.nanosec))
            sizes.append(sum(8 * (4 * len(p.half_spaces_b) + 3 * len(p.vertices)) for p in message.polytopes))
        used = cpu_seconds(process.pid) - cpu
    per_second = np.bincount(np.array(arrived, dtype=int), minlength=int(seconds))[: int(seconds)]
    return {
        "rate": len(arrived) / seconds,
        "slowest": float(per_second.min()),
        "age": float(np.median(ages)),
        "oldest": float(np.percentile(ages, 99)),
        "work": 1e3 * used / max(len(arrived), 1),
        "kilobytes": float(np.mean(sizes)) / 1e3,
    }


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far, from Linux."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
