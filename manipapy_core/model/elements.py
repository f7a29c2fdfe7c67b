"""The parts of a robot description: links, joints, shapes and inertias.

These are plain frozen records with numbers already in SI units and in link axes; reading them from a file is
the business of `urdf`, deciding whether they make sense is the business of `validate`. Arrays are copied in
and read-only, so that a description can be shared between threads and chains without fear.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

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
        # Plain pickling would hand out writable arrays; building the record anew freezes them again.
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
class Box(_Record):
    """A box centred on its frame."""

    size: Array
    """Edge lengths along x, y, z [m], shape (3,)."""

    def __post_init__(self) -> None:
        self._freeze(size=(3,))


@dataclass(frozen=True)
class Cylinder:
    """A cylinder centred on its frame, axis along z."""

    radius: float
    """[m]"""
    length: float
    """[m]"""


@dataclass(frozen=True)
class Sphere:
    """A sphere centred on its frame."""

    radius: float
    """[m]"""


@dataclass(frozen=True, eq=False)
class Mesh(_Record):
    """A surface from a file."""

    filename: str
    """Absolute path of the file; empty when the mesh was not found and was not required."""
    uri: str
    """As written in the description, such as `package://arm/meshes/hand.stl`."""
    scale: Array = field(default_factory=lambda: np.ones(3))
    """Factor along x, y, z, shape (3,)."""

    def __post_init__(self) -> None:
        self._freeze(scale=(3,))


Geometry = Box | Cylinder | Sphere | Mesh


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
