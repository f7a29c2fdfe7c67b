"""Semantic description (SRDF): groups, end effectors, named states and pairs of links that need no collision check.

Written in the layout that MoveIt and similar programs read; `read_srdf` reads theirs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from ..errors import InputError
from .arms import Arm
from .assemble import way_between

if TYPE_CHECKING:
    from .robot import Robot

REASONS = {"adjacent": "Adjacent", "always in contact": "Default", "never in contact": "Never"}
"""Why the collision body leaves out a pair, and MoveIt's word for it."""

ALL_ARMS = "arms"
"""Name of the group of all arms together."""


@dataclass(frozen=True)
class DisabledPair:
    """Two links whose collision is not checked."""

    first: str
    second: str
    reason: str
    """MoveIt's word: Adjacent, Default (in contact always), Never or User."""


@dataclass(frozen=True)
class JointGroup:
    """Joints that are planned together, in the words of the file; `SemanticDescription.joints_of` resolves them."""

    name: str
    chains: tuple[tuple[str, str], ...] = ()
    """Base and tip link of each chain."""
    joints: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    """Each brings the joint that carries it."""
    subgroups: tuple[str, ...] = ()


@dataclass(frozen=True)
class EndEffector:
    """A group that is a hand or tool."""

    name: str
    group: str
    parent_link: str
    """Link of the arm that carries it."""
    parent_group: str = ""
    """Group of the arm; empty where the file does not say."""


@dataclass(frozen=True)
class VirtualJoint:
    """How the robot is joined to a frame outside it."""

    name: str
    type: str
    """fixed, floating or planar."""
    parent_frame: str
    child_link: str


class UnknownGroup(InputError):
    """A group name that the semantic description does not have."""

    def __init__(self, name: str, available: Sequence[str]):
        super().__init__(f"no group {name!r}; this robot has: {', '.join(available) or 'none'}")
        self.name, self.available = name, tuple(available)


@dataclass(frozen=True)
class SemanticDescription:
    """What a robot's links and joints are for."""

    robot: str
    groups: tuple[JointGroup, ...] = ()
    states: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    """Joint positions [rad or m] by group, name of the state and joint."""
    disabled: tuple[DisabledPair, ...] = ()
    end_effectors: tuple[EndEffector, ...] = ()
    virtual_joints: tuple[VirtualJoint, ...] = ()
    passive_joints: tuple[str, ...] = ()
    """Joints that no motor drives: no group moves them."""
    warnings: tuple[str, ...] = ()
    """What is doubtful in the file, each with line and cure."""

    @classmethod
    def of_arms(
        cls,
        robot: str,
        arms: Sequence[Arm],
        states: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None,
        disabled: Iterable[DisabledPair] = (),
    ) -> SemanticDescription:
        """A group for every arm and for every gripper, and one for all arms together where they share no joint."""
        groups: list[JointGroup] = []
        effectors: list[EndEffector] = []
        for arm in arms:
            groups.append(JointGroup(arm.name, chains=((arm.base, arm.tip),)))
            if arm.gripper is not None:
                name = gripper_group(arm)
                groups.append(JointGroup(name, joints=arm.gripper.joints, links=arm.gripper.links))
                effectors.append(EndEffector(name, name, arm.gripper.parent, arm.name))
        joints = [joint for arm in arms for joint in arm.joints]
        if len(arms) > 1 and len(set(joints)) == len(joints) and all(group.name != ALL_ARMS for group in groups):
            groups.append(JointGroup(ALL_ARMS, subgroups=tuple(arm.name for arm in arms)))
        return cls(robot, tuple(groups), states or {}, tuple(disabled), tuple(effectors))

    def group(self, name: str) -> JointGroup:
        """The group of a name.

        Raises:
            UnknownGroup: There is none.
        """
        for group in self.groups:
            if group.name == name:
                return group
        raise UnknownGroup(name, [group.name for group in self.groups])

    def joints_of(self, name: str, robot: Robot) -> tuple[str, ...]:
        """Joints that a group moves on their own, in the order of the tree; no mimic, passive or fixed ones.

        Raises:
            UnknownGroup: There is no such group.
        """
        members = self._members(name, robot)[0]
        free = set(robot.free_joints) - set(self.passive_joints)
        return tuple(joint for joint in _tree_order(robot) if joint in members and joint in free)

    def links_of(self, name: str, robot: Robot) -> tuple[str, ...]:
        """Links of a group in the order of the tree: those of its chains, those named, and those its joints carry."""
        joints, links = self._members(name, robot)
        carried = {robot.joints[joint].child for joint in joints}
        return tuple(link for link in _links_in_order(robot) if link in links or link in carried)

    def tips_of(self, name: str) -> tuple[str, ...]:
        """Tip links of the chains of a group and of its subgroups, in the order of the file."""
        group = self.group(name)
        tips = [tip for _, tip in group.chains]
        for subgroup in group.subgroups:
            tips += self.tips_of(subgroup)
        return tuple(dict.fromkeys(tips))

    def _members(self, name: str, robot: Robot) -> tuple[set[str], set[str]]:
        """Names of joints and links of a group, those of its subgroups included."""
        group = self.group(name)
        parents = {joint.child: joint.name for joint in robot.joints.values()}
        joints = {joint for joint in group.joints if joint in robot.joints}
        joints |= {parents[link] for link in group.links if link in parents}
        links = set(group.links)
        for base, tip in group.chains:
            way = way_between(robot, base, tip)
            joints |= {joint.name for joint in way}
            links |= {base, tip} | {link for joint in way for link in (joint.parent, joint.child)}
        for subgroup in group.subgroups:
            more_joints, more_links = self._members(subgroup, robot)
            joints, links = joints | more_joints, links | more_links
        return joints, links


def read_srdf(
    source: str | os.PathLike[str],
    robot: Robot,
    *,
    strict: bool = False,
    package_paths: Sequence[str | os.PathLike[str]] = (),
    xacro_args: Mapping[str, str] | None = None,
) -> SemanticDescription:
    """Reads a semantic description and checks it against its robot.

    Args:
        source: Path of an SRDF or xacro file, or an XML text.
        robot: The robot that it describes.
        strict: Refuse mistakes that MoveIt skips and that leave no doubt about the groups; otherwise they are in
            `warnings`.
        package_paths: Package folders, or folders that contain them, for `$(find ...)` of a xacro file.
        xacro_args: Values for `<xacro:arg>`.

    Raises:
        ModelError: Lists every problem of the file, each with line, element and cure.
    """
    from .srdf_reader import read  # the reader needs the classes above

    return read(source, robot, strict=strict, package_paths=package_paths, xacro_args=xacro_args)


def disabled_pairs(ignored: Mapping[frozenset[str], str]) -> tuple[DisabledPair, ...]:
    """The pairs that a collision body leaves out (`RobotBody.ignored`), in the order of their names."""
    rows = sorted((*sorted(names), reason) for names, reason in ignored.items() if len(names) == 2)
    return tuple(DisabledPair(first, second, REASONS.get(reason, "User")) for first, second, reason in rows)


def srdf_text(description: SemanticDescription) -> str:
    """The XML text of a semantic description."""
    lines = ['<?xml version="1.0"?>', f"<robot name={quoteattr(description.robot)}>"]
    for joint in description.virtual_joints:
        names = {"parent_frame": joint.parent_frame, "child_link": joint.child_link}
        lines.append("  " + _tag("virtual_joint", {"name": joint.name, "type": joint.type, **names}))
    for group in description.groups:
        parts = [_tag("chain", {"base_link": base, "tip_link": tip}) for base, tip in group.chains]
        parts += [_tag("link", {"name": name}) for name in group.links]
        parts += [_tag("joint", {"name": name}) for name in group.joints]
        parts += [_tag("group", {"name": name}) for name in group.subgroups]
        lines += _element("group", {"name": group.name}, parts)
    for name, states in description.states.items():
        for state, positions in states.items():
            values = [_tag("joint", {"name": joint, "value": repr(float(q))}) for joint, q in positions.items()]
            lines += _element("group_state", {"name": state, "group": name}, values)
    for effector in description.end_effectors:
        attributes = {"name": effector.name, "parent_link": effector.parent_link, "group": effector.group}
        if effector.parent_group:
            attributes["parent_group"] = effector.parent_group
        lines.append("  " + _tag("end_effector", attributes))
    lines += ["  " + _tag("passive_joint", {"name": name}) for name in description.passive_joints]
    lines += [
        "  " + _tag("disable_collisions", {"link1": pair.first, "link2": pair.second, "reason": pair.reason})
        for pair in description.disabled
    ]
    return "\n".join([*lines, "</robot>"]) + "\n"


def gripper_group(arm: Arm) -> str:
    """Name of the group of an arm's gripper."""
    return "gripper" if arm.name == "arm" else f"{arm.name}_gripper"


def _links_in_order(robot: Robot) -> list[str]:
    """The root, then all links depth first."""
    below: dict[str, list[str]] = {name: [] for name in robot.links}
    for joint in robot.joints.values():
        below[joint.parent].append(joint.child)
    ordered, pending = [], [robot.root]
    while pending:
        link = pending.pop()
        ordered.append(link)
        pending += reversed(below[link])
    return ordered


def _tree_order(robot: Robot) -> list[str]:
    """Joints depth first."""
    parents = {joint.child: joint.name for joint in robot.joints.values()}
    return [parents[link] for link in _links_in_order(robot) if link in parents]


def _tag(tag: str, attributes: Mapping[str, str]) -> str:
    written = " ".join(f"{name}={quoteattr(value)}" for name, value in attributes.items())
    return f"<{tag} {written}/>"


def _element(tag: str, attributes: Mapping[str, str], parts: Sequence[str] | Iterable[str]) -> list[str]:
    opened = _tag(tag, attributes).removesuffix("/>") + ">"
    return [f"  {opened}", *(f"    {part}" for part in parts), f"  </{tag}>"]
