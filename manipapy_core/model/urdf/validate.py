"""Checks of physical sense. Each returns sentences with the error and the cure.

The checks know nothing of files: the reader puts the place in front. A *problem* makes a description
unusable, because a result computed from it would be meaningless; a *warning* is unusual but computable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...typing import Array
from ..elements import JointType

# Files round their numbers to a few digits, so the exact conditions are asked with some room.
_EIGENVALUE_TOLERANCE = 1e-6
_TRIANGLE_TOLERANCE = 1e-3
_AXIS_LENGTH_TOLERANCE = 1e-2
_SMALLEST_AXIS = 1e-9


def mass_problems(mass: float) -> list[str]:
    """What is wrong with a mass [kg]."""
    if not math.isfinite(mass):
        return [f"value is {mass}; write the mass in kg as a finite number"]
    if mass < 0.0:
        return [f"value is {mass:g}; a mass cannot be negative, write it in kg (0 for a massless link)"]
    return []


def inertia_tensor(moments: Mapping[str, float]) -> Array:
    """The symmetric tensor of the six numbers ixx, ixy, ixz, iyy, iyz, izz; shape (3, 3)."""
    return np.array([[moments["i" + "".join(sorted(row + column))] for column in "xyz"] for row in "xyz"])


def inertia_problems(moments: Mapping[str, float]) -> list[str]:
    """What is wrong with an inertia tensor.

    A tensor with a negative principal moment belongs to no body and can make the mass matrix indefinite, so
    it is a problem. A zero tensor is a point mass and fine.

    Args:
        moments: ixx, ixy, ixz, iyy, iyz, izz about the centre of mass [kg m^2].
    """
    problems = [
        f"{name} is {value}; write a finite number in kg m^2"
        for name, value in moments.items()
        if not math.isfinite(value)
    ]
    problems += [
        f"{name} is {moments[name]:g}; a moment of inertia cannot be negative, write it about the centre of "
        "mass in kg m^2"
        for name in ("ixx", "iyy", "izz")
        if moments[name] < 0.0
    ]
    if problems:
        return problems
    principal = _principal_moments(moments)
    if principal[0] < -_EIGENVALUE_TOLERANCE * np.abs(principal).max():
        listed = ", ".join(f"{moment:.4g}" for moment in principal)
        return [
            f"the principal moments are {listed} and none may be negative; check the signs and sizes of ixy, ixz, iyz"
        ]
    return []


def inertia_warnings(mass: float, moments: Mapping[str, float]) -> list[str]:
    """What is doubtful about a usable inertia tensor of a body of this mass [kg]."""
    warnings = []
    smallest, middle, largest = _principal_moments(moments)
    if largest > (smallest + middle) * (1.0 + _TRIANGLE_TOLERANCE):
        warnings.append(
            f"the principal moments {smallest:.4g}, {middle:.4g}, {largest:.4g} break the triangle "
            "inequality, no real body has them; check the units and that they are about the centre of mass"
        )
    if mass == 0.0 and largest > 0.0:
        warnings.append("the link has rotational inertia but no mass; give it a mass, or delete <inertial>")
    return warnings


def _principal_moments(moments: Mapping[str, float]) -> Array:
    """Ascending eigenvalues, found on a tensor scaled to 1 so that no exponent can overflow."""
    tensor = inertia_tensor(moments)
    scale = float(np.abs(tensor).max()) or 1.0
    return np.asarray(np.linalg.eigvalsh(tensor / scale) * scale, dtype=np.float64)


def unit_axis(written: Sequence[float]) -> Array | None:
    """The direction of a joint axis with length 1, shape (3,); None for an axis of zeros."""
    axis = np.array(written, dtype=np.float64)
    size = float(np.abs(axis).max())
    if size < _SMALLEST_AXIS:
        return None
    # Dividing by the largest component first keeps the squares from overflowing.
    axis /= size
    return axis / float(np.linalg.norm(axis))


def axis_warnings(written: Sequence[float]) -> list[str]:
    """What is doubtful about a usable joint axis."""
    length = math.hypot(*written)
    if abs(length - 1.0) > _AXIS_LENGTH_TOLERANCE:
        return [f"xyz has length {length:.4g} and was scaled to 1; write a unit vector"]
    return []


def limit_problems(joint_type: JointType, limits: Mapping[str, float]) -> list[str]:
    """What is wrong with joint limits.

    Args:
        joint_type: Position limits are only asked of revolute and prismatic joints.
        limits: Those of lower, upper [rad or m], velocity and effort that could be read.
    """
    bounded = joint_type in (JointType.REVOLUTE, JointType.PRISMATIC)
    names = ("lower", "upper", "velocity", "effort") if bounded else ("velocity", "effort")
    problems = [f"{name} is nan; write a number" for name in names if name in limits and math.isnan(limits[name])]
    problems += [
        f"{name} is {limits[name]:g}; a {name} limit cannot be negative, write its magnitude"
        for name in ("velocity", "effort")
        if limits.get(name, 0.0) < 0.0
    ]
    if bounded and "lower" in limits and "upper" in limits:
        lower, upper = limits["lower"], limits["upper"]
        if lower > upper:
            problems.append(f"lower is {lower:g} and upper is {upper:g}; swap them, lower must not exceed upper")
        elif lower == math.inf or upper == -math.inf:
            problems.append(
                f"lower is {lower:g} and upper is {upper:g}, which leaves no position; write finite numbers"
            )
    return problems


def limit_warnings(joint_type: JointType, limits: Mapping[str, float]) -> list[str]:
    """What is doubtful about usable joint limits."""
    warnings = []
    if joint_type in (JointType.REVOLUTE, JointType.PRISMATIC) and limits["lower"] == limits["upper"]:
        warnings.append(
            f"lower and upper are both {limits['lower']:g}, the joint cannot move; write its range, or make it fixed"
        )
    for name in ("velocity", "effort"):
        if limits[name] == 0.0:
            warnings.append(f"{name} is 0, which allows no motion at all; write the real limit, or inf for none")
    return warnings
