"""The robots of the fault table: where they start and where they move to."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

import ros_arm
from manipapy_core import Robot
from manipapy_core.geometry import RobotBody
from manipapy_core.model.chain import Chain


@dataclass(frozen=True, eq=False)
class Bot:
    """A robot of the rig."""

    name: str
    base: str
    tip: str
    joints: tuple[str, ...]
    home: np.ndarray
    away: np.ndarray

    @functools.cached_property
    def chain(self) -> Chain:
        return Robot.from_urdf(self.name).chain(self.base, self.tip)

    @functools.cached_property
    def body(self) -> RobotBody:
        return RobotBody.build(Robot.from_urdf(self.name), self.chain)

    @property
    def down(self) -> np.ndarray:
        """Some 0.2 m below home."""
        return self.home + np.array([0.0, 0.45] + [0.0] * (len(self.joints) - 2))


UR5 = Bot(
    "ur5",
    "base_link",
    "tool0",
    ros_arm.JOINTS,
    ros_arm.HOME,
    ros_arm.HOME + np.array([1.2, 0.5, -0.7, 0.5, 0.4, -0.9]),
)


PANDA_HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
PANDA = Bot(
    "panda",
    "panda_link0",
    "panda_hand_tcp",
    tuple(f"panda_joint{number}" for number in range(1, 8)),
    PANDA_HOME,
    PANDA_HOME + np.array([1.2, 0.4, 0.5, 0.6, -0.6, 0.5, -0.8]),
)
BOTS = {bot.name: bot for bot in (UR5, PANDA)}
