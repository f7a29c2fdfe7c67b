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

# Files round their numbers to a few digits, so the exact conditions have a tolerance: a principal moment below
# zero by this part of the largest one, by the moment of the mass at this radius of gyration [m], or by less than the
# moment of 1 g at 1 cm [kg m^2], is rounding.
_MOMENT_TOLERANCE = 1e-3
_SMALLEST_RADIUS = 1e-3
_SMALLEST_MOMENT = 1e-7
_LARGEST_MASS = 1e6
_LARGEST_MOMENT = 1e9
_TRIANGLE_TOLERANCE = 1e-3
_AXIS_LENGTH_TOLERANCE = 1e-2
_SMALLEST_AXIS = 1e-9


def mass_problems(mass: float) -> list[str]:
    """What is wrong with a mass [kg]."""
    if not math.isfinite(mass):
        return [f"value is {mass}; write the mass in kg as a finite number"]
    if mass > _LARGEST_MASS:
        return [f"value is {mass:g}; write the mass in kg, at most {_LARGEST_MASS:g}"]
    if mass < 0.0:
        return [f"value is {mass:g}; a mass cannot be negative, write it in kg (0 for a massless link)"]
    return []


def inertia_tensor(moments: Mapping[str, float]) -> Array:
    """The symmetric tensor of the six numbers ixx, ixy, ixz, iyy, iyz, izz; shape (3, 3)."""
    return np.array([[moments["i" + "".join(sorted(row + column))] for column in "xyz"] for row in "xyz"])


def inertia_problems(mass: float, moments: Mapping[str, float]) -> list[str]:
    """What is wrong with an inertia tensor.

    A tensor with a negative principal moment belongs to no body and can make the mass matrix indefinite, so
    it is a problem, unless it is so small that it comes from rounding. A zero tensor is a point mass and fine.

    Args:
        mass: Of the body [kg].
        moments: ixx, ixy, ixz, iyy, iyz, izz about the centre of mass [kg m^2].
    """
    problems = [
        f"{name} is {value}; write a finite number in kg m^2"
        if not math.isfinite(value)
        else f"{name} is {value:g}; write it in kg m^2, at most {_LARGEST_MOMENT:g} in size"
        for name, value in moments.items()
        if not abs(value) <= _LARGEST_MOMENT
    ]
    if problems:
        return problems
    principal = _principal_moments(moments)
    tolerance = max(_MOMENT_TOLERANCE * principal[-1], mass * _SMALLEST_RADIUS**2, _SMALLEST_MOMENT)
    if principal[0] >= -tolerance:
        return []
    problems = [
        f"{name} is {moments[name]:g}; a moment of inertia cannot be negative, write it about the centre of "
        "mass in kg m^2"
        for name in ("ixx", "iyy", "izz")
        if moments[name] < -tolerance
    ]
    listed = ", ".join(f"{moment:.4g}" for moment in principal)
    return problems or [
        f"the principal moments are {listed} and none may be negative; check the signs and sizes of ixy, ixz, iyz"
    ]


def positive_inertia(moments: Mapping[str, float]) -> tuple[Array, float]:
    """The tensor with principal moments below zero set to zero, and the lowest of them [kg m^2].

    The lowest counts as zero when it is so small that the rounding of doubles may have made it.
    """
    tensor = inertia_tensor(moments)
    values, axes = np.linalg.eigh(tensor)
    if values[0] >= -1e-15 * values[-1]:
        return tensor, 0.0
    positive = (axes * np.maximum(values, 0.0)) @ axes.T
    return 0.5 * (positive + positive.T), float(values[0])


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
        joint_type: Only revolute and prismatic joints need position limits.
        limits: Those of lower, upper [rad or m], velocity and effort that could be read.
    """
    bounded = joint_type in (JointType.REVOLUTE, JointType.PRISMATIC)
    names = ("lower", "upper", "velocity", "effort") if bounded else ("velocity", "effort")
    problems = [f"{name} is nan; write a number" for name in names if name in limits and math.isnan(limits[name])]
    if bounded and "lower" in limits and "upper" in limits:
        lower, upper = limits["lower"], limits["upper"]
        if lower > upper:
            problems.append(f"lower is {lower:g} and upper is {upper:g}; swap them, lower must not exceed upper")
        elif lower == math.inf or upper == -math.inf:
            problems.append(
                f"lower is {lower:g} and upper is {upper:g}, which leaves no position; write finite numbers"
            )
    return problems


def negative_limits(limits: Mapping[str, float]) -> list[str]:
    """Names of the limits of speed and effort that are written as negative numbers."""
    return [name for name in ("velocity", "effort") if limits.get(name, 0.0) < 0.0]


def limit_warnings(joint_type: JointType, limits: Mapping[str, float]) -> list[str]:
    """What is doubtful about usable joint limits."""
    warnings = []
    if joint_type in (JointType.REVOLUTE, JointType.PRISMATIC) and limits["lower"] == limits["upper"]:
        warnings.append(
            f"lower and upper are both {limits['lower']:g}, the joint cannot move; write its range, or make it fixed"
        )
    for name in ("velocity", "effort"):
        if limits[name] == 0.0:
            warnings.append(f"{name} is 0, taken as unknown; write the real limit, or inf for none")
    return warnings
