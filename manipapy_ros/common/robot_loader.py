"""The robot and the arm that a node works with, from wherever the description comes."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from manipapy_core import Robot, dynamics, kinematics, lie
from manipapy_core.errors import InputError, UnknownLink
from manipapy_core.model import Chain
from manipapy_core.typing import Array

from .params import Param, Value

DESCRIPTION_PARAMETERS = (
    Param("robot", "ur5", "A bundled robot, or a URDF or xacro file; empty: what the topic robot_description brings"),
    Param("robot_description", "", "URDF text; wins over robot"),
    Param("xacro_args", "", "For a xacro file: name:=value, separated by spaces"),
    Param("base_link", "", "Link that poses are given in; empty: the root of the description"),
    Param("tip_link", "tool0", "Link at the end of the arm; its pose is the answer when no link is named"),
)


class NoDescription(InputError):
    """A question before the robot is known."""

    def __init__(self, topic: str):
        super().__init__(
            f"no robot description has arrived on {topic} yet; start its publisher, or set the parameter robot"
        )
        self.topic = topic


@dataclass(frozen=True, eq=False)
class LoadedRobot:
    """A robot and one arm of it."""

    robot: Robot
    chain: Chain
    """From base_link to tip_link."""

    def fixed_pose(self, link: str) -> Array:
        """T_base_link of a link that does not move against the base, shape (4, 4).

        Raises:
            InputError: It does.
        """
        base = self.chain.base
        if link not in self.robot.links:
            raise UnknownLink(link, tuple(self.robot.links))
        up_from_base, up_from_link = self._joints_to_root(base), self._joints_to_root(link)
        shared = set(up_from_base) & set(up_from_link)
        T_base, T_link = np.eye(4), np.eye(4)
        for up, T in ((up_from_base, T_base), (up_from_link, T_link)):
            for joint in (self.robot.joints[name] for name in up if name not in shared):
                if joint.type.moves:
                    raise InputError(
                        f"{link!r} moves against {base!r}; give the pose in {base!r} or in a link that does not move"
                    )
                T[:] = joint.T_parent_child @ T
        return lie.inverse(T_base) @ T_link

    def _joints_to_root(self, link: str) -> list[str]:
        """Names of the joints on the way up."""
        above = {joint.child: joint for joint in self.robot.joints.values()}
        way = []
        while link in above:
            way.append(above[link].name)
            link = above[link].parent
        return way


def from_parameters(values: Mapping[str, Value]) -> LoadedRobot | None:
    """The model that the parameters describe; None when they leave it to the topic.

    Raises:
        InputError: No such robot, a description that cannot be used, or no arm between the two links.
    """
    text, robot = str(values["robot_description"]), str(values["robot"])
    if not text and not robot:
        return None
    return _build(text or robot, values, xacro_args(str(values["xacro_args"])))


def from_text(urdf: str, values: Mapping[str, Value]) -> LoadedRobot:
    """The model of a description that came over a topic; xacro in it is refused, because it could read our files."""
    return _build(urdf, values, None)


def compile_kernels(model: LoadedRobot) -> None:
    """Compile what services need, so that no answer is slow."""
    chain, home = model.chain, np.zeros(model.chain.n)
    kinematics.forward(chain, home)
    kinematics.link_poses(chain, home)
    kinematics.space_jacobian(chain, home)
    dynamics.mass_matrix(chain, home)
    dynamics.inverse_dynamics(chain, home, home, home)


def xacro_args(text: str) -> dict[str, str] | None:
    """Arguments as xacro has them on its command line; None for none."""
    words = shlex.split(text)
    if not words:
        return None
    wrong = [word for word in words if ":=" not in word]
    if wrong:
        raise InputError(f"xacro_args has {wrong[0]!r}; write name:=value, separated by spaces")
    return dict(word.split(":=", 1) for word in words)


def _build(source: str, values: Mapping[str, Value], arguments: dict[str, str] | None) -> LoadedRobot:
    # Geometry needs no meshes; one that is not found is a warning, for RViz' sake.
    robot = Robot.from_urdf(source, xacro_args=arguments, check_meshes=False)
    return LoadedRobot(robot, robot.chain(str(values["base_link"]) or robot.root, str(values["tip_link"])))
