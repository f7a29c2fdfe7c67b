"""Polytopes over DDS while the arm moves: part of `make bench-nodes`.

The arm (mock_hardware, a UR5 that follows sines), the planner, which owns the world, and the capability node run as
three processes; this one records only the number, size and arrival time of messages, because decoding them in Python
would dominate. The boxes are added to the planner's world by its service, the octomap (a room of 4 x 4 x 2 m without
ceiling, in cells of 5 cm) by its topic; the arm itself is always checked. The age is the time from the stamp of the
joint state to the arrival of its polytopes. Needs ROS.
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
from manipapy_msgs.msg import CollisionObject, PolytopeArray
from manipapy_msgs.srv import ChangeWorld, ListObjects
from measure import machine, version_of
from octomap_msgs.msg import Octomap
from report import Report
from ros_nodes import JOINTS, Peer, parameters, processes, ros
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
from visualization_msgs.msg import MarkerArray

from manipapy_core.geometry.octree import binary_stream
from manipapy_ros.common import qos
from manipapy_ros.common.names import TRAJECTORY_CONTROLLER
from manipapy_ros.realtime.polled_topics import PolledSubscription

HOME = np.array([0.0, -1.2, 1.4, -1.7, -1.57, 0.0])
AMPLITUDE = np.array([0.7, 0.3, 0.4, 0.5, 0.5, 0.8])
PERIODS = np.array([4.0, 3.0, 2.5, 2.0, 2.2, 1.8])
"""Of the sines that the joints follow [s]."""
MIN_RATE = 100.0
"""[Hz]"""
REQUESTED_RATE = 125.0
"""Rate parameter of the node [Hz]: above the bar, so that the node's own limit is measured."""
TIMEOUT = 60.0
"""[s]"""
CASES = {
    "velocity, nothing around": (["velocity"], 0, False),
    "velocity, 20 boxes": (["velocity"], 20, False),
    "velocity, 20 boxes, octomap": (["velocity"], 20, True),
    "all five, 20 boxes, octomap": (["velocity", "motion", "force", "acceleration", "reach"], 20, True),
}
REQUIRED = ("velocity, nothing around", "velocity, 20 boxes", "velocity, 20 boxes, octomap")
ROOM, CELL = (80, 80, 40), 0.05
"""Of the octomap: cells along x, y and z, and their edge [m]."""


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
        for name, (polytopes, boxes, octomap) in CASES.items():
            result = measure(polytopes, boxes, octomap, options.seconds)
            rates[name] = result["rate"]
            figures = ("rate", "slowest", "age", "oldest", "work", "kilobytes")
            rows.append([name, "", *(f"{result[figure]:.1f}" for figure in figures)])
            report.measurements[name] = result
    heads = ["case", "", "per second", "slowest second", "age [ms]", "age p99", "CPU each [ms]", "kB each"]
    report.table(heads, rows)
    report.note("The CPU time is that of the whole node, its executor and both messages included.")
    report.require(
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
        self.octomaps = self.node.create_publisher(Octomap, "octomap_binary", 1)

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
        for index in range(boxes):
            angle = 2.0 * np.pi * index / max(boxes, 1)
            box = CollisionObject(id=f"box {index}", type="box", dimensions=[0.12] * 3)
            box.pose.position.x, box.pose.position.y = 0.85 * np.cos(angle), 0.85 * np.sin(angle)
            box.pose.position.z, box.pose.orientation.w = 0.1 + 0.02 * index, 1.0
            request = ChangeWorld.Request(operation=ChangeWorld.Request.ADD, object=box)
            assert self.call(ChangeWorld, "planner/change_world", request).success

    def publish_room(self) -> None:
        """An octomap of floor and walls, until the planner has it."""
        cells = np.stack(np.meshgrid(*(np.arange(n) for n in ROOM), indexing="ij"), axis=-1).reshape(-1, 3)
        shell = (
            (cells[:, :2] == 0).any(axis=1) | (cells[:, :2] == np.array(ROOM[:2]) - 1).any(axis=1) | (cells[:, 2] == 0)
        )
        centres = (cells[shell] - [ROOM[0] // 2, ROOM[1] // 2, 4] + 0.5) * CELL
        stream, resolution = binary_stream(centres, np.full(len(centres), CELL))
        message = Octomap(binary=True, id="OcTree", resolution=resolution)
        message.header.frame_id = "base_link"
        message.data.frombytes(stream)
        self.wait_for(lambda: self.octomaps.get_subscription_count() > 0)
        self.octomaps.publish(message)

        def there() -> bool:
            listed = self.call(ListObjects, "planner/list_objects", ListObjects.Request())
            return any(item.id == "octomap" for item in listed.objects)

        self.wait_for(there)


@contextmanager
def nodes(polytopes: list[str]) -> Iterator[tuple[Bench, subprocess.Popen[bytes]]]:
    """Both processes, active; stopped on exit."""
    arm = parameters({"initial_positions": HOME.tolist(), "update_rate": 250.0})
    capability = parameters({"polytopes": polytopes, "rate": REQUESTED_RATE})
    names = {"mock_hardware": arm, "planner": parameters({}), "capability": capability}
    with processes(names) as started, Bench() as bench:
        bench.bring_up(*names)
        yield bench, started["capability"]


def measure(polytopes: list[str], boxes: int, octomap: bool, seconds: float) -> dict[str, float]:
    """Rate, age, size and CPU time of the messages while the arm moves."""
    with nodes(polytopes) as (bench, process):
        topic = PolledSubscription(bench.node, PolytopeArray, "capability/polytopes", qos.STATE)
        PolledSubscription(
            bench.node, MarkerArray, "capability/polytope_markers", qos.NEWEST
        )  # markers are published only with a subscriber
        bench.wait_for(lambda: topic.publishers > 0 and bench.trajectories.get_subscription_count() > 0)
        bench.surround(boxes)
        if octomap:
            bench.publish_room()
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
