"""Planning beside OMPL and VAMP and under coal, trajectory batches beside ManipulaPy: `make bench-planning`.

Seeded problems in four scenes (a full table, a shelf, a cage, a slot in a wall) for panda and ur5; none is solved by a
straight motion. ompl's RRT-Connect gets the same problems, the same checker, the same step and the same range. Times
are CPU time of the thread.
"""

from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path

import numpy as np
from measure import machine, take_turns, version_of
from planning_peers import dense_configurations, installed, manipulapy_batch, ompl_seconds
from planning_vamp import NOT_LIKE_FOR_LIKE as NOT_LIKE_VAMP
from planning_vamp import beside_vamp, new_scenes, padded_space
from problems import ROOT
from report import Report, times

from manipapy_core.geometry.codegen.engine import checker_code
from manipapy_core.motion import PlanResult, PoseGoal, plan, warm_up
from manipapy_core.motion.deadline import Deadline, Stopped
from manipapy_core.motion.planners.registry import uncertain_path
from manipapy_core.motion.space import PlanningSpace
from manipapy_core.trajectory import joint_trajectories
from motion.scenes import KINDS, Problem, coal_scene, problem

ROBOTS = ("panda", "ur5")
LIMIT = 1.0
"""Seconds for a problem."""
REPEATS = 5
MOTIONS, SAMPLES = 1000, 1000

NOT_LIKE_FOR_LIKE = (
    "ompl calls the checker through Python, once per configuration or once per motion.",
    "Both search times exclude the verification of the path, which is part of the whole request.",
    "ompl is not seeded; manipapy is deterministic.",
    "ManipulaPy computes in single precision; manipapy is timed in single and in double precision, on one thread.",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    parser.add_argument("--problems", type=int, default=15, help="per robot and scene")
    parser.add_argument("--without-coal", action="store_true", help="skip the slow comparison with coal")
    options = parser.parse_args()
    report = Report()
    report.heading("manipapy planning benchmark")
    report.note(machine())
    names = ("numpy", "numba", "llvmlite", "ompl", "coal", "toppra", "ruckig", "ManipulaPy", "vamp-planner")
    versions = ", ".join(f"{name} {version_of(name)}" for name in names)
    report.note(f"Python {platform.python_version()}, {versions}; {checker_code().lanes} lanes of float32")
    problems = [problem(r, k, s) for r in ROBOTS for k in KINDS for s in range(options.problems)]
    for one in problems[:: len(KINDS) * options.problems]:
        warm_up(one.checker)
    new_scenes(report, problems[0].checker)
    search(report, problems)
    beside_vamp(report, problems, ROBOTS)
    results = requests(report, problems)
    if not options.without_coal:
        truth(report, problems, results)
    batches(report)
    report.finish((*NOT_LIKE_FOR_LIKE, *NOT_LIKE_VAMP), options.json)


def search_seconds(space: PlanningSpace, one: Problem, seed: int) -> float:
    """CPU time of RRT-Connect; infinite if it did not solve the problem in the time."""
    begin = time.thread_time()
    try:
        uncertain_path(space, one.start, one.goal[None], seed, Deadline(LIMIT))
    except Stopped:
        return float("inf")
    return time.thread_time() - begin


def search(report: Report, problems: list[Problem]) -> None:
    report.heading(f"RRT-Connect, {len(problems)} problems with {REPEATS} seeds each: ms, median / mean / worst")
    rows, ratios, medians, unsolved = [], {}, {}, 0
    for robot in ROBOTS:
        for kind in KINDS:
            ours: list[float] = []
            theirs: dict[bool, list[float]] = {False: [], True: []}
            for one in (p for p in problems if (p.robot, p.kind) == (robot, kind)):
                space = padded_space(one)
                for seed in range(REPEATS):
                    ours.append(search_seconds(space, one, seed))
                if installed("ompl"):
                    for validator, taken in theirs.items():
                        taken += [ompl_seconds(space, one, 10.0 * LIMIT, motion_validator=validator) for _ in range(2)]
            unsolved += int(np.sum(~np.isfinite(ours)))
            name = f"{robot} {kind}"
            medians[name] = 1e3 * float(np.median(ours))
            cells = [milliseconds(ours), *(milliseconds(taken) if taken else "-" for taken in theirs.values())]
            ratio = [float(np.median(taken)) / float(np.median(ours)) if taken else np.nan for taken in theirs.values()]
            ratios[name] = ratio[0]
            numbers = {"manipapy": ours, "ompl": theirs[False], "ompl motions": theirs[True]}
            report.measurements[f"{name} seconds"] = numbers
            rows.append([robot, kind, *cells, *(times(value) for value in ratio)])
    header = ["robot", "scene", "manipapy", "ompl, states", "ompl, motions", "ratio", "ratio"]
    report.table(header, rows)
    report.require("searches not solved in 1 s", {"all": float(unsolved)}, 0.0, at_least=False, unit="")
    table = {name: value for name, value in medians.items() if name.endswith("table")}
    report.require("median search on a full table", table, 0.2, at_least=False, unit=" ms")
    if installed("ompl"):
        easy = {name: value for name, value in ratios.items() if name.endswith("table")}
        hard = {name: value for name, value in ratios.items() if not name.endswith("table")}
        report.require("table: ompl / manipapy", easy, 20.0, at_least=True)
        report.require("shelf, cage, slot: ompl / manipapy", hard, 5.0, at_least=True)


def milliseconds(seconds: list[float]) -> str:
    values = 1e3 * np.array(seconds)
    lost = int(np.sum(~np.isfinite(values)))
    kept = values[np.isfinite(values)]
    text = f"{np.median(values):.3g} / {kept.mean():.3g} / {kept.max():.3g}"
    return text if not lost else f"{text} ({lost} lost)"


def requests(report: Report, problems: list[Problem]) -> list[PlanResult]:
    """Whole requests: pose to inverse kinematics, path, smoothing, time law, verification."""
    report.heading("Whole requests from a pose to a verified trajectory: ms of CPU, median / worst, and wall clock")
    rows, results, medians, failed = [], [], {}, 0
    for robot in ROBOTS:
        for kind in KINDS:
            chosen = [p for p in problems if (p.robot, p.kind) == (robot, kind)]
            cpu, wall = [], []
            for one in chosen:
                begin, clock = time.thread_time(), time.perf_counter()
                result = plan(one.checker, one.start, PoseGoal(one.T_goal), timeout=10.0)
                cpu.append(time.thread_time() - begin)
                wall.append(time.perf_counter() - clock)
                results.append(result)
                failed += not result.success
                if not result.success:
                    report.note(f"{robot} {kind} {one.seed}: {result.message}")
            name = f"{robot} {kind}"
            medians[name] = 1e3 * float(np.median(cpu))
            done = [r for r in results[-len(chosen) :] if r.trajectory is not None]
            longest = np.median([r.trajectory.times[-1] for r in done if r.trajectory is not None])
            rows.append(
                [robot, kind, f"{medians[name]:.1f} / {1e3 * max(cpu):.1f}", f"{1e3 * np.median(wall):.1f}",
                 f"{len(done)} of {len(chosen)}", f"{longest:.2f} s"]
            )  # fmt: skip
            report.measurements[f"{name} request seconds"] = {"cpu": cpu, "wall": wall}
    report.table(["robot", "scene", "CPU", "wall", "solved", "motion"], rows)
    report.require("whole requests that failed", {"all": float(failed)}, 0.0, at_least=False, unit="")
    table = {name: value for name, value in medians.items() if name.endswith("table")}
    report.require("whole request on a full table, median CPU", table, 2.0, at_least=False, unit=" ms")
    report.require("whole request, median CPU time", medians, 50.0, at_least=False, unit=" ms")
    return results


def truth(report: Report, problems: list[Problem], results: list[PlanResult]) -> None:
    """Checks every trajectory with coal, and some planned without obstacles as a negative control."""
    report.heading("Trajectories checked with coal, at 1 mm and 0.25° steps")
    invalid = checked = 0
    for one, result in zip(problems, results):
        if result.trajectory is not None:
            q = dense_configurations(result.trajectory, padded_space(one))
            checked += len(q)
            invalid += bool(coal_scene(one).check(q).any())
    blind = problems[::5]
    caught = 0
    for one in blind:
        empty = type(one.checker)(one.checker.body)
        result = plan(empty, one.start, one.goal)
        if result.trajectory is not None:
            q = dense_configurations(result.trajectory, padded_space(one))
            caught += bool(coal_scene(one).check(q).any())
    report.note(f"{len(results)} trajectories, {checked:,} configurations, {invalid} trajectories invalid")
    report.note(f"negative control: planned without obstacles, {caught} of {len(blind)} are invalid")
    report.require("trajectories invalid under coal", {"all": float(invalid)}, 0.0, at_least=False, unit="")


def batches(report: Report) -> None:
    report.heading(f"{MOTIONS} quintic motions of {SAMPLES} points, six joints: ns of wall clock per point")
    rng = np.random.default_rng(0)
    starts, goals = rng.uniform(-1.5, 1.5, (2, MOTIONS, 6))
    memory = {kind: np.zeros((3, MOTIONS, SAMPLES, 6), kind) for kind in (np.float32, np.float64)}
    jobs = {
        "manipapy, double": lambda: joint_trajectories(starts, goals, 2.0, SAMPLES),
        "manipapy, double, memory reused": lambda: joint_trajectories(
            starts, goals, 2.0, SAMPLES, out=memory[np.float64]
        ),
        "manipapy, single": lambda: joint_trajectories(starts, goals, 2.0, SAMPLES, dtype=np.float32),
        "manipapy, single, memory reused": lambda: joint_trajectories(
            starts, goals, 2.0, SAMPLES, out=memory[np.float32]
        ),
    }
    jobs["memory filled with one number, single"] = lambda: memory[np.float32].fill(1.0)
    theirs = {}
    if installed("ManipulaPy"):
        text = (ROOT / "manipapy_core" / "model" / "robots" / "ur5.urdf").read_text(encoding="utf-8")
        theirs = manipulapy_batch(text, starts, goals, 2.0, SAMPLES)
    # Wall clock: ManipulaPy uses several threads.
    taken = take_turns({**jobs, **theirs}, rounds=5, clock=time.perf_counter)
    each = {name: seconds / (MOTIONS * SAMPLES) for name, seconds in taken.items()}
    rows = [
        [name, f"{1e9 * value:.1f}", *(times(each[peer] / value) for peer in theirs)] for name, value in each.items()
    ]
    report.table(["", "ns", *(f"{peer} / this" for peer in theirs)], rows)
    report.measurements["seconds per point"] = each
    if theirs:
        ratio = each[next(iter(theirs))] / each["manipapy, single, memory reused"]
        report.require("batch of quintics: ManipulaPy / manipapy", {"memory reused": ratio}, 50.0, at_least=True)


if __name__ == "__main__":
    main()
