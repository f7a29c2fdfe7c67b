"""Search, shortening and scenes beside VAMP, and the time that a new scene takes; part of `make bench-planning`.

VAMP (W. Thomason, Z. Kingston, L. Kavraki, "Motions in Microseconds via Vectorized Sampling-Based Planning", ICRA 2024)
has its robots as spheres, in C++ that is made for each of them; it is compared where `vamp` can be imported.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from planning_peers import installed
from problems import ROOT  # noqa: F401  (puts the library and the tests' problems on the path)
from report import Report, times

from manipapy_core import lie
from manipapy_core.geometry import Box, Checker, World
from manipapy_core.geometry.world import WorldObject
from manipapy_core.motion.deadline import Deadline, Stopped
from manipapy_core.motion.planners.registry import uncertain_path
from manipapy_core.motion.planners.shortcut import shorten
from manipapy_core.motion.space import PADDING, PlanningSpace
from motion.scenes import KINDS, Problem

Array = NDArray[np.float64]

RANGES = {"panda": 1.0, "ur5": 1.5}
"""Longest edge of VAMP's trees [rad], by its own settings."""
T_VAMP_BASE = {
    "panda": np.eye(4),
    "ur5": lie.pose(lie.exp_so3(np.array([0.0, 0.0, 1.57])), np.array([0.0, 0.0, 0.9144])),
}
"""Where the base of the robot is in VAMP's world: its ur5 stands on a column."""
SAMPLES = 30_000
"""Of a search by VAMP; it reserves memory for all of them."""
SEEDS = 3
OBJECTS = 50

NOT_LIKE_FOR_LIKE = (
    "VAMP's robots are spheres that do not cover the meshes; manipapy checks convex parts of them, padded by 0.5 mm.",
    "manipapy's shortening includes the proof that the path is free between its samples; VAMP has no such step.",
    "VAMP's times are the smaller of its own clock and of the CPU time of the call.",
)


def new_scenes(report: Report, checker: Checker) -> None:
    """World and checker from the objects, and after one of them has moved."""
    report.heading(f"A new scene of {OBJECTS} boxes, and one of them moved: µs of CPU, median")
    rng, body = np.random.default_rng(0), checker.body
    data = [(rng.uniform(0.05, 0.2, 3), lie.pose(translation=rng.uniform(-1.0, 1.0, 3))) for _ in range(OBJECTS)]
    objects = [WorldObject(f"box {index}", Box(size), T) for index, (size, T) in enumerate(data)]

    def build() -> Checker:
        world = World()
        world.update(objects)
        scene = Checker(body, world)
        scene.scene()
        return scene

    used = build()
    poses = iter([lie.pose(translation=rng.uniform(-1.0, 1.0, 3)) for _ in range(1000)])

    def move() -> None:
        used.world.move("box 7", next(poses))
        used.scene()

    taken = {"world and checker": _median(build), "one object moved": _median(move)}
    report.table(["", "µs"], [[name, f"{1e6 * seconds:.1f}"] for name, seconds in taken.items()])
    report.measurements["new scene seconds"] = taken
    report.require("new scene of 50 boxes", {"": 1e6 * taken["world and checker"]}, 300.0, at_least=False, unit=" µs")
    report.require("one object moved", {"": 1e6 * taken["one object moved"]}, 20.0, at_least=False, unit=" µs")


def _median(work: Any, rounds: int = 300) -> float:
    taken = []
    for _ in range(rounds):
        begin = time.thread_time()
        work()
        taken.append(time.thread_time() - begin)
    return float(np.median(taken))


def beside_vamp(report: Report, problems: list[Problem], robots: tuple[str, ...]) -> None:
    """Search and shortening of the same problems, in turns; without those in collision for VAMP's spheres."""
    if not installed("vamp"):
        report.note("vamp is not installed: no comparison with it")
        return
    report.heading("Beside VAMP: ms of CPU, median; ratios manipapy / VAMP")
    rows, ratios = [], {}
    for robot in robots:
        for kind in KINDS:
            chosen = [p for p in problems if (p.robot, p.kind) == (robot, kind)]
            pairs = [pair for one in chosen for pair in _runs(one)]
            if not pairs:
                rows.append([robot, kind, "0", *["-"] * 7])
                continue
            ours, theirs = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
            a, b = 1e3 * np.median(ours, axis=0), 1e3 * np.median(theirs, axis=0)
            cost = float(ours[:, 2].mean() / theirs[:, 2].mean())
            ratios[f"{robot} {kind}"] = float(a[0] / b[0])
            rows.append(
                [robot, kind, str(len(pairs)), f"{a[0]:.3f}", f"{b[0]:.3f}", times(a[0] / b[0]), f"{a[1]:.3f}",
                 f"{b[1]:.3f}", times(a[1] / b[1]), f"{cost:.3f}"]
            )  # fmt: skip
            report.measurements[f"{robot} {kind} beside vamp"] = {"manipapy": ours.tolist(), "vamp": theirs.tolist()}
    header = ["robot", "scene", "runs", "search", "VAMP", "ratio", "shortening", "VAMP", "ratio", "length"]
    report.table(header, rows)
    if ratios:
        report.require("search: manipapy / VAMP", ratios, 1.0, at_least=False)


def _runs(one: Problem) -> Iterator[tuple[list[float], list[float]]]:
    """Per seed: seconds of search and shortening and length of the path, ours and VAMP's."""
    import vamp

    module, environment = getattr(vamp, one.robot), vamp.Environment()
    for item in one.checker.world.snapshot().objects.values():
        T = T_VAMP_BASE[one.robot] @ item.T_base_object
        assert isinstance(item.shape, Box)
        environment.add_cuboid(vamp.Cuboid(T[:3, 3], _euler(T[:3, :3]), 0.5 * item.shape.size))
    start, goal = one.start.astype(np.float32), one.goal.astype(np.float32)
    if not (module.validate(start, environment) and module.validate(goal, environment)):
        return
    settings, shorter = vamp.RRTCSettings(), vamp.SimplifySettings()
    settings.range, settings.max_samples = RANGES[one.robot], SAMPLES
    space = padded_space(one)
    for seed in range(SEEDS):
        begin = time.thread_time()
        try:
            found = uncertain_path(space, one.start, one.goal[None], seed, Deadline(5.0))
        except Stopped:
            continue
        middle = time.thread_time()
        path = shorten(space, found.path, seed=seed)
        ours = [middle - begin, time.thread_time() - middle, float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())]
        random = module.xorshift()
        random.reset()
        for _ in range(seed):
            random.next()
        begin = time.thread_time()
        searched = module.rrtc(start, goal, environment, settings, random)
        middle = time.thread_time()
        if not searched.solved:
            continue
        cut = module.simplify(searched.path, environment, shorter, random)
        end = time.thread_time()
        theirs = [
            min(middle - begin, 1e-9 * searched.nanoseconds),
            min(end - middle, 1e-9 * cut.nanoseconds),
            float(cut.path.cost()),
        ]
        yield ours, theirs


def padded_space(one: Problem) -> PlanningSpace:
    """As `plan` pads the robot: towards itself too, where start and goal allow it."""
    ends = np.stack([one.start, one.goal])
    robot = one.checker.padded(PADDING, self_padding=PADDING)
    robot = one.checker.padded(PADDING) if robot.check(ends).any() else robot
    return PlanningSpace.around(robot, one.start, one.goal[None], original=one.checker)


def _euler(R: Array) -> list[float]:
    """Angles about the fixed axes x, y, z."""
    return [float(np.arctan2(R[2, 1], R[2, 2])), float(-np.arcsin(R[2, 0])), float(np.arctan2(R[1, 0], R[0, 0]))]
