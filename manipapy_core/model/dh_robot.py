"""A robot from a DH table: links on the joint axes, one joint per row, the tool behind a fixed joint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import InputError
from .chain import JointLimits
from .dh import Convention, DHTable, along_x, along_z
from .elements import Inertial, Joint, JointType, Link
from .limits import MotionLimits
from .robot import Robot
from .urdf.validate import inertia_problems, limit_problems, mass_problems
from .urdf.write import urdf_text

BASE, TOOL = "base_link", "tool0"


def build_robot(
    table: DHTable,
    name: str,
    limits: JointLimits | Sequence[tuple[float, float]] | None,
    inertials: Sequence[Inertial | None] | None,
    joint_names: Sequence[str] | None,
) -> Robot:
    """See `DHTable.to_robot`."""
    n = table.n
    names = [f"joint_{index}" for index in range(1, n + 1)] if joint_names is None else list(joint_names)
    mount = f"link_{n}-{TOOL}"
    _require_one_per_row("joint_names", len(names), n)
    if len({*names, mount}) <= n or not all(names):
        raise InputError(f"joint_names is {names}; every joint needs a name of its own, and {mount!r} is taken")
    bounds = _joint_limits(limits, n)
    link_inertials = _in_link_frames(table, inertials)

    # Standard or not, a joint can only be placed by what lies before it.
    modified = table.in_convention(Convention.MODIFIED)
    links = {BASE: Link(BASE)}
    joints, motion_limits = {}, {}
    parent, T = BASE, modified.base
    for index, row in enumerate(modified.rows):
        child, joint = f"link_{index + 1}", names[index]
        links[child] = Link(child, link_inertials[index])
        T = T @ along_x(row.a, row.alpha) @ along_z(row.d, row.theta)
        ends = {key: float(getattr(bounds, key)[index]) for key in ("lower", "upper", "velocity", "effort")}
        free = row.type.rotates and ends["lower"] == -math.inf and ends["upper"] == math.inf
        kind = JointType.CONTINUOUS if free else row.type
        problems = limit_problems(kind, ends)
        if problems:
            raise InputError(f"limits of {joint!r}: {problems[0]}")
        joints[joint] = Joint(joint, kind, parent, child, T, np.array([0.0, 0.0, 1.0]), mimic=None, **ends)
        motion_limits[joint] = MotionLimits(float(bounds.acceleration[index]), float(bounds.jerk[index]))
        parent, T = child, np.eye(4)
    links[TOOL] = Link(TOOL)
    joints[mount] = Joint(mount, JointType.FIXED, parent, TOOL, modified.tool, np.array([1.0, 0.0, 0.0]))
    robot = Robot(name, links, joints, BASE, motion_limits)
    return replace(robot, urdf=urdf_text(robot))


def _joint_limits(limits: JointLimits | Sequence[tuple[float, float]] | None, n: int) -> JointLimits:
    unlimited = np.full(n, np.inf)
    if limits is None:
        limits = [(-math.inf, math.inf)] * n
    if not isinstance(limits, JointLimits):
        _require_one_per_row("limits", len(limits), n)
        ends = np.array(limits, dtype=np.float64)
        if ends.shape != (n, 2):
            raise InputError(f"limits has shape {ends.shape}; give (lower, upper) per joint")
        return JointLimits(ends[:, 0], ends[:, 1], unlimited, unlimited, unlimited, unlimited)
    _require_one_per_row("limits", len(limits.lower), n)
    return limits


def _in_link_frames(table: DHTable, inertials: Sequence[Inertial | None] | None) -> list[Inertial | None]:
    """From the frames of the rows to those of the links, which differ in the standard convention."""
    if inertials is None:
        return [None] * table.n
    _require_one_per_row("inertials", len(inertials), table.n)
    moved: list[Inertial | None] = []
    for index, (row, inertial) in enumerate(zip(table.rows, inertials), start=1):
        if inertial is None:
            moved.append(None)
            continue
        I = inertial.inertia
        moments = {f"i{'xyz'[i]}{'xyz'[j]}": float(I[i, j]) for i in range(3) for j in range(i, 3)}
        problems = mass_problems(inertial.mass) + inertia_problems(inertial.mass, moments)
        if not np.all(np.isfinite(inertial.com)):
            problems.append(f"com is {inertial.com}; write finite numbers in m")
        if problems:
            raise InputError(f"inertial of row {index}: {problems[0]}")
        T = along_x(row.a, row.alpha) if table.convention is Convention.STANDARD else np.eye(4)
        R = T[:3, :3]
        moved.append(Inertial(inertial.mass, R @ inertial.com + T[:3, 3], R @ I @ R.T))
    return moved


def _require_one_per_row(name: str, length: int, n: int) -> None:
    if length != n:
        raise InputError(f"{name} has {length} entries; the table has {n} rows")
