"""Seeded problems for two arms together among boxes on a bench: twelve joints (two UR5e), fourteen (two pandas)."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

import coal
import numpy as np

from geometry.arms import CoalScene, at
from manipapy_core import Chain, Robot, kinematics, model
from manipapy_core.geometry import Box, Checker, RobotBody, World
from manipapy_core.motion import TipsGoal
from manipapy_core.motion.space import PADDING

ROBOTS = ("dual_ur5e", "dual_panda")
TIPS = {"dual_ur5e": ("left_tool0", "right_tool0"), "dual_panda": ("left_panda_hand_tcp", "right_panda_hand_tcp")}
READY = {
    "dual_ur5e": np.tile([0.0, -1.8, 1.6, -1.4, -1.57, 0.0], 2),
    "dual_panda": np.tile([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785], 2),
}
HEIGHT = {"dual_ur5e": 0.72, "dual_panda": 0.0}
"""Of the bench [m]."""


@dataclass(frozen=True, eq=False)
class DualProblem:
    robot: str
    seed: int
    checker: Checker
    start: np.ndarray
    q_goal: np.ndarray
    goal: TipsGoal


def two_pandas() -> Robot:
    """The bundled panda twice, side by side on one base link, 0.6 m apart."""
    text = (Path(model.__file__).parent / "robots" / "panda.urdf").read_text(encoding="utf-8")
    inside = re.sub(r"(?s)^.*?<robot[^>]*>|</robot>\s*$", "", text)
    arms, stands = [], []
    for side, y in (("left", 0.3), ("right", -0.3)):
        arm = re.sub(r'"(panda_\w+)"', rf'"{side}_\1"', inside)
        arms.append(re.sub(r'<material name="', rf'<material name="{side}_', arm))  # urdfdom refuses a repeated one
        stands.append(
            f'<joint name="{side}_stand" type="fixed"><parent link="station"/><child link="{side}_panda_link0"/>'
            f'<origin xyz="0 {y} 0"/></joint>'
        )
    return Robot.from_urdf(
        f'<robot name="dual_panda"><link name="station"/>{"".join(arms + stands)}</robot>'
    ).completed()


@functools.cache
def both_arms(name: str) -> tuple[Robot, Chain, RobotBody]:
    robot = Robot.from_urdf(name) if name == "dual_ur5e" else two_pandas()
    fingers = {joint: 0.0 for joint in robot.free_joints if "finger" in joint}
    chain = robot.tree("station", TIPS[name][0], fixed=fingers)
    return robot, chain, RobotBody.build(robot, chain)


def boxes(name: str, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Sizes and centres [m] of boxes between and before the arms."""
    rng = np.random.default_rng([5, seed])
    found = []
    for _ in range(8):
        size = rng.uniform([0.05, 0.05, 0.1], [0.12, 0.12, 0.35])
        place = rng.uniform([0.3, -0.6, 0.0], [0.75, 0.6, 0.0])
        found.append((size, np.array([place[0], place[1], HEIGHT[name] + 0.5 * size[2]])))
    return found


@functools.cache
def dual_problem(name: str, seed: int) -> DualProblem:
    """Both hands near each other at start and goal; the straight joint motion of both arms is blocked."""
    _, chain, body = both_arms(name)
    rng = np.random.default_rng([6, seed])
    for attempt in range(20):
        world = World()
        for index, (size, place) in enumerate(boxes(name, seed + 100 * attempt)):
            world.add(f"box {index}", Box(size), at(*place))
        checker = Checker(body, world)
        q = READY[name] + rng.uniform(-1.3, 1.3, (4000, chain.n))
        q = q[np.all((q >= chain.limits.lower) & (q <= chain.limits.upper), axis=1)]
        hands = kinematics.link_poses(chain, q)[:, [chain.link_names.index(tip) for tip in TIPS[name]]][..., :3, 3]
        before = np.all((hands[:, :, 0] > 0.25) & (hands[:, :, 2] > HEIGHT[name] + 0.05), axis=1)
        near = np.linalg.norm(hands[:, 0] - hands[:, 1], axis=1) < 0.5
        q = q[before & near]
        q = q[~checker.padded(PADDING).check(q)] if len(q) else q
        for start, end in zip(q[::2], q[1::2]):
            if checker.check_edges(start, end, 0.03):
                poses = kinematics.link_poses(chain, end)
                goal = TipsGoal({tip: poses[chain.link_names.index(tip)] for tip in TIPS[name]})
                return DualProblem(name, seed, checker, start, end, goal)
    raise AssertionError(f"{name} {seed}: no problem found")


@functools.cache
def dual_coal_scene(one: DualProblem) -> CoalScene:
    """The same boxes in coal; links of one arm are compared with those of the other."""
    shapes = [(coal.Box(*box.shape.size), box.T_base_object) for box in one.checker.world.snapshot().objects.values()]
    return CoalScene(*both_arms(one.robot), shapes)
