"""Reads the joints of a description: type, limits and mimic."""

from __future__ import annotations

import math

import numpy as np

from ...typing import Array
from ..elements import Joint, JointType, Mimic
from .report import Report, did_you_mean
from .shapes import read_origin
from .tree import JointEntry
from .validate import axis_warnings, limit_problems, limit_warnings, negative_limits, unit_axis
from .xml import Element

_JOINT_CHILDREN = (
    "origin",
    "parent",
    "child",
    "axis",
    "limit",
    "dynamics",
    "mimic",
    "calibration",
    "safety_controller",
)
_LARGEST_FRICTION = 1e9
_DEFAULT_AXIS = (1.0, 0.0, 0.0)
HELD_TYPES = ("floating", "planar", "spherical")
"""Types with several degrees of freedom: such a joint is held still."""


def read_joint(report: Report, element: Element) -> JointEntry | None:
    """The joint of a `<joint>` element.

    Args:
        report: Takes the problems.
        element: The element.

    Returns:
        The joint with its place in the file, or None when it has no name (a problem).
    """
    name = report.text(element, "", "name", 'write <joint name="..." type="...">')
    owner = f"joint {name!r}" if name else f"the joint in line {element.line}"
    report.misspelt_children(element, owner, _JOINT_CHILDREN)
    held = element.attributes.get("type", "").strip()
    held = held if held in HELD_TYPES else ""
    joint_type = JointType.FIXED if held else _read_joint_type(report, element, owner)
    ends = {}
    for role in ("parent", "child"):
        cure = f'write <{role} link="..."/>'
        end = report.only_child(element, owner, role, cure)
        ends[role] = None if end is None else report.text(end, owner, "link", cure)
    T_parent_child = read_origin(report, element, owner)
    # The type decides which children count: exporters write zero axes and empty ranges into fixed joints.
    axis = _read_axis(report, element, owner) if joint_type.moves else np.array(_DEFAULT_AXIS)
    limits = _read_limits(report, element, owner, joint_type)
    damping, friction = _read_dynamics(report, element, owner)
    mimic = _read_mimic(report, element, owner, joint_type)
    if name is None:
        return None
    if ends["parent"] is None or ends["child"] is None:
        return JointEntry(name, element, None)
    if held:
        cure = "build it from single joints if it is to move, or pass base_pose if it carries the robot"
        report.flaw(element, owner, f"type {held} is not supported, the joint is held still; {cure}")
    joint = Joint(
        name=name,
        type=joint_type,
        parent=ends["parent"],
        child=ends["child"],
        T_parent_child=T_parent_child,
        axis=axis,
        damping=damping,
        friction=friction,
        mimic=mimic,
        **limits,
    )
    return JointEntry(name, element, joint, held)


def _read_joint_type(report: Report, element: Element, owner: str) -> JointType:
    known = [joint_type.value for joint_type in JointType]
    written = report.text(element, owner, "type", f"write one of: {', '.join(known)}")
    if written in known:
        return JointType(written)
    if written is not None:
        report.problem(element, owner, f"type {written!r} is not known; {did_you_mean(written, known)}")
    # Stands in so that the rest of the file is still checked; a continuous joint needs nothing more.
    return JointType.CONTINUOUS


def _read_axis(report: Report, element: Element, owner: str) -> Array:
    default = np.array(_DEFAULT_AXIS)
    axis_element = report.only_child(element, owner, "axis")
    if axis_element is None:
        return default
    written = report.vector(axis_element, owner, "xyz", None, largest=math.inf)
    if written is None:
        return default
    axis = unit_axis(written)
    if axis is None:
        report.problem(axis_element, owner, "xyz has length 0; write the direction of motion, such as 0 0 1")
        return default
    for warning in axis_warnings(written):
        report.warning(axis_element, owner, warning)
    return axis


def _read_limits(report: Report, element: Element, owner: str, joint_type: JointType) -> dict[str, float]:
    """The keyword arguments of `Joint` for its limits."""
    unlimited = {"lower": -math.inf, "upper": math.inf, "velocity": math.inf, "effort": math.inf}
    if not joint_type.moves:
        return unlimited
    bounded = joint_type is not JointType.CONTINUOUS
    cure = 'write <limit lower="..." upper="..." velocity="..." effort="..."/>'
    if joint_type is JointType.REVOLUTE:
        cure += ", or use type continuous"
    limit = report.only_child(element, owner, "limit", cure if bounded else "")
    if limit is None:
        return unlimited
    # URDF defines 0 for a position limit that is not written.
    defaults = {"lower": 0.0, "upper": 0.0, "velocity": math.inf, "effort": math.inf}
    wanted = defaults if bounded else {"velocity": math.inf, "effort": math.inf}
    read = {key: report.number(limit, owner, key, default) for key, default in wanted.items()}
    limits = {key: value for key, value in read.items() if value is not None}
    for key in negative_limits(limits):
        cure = "write its magnitude, or inf for none"
        report.flaw(limit, owner, f"{key} is {limits[key]:g}, taken as none: it cannot be negative; {cure}")
        limits[key] = math.inf
    problems = limit_problems(joint_type, limits)
    for problem in problems:
        report.problem(limit, owner, problem)
    if problems or len(limits) < len(wanted):
        return unlimited
    for warning in limit_warnings(joint_type, limits):
        report.warning(limit, owner, warning)
    for key in ("velocity", "effort"):
        if key not in limit.attributes:
            report.warning(limit, owner, f"attribute {key!r} is missing, taken as unlimited; write the real limit")
    # Many exporters write 0 for a limit that they do not know.
    unknown = [key for key in ("velocity", "effort") if limits[key] <= 0.0]
    return {**unlimited, **limits, **dict.fromkeys(unknown, math.inf)}


def _read_dynamics(report: Report, element: Element, owner: str) -> tuple[float, float]:
    """Damping and friction, zero when not written."""
    dynamics = report.only_child(element, owner, "dynamics")
    if dynamics is None:
        return 0.0, 0.0
    values = []
    for key in ("damping", "friction"):
        value = report.finite(dynamics, owner, key, 0.0, largest=_LARGEST_FRICTION)
        if value is not None and value < 0.0:
            report.problem(dynamics, owner, f"{key} is {value:g}; it would add energy, write 0 or more")
        values.append(0.0 if value is None else value)
    return values[0], values[1]


def _read_mimic(report: Report, element: Element, owner: str, joint_type: JointType) -> Mimic | None:
    mimic = report.only_child(element, owner, "mimic")
    if mimic is None:
        return None
    if not joint_type.moves:
        report.warning(mimic, owner, "a fixed joint cannot follow another, ignored; delete the <mimic>")
        return None
    driver = report.text(mimic, owner, "joint", "write the name of the joint to follow")
    multiplier = report.finite(mimic, owner, "multiplier", 1.0)
    offset = report.finite(mimic, owner, "offset", 0.0)
    if driver is None or multiplier is None or offset is None:
        return None
    return Mimic(driver, multiplier, offset)
