"""Seeded problems among boxes on a table in which the tool stays upright; tests and benchmark share them."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from geometry.arms import arm, at, table_world
from manipapy_core import lie
from manipapy_core.geometry import Checker
from manipapy_core.motion import OrientationConstraint, OrientationError
from manipapy_core.motion.constraints.compiled import PathConstraints
from manipapy_core.motion.space import PADDING
from motion.scenes import READY, Problem, free_ends

TILT = 0.1
"""Tolerance about the two horizontal axes [rad]."""
DOWN = np.diag([1.0, -1.0, -1.0])


@dataclass(frozen=True, eq=False)
class ConstrainedProblem(Problem):
    constraint: OrientationConstraint


def upright(link: str, error: OrientationError = OrientationError.XYZ_EULER_ANGLES) -> OrientationConstraint:
    """The z axis of a link points down, turning about it is free."""
    return OrientationConstraint(link, DOWN, (TILT, TILT, math.pi), error)


def poses(rng: np.random.Generator) -> list:
    found = []
    for _ in range(80):
        angle, distance = rng.uniform(-1.8, 1.8), rng.uniform(0.35, 0.65)
        T = at(distance * math.cos(angle), distance * math.sin(angle), rng.uniform(0.15, 0.5))
        turn = lie.exp_so3(np.array([0.0, 0.0, rng.uniform(-math.pi, math.pi)]))
        T[:3, :3] = DOWN @ lie.exp_so3(np.append(rng.uniform(-0.5, 0.5, 2) * TILT, 0.0)) @ turn
        found.append(T)
    return found


@functools.cache
def upright_problem(robot: str, seed: int) -> ConstrainedProblem:
    """Start and goal are free and upright; the straight joint motion between them is blocked or tilts too much.

    The wrist of the ur5 is bent to the same side at both: it cannot straighten while the tool points down.
    """
    rng = np.random.default_rng([77, seed])
    _, chain, body = arm(robot)
    constraint = upright(chain.tip)
    kept = PathConstraints.of(chain, [constraint])
    for attempt in range(40):
        checker = Checker(body, table_world(seed + 1000 * attempt))
        ends = free_ends(checker.padded(PADDING), poses(rng), READY[robot], rng)
        if len(ends) < 2:
            continue
        start, (q, T) = ends[0][0], ends[1]
        if robot == "ur5" and np.sin(start[4]) * np.sin(q[4]) < 0.0:
            continue
        if checker.check_edges(start, q, 0.03) or not kept.line_holds(start, q):
            return ConstrainedProblem(robot, "upright", seed, checker, start, q, T, constraint)
    raise AssertionError(f"{robot} {seed}: no problem found")
