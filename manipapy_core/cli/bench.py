"""`manipapy bench`: how fast the library is for one robot on this machine; `benchmarks/` compares it with others."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from .. import dynamics, ik, kinematics
from ..errors import MissingPackage
from ..geometry import Box, Checker, RobotBody, World
from ..lie import pose
from ..model import Chain, Robot
from ..typing import Array
from .options import console

BATCH = 10_000
POSES = 200
MOTIONS = 30
MEASURE_FOR = 0.3
"""Time for each of the quick functions [s]."""


@dataclass(frozen=True)
class Timing:
    """One row of the table."""

    name: str
    median: float
    """Of one item [s]."""
    p99: float
    """99th percentile of runs [s]; a run of a batch counts as one item."""
    remark: str = ""


def measure(model: Robot, chain: Chain) -> list[Timing]:
    """Measures everything, with a progress bar on standard error; what a package is missing for is left out."""
    found: list[Timing] = []
    jobs = list(_jobs(model, chain))
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=len(jobs))
        for name, run in jobs:
            bar.update(task, description=name)
            try:
                found.append(run(name))
            except MissingPackage as missing:
                found.append(Timing(name, np.nan, np.nan, f"left out: {missing}"))
            bar.advance(task)
    return found


def _jobs(model: Robot, chain: Chain) -> Iterator[tuple[str, Callable[[str], Timing]]]:
    """Names of rows, and what measures each; later ones use the collision body that an earlier one builds."""
    rng = np.random.default_rng(0)
    lower, upper = (np.clip(bound, -np.pi, np.pi) for bound in (chain.limits.lower, chain.limits.upper))
    q = rng.uniform(lower, upper, (BATCH, chain.n))
    v, a = rng.normal(size=(2, BATCH, chain.n))
    checkers: list[Checker] = []

    def checker() -> Checker:
        if not checkers:
            checkers.append(Checker(RobotBody.build(model, chain), _boxes(kinematics.forward(chain, q[:100]))))
        return checkers[0]

    def rows(run: Callable[..., object], *data: Array) -> Iterator[tuple[str, Callable[[str], Timing]]]:
        title = run.__name__.replace("_", " ")
        yield title, lambda name: _repeated(name, lambda: run(chain, *(item[0] for item in data)))
        yield f"{title}, batch", lambda name: _repeated(name, lambda: run(chain, *data), BATCH)

    yield from rows(kinematics.forward, q)
    yield from rows(kinematics.space_jacobian, q)
    yield from rows(dynamics.inverse_dynamics, q, v, a)
    yield from rows(dynamics.forward_dynamics, q, v, a)
    yield "inverse kinematics", lambda name: _ik(name, chain, q[:POSES])
    yield "collision check, batch", lambda name: _repeated(name, lambda: checker().check(q), BATCH, "20 boxes")
    yield "plan", lambda name: _plan(name, checker(), q)
    yield "servo cycle", lambda name: _servo(name, checker(), q)


def _boxes(poses: Array) -> World:
    """Twenty boxes of 10 cm within the arm's reach."""
    world, reach = World(), float(np.linalg.norm(poses[:, :3, 3], axis=1).max())
    rng = np.random.default_rng(1)
    for number in range(20):
        direction = rng.normal(size=3)
        place = direction / np.linalg.norm(direction) * reach * rng.uniform(0.6, 1.0)
        world.add(f"box {number}", Box(np.full(3, 0.1)), pose(translation=place))
    return world


def _repeated(name: str, job: Callable[[], object], items: int = 1, remark: str = "") -> Timing:
    """Runs a job again and again; the first run, which compiles, does not count."""
    job()
    return _timing(name, _until(job, MEASURE_FOR), items, remark)


def _until(job: Callable[[], object], seconds: float) -> list[float]:
    taken: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(taken) < 5:
        began = time.perf_counter()
        job()
        taken.append(time.perf_counter() - began)
    return taken


def _timing(name: str, taken: list[float], items: int = 1, remark: str = "") -> Timing:
    return Timing(name, statistics.median(taken) / items, float(np.percentile(taken, 99)) / items, remark)


def _ik(name: str, chain: Chain, q: Array) -> Timing:
    poses = kinematics.forward(chain, q)
    ik.solve(chain, poses[0])
    taken, solved = [], 0
    for T in poses:
        began = time.perf_counter()
        solved += ik.solve(chain, T).solved
        taken.append(time.perf_counter() - began)
    return _timing(name, taken, remark=f"{solved} of {len(q)} poses solved")


def _plan(name: str, checker: Checker, q: Array) -> Timing:
    from ..motion import plan, warm_up

    warm_up(checker)
    free = q[~checker.check(q)][: 2 * MOTIONS]
    taken, solved = [], 0
    for start, goal in zip(free[::2], free[1::2]):
        began = time.perf_counter()
        solved += plan(checker, start, goal).trajectory is not None
        taken.append(time.perf_counter() - began)
    if not taken:
        return Timing(name, np.nan, np.nan, "no configuration is free of collisions")
    return _timing(name, taken, remark=f"{solved} of {len(taken)} motions among 20 boxes")


def _servo(name: str, checker: Checker, q: Array) -> Timing:
    from ..servoing import ArmServo, TwistCommand

    servo = ArmServo(checker)
    servo.warm_up()
    free = q[~checker.check(q)]
    if not len(free):
        return Timing(name, np.nan, np.nan, "no configuration is free of collisions")
    servo.reset(free[0])
    servo.set_world(checker.world.snapshot())
    command = TwistCommand(np.array([0.0, 0.0, 0.0, 0.05, 0.0, 0.05]))
    return _repeated(name, lambda: servo.step(command, 0.004), remark="twist among 20 boxes")
