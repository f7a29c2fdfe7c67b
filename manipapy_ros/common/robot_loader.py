"""The robot of a node: every node reads its description from the same parameters, in the same order of precedence.

1. `robot_description`: URDF text as a parameter.
2. `robot`: a bundled name, a URDF or xacro file, or a folder that `manipapy new-robot` wrote; `xacro_args` are the
   arguments of a xacro file.
3. With both empty, the latched topic `robot_description`, as robot_state_publisher and model_server publish it.

`base_link` and `tip_link` select the arm, `group` several arms that are moved as one. `limits` names a limits file,
`package_paths` resolve `package://` references of meshes, `locked_joints` are the positions of joints outside the arm.
What the description leaves open is assumed (see `manipapy_core.model.assumptions`). A folder brings its own values for
those that are not set.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String

from manipapy_core import Robot, dynamics, kinematics
from manipapy_core.errors import InputError, UnknownLink
from manipapy_core.model import Chain, MeshGeometry, RobotFolder, arm_chain, group_chain
from manipapy_core.typing import Array

from ..realtime.polled_topics import PolledSubscription
from . import qos
from .params import Param, Value, Values

TOPIC = "robot_description"
ROBOT_PARAMETERS = (
    Param("robot", "ur5", "Bundled robot, URDF or xacro file, or robot folder; empty: the topic robot_description"),
    Param("robot_description", "", "URDF text; takes precedence over robot"),
    Param("xacro_args", "", "Arguments of a xacro file: name:=value, separated by spaces"),
    Param("robot_description_timeout", 30.0, "How long to wait for the topic robot_description [s]", minimum=0.0,
          maximum=3600.0),
    Param("package_paths", [], "Folders searched for package:// references of meshes",
          kind=Parameter.Type.STRING_ARRAY),
    Param("base_link", "", "Link in which poses are given; empty: that of the arm found, the root if tip_link is set"),
    Param("tip_link", "", "Link at the end of the arm; empty: that of the first arm found"),
    Param("group", "", "Several arms moved as one, such as arms for all of them; empty: the arm to tip_link alone"),
    Param("limits", "", "Limits file (joint_limits.yaml); empty: that of a bundled robot or robot folder"),
    Param("locked_joints", "", "Positions of joints outside the arm, such as a torso: name:=value, by spaces"),
    Param("ignore_missing_meshes", False, "Leave out collision shapes without a mesh file: they never collide"),
)  # fmt: skip
LOCK_TOLERANCE = {True: 0.02, False: 0.01}
"""How far a turning [rad] or sliding [m] joint below the arm may be from where it is locked."""
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
    """From base_link to tip_link, or with all joints of `group`."""

    @classmethod
    def of(cls, robot: Robot, values: Values) -> LoadedRobot:
        """The robot with the arm that the parameters `base_link` and `tip_link` select, or the arms of `group`.

        Raises:
            InputError: One of the links does not exist, or no joint moves between them.
        """
        locked = locked_positions(values["locked_joints"])
        ends = values["base_link"], values["tip_link"]
        group = values["group"]
        chain = group_chain(robot, group, *ends, locked) if group else arm_chain(robot, *ends, locked)
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

        Joints outside the arm stay at their locked positions.

        Raises:
            InputError: The link moves relative to the base.
        """
        chain = self.chain
        if link not in chain.link_names:
            raise UnknownLink(link, chain.link_names)
        body, T_base_link = chain.link_placements[chain.link_names.index(link)]
        if body >= 0:
            raise InputError(
                f"{link!r} moves relative to {chain.base!r}; give the pose in {chain.base!r} or in a link that does not"
            )
        return T_base_link.copy()

    def require_collision_meshes(self) -> None:
        """Refuse to check collisions of links whose mesh is not there.

        Raises:
            InputError: Names link and file.
        """
        for link in self.robot.links.values():
            for shape in link.collisions:
                if isinstance(shape.geometry, MeshGeometry) and not shape.geometry.filename:
                    raise InputError(
                        f"the collision mesh {shape.geometry.uri!r} of link {link.name!r} is not found; name its "
                        "folder in package_paths, or set ignore_missing_meshes to check no collisions of such shapes"
                    )

    @cached_property
    def carrying_joints(self) -> dict[str, float]:
        """Locked joints that carry the base of the arm, such as a torso, and their positions [rad or m]."""
        above = {joint.child: joint for joint in self.robot.joints.values()}
        locked, found, link = dict(self.chain.locked), {}, self.chain.base
        while link in above:
            joint = above[link]
            if joint.name in locked:
                found[joint.name] = locked[joint.name]
            link = joint.parent
        return found

    def require_locked(self, positions: Mapping[str, float]) -> None:
        """Refuse measured positions [rad or m] in which a joint below the arm is not where it is locked.

        Raises:
            InputError: Such a joint has moved: base, obstacles and robot are elsewhere than this model has them.
        """
        for name, locked in self.carrying_joints.items():
            tolerance = LOCK_TOLERANCE[self.robot.joints[name].type.rotates]
            if abs(positions.get(name, locked) - locked) > tolerance:
                raise InputError(
                    f"joint {name!r} carries the arm and is at {positions[name]:.4g}, not at {locked:.4g} where it is "
                    f"locked; move it there, or start with locked_joints {name}:={positions[name]:.4g}"
                )


def with_folder(values: Values) -> dict[str, Value]:
    """The values of a table, completed by those of the robot folder that `robot` names, if it does.

    Raises:
        InputError: A folder without a robot.
    """
    folder = RobotFolder.at(values["robot"]) if values.get("robot") else None
    brought = folder.parameters() if folder is not None and not values.get("robot_description") else {}
    return {name: brought[name] if name in brought and not value else value for name, value in values.items()}


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


def reach_of(chain: Chain) -> float:
    """Reach of the arm's links from the base [m]: the maximum over random configurations."""
    low, high = chain.limits.sampling_range
    q = low + (high - low) * np.random.default_rng(0).random((4000, chain.n))
    return float(np.linalg.norm(kinematics.link_poses(chain, q)[..., :3, 3], axis=-1).max())


def xacro_arguments(text: str) -> dict[str, str] | None:
    """Arguments written as on the command line of xacro; None for none.

    Raises:
        InputError: A word without `:=`.
    """
    return _assignments("xacro_args", text) or None


def locked_positions(text: str) -> dict[str, float]:
    """Positions [rad or m] of locked joints by name.

    Raises:
        InputError: A word without `:=`, or a position that is no number.
    """
    positions = {}
    for name, value in _assignments("locked_joints", text).items():
        try:
            positions[name] = float(value)
        except ValueError:
            raise InputError(f"locked_joints has {name}:={value!r}; write the position as a number") from None
    return positions


def _assignments(parameter: str, text: str) -> dict[str, str]:
    words = shlex.split(text)
    wrong = [word for word in words if ":=" not in word]
    if wrong:
        raise InputError(f"{parameter} has {wrong[0]!r}; write name:=value, separated by spaces")
    return dict(word.split(":=", 1) for word in words)


def _read(source: str, values: Values, arguments: dict[str, str] | None) -> Robot:
    # Kinematics and dynamics need no meshes: one that is not found is a warning. Collision checks refuse to do without.
    robot = Robot.from_urdf(
        source,
        package_paths=values["package_paths"],
        xacro_args=arguments,
        limits=values["limits"] or None,
        check_meshes=False,
    )
    return robot.without_missing_meshes(collisions=values["ignore_missing_meshes"]).completed()
