"""Planning under path constraints and for two arms together, checked by Pinocchio and coal: `make bench-planning`.

Seeded problems: the tool of panda and ur5 stays upright (0.1 rad) among boxes on a table; two UR5e (twelve joints) and
two pandas (fourteen) bring both hands to poses at once. Each is a whole request, from poses to a verified trajectory.
"""

from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path

import numpy as np
import pinocchio as pin
from measure import machine, version_of
from problems import ROOT  # also puts the tests on the path
from report import Report

from geometry.arms import arm
from manipapy_core.motion import PlanResult, PoseGoal, plan
from manipapy_core.trajectory.spline import Spline
from motion.constrained_scenes import DOWN, TILT, ConstrainedProblem, upright_problem
from motion.dual_scenes import ROBOTS as DUAL
from motion.dual_scenes import both_arms, dual_coal_scene, dual_problem
from motion.scenes import coal_scene

SINGLE = ("panda", "ur5")
UPRIGHT_LIMIT, DUAL_LIMIT = 2.0, 1.0
"""Seconds for a request."""
PERIOD = 1e-3
"""Between the samples that are checked [s]."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    parser.add_argument("--upright", type=int, default=50, help="problems per robot")
    parser.add_argument("--dual", type=int, default=30, help="problems per pair of arms")
    parser.add_argument("--without-coal", action="store_true", help="skip the slow comparison with coal")
    options = parser.parse_args()
    report = Report()
    report.heading("manipapy planning under constraints")
    report.note(machine())
    versions = ", ".join(f"{name} {version_of(name)}" for name in ("numpy", "numba", "pin", "coal"))
    report.note(f"Python {platform.python_version()}, {versions}; {ROOT.name}")
    if options.upright:
        upright(report, options.upright, coal=not options.without_coal)
    if options.dual:
        dual(report, options.dual, coal=not options.without_coal)
    report.print_bars()
    if options.json:
        report.save(options.json)


def upright(report: Report, count: int, coal: bool) -> None:
    report.heading(f"Tool upright within {TILT} rad: ms of wall clock, median / worst")
    rows, solved, tilted, touched = [], {}, {}, {}
    for robot in SINGLE:
        chosen = [upright_problem(robot, seed) for seed in range(count)]
        plan(chosen[0].checker, chosen[0].start, PoseGoal(chosen[0].T_goal), constraints=[chosen[0].constraint])
        results, seconds = [], []
        for one in chosen:
            begin = time.perf_counter()
            goal = PoseGoal(one.T_goal)
            results.append(plan(one.checker, one.start, goal, constraints=[one.constraint], timeout=UPRIGHT_LIMIT))
            seconds.append(time.perf_counter() - begin)
        done = [(one, result) for one, result in zip(chosen, results) if result.success]
        solved[robot] = 100.0 * len(done) / count
        tilted[robot] = max(largest_tilt(one, result) for one, result in done)
        hits = [coal_scene(one).check(samples(result)).any() for one, result in done] if coal else []
        touched[robot] = float(np.sum(hits))
        free = [plan(one.checker, one.start, PoseGoal(one.T_goal), timeout=UPRIGHT_LIMIT) for one in chosen]
        without = [largest_tilt(one, result) for one, result in zip(chosen, free) if result.success]
        rows.append(
            [robot, f"{len(done)} of {count}", f"{1e3 * np.median(seconds):.0f} / {1e3 * max(seconds):.0f}",
             f"{tilted[robot]:.4f} rad", f"{np.median(without):.2f} rad", f"{int(touched[robot])}" if coal else "-"]
        )  # fmt: skip
        report.measurements[f"{robot} upright seconds"] = seconds
    report.table(["robot", "solved", "time", "largest tilt", "without constraint", "touch (coal)"], rows)
    report.require("upright: solved in 2 s", solved, 98.0, at_least=True, unit=" %")
    report.require("upright: largest tilt at 1 kHz by Pinocchio", tilted, TILT, at_least=False, unit=" rad")
    if coal:
        report.require("upright: trajectories that touch under coal", touched, 0.0, at_least=False, unit="")


def dual(report: Report, count: int, coal: bool) -> None:
    report.heading("Both hands to poses at once: ms of wall clock, median / worst")
    rows, solved, touched = [], {}, {}
    for robot in DUAL:
        chosen = [dual_problem(robot, seed) for seed in range(count)]
        plan(chosen[0].checker, chosen[0].start, chosen[0].goal)
        results, seconds = [], []
        for one in chosen:
            begin = time.perf_counter()
            results.append(plan(one.checker, one.start, one.goal, timeout=DUAL_LIMIT))
            seconds.append(time.perf_counter() - begin)
        done = [(one, result) for one, result in zip(chosen, results) if result.success]
        solved[robot] = 100.0 * len(done) / count
        hits = [dual_coal_scene(one).check(samples(result)).any() for one, result in done] if coal else []
        touched[robot] = float(np.sum(hits))
        rows.append(
            [robot, str(both_arms(robot)[1].n), f"{len(done)} of {count}",
             f"{1e3 * np.median(seconds):.0f} / {1e3 * max(seconds):.0f}", f"{int(touched[robot])}" if coal else "-"]
        )  # fmt: skip
        report.measurements[f"{robot} seconds"] = seconds
    report.table(["robot", "joints", "solved", "time", "touch (coal)"], rows)
    report.require("two arms: solved in 1 s", solved, 100.0, at_least=True, unit=" %")
    if coal:
        report.require("two arms: trajectories that touch under coal", touched, 0.0, at_least=False, unit="")


def samples(result: PlanResult) -> np.ndarray:
    """Joint positions at every millisecond, shape (N, n)."""
    assert result.trajectory is not None
    last = result.trajectory.times[-1]
    times = np.append(np.arange(0.0, last, PERIOD), last)
    return np.ascontiguousarray(Spline.of(result.trajectory).sample_many(times)[:, 0])


def largest_tilt(one: ConstrainedProblem, result: PlanResult) -> float:
    """Largest angle about the horizontal axes of the tool along a trajectory, by Pinocchio [rad]."""
    robot, chain, _ = arm(one.robot)
    model = pin.buildModelFromXML(robot.urdf)
    data, full, frame = model.createData(), pin.neutral(model), model.getFrameId(chain.tip)
    indices = [model.joints[model.getJointId(name)].idx_q for name in chain.joint_names]
    worst = 0.0
    for q in samples(result):
        full[indices] = q
        pin.framesForwardKinematics(model, data, full)
        D = DOWN.T @ data.oMf[frame].rotation
        # D = Rx(a) Ry(b) Rz(c)
        worst = max(worst, abs(np.arctan2(-D[1, 2], D[2, 2])), abs(np.arcsin(np.clip(D[0, 2], -1.0, 1.0))))
    return float(worst)


if __name__ == "__main__":
    main()
