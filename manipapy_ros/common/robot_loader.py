"""The robot of a node: every node reads its description from the same parameters, in the same order of precedence.

1. `robot_description`: URDF text as a parameter.
2. `robot`: a bundled name, or a URDF or xacro file; `xacro_args` are the arguments of a xacro file.
3. With both empty, the latched topic `robot_description`, as robot_state_publisher and model_server publish it.

`base_link` and `tip_link` select the arm, `package_paths` resolve `package://` references of meshes.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String

from manipapy_core import Robot, dynamics, kinematics, lie
from manipapy_core.errors import InputError, UnknownLink
from manipapy_core.model import Chain
from manipapy_core.typing import Array

from ..realtime.polled_topics import PolledSubscription
from . import qos
from .params import Param, Values

TOPIC = "robot_description"
ROBOT_PARAMETERS = (
    Param("robot", "ur5", "Bundled robot, or URDF or xacro file; empty: take the topic robot_description"),
    Param("robot_description", "", "URDF text; takes precedence over robot"),
    Param("xacro_args", "", "Arguments of a xacro file: name:=value, separated by spaces"),
    Param("robot_description_timeout", 30.0, "How long to wait for the topic robot_description [s]", minimum=0.0,
          maximum=3600.0),
    Param("package_paths", [], "Folders searched for package:// references of meshes",
          kind=Parameter.Type.STRING_ARRAY),
    Param("base_link", "", "Link in which poses are given; empty: the root of the description"),
    Param("tip_link", "tool0", "Link at the end of the arm"),
)  # fmt: skip
POLL_PERIOD = 0.02
"""Between two checks for a description [s]."""


class NoDescription(InputError):
    """The robot description is needed before it arrived."""

    def __init__(self, topic: str, waited: float = 0.0):
        within = f" within {waited:g} s" if waited else ""
        super().__init__(
            f"no robot description arrived on {topic}{within}; start its publisher, or set the parameter robot or "
            "robot_description"
        )
        self.topic, self.waited = topic, waited


@dataclass(frozen=True, eq=False)
class LoadedRobot:
    """A robot and one arm of it."""

    robot: Robot
    chain: Chain
    """From base_link to tip_link."""

    @classmethod
    def of(cls, robot: Robot, values: Values) -> LoadedRobot:
        """The robot with the arm that the parameters `base_link` and `tip_link` select.

        Raises:
            InputError: One of the links does not exist, or no joint moves between them.
        """
        chain = robot.chain(values["base_link"] or robot.root, values["tip_link"])
        if chain.n == 0:
            raise InputError(
                f"no joint moves between {chain.base!r} and {chain.tip!r}; "
                "set base_link and tip_link to the two ends of the arm"
            )
        return cls(robot, chain)

    def __str__(self) -> str:
        return f"{self.robot.name}: {self.chain.base} → {self.chain.tip}, joints {', '.join(self.chain.joint_names)}"

    def fixed_pose(self, link: str) -> Array:
        """T_base_link of a link that does not move relative to the base, shape (4, 4).

        Raises:
            InputError: The link moves relative to the base.
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
                        f"{link!r} moves relative to {base!r}; give the pose in {base!r} or in a link that does not"
                    )
                T[:] = joint.T_parent_child @ T
        return lie.inverse(T_base) @ T_link

    def _joints_to_root(self, link: str) -> list[str]:
        """Names of the joints from the link up to the root."""
        above = {joint.child: joint for joint in self.robot.joints.values()}
        path = []
        while link in above:
            path.append(above[link].name)
            link = above[link].parent
        return path


def robot_from_parameters(values: Values) -> Robot | None:
    """The robot that the parameters describe; None when they leave it to the topic.

    Raises:
        InputError: No such robot, or a description with errors.
    """
    source = values["robot_description"] or values["robot"]
    return _read(source, values, xacro_arguments(values["xacro_args"])) if source else None


def robot_from_text(urdf: str, values: Values) -> Robot:
    """The robot of a description from the topic; xacro in it is refused, because it could read files of this machine.

    Raises:
        InputError: A description with errors.
    """
    return _read(urdf, values, None)


def wait_for_description(node: Node, timeout: float, give_up: Callable[[], bool]) -> str:
    """The text on the latched topic `robot_description`, for callers that the node's executor waits for.

    Args:
        timeout: [s]
        give_up: Ends the wait early when it returns True.

    Raises:
        NoDescription: Nothing arrived in time.
    """
    topic: PolledSubscription[String] = PolledSubscription(node, String, TOPIC, qos.ROBOT_DESCRIPTION)
    try:
        began = time.monotonic()
        while (message := topic.newest()) is None:
            waited = time.monotonic() - began
            if waited >= timeout or give_up():
                raise NoDescription(topic.topic, waited)
            time.sleep(POLL_PERIOD)
        return str(message.data)
    finally:
        topic.destroy()


def compile_kernels(model: LoadedRobot) -> None:
    """Compile the kinematics and dynamics of an arm ahead of their first use."""
    chain, home = model.chain, np.zeros(model.chain.n)
    kinematics.forward(chain, home)
    kinematics.link_poses(chain, home)
    kinematics.space_jacobian(chain, home)
    dynamics.mass_matrix(chain, home)
    dynamics.inverse_dynamics(chain, home, home, home)


def xacro_arguments(text: str) -> dict[str, str] | None:
    """Arguments written as on the command line of xacro; None for none.

    Raises:
        InputError: A word without `:=`.
    """
    words = shlex.split(text)
    if not words:
        return None
    wrong = [word for word in words if ":=" not in word]
    if wrong:
        raise InputError(f"xacro_args has {wrong[0]!r}; write name:=value, separated by spaces")
    return dict(word.split(":=", 1) for word in words)


def _read(source: str, values: Values, arguments: dict[str, str] | None) -> Robot:
    # Kinematics and dynamics need no meshes; one that is not found is a warning.
    return Robot.from_urdf(source, package_paths=values["package_paths"], xacro_args=arguments, check_meshes=False)
