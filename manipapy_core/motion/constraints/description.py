"""Path constraints as a user gives them: orientation, position region and joint band, kept along the whole motion.

The same three as moveit_msgs has, with the same meaning of their tolerances.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from ...geometry import Box, Cylinder, Sphere

Region = Box | Cylinder | Sphere


class OrientationError(enum.Enum):
    """How the three components of an orientation error are formed, as in moveit_msgs/OrientationConstraint."""

    XYZ_EULER_ANGLES = 0
    """Turns about x, then the new y, then the new z, from the wanted orientation to the actual one, in its axes."""
    ROTATION_VECTOR = 1
    """Axis times angle of the turn from the wanted orientation to the actual one, in the axes of the frame."""


@dataclass(frozen=True, eq=False)
class OrientationConstraint:
    """A link keeps an orientation: no component of its error exceeds its tolerance.

    A glass is kept upright by `tolerance=(0.1, 0.1, math.pi)` with the wanted z axis upwards.
    """

    link: str
    R_frame_link: ArrayLike
    """Wanted orientation of the link, shape (3, 3)."""
    tolerance: ArrayLike
    """Per component [rad], shape (3,), each at least 1e-4; π or more frees it."""
    error: OrientationError = OrientationError.XYZ_EULER_ANGLES
    frame: str = ""
    """Link that the orientation is given in, also one that moves; the base if empty."""


@dataclass(frozen=True, eq=False)
class PositionConstraint:
    """A point of a link stays inside a region: any one of several shapes."""

    link: str
    regions: Sequence[tuple[Region, ArrayLike]]
    """Shapes and T_frame_region, shape (4, 4) each."""
    point: ArrayLike = (0.0, 0.0, 0.0)
    """In the frame of the link [m], shape (3,)."""
    frame: str = ""
    """Link that the regions are given in, also one that moves; the base if empty."""


@dataclass(frozen=True)
class JointConstraint:
    """A joint stays within a band."""

    joint: str
    position: float
    """[rad or m]"""
    below: float
    """How far below the position it may be [rad or m]."""
    above: float
    """How far above the position it may be [rad or m]."""


Constraint = OrientationConstraint | PositionConstraint | JointConstraint
"""What a constrained motion keeps to."""
