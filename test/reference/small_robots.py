"""One small robot per special case of the URDF format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reference.urdf_writing import joint, link, robot


@dataclass(frozen=True, eq=False)
class RobotCase:
    """A robot description and the chain to take from it."""

    name: str
    text: str
    base: str
    tip: str
    fixed: Mapping[str, float] = field(default_factory=dict)
    """Values of locked joints [rad or m]; joints off the chain that are not named stay at zero."""


def _two_joint_arm(name: str, *, first: str = "", second: str = "", **changes: str) -> RobotCase:
    """Two joints turned against each other; `first`, `second` or any link replace the plain version."""
    elements = {
        "base": link("base", 1.0),
        "upper": link("upper", 2.0, com=(0.0, 0.0, 0.1)),
        "lower": link("lower", 1.5, com=(0.1, 0.0, 0.0)),
        "first": first or joint("j1", "revolute", "base", "upper", xyz=(0.0, 0.0, 0.3), axis=(0, 0, 1)),
        "second": second
        or joint("j2", "revolute", "upper", "lower", xyz=(0.1, 0.2, 0.3), rpy=(0.4, -0.3, 0.9), axis=(0, 1, 0)),
        "tip": link("tip"),
        "to_tip": joint("to_tip", "fixed", "lower", "tip", xyz=(0.3, 0.1, -0.2), rpy=(0.5, 0.2, -0.7)),
    }
    elements.update(changes)
    return RobotCase(name, robot(name, *elements.values()), "base", "tip")


COM_OFFSET = _two_joint_arm("com_offset", lower=link("lower", 3.0, com=(0.4, -0.25, 0.6)))

ROTATED_INERTIA = _two_joint_arm(
    "rotated_inertia",
    lower=link("lower", 1.5, (0.1, 0.05, 0.2), (0.7, -1.1, 2.3), (0.02, 0.004, -0.003, 0.05, 0.006, 0.06)),
)

FIXED_PAYLOAD = _two_joint_arm(
    "fixed_payload",
    tip=link("tip", 4.0, com=(0.1, 0.2, 0.3), rpy=(0.3, 0.2, 0.1), inertia=(0.1, 0.01, 0.02, 0.2, 0.03, 0.25)),
    flange=link("flange", 0.7, com=(0.0, 0.1, 0.0)),
    to_flange=joint("to_flange", "fixed", "upper", "flange", xyz=(0.2, 0.0, 0.1), rpy=(1.0, 0.0, 0.5)),
)

MASSLESS_LINK = _two_joint_arm("massless_link", upper=link("upper"))

PRISMATIC = _two_joint_arm(
    "prismatic",
    second=joint("j2", "prismatic", "upper", "lower", xyz=(0.1, 0.2, 0.3), rpy=(0.4, -0.3, 0.9), axis=(0, 1, 0)),
)

CONTINUOUS = _two_joint_arm(
    "continuous", first=joint("j1", "continuous", "base", "upper", xyz=(0.0, 0.1, 0.3), axis=(0, 0, 1))
)

NON_UNIT_AXIS = _two_joint_arm(
    "non_unit_axis", second=joint("j2", "revolute", "upper", "lower", xyz=(0.1, 0.2, 0.3), axis=(2.0, -4.0, 4.0))
)
UNIT_AXIS_TWIN = _two_joint_arm(
    "unit_axis_twin", second=joint("j2", "revolute", "upper", "lower", xyz=(0.1, 0.2, 0.3), axis=(1 / 3, -2 / 3, 2 / 3))
)

MISSING_AXIS = _two_joint_arm(
    "missing_axis", second=joint("j2", "revolute", "upper", "lower", xyz=(0.1, 0.2, 0.3), rpy=(0.4, -0.3, 0.9))
)

DAMPED = _two_joint_arm(
    "damped",
    first=joint("j1", "revolute", "base", "upper", xyz=(0.0, 0.0, 0.3), axis=(0, 0, 1), damping=0.8),
    second=joint("j2", "revolute", "upper", "lower", xyz=(0.1, 0.2, 0.3), axis=(0, 1, 0), damping=0.3, friction=0.2),
)

BRANCH = RobotCase(
    "branch",
    robot(
        "branch",
        link("base", 5.0),
        link("trunk", 4.0, com=(0.0, 0.1, 0.3)),
        link("arm", 2.0, com=(0.2, 0.0, 0.05)),
        link("hand", 0.5, com=(0.0, 0.0, 0.08)),
        link("mast", 1.2, com=(0.0, -0.1, 0.4)),
        link("head", 0.9, com=(0.1, 0.0, 0.1), rpy=(0.2, 0.3, 0.4), inertia=(0.01, 0.001, 0.0, 0.02, 0.0, 0.02)),
        joint("turn", "revolute", "base", "trunk", xyz=(0, 0, 0.2), axis=(0, 0, 1)),
        joint("neck", "revolute", "trunk", "mast", xyz=(0, 0, 0.6), rpy=(0.1, 0.2, 0.3), axis=(0, 1, 0)),
        joint("nod", "prismatic", "mast", "head", xyz=(0, 0.1, 0.5), axis=(0, 0, 1)),
        joint("shoulder", "revolute", "trunk", "arm", xyz=(0.1, 0.3, 0.5), rpy=(-0.5, 0.1, 0.8), axis=(1, 0, 0)),
        joint("wrist", "revolute", "arm", "hand", xyz=(0.5, 0, 0), rpy=(0, 0.4, 0), axis=(0, 1, 0)),
    ),
    "base",
    "hand",
    {"neck": 0.6, "nod": -0.15},
)

MIMIC = RobotCase(
    "mimic",
    robot(
        "mimic",
        link("base", 1.0),
        link("one", 2.0, com=(0.1, 0.0, 0.2)),
        link("two", 1.5, com=(0.0, 0.1, 0.1), rpy=(0.2, 0.1, -0.3), inertia=(0.02, 0.002, 0.001, 0.03, 0.0, 0.04)),
        link("three", 1.0, com=(0.0, 0.0, 0.15)),
        link("four", 0.6, com=(0.05, 0.0, 0.1)),
        joint("lead", "revolute", "base", "one", xyz=(0, 0, 0.2), axis=(0, 1, 0)),
        joint(
            "follow",
            "revolute",
            "one",
            "two",
            xyz=(0.1, 0, 0.4),
            rpy=(0.3, 0, 0.2),
            axis=(1, 0, 0),
            mimic=("lead", -1.5, 0.3),
        ),
        joint("free", "revolute", "two", "three", xyz=(0, 0.1, 0.3), rpy=(0, 0.5, 0), axis=(0, 0, 1)),
        joint("slide", "prismatic", "three", "four", xyz=(0.1, 0, 0.2), axis=(0, 0, 1), mimic=("lead", 0.25, -0.05)),
    ),
    "base",
    "four",
)

LOCKED_MIMIC = RobotCase("locked_mimic", MIMIC.text, MIMIC.base, MIMIC.tip, {"lead": 0.4})

SMALL_ROBOTS = (
    COM_OFFSET,
    ROTATED_INERTIA,
    FIXED_PAYLOAD,
    MASSLESS_LINK,
    PRISMATIC,
    CONTINUOUS,
    NON_UNIT_AXIS,
    MISSING_AXIS,
    DAMPED,
    BRANCH,
    MIMIC,
    LOCKED_MIMIC,
)
