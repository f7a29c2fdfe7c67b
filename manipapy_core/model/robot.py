"""The robot: a tree of links and joints, read once and never changed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, ShapeError
from ..typing import Array
from .assumptions import LIMITS, Assumption, completed
from .elements import Joint, JointType, Link, MeshGeometry, Shape
from .formats import read_description
from .library import locate
from .limits import MotionLimits, no_motion_limits, read_joint_limits
from .robot_folder import RobotFolder

if TYPE_CHECKING:
    from .chain import Chain

_MAPPINGS = ("links", "joints", "motion_limits", "held_joints")


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
    """Text of the description as URDF, with xacro expanded, as nodes publish it on `robot_description`."""
    assumptions: tuple[Assumption, ...] = ()
    """Values that the description does not give and `completed` or a limits file marks as assumed."""
    held_joints: Mapping[str, str] = field(default_factory=dict)
    """Joints of type `floating` or `planar`, with their type: they are held still."""

    def __post_init__(self) -> None:
        for name in _MAPPINGS:
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __reduce__(self) -> tuple[Any, ...]:
        # Read-only views do not pickle; worker processes get the same robot rebuilt.
        values = [getattr(self, entry.name) for entry in fields(self)]
        return Robot, tuple(dict(value) if isinstance(value, MappingProxyType) else value for value in values)

    @classmethod
    def from_urdf(
        cls,
        source: str | os.PathLike[str],
        *,
        package_paths: Sequence[str | os.PathLike[str]] = (),
        xacro_args: Mapping[str, str] | None = None,
        xacro_env: Mapping[str, str] | None = None,
        limits: str | os.PathLike[str] | None = None,
        check_meshes: bool | None = None,
        strict: bool = False,
        base_pose: ArrayLike | None = None,
    ) -> Robot:
        """Read a robot description and check all of it.

        Args:
            source: A bundled name (`"ur5"`), the path of a URDF, xacro, SDF or MJCF file, a folder that `manipapy
                new-robot` wrote, or an XML text.
            package_paths: Package folders, or folders that contain them. After them `package://` and `$(find ...)`
                are searched by walking up from the file, then in ROS_PACKAGE_PATH and AMENT_PREFIX_PATH.
            xacro_args: Values for `<xacro:arg>`. A text with xacro elements is expanded only when this is given
                (empty will do); a file always is.
            xacro_env: Variables that `$(env ...)` of a xacro file may read, such as `os.environ`; none unless given.
            limits: YAML file with acceleration and jerk limits (see `limits`); replaces the one that a
                bundled robot comes with.
            check_meshes: Whether a mesh that is not found is a problem, not a warning; as `strict` says when not
                given. Its file name is then empty: kinematics and dynamics do without it, collision checks refuse.
            strict: Refuse mistakes that other tools accept and that leave no doubt about the robot; otherwise
                they are in `warnings`.
            base_pose: Pose in the root link of what hangs on it by a floating or planar joint, shape (4, 4).

        Raises:
            ModelError: Lists every problem of the description, each with line, element and cure. Also a
                FileNotFoundError when there is no such file.
        """
        folder = RobotFolder.at(source)
        if folder is not None:
            source, package_paths = folder.description, (folder.path, *package_paths)
            limits = folder.limits if limits is None else limits
        located = locate(source, xacro_args, xacro_env=xacro_env, package_paths=package_paths)
        description, urdf = read_description(
            located, check_meshes=strict if check_meshes is None else check_meshes, strict=strict
        )
        joints, motion_limits = description.joints, no_motion_limits(description.joints)
        assumptions: tuple[Assumption, ...] = ()
        limits_path = limits if limits is not None else located.limits
        if limits_path is not None:
            joints, motion_limits, assumptions = read_joint_limits(limits_path, joints)
        robot = cls(
            description.name,
            description.links,
            joints,
            description.root,
            motion_limits,
            description.warnings,
            urdf,
            assumptions,
            description.held,
        )
        return robot if base_pose is None else robot.with_base_pose(base_pose)

    def with_base_pose(self, T_root_base: ArrayLike) -> Robot:
        """The robot standing elsewhere: its floating or planar base held at another pose.

        Args:
            T_root_base: Pose of the base in the root link, shape (4, 4).

        Raises:
            InputError: Not a pose, or no floating or planar joint at the root.
        """
        carriers = [self.joints[name] for name in self.held_joints if self.joints[name].parent == self.root]
        if len(carriers) != 1:
            raise InputError(
                f"base_pose is given, but robot {self.name!r} has {len(carriers)} floating or planar joints at its "
                f"root {self.root!r}; leave it out, or give the pose of the base where the robot is used"
            )
        moved = replace(carriers[0], T_parent_child=_checked_pose(T_root_base))
        return replace(self, joints={**self.joints, moved.name: moved})

    def chain(self, base: str, tip: str, *, fixed: Mapping[str, float] | None = None) -> Chain:
        """The path between any two links, also upwards and down another branch.

        Args:
            base: Link that stays still.
            tip: Link whose motion is computed.
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
            tip: Link whose motion is computed.
            fixed: Joint positions [rad or m] for joints to be locked.
        """
        from .assemble import build_tree

        return build_tree(self, base, tip, fixed)

    def completed(self) -> Robot:
        """This robot with missing limits and masses filled in by the rules of `model.assumptions`.

        `assumptions` of the result lists what was filled in. Simulation, nodes and `manipapy new-robot` use it.
        """
        return completed(self)

    def without_missing_meshes(self, *, collisions: bool = False) -> Robot:
        """This robot without visual shapes whose mesh was not found.

        Args:
            collisions: Also leave out collision shapes whose mesh was not found: nothing there can collide. Otherwise
                they stay, and whatever needs them fails with the name of the file.
        """

        def found(shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
            return tuple(s for s in shapes if not isinstance(s.geometry, MeshGeometry) or s.geometry.filename)

        links = {
            name: replace(
                link, visuals=found(link.visuals), collisions=found(link.collisions) if collisions else link.collisions
            )
            for name, link in self.links.items()
        }
        return replace(self, links=links)

    def assumed_of(self, joint: str) -> tuple[str, ...]:
        """Which limits of a joint are assumed: velocity, effort, acceleration, jerk."""
        return tuple(a.quantity for a in self.assumptions if a.subject == joint and a.quantity in LIMITS)

    @property
    def free_joints(self) -> tuple[str, ...]:
        """Names of the joints that move on their own (not fixed, not mimic), in file order."""
        return tuple(name for name, joint in self.joints.items() if joint.type.moves and joint.mimic is None)

    @property
    def mass(self) -> float:
        """Mass of all links together [kg]."""
        return sum(link.inertial.mass for link in self.links.values() if link.inertial is not None)

    def __repr__(self) -> str:
        return f"<Robot {self.name!r}: {len(self.links)} links, {len(self.free_joints)} free joints; see describe()>"

    def describe(self) -> str:
        """A summary: the tree with joints, ranges and masses, and the warnings."""
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
        lines += [f"  assumed: {assumption}" for assumption in self.assumptions]
        return "\n".join(lines)


def _checked_pose(values: ArrayLike) -> Array:
    T = np.array(values, dtype=np.float64)
    if T.shape != (4, 4):
        raise ShapeError("base_pose", "(4, 4)", T.shape)
    R = T[:3, :3]
    rigid = np.allclose(R @ R.T, np.eye(3), atol=1e-6) and np.linalg.det(R) > 0.0 and np.allclose(T[3], [0, 0, 0, 1])
    if not (np.isfinite(T).all() and rigid):
        raise InputError("base_pose is no pose; give a rotation and a translation [m] as a 4 × 4 matrix")
    return T


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
