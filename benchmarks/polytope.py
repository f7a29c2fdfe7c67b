"""Constrained polytopes beside their peers, in one run: `make bench-polytope`.

A Panda in front of a table full of boxes: the velocity polytope of its tip with so many obstacle rows. Peers are
Qhull's half-space intersection (SciPy), pycapacity's iterative convex hull, and cddlib where it is installed. Times are
CPU time of the thread, medians over scenes. Exactness is judged by SciPy on random scenes.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import machine, version_of
from polytope_peers import GIVES_UP, peers
from problems import Array
from report import Report, times

from geometry.arms import arm, configurations, table_world
from manipapy_core import polytopes
from manipapy_core.geometry import Checker
from manipapy_core.polytopes import JointSet, project
from polytopes.scipy_route import interior, random_scene, volume

ROWS = (0, 6, 12, 24)
INSIDE = 1e-5
"""Joint sets that hold no ball of this radius are not compared: SciPy refuses or garbles them."""
NOT_LIKE_FOR_LIKE = (
    "SciPy and cddlib enumerate the corners in joint space and map them; manipapy and pycapacity compute only those at "
    "the tip.",
    "pycapacity stops at its tolerance (1e-7 here); the others are exact.",
    "manipapy's first call compiles for a minute and keeps the code on disk; that call is not counted.",
    "Finding the near points is part of no time; its cost is printed beside them.",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=5000, help="random scenes against SciPy")
    parser.add_argument("--timed", type=int, default=40, help="scenes per number of rows")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all numbers to this file")
    options = parser.parse_args()
    report = Report()
    report.heading("manipapy polytope benchmark")
    report.note(machine())
    names = ("numpy", "numba", "scipy", "pycapacity", "pycddlib-standalone")
    versions = ", ".join(f"{name} {version_of(name)}" for name in names)
    report.note(f"Python {platform.python_version()}, {versions}")
    speed(report, options.timed)
    exactness(report, options.scenes)
    report.finish(NOT_LIKE_FOR_LIKE, options.json)


def panda_scenes(rows: int, count: int) -> list[tuple[Array, Array, Array, Array]]:
    """Jacobian, speed limits, and exactly so many obstacle rows, for configurations that are free of collision."""
    _, chain, body = arm("panda")
    checker = Checker(body, table_world())
    scenes = []
    for q in configurations(chain, 4000, seed=5):
        if len(scenes) == count:
            break
        if checker.collides(q):
            continue
        near = polytopes.near_points(body, checker.world, q, influence=0.5, per_pair=4, self_collision=False)
        if len(near) < rows:
            continue
        A = polytopes.obstacle_rows(chain, q, near)[:rows]
        b = polytopes.Avoidance(influence=0.5).approach(near.distance)[:rows]
        scenes.append((polytopes.tip_jacobian(chain, q), chain.limits.velocity, A, b))
    return scenes


def speed(report: Report, count: int) -> None:
    report.heading(f"Panda, velocity polytope of the tip with k obstacle rows: ms, median (worst) of {count} scenes")
    rows, medians, ratios, counted, lost = [], {}, {}, {}, []
    methods = {"manipapy": ours, **peers()}
    for k in ROWS:
        scenes = panda_scenes(k, count)
        taken: dict[str, list[float]] = {name: [] for name in methods}
        failed = dict.fromkeys(methods, 0)
        corners = []
        for index, scene in enumerate(scenes):
            for name, method in methods.items():
                if name == "pycapacity" and index >= max(6, count // 6):
                    continue  # slow, and its median settles soon
                try:
                    taken[name].append(cpu_time(method, scene, 5 if name == "manipapy" else 1))
                except GIVES_UP:
                    failed[name] += 1
            corners.append(len(project(scene[0], joint_set(scene)).vertices))
        middle = {name: 1e3 * float(np.median(values)) for name, values in taken.items()}
        medians[f"k = {k}"] = middle["manipapy"]
        if "pycapacity" in middle:
            ratios[f"k = {k}"] = middle["pycapacity"] / middle["manipapy"]
        cells = [f"{middle[name]:.3f} ({1e3 * max(taken[name]):.3f})" for name in methods]
        rows.append([str(k), f"{np.median(corners):.0f}", *cells])
        lost += [f"{name} {number} of {len(scenes)} at k = {k}" for name, number in failed.items() if number]
        counted[f"k = {k}"] = middle
    report.table(["rows", "corners", *methods], rows)
    if lost:
        report.note("gave up (flat or ill-conditioned scenes): " + ", ".join(lost))
    report.measurements["milliseconds"] = counted
    report.require("no obstacle rows [ms]", {"k = 0": medians["k = 0"]}, 0.2, at_least=False, unit=" ms")
    report.require("24 obstacle rows [ms]", {"k = 24": medians["k = 24"]}, 2.0, at_least=False, unit=" ms")
    if ratios:
        report.note("pycapacity / manipapy: " + ", ".join(f"{k}: {times(ratio)}" for k, ratio in ratios.items()))
        report.require("faster than pycapacity's iterative method", ratios, 100.0, at_least=True)
    else:
        report.note("pycapacity is not installed: its bar is not measured")
    _, chain, body = arm("panda")
    world, q = table_world(), configurations(chain, 1, seed=5)[0]
    each = cpu_time(lambda _: polytopes.near_points(body, world, q), None, 20)  # type: ignore[arg-type]
    report.note(f"near points to 20 boxes and of the arm itself: {1e3 * each:.2f} ms")


def joint_set(scene: tuple[Array, ...]) -> JointSet:
    _, limits, A, b = scene
    return JointSet(-limits, limits, A, b)


def ours(scene: tuple[Array, ...]) -> object:
    return project(scene[0], joint_set(scene))


def cpu_time(method: Callable[[tuple[Array, ...]], object], scene: tuple[Array, ...], repeats: int) -> float:
    method(scene)
    taken = []
    for _ in range(repeats):
        start = time.thread_time()
        method(scene)
        taken.append(time.thread_time() - start)
    return float(np.median(taken))


def exactness(report: Report, count: int) -> None:
    report.heading(f"{count:,} random scenes against SciPy: 0 to 19 cuts, a third off the origin, a tenth flattened")
    rng = np.random.default_rng(1)
    worst, compared, empty, wrong, second_tries, thin = 0.0, 0, 0, 0, 0, 0
    for index in range(count):
        flatten = 10.0 ** -rng.integers(1, 6) if index % 10 == 0 else 1.0
        matrix, joints = random_scene(
            rng, int(rng.integers(0, 20)), around_origin=index % 3 != 0, flatten=float(flatten)
        )
        found, ball = project(matrix, joints), interior(joints)
        second_tries += not found.checked
        if ball is None:
            empty += 1
            wrong += not found.is_empty
        elif ball[3] < INSIDE:
            thin += 1
        else:
            # Turned so that the short direction is an axis, where SciPy loses the fewest digits.
            u, s, _ = np.linalg.svd(matrix, full_matrices=False)
            wanted = volume((u / s).T @ matrix, joints)
            error = abs(found.volume / (wanted * np.prod(s)) - 1.0) if wanted else np.inf
            compared, worst = compared + 1, max(worst, error)
            wrong += error > 1e-8
    report.note(f"{compared:,} volumes compared, worst relative difference {worst:.1e}; {empty} empty for SciPy")
    report.note(f"{wrong} disagreements, {second_tries} second tries, {thin} left out (no ball of {INSIDE:g} inside)")
    report.measurements["exactness"] = {"worst": worst, "compared": compared, "wrong": wrong, "empty": empty}
    report.require("worst volume difference, in 1e-8", {"": worst * 1e8}, 1.0, at_least=False, unit="")
    report.require("disagreements with SciPy", {"": float(wrong)}, 0.0, at_least=False, unit="")


if __name__ == "__main__":
    main()
