"""The collision checker beside coal, in one run: `make bench-collision`.

Configurations per second on one core, missed collisions, false alarms, distances. Truth is coal through Pinocchio,
which reads the same description and compares the same shapes. Times are CPU time of the thread, medians.
"""

from __future__ import annotations

import argparse
import platform
from pathlib import Path

import numpy as np
from measure import machine, take_turns, version_of
from problems import ROOT  # noqa: F401  (puts the library and the tests' references on the path)
from report import Report, nanoseconds

from geometry.arms import ENDS, CoalScene, arm, coal_table, configurations, table_world
from manipapy_core.geometry import Checker
from manipapy_core.geometry.codegen.engine import checker_code

BATCH = 20_000
SCENES = 5
"""Each with its own boxes; the configurations for coal are spread over them."""
EDGE_STEP = 1.0 / 32.0

NOT_LIKE_FOR_LIKE = (
    "coal through Pinocchio compares shape by shape and stops at the first hit; its broad phase would be quicker.",
    "Where coal computes exact distances, manipapy's are those of covering spheres: up to the overshoot too small.",
    "coal works in double precision; manipapy in single precision with 0.2 mm added all around.",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    parser.add_argument("--configurations", type=int, default=100_000, help="per robot, against coal")
    parser.add_argument("--robots", nargs="+", default=list(ENDS), choices=list(ENDS))
    options = parser.parse_args()
    report = Report()
    report.heading("manipapy collision benchmark")
    report.note(machine())
    versions = ", ".join(f"{name} {version_of(name)}" for name in ("numpy", "llvmlite", "coal", "pin"))
    report.note(f"Python {platform.python_version()}, {versions}; {checker_code().lanes} lanes of float32")
    speed(report, options.robots)
    truth(report, options.robots, options.configurations)
    report.finish(NOT_LIKE_FOR_LIKE, options.json)


def speed(report: Report, robots: list[str]) -> None:
    report.heading("Self and 20 boxes, one core: ns per configuration")
    rows, rates, distances = [], {}, {}
    for name in robots:
        robot, chain, body = arm(name)
        checker = Checker(body, table_world())
        q = configurations(chain, BATCH)
        free = q[~checker.check(q)]
        begin, end = free_edges(checker, free)
        per_edge = int(np.ceil(1.0 / EDGE_STEP)) // checker_code().lanes * checker_code().lanes + checker_code().lanes
        few = q[:40]
        coal_scene = CoalScene(robot, chain, body, coal_table())
        taken = take_turns(
            {
                "random": lambda: checker.check(q),  # noqa: B023
                "free": lambda: checker.check(free),  # noqa: B023
                "edge": lambda: checker.check_edges(begin, end, EDGE_STEP),  # noqa: B023
                "distances": lambda: checker.distances(q),  # noqa: B023
                "coal": lambda: coal_scene.check(few),  # noqa: B023
            }
        )
        each = {
            "random": taken["random"] / len(q),
            "free": taken["free"] / len(free),
            "edge": taken["edge"] / (len(begin) * per_edge),
            "distances": taken["distances"] / len(q),
            "coal": taken["coal"] / len(few),
        }
        rates[name], distances[name] = 1e-6 / each["random"], 1e6 * each["distances"]
        report.measurements[f"{name} seconds per configuration"] = each
        spheres = sum(len(group.spheres) for group in body.groups)
        ratio = each["coal"] / each["random"]
        rows.append([name, str(spheres), *(nanoseconds(value) for value in each.values()), f"{ratio:.0f}x"])
    header = ["robot", "spheres", "random", "free", "free motion", "distances", "coal", "coal / random"]
    report.table(header, rows)
    for name, least in (("panda", 3.0), ("ur5", 2.0)):
        if name in rates:
            text = f"{name}: millions of configurations per second"
            report.require(text, {name: rates[name]}, least, at_least=True, unit="")
    report.require("distances with nearest points, per configuration", distances, 2.0, at_least=False, unit=" µs")


def free_edges(checker: Checker, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Free motions of one radian."""
    direction = np.random.default_rng(1).normal(size=free.shape)
    end = free + direction / np.linalg.norm(direction, axis=1, keepdims=True)
    clear = ~checker.check_edges(free, end, EDGE_STEP)
    return free[clear][:1000], end[clear][:1000]


def truth(report: Report, robots: list[str], count: int) -> None:
    report.heading(f"Against coal: {count:,} configurations per robot in {SCENES} scenes")
    rows, missed, invented = [], {}, {}
    for name in robots:
        robot, chain, body = arm(name)
        totals = np.zeros(4, dtype=np.int64)
        for scene, q in enumerate(np.array_split(configurations(chain, count, seed=77), SCENES)):
            reported = Checker(body, table_world(scene)).check(q)
            true = CoalScene(robot, chain, body, coal_table(scene)).check(q)
            totals += [true.sum(), (~true).sum(), (true & ~reported).sum(), (reported & ~true).sum()]
        hits, free, lost, extra = (int(total) for total in totals)
        missed[name], invented[name] = float(lost), 100.0 * extra / free
        report.measurements[f"{name} against coal"] = {"hits": hits, "free": free, "missed": lost, "invented": extra}
        rows.append([name, f"{hits:,}", f"{free:,}", str(lost), f"{extra:,}", f"{invented[name]:.2f} %"])
    report.table(["robot", "colliding", "free", "missed", "false alarms", "of the free"], rows)
    report.require("collisions missed", missed, 0.0, at_least=False, unit="")
    report.require("false alarms among free configurations", invented, 10.0, at_least=False, unit=" %")


if __name__ == "__main__":
    main()
