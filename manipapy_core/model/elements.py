"""Parts of a robot description: links, joints, shapes, inertias, and poses by translation and roll, pitch, yaw.

These are plain frozen records with numbers already in SI units and in link axes; reading them from a file is
the business of `urdf`, deciding whether they make sense is the business of `validate`. Arrays are copied in
and read-only, so that a description can be shared between threads and chains safely.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..typing import Array

# Files write a quarter turn as 1.5708 (an angle like any other) or with eleven or more decimals, where pi/2
# is meant. Within this distance [rad] the exact zeros and ones are used: it moves a point at 1 m by at most
# 10 picometres, and a compiled kernel has many terms fewer.
_QUARTER_TURN_TOLERANCE = 1e-11

_QUARTER_TURNS = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))


def _cosine_sine(angle: float) -> tuple[float, float]:
    turns = round(angle / (math.pi / 2))
    if abs(angle - turns * (math.pi / 2)) < _QUARTER_TURN_TOLERANCE:
        return _QUARTER_TURNS[turns % 4]
    return math.cos(angle), math.sin(angle)


def rotation_from_rpy(rpy: Sequence[float]) -> Array:
    """Rotation about the fixed axes x, then y, then z: R = Rz(yaw) Ry(pitch) Rx(roll).

    Args:
        rpy: Roll, pitch, yaw [rad].

    Returns:
        Rotation matrix, shape (3, 3).
    """
    (cr, sr), (cp, sp), (cy, sy) = (_cosine_sine(angle) for angle in rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def transform_from_xyz_rpy(xyz: Sequence[float], rpy: Sequence[float]) -> Array:
    """Homogeneous pose of a frame written as `<origin xyz=... rpy=...>`.

    Args:
        xyz: Position [m].
        rpy: Roll, pitch, yaw [rad].

    Returns:
        Pose, shape (4, 4).
    """
    transform = np.eye(4)
    transform[:3, :3] = rotation_from_rpy(rpy)
    transform[:3, 3] = xyz
    return transform


RGBA = tuple[float, float, float, float]


class JointType(enum.Enum):
    """How a joint moves its child link."""

    REVOLUTE = "revolute"
    CONTINUOUS = "continuous"
    PRISMATIC = "prismatic"
    FIXED = "fixed"

    @property
    def moves(self) -> bool:
        """Whether the joint has a position of its own."""
        return self is not JointType.FIXED

    @property
    def rotates(self) -> bool:
        """Whether the joint position is an angle [rad]; otherwise it is a distance [m] or nothing."""
        return self in (JointType.REVOLUTE, JointType.CONTINUOUS)


def frozen_array(values: ArrayLike, shape: tuple[int, ...]) -> Array:
    """A read-only float64 copy of `values`, which must have this shape."""
    array = np.array(values, dtype=np.float64)
    if array.shape != shape:
        raise ValueError(f"array has shape {array.shape}; expected {shape}")
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class _Record:
    """A record whose arrays are read-only, also in the process that it was sent to."""

    def _freeze(self, **shapes: tuple[int, ...]) -> None:
        for name, shape in shapes.items():
            object.__setattr__(self, name, frozen_array(getattr(self, name), shape))

    def __reduce__(self) -> tuple[Any, ...]:
        # Plain pickling would hand out writable arrays; building the record again freezes them again.
        return type(self), tuple(getattr(self, entry.name) for entry in fields(self))


@dataclass(frozen=True, eq=False)
class Inertial(_Record):
    """Mass distribution of one link."""

    mass: float
    """[kg]"""
    com: Array
    """Centre of mass in the link frame [m], shape (3,)."""
    inertia: Array
    """Rotational inertia about the centre of mass in link axes [kg m^2], shape (3, 3)."""

    def __post_init__(self) -> None:
        self._freeze(com=(3,), inertia=(3, 3))


@dataclass(frozen=True, eq=False)
class BoxGeometry(_Record):
    """A box centred on its frame."""

    size: Array
    """Edge lengths along x, y, z [m], shape (3,)."""

    def __post_init__(self) -> None:
        self._freeze(size=(3,))


@dataclass(frozen=True)
class CylinderGeometry:
    """A cylinder centred on its frame, axis along z."""

    radius: float
    """[m]"""
    length: float
    """[m]"""


@dataclass(frozen=True)
class SphereGeometry:
    """A sphere centred on its frame."""

    radius: float
    """[m]"""


@dataclass(frozen=True, eq=False)
class MeshGeometry(_Record):
    """A surface from a file."""

    filename: str
    """Absolute path of the file; empty when the mesh was not found and was not required."""
    uri: str
    """As written in the description, such as `package://arm/meshes/hand.stl`."""
    scale: Array = field(default_factory=lambda: np.ones(3))
    """Factor along x, y, z, shape (3,)."""

    def __post_init__(self) -> None:
        self._freeze(scale=(3,))


Geometry = BoxGeometry | CylinderGeometry | SphereGeometry | MeshGeometry
"""Shape of a link, of one of these four kinds."""


def has_size(geometry: Geometry) -> bool:
    """False for a box, cylinder or sphere with an edge or radius of 0, which some files write for no shape."""
    if isinstance(geometry, BoxGeometry):
        return bool(geometry.size.min() > 0.0)
    if isinstance(geometry, CylinderGeometry):
        return geometry.radius > 0.0 and geometry.length > 0.0
    return not isinstance(geometry, SphereGeometry) or geometry.radius > 0.0


@dataclass(frozen=True, eq=False)
class Shape(_Record):
    """A geometry placed on a link, for drawing or for collision checks."""

    name: str | None
    T_link_shape: Array
    """Pose of the shape in the link frame, shape (4, 4)."""
    geometry: Geometry
    rgba: RGBA | None = None
    """Colour with opacity, each in [0, 1]; None when the description gives none."""

    def __post_init__(self) -> None:
        self._freeze(T_link_shape=(4, 4))


def capsule(name: str | None, T_link_shape: Array, radius: float, length: float, rgba: RGBA | None) -> list[Shape]:
    """A cylinder with round ends, axis along z: URDF has none, so it becomes a cylinder and two spheres.

    Args:
        radius: [m]
        length: Of the cylinder without its ends [m].
    """
    shapes = [Shape(name, T_link_shape, CylinderGeometry(radius, length), rgba)]
    for end in (-0.5 * length, 0.5 * length):
        T = np.array(T_link_shape)
        T[:3, 3] += end * T[:3, 2]
        shapes.append(Shape(None, T, SphereGeometry(radius), rgba))
    return shapes


@dataclass(frozen=True, eq=False)
class Link:
    """One rigid body."""

    name: str
    inertial: Inertial | None = None
    """None means massless: a link without `<inertial>` weighs nothing."""
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another: q = multiplier * q_driver + offset."""

    joint: str
    """Name of the driver, which moves on its own (a mimic of a mimic is folded when reading)."""
    multiplier: float = 1.0
    offset: float = 0.0
    """[rad or m]"""


@dataclass(frozen=True, eq=False)
class Joint(_Record):
    """The connection of a child link to its parent link."""

    name: str
    type: JointType
    parent: str
    child: str
    T_parent_child: Array
    """Pose of the child frame in the parent frame at q = 0, shape (4, 4)."""
    axis: Array
    """Unit direction in the child frame, shape (3,)."""
    lower: float = -np.inf
    """[rad or m]; -inf for continuous joints."""
    upper: float = np.inf
    """[rad or m]; inf for continuous joints."""
    velocity: float = np.inf
    """[rad/s or m/s]; inf when the description gives none."""
    effort: float = np.inf
    """[N m or N]; inf when the description gives none."""
    damping: float = 0.0
    """[N m s/rad or N s/m]"""
    friction: float = 0.0
    """Coulomb friction [N m or N]."""
    mimic: Mimic | None = None

    def __post_init__(self) -> None:
        self._freeze(T_parent_child=(4, 4), axis=(3,))
