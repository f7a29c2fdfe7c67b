"""Reachability maps: how fast they fill, how true they are, how fast they answer: `make bench-reach`.

The truth is inverse kinematics, pose by pose. Beside manipapy's answers stand those of the plain four-dimensional
index (Rudorfer 2025): any cell that holds a sample is reachable, whatever the yaw, the roll and the place in the
cell. Times are CPU time of the thread.
"""

from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path

import numpy as np
from measure import machine, version_of
from problems import Array
from report import Report

from geometry.arms import arm
from manipapy_core import Robot, ik
from manipapy_core.compiler import kernels_of
from manipapy_core.geometry import Checker
from manipapy_core.reachability import MapSpec, ReachMap, build_map
from manipapy_core.reachability.samples import Tally, sample_block
from reference.random_robots import humanoid, random_chain

RATE_SAMPLES = 2_000_000
NOT_LIKE_FOR_LIKE = (
    "The plain index is written here after its paper, on the same samples; its authors' own code was not run.",
    "Exact queries solve inverse kinematics for the poses at the edge; the plain index never does.",
    "The truth with self-collision tries more configurations per pose than an answer of the map does.",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000_000, help="of the map")
    parser.add_argument("--poses", type=int, default=10_000, help="that are compared")
    parser.add_argument("--colliding", type=int, default=1000, help="poses that are compared with self-collision")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    options = parser.parse_args()
    report = Report()
    report.heading("manipapy reachability benchmark")
    report.note(machine())
    versions = ", ".join(f"{name} {version_of(name)}" for name in ("numpy", "numba", "llvmlite"))
    report.note(f"Python {platform.python_version()}, {versions}")
    rates(report)
    reach = built(report, options.samples, self_collision=False)
    truth(report, reach, options.poses)
    answers(report, reach)
    with_self_collision(report, options.samples, options.colliding)
    six_dimensions(report, options.samples, options.poses)
    report.finish(NOT_LIKE_FOR_LIKE, options.json)


def rates(report: Report) -> None:
    report.heading("Samples per second and core: forward kinematics, Jacobian, two measures, cell")
    _, chain, body = arm("panda")
    grid = build_map(panda_plan(1000)).grid
    tally, checker = Tally.empty(grid, chain.n), Checker(body)
    found = {}
    for name, collides in (("free", None), ("with self-collision", checker.check)):
        sample_block(chain, grid, tally, 0, 0, 20_000, collides=collides)
        start = time.thread_time()
        sample_block(chain, grid, tally, 0, 1, RATE_SAMPLES, collides=collides)
        found[name] = RATE_SAMPLES / (time.thread_time() - start) / 1e6
        report.note(f"{name:<22} {found[name]:.2f} million a second")
    report.measurements["million samples per second"] = found
    report.require("million samples/s", {"": found["free"]}, 1.0, at_least=True, unit="")
    report.require("million samples/s, self-collision", {"": found["with self-collision"]}, 0.2, at_least=True, unit="")


def panda_plan(samples: int, **options: object) -> MapSpec:
    robot, chain, _ = arm("panda")
    return MapSpec(robot, chain.base, chain.tip, samples=samples, **{"self_collision": False, **options})  # type: ignore[arg-type]


def built(report: Report, samples: int, *, self_collision: bool) -> ReachMap:
    report.heading(f"Panda, 5 cm and 5°, {samples:,} samples{', self-collision' if self_collision else ''}")
    start = time.thread_time()
    reach = build_map(panda_plan(samples, self_collision=self_collision))
    taken = time.thread_time() - start
    cells = f"{len(reach.cell):,} of {reach.grid.cells:,} cells reached"
    report.note(f"built in {taken:.1f} s; {cells}; {reach.memory / 1e6:.0f} MB in memory")
    report.measurements["memory MB"] = reach.memory / 1e6
    return reach


def random_poses(count: int, seed: int) -> Array:
    """Uniform in the box around the arm, with any orientation."""
    rng = np.random.default_rng(seed)
    T = np.tile(np.eye(4), (count, 1, 1))
    q = rng.normal(size=(count, 4))
    w, x, y, z = (q / np.linalg.norm(q, axis=1, keepdims=True)).T
    T[:, 0, :3] = np.column_stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)])
    T[:, 1, :3] = np.column_stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)])
    T[:, 2, :3] = np.column_stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])
    T[:, :3, 3] = rng.uniform([-1.0, -1.0, -0.3], [1.0, 1.0, 1.2], (count, 3))
    return T


def plain_index(reach: ReachMap, T: Array) -> Array:
    cell = reach.grid.locate(T)[:, 0].astype(np.int64)
    return (cell >= 0) & (reach.slot[np.maximum(cell, 0)] >= 0)


def rates_of(report: Report, answers_by: dict[str, Array], true: Array) -> dict[str, tuple[float, float]]:
    rows, figures = [], {}
    for name, reported in answers_by.items():
        hit, false = 100.0 * reported[true].mean(), 100.0 * reported[~true].mean()
        figures[name] = (hit, false)
        rows.append([name, f"{100.0 * (reported == true).mean():.2f} %", f"{hit:.2f} %", f"{false:.2f} %"])
    report.table(["answers", "right", "true positives", "false positives"], rows)
    return figures


def truth(report: Report, reach: ReachMap, count: int) -> None:
    report.heading(f"{count:,} random poses against inverse kinematics")
    T = random_poses(count, seed=11)
    true = ik.solve_batch(reach.chain, T).solved
    report.note(f"{100.0 * true.mean():.1f} % of them are reachable")
    reported = {
        "plain index": plain_index(reach, T),
        "table alone": reach.reachable(T),
        "exact at the edge": reach.reachable(T, exact=True),
    }
    figures = rates_of(report, reported, true)
    report.measurements["true and false positives"] = figures
    hit, false = figures["exact at the edge"]
    report.require("true positives", {"": hit}, 99.0, at_least=True, unit=" %")
    report.require("false positives", {"": false}, 2.0, at_least=False, unit=" %")


def answers(report: Report, reach: ReachMap) -> None:
    report.heading("Time per answer, in batches of 100,000 random poses")
    T = random_poses(100_000, seed=12)
    jobs = {
        "table alone": lambda: reach.reachable(T),
        "exact at the edge": lambda: reach.reachable(T, exact=True),
        "quality": lambda: reach.quality(T),
        "seeds": lambda: reach.seeds(T),
    }
    each = {}
    for name, job in jobs.items():
        job()
        taken = []
        for _ in range(3):
            start = time.thread_time()
            job()
            taken.append(time.thread_time() - start)
        each[name] = 1e6 * float(np.median(taken)) / len(T)
        report.note(f"{name:<20} {each[name]:.2f} µs")
    report.measurements["microseconds per answer"] = each
    answered = {name: each[name] for name in ("table alone", "exact at the edge")}
    report.require("time per answer", answered, 5.0, at_least=False, unit=" µs")


def with_self_collision(report: Report, samples: int, count: int) -> None:
    reach = built(report, samples, self_collision=True)
    checker = Checker(arm("panda")[2])
    T = random_poses(count, seed=13)
    true = np.array([ik.solve(reach.chain, pose, collision=checker.check).solved for pose in T])
    reported = {
        "table alone": reach.reachable(T),
        "exact at the edge": reach.reachable(T, exact=True, collides=checker.check),
    }
    report.note(f"{count:,} random poses against inverse kinematics free of self-collision: {100 * true.mean():.1f} %")
    report.measurements["with self-collision"] = rates_of(report, reported, true)


def six_dimensions(report: Report, samples: int, count: int) -> None:
    """Arms that the four-dimensional index cannot hold, and the Panda once more."""
    hits, falses, times = {}, {}, {}
    panda, chain, _ = arm("panda")
    cases = {"rail and wrist (PRRRRR)": random_chain("PRRRRR", 2), "sliding tip (RRRRRP)": random_chain("RRRRRP", 5),
             "foot to hand": humanoid()}  # fmt: skip
    plans = {"Panda": (panda, chain.base, chain.tip)}
    plans |= {name: (Robot.from_urdf(case.text), case.base, case.tip) for name, case in cases.items()}
    rows = []
    for name, ends in plans.items():
        start = time.thread_time()
        reach = build_map(MapSpec(*ends, samples=samples, self_collision=False, index="6d"))
        taken = time.thread_time() - start
        T = random_poses(count, seed=14)
        # Where the arm's own tips are, as far out as they get.
        tips = kernels_of(reach.chain).forward.run(reach.seed[:100_000].astype(np.float64))[:, :3, 3]
        low, high = tips.min(axis=0), tips.max(axis=0)
        T[:, :3, 3] = np.random.default_rng(15).uniform(low, high, (count, 3))
        true = ik.solve_batch(reach.chain, T).solved
        guess, reported = reach.reachable(T), reach.reachable(T, exact=True)
        start = time.thread_time()
        reach.reachable(T, exact=True)
        times[name] = 1e6 * (time.thread_time() - start) / count
        hits[name], falses[name] = 100.0 * reported[true].mean(), 100.0 * reported[~true].mean()
        table = f"{100.0 * guess[true].mean():.1f} / {100.0 * guess[~true].mean():.1f}"
        exact = f"{hits[name]:.2f} / {falses[name]:.2f}"
        sizes = [f"{taken:.1f}", f"{len(reach.cell):,}", f"{reach.memory / 1e6:.0f}"]
        rows.append([name, f"{100.0 * true.mean():.1f} %", *sizes, table, exact, f"{times[name]:.1f}"])
    report.heading(f"Six dimensions: 10 cm, 15°, {samples:,} samples, {count:,} random poses around the tips")
    heads = ["arm", "reachable", "built [s]", "cells reached", "MB", "table TP / FP [%]", "exact TP / FP [%]", "µs"]
    report.table(heads, rows)
    report.measurements["six dimensions"] = rows
    report.require("true positives, six dimensions", hits, 99.0, at_least=True, unit=" %")
    report.require("false positives, six dimensions", falses, 2.0, at_least=False, unit=" %")
    report.require("time per answer, six dimensions", times, 5.0, at_least=False, unit=" µs")


if __name__ == "__main__":
    main()
