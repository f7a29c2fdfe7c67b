"""The robot: a tree of links and joints, read once and never changed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .elements import Joint, JointType, Link
from .library import locate
from .limits import MotionLimits, no_motion_limits, read_joint_limits
from .meshes import MeshFinder
from .urdf.reader import read_urdf

if TYPE_CHECKING:
    from .chain import Chain

_MAPPINGS = ("links", "joints", "motion_limits")


@dataclass(frozen=True, eq=False)
class Robot:
    """Every link and joint of a description; take a `chain` from it to compute."""

    name: str
    links: Mapping[str, Link]
    """By name, in file order."""
    joints: Mapping[str, Joint]
    """By name, in file order; mimic joints name the joint that drives them."""
    root: str
    """The link without a parent."""
    motion_limits: Mapping[str, MotionLimits] = field(default_factory=dict)
    """Acceleration and jerk of every movable joint; inf where nothing is known."""
    warnings: tuple[str, ...] = ()
    """What is doubtful in the description, each with file, line, element and cure."""
    urdf: str = field(default="", repr=False)
    """Text of the description, with xacro expanded, as nodes publish it on `robot_description`."""

    def __post_init__(self) -> None:
        for name in _MAPPINGS:
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __reduce__(self) -> tuple[Any, ...]:
        # Read-only views do not pickle; worker processes get the same robot built anew.
        values = [getattr(self, entry.name) for entry in fields(self)]
        return Robot, tuple(dict(value) if isinstance(value, MappingProxyType) else value for value in values)

    @classmethod
    def from_urdf(
        cls,
        source: str | os.PathLike[str],
        *,
        package_paths: Sequence[str | os.PathLike[str]] = (),
        xacro_args: Mapping[str, str] | None = None,
        limits: str | os.PathLike[str] | None = None,
        check_meshes: bool = True,
    ) -> Robot:
        """Read a robot description and check all of it.

        Args:
            source: A bundled name (`"ur5"`), the path of a URDF or xacro file, or an XML text.
            package_paths: Where `package://` references may lead: package folders, or folders that contain
                them. The ament index (AMENT_PREFIX_PATH) is searched after them.
            xacro_args: Values for `<xacro:arg>`. A text or a `.urdf` file with xacro elements is expanded
                only when this is given (empty will do): xacro can read files and the environment.
            limits: YAML file with acceleration and jerk limits (see `limits`); replaces the one that a
                bundled robot comes with.
            check_meshes: False turns a mesh that is not found from a problem into a warning; its file name is
                then empty. Kinematics and dynamics do not need meshes.

        Raises:
            ModelError: Lists every problem of the description, each with line, element and cure. Also a
                FileNotFoundError when there is no such file.
        """
        located = locate(source, xacro_args)
        description = read_urdf(
            located.text,
            label=located.label,
            source=located.source,
            meshes=MeshFinder(located.folder, package_paths),
            check_meshes=check_meshes,
        )
        joints, motion_limits = description.joints, no_motion_limits(description.joints)
        limits_path = limits if limits is not None else located.limits
        if limits_path is not None:
            joints, motion_limits = read_joint_limits(limits_path, joints)
        return cls(
            description.name,
            description.links,
            joints,
            description.root,
            motion_limits,
            description.warnings,
            located.text,
        )

    def chain(self, base: str, tip: str, *, fixed: Mapping[str, float] | None = None) -> Chain:
        """The path between any two links, also upwards and down another branch.

        Args:
            base: Link that stays still.
            tip: Link whose motion is asked for.
            fixed: Positions [rad or m] of joints to be locked. Joints off the path are always locked, at 0
                unless given here.
        """
        from .assemble import build_chain

        return build_chain(self, base, tip, fixed)

    def tree(
        self, base: str | None = None, tip: str | None = None, *, fixed: Mapping[str, float] | None = None
    ) -> Chain:
        """The whole robot with every movable joint free.

        Args:
            base: Link that stays still; the root when not given.
            tip: Link whose motion is asked for.
            fixed: Joint positions [rad or m] for joints to be locked.
        """
        from .assemble import build_tree

        return build_tree(self, base, tip, fixed)

    @property
    def free_joints(self) -> tuple[str, ...]:
        """Names of the joints that move on their own (not fixed, not mimic), in file order."""
        return tuple(name for name, joint in self.joints.items() if joint.type.moves and joint.mimic is None)

    @property
    def mass(self) -> float:
        """Mass of all links together [kg]."""
        return sum(link.inertial.mass for link in self.links.values() if link.inertial is not None)

    def describe(self) -> str:
        """What a person wants to know: the tree with joints, ranges and masses, and the warnings."""
        below: dict[str, list[Joint]] = {name: [] for name in self.links}
        for joint in self.joints.values():
            below[joint.parent].append(joint)
        free = len(self.free_joints)
        lines = [f"{self.name}: {len(self.links)} links, {free} free joints, {self.mass:.4g} kg"]
        pending: list[tuple[str, int, Joint | None]] = [(self.root, 1, None)]
        while pending:
            link, depth, above = pending.pop()
            lines.append(f"{'  ' * depth}{_describe_link(self.links[link], above)}")
            pending.extend((child.child, depth + 1, child) for child in reversed(below[link]))
        lines += [f"  warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)


def _describe_link(link: Link, joint: Joint | None) -> str:
    weight = "massless" if link.inertial is None else f"{link.inertial.mass:.4g} kg"
    if joint is None:
        return f"{link.name} ({weight})"
    text = f"{link.name} ({weight}) by {joint.type.value} {joint.name}"
    if joint.mimic is not None:
        text += f" = {joint.mimic.multiplier:g} * {joint.mimic.joint} + {joint.mimic.offset:g}"
    elif joint.type in (JointType.REVOLUTE, JointType.PRISMATIC):
        unit = "rad" if joint.type.rotates else "m"
        text += f" [{joint.lower:.4g}, {joint.upper:.4g}] {unit}"
    return text
