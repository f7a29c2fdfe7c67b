"""Seeded planning problems in four kinds of scene, for the bundled panda and ur5; tests and benchmark share them."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import coal
import numpy as np

from geometry.arms import CoalScene, arm, at, table_world
from manipapy_core import ik, lie
from manipapy_core.geometry import Box, Checker, World
from manipapy_core.motion.space import PADDING

READY = {
    "panda": np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]),
    "ur5": np.array([0.0, -1.8, 1.6, -1.4, -1.57, 0.0]),
}
KINDS = ("table", "shelf", "cage", "slot")


@dataclass(frozen=True, eq=False)
class Problem:
    robot: str
    kind: str
    seed: int
    checker: Checker
    start: np.ndarray
    goal: np.ndarray
    T_goal: np.ndarray


def shelf(rng: np.random.Generator) -> tuple[World, list]:
    """Three boards with side walls in front of the robot; poses reach into the compartments."""
    world, x, width = World(), rng.uniform(0.55, 0.65), 0.9
    heights = [0.15, 0.45, 0.75]
    for index, z in enumerate(heights):
        world.add(f"board {index}", Box([0.3, width, 0.02]), at(x, 0.0, z))
    for index, y in enumerate((-0.5 * width, 0.0, 0.5 * width)):
        world.add(f"side {index}", Box([0.3, 0.02, 0.62]), at(x, y, 0.45))
    world.add("back", Box([0.02, width, 0.62]), at(x + 0.16, 0.0, 0.45))
    world.add("floor", Box([1.6, 1.6, 0.04]), at(0.2, 0.0, -0.06))
    poses = []
    for _ in range(60):
        z, y = rng.choice([0.3, 0.6]), rng.choice([-1, 1]) * rng.uniform(0.12, 0.3)
        poses.append(forward_pose(x - rng.uniform(0.0, 0.08), y, z + rng.uniform(-0.03, 0.03), rng))
    return world, poses


def cage(rng: np.random.Generator) -> tuple[World, list]:
    """Bars all around; poses reach out between them."""
    world, bars, radius = World(), 10, 0.5
    turn = rng.uniform(0.0, 2.0 * np.pi / bars)
    for index in range(bars):
        angle = turn + 2.0 * np.pi * index / bars
        world.add(f"bar {index}", Box([0.03, 0.03, 1.1]), at(radius * np.cos(angle), radius * np.sin(angle), 0.5))
    world.add("floor", Box([1.6, 1.6, 0.04]), at(0.0, 0.0, -0.06))
    poses = []
    for _ in range(80):
        angle = turn + 2.0 * np.pi * (rng.integers(bars) + 0.5) / bars
        distance = rng.uniform(0.56, 0.66)
        T = forward_pose(0.0, 0.0, rng.uniform(0.25, 0.6), rng)
        T[:3, :3] = lie.exp_so3(np.array([0.0, 0.0, angle])) @ T[:3, :3]
        T[:2, 3] = distance * np.cos(angle), distance * np.sin(angle)
        poses.append(T)
    return world, poses


def slot(rng: np.random.Generator, robot: str) -> tuple[World, list]:
    """A wall with one slot, a little wider than the hand; poses are behind it."""
    world, x, gap = World(), 0.5, {"panda": 0.18, "ur5": 0.2}[robot]
    y, z = rng.uniform(-0.15, 0.15), rng.uniform(0.4, 0.5)
    world.add("below", Box([0.04, 1.6, z - 0.5 * gap]), at(x, 0.0, 0.5 * (z - 0.5 * gap)))
    world.add("above", Box([0.04, 1.6, 0.6]), at(x, 0.0, z + 0.5 * gap + 0.3))
    for side in (-1, 1):
        world.add(f"side {side}", Box([0.04, 0.5, 1.2]), at(x, y + side * (0.5 * gap + 0.25 + 0.03), 0.6))
    world.add("floor", Box([1.6, 1.6, 0.04]), at(0.2, 0.0, -0.06))
    deep = {"panda": 0.06, "ur5": 0.03}[robot]
    return world, [
        forward_pose(x + rng.uniform(deep, 2.0 * deep), y + rng.uniform(-0.02, 0.02), z + rng.uniform(-0.02, 0.02), rng)
        for _ in range(60)
    ]


def forward_pose(x: float, y: float, z: float, rng: np.random.Generator) -> np.ndarray:
    """The tip's z axis points forward, turned at random about it and tilted a little."""
    T = at(x, y, z)
    forward = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    tilt = lie.exp_so3(rng.normal(scale=0.1, size=3))
    T[:3, :3] = tilt @ forward @ lie.exp_so3(np.array([0.0, 0.0, rng.uniform(-np.pi, np.pi)]))
    return T


def table_poses(rng: np.random.Generator) -> list:
    """The tip points down, between the boxes of a full table."""
    poses = []
    for _ in range(80):
        angle, distance = rng.uniform(-1.8, 1.8), rng.uniform(0.35, 0.65)
        T = at(distance * np.cos(angle), distance * np.sin(angle), rng.uniform(0.15, 0.5))
        down = np.diag([1.0, -1.0, -1.0])
        turn = lie.exp_so3(np.array([0.0, 0.0, rng.uniform(-np.pi, np.pi)]))
        T[:3, :3] = lie.exp_so3(rng.normal(scale=0.2, size=3)) @ down @ turn
        poses.append(T)
    return poses


@functools.cache
def problem(robot: str, kind: str, seed: int) -> Problem:
    """A problem that a straight motion does not solve; start and goal are free by the planner's padding."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    body = arm(robot)[2]
    for attempt in range(40):
        if kind == "table":
            world, poses = table_world(seed + 1000 * attempt), table_poses(rng)
        else:
            world, poses = slot(rng, robot) if kind == "slot" else {"shelf": shelf, "cage": cage}[kind](rng)
        checker = Checker(body, world)
        ends = free_ends(checker.padded(PADDING), poses, READY[robot], rng)
        start = READY[robot] if kind == "slot" else ends[0][0] if ends else None
        if len(ends) < 2 or checker.padded(PADDING).collides(start):
            continue
        q, T = ends[1]
        if checker.check_edges(start, q, 0.03):
            return Problem(robot, kind, seed, checker, start, q, T)
    raise AssertionError(f"{robot} {kind} {seed}: no problem found")


@functools.cache
def coal_scene(one: Problem) -> CoalScene:
    """The same boxes in coal, by way of Pinocchio, with every pair of links compared."""
    shapes = [(coal.Box(*box.shape.size), box.T_base_object) for box in one.checker.world.snapshot().objects.values()]
    return CoalScene(*arm(one.robot), shapes)


def free_ends(checker: Checker, poses: list, ready: np.ndarray, rng: np.random.Generator) -> list:
    """Two free configurations, with their poses, that reach some of the poses without winding up."""
    chain, found = checker.body.chain, []
    lower, upper = np.maximum(chain.limits.lower, -np.pi), np.minimum(chain.limits.upper, np.pi)
    for T in poses:
        for _ in range(8):
            answer = ik.solve(chain, T, q_seed=np.clip(ready + rng.uniform(-1.5, 1.5, chain.n), lower, upper))
            if answer.solved and np.abs(answer.q).max() < 3.2 and not checker.collides(answer.q):
                found.append((answer.q, T))
                break
        if len(found) == 2:
            break
    return found
