"""Scenes: named objects with shape, pose, mass and appearance, and their validation."""

from __future__ import annotations

import dataclasses
import enum
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import lie
from ..errors import InputError, ShapeError
from ..model.elements import RGBA, BoxGeometry, CylinderGeometry, Geometry, MeshGeometry, SphereGeometry, frozen_array
from ..typing import Array

MESH_FORMATS = (".obj", ".stl")
TABLE_THICKNESS = 0.04
TABLE_LEG = 0.06
"""Thickness of the top and width of the legs [m]."""


@dataclass(frozen=True)
class GroundPlane:
    """The plane z = 0 of its frame; solid below."""


@dataclass(frozen=True, eq=False)
class Table:
    """A top on four legs. Its frame is at the centre of the top's upper side, so that objects stand at z = 0."""

    size: Array
    """Length along x, width along y, height above the floor [m], shape (3,)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", frozen_array(self.size, (3,)))


ObjectShape = BoxGeometry | CylinderGeometry | SphereGeometry | MeshGeometry | GroundPlane | Table


class Texture(enum.Enum):
    """Texture of an object in shades of its colour. Stereo matching needs one: plain surfaces give no disparity."""

    PLAIN = "plain"
    CHECKER = "checker"
    SPECKLE = "speckle"
    WOOD = "wood"


@dataclass(frozen=True, eq=False)
class SceneObject:
    """One object in the world."""

    name: str
    shape: ObjectShape
    T_world_object: Array = field(default_factory=lambda: np.eye(4))
    """Pose at the start [m], shape (4, 4)."""
    mass: float = 0.0
    """[kg]; 0 means fixed in the world."""
    rgba: RGBA = (0.7, 0.7, 0.7, 1.0)
    """Colour and opacity, each in [0, 1]."""
    texture: Texture = Texture.PLAIN
    friction: float = 1.0
    """Coefficient of sliding friction; two touching surfaces multiply theirs, and links have 0.5."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "T_world_object", frozen_array(self.T_world_object, (4, 4)))

    @property
    def fixed(self) -> bool:
        """Whether it is fixed in the world."""
        return self.mass == 0.0

    def problems(self) -> list[str]:
        """All reasons why this object cannot be added to a world."""
        found = []
        if not self.name.strip():
            found.append("the name is empty; give it one")
        found += _shape_problems(self.shape)
        if not _is_pose(self.T_world_object):
            found.append("the pose is not a rotation and a finite translation; give a homogeneous matrix")
        if not (math.isfinite(self.mass) and self.mass >= 0.0):
            found.append(f"mass is {self.mass:g}; give 0 (fixed) or a positive number of kg")
        elif self.mass > 0.0 and isinstance(self.shape, GroundPlane | Table):
            found.append(f"a {type(self.shape).__name__.lower()} cannot have a mass; leave it fixed")
        if len(self.rgba) != 4 or not all(0.0 <= value <= 1.0 for value in self.rgba):
            found.append(f"colour {tuple(self.rgba)} is not four numbers from 0 to 1; give red, green, blue, opacity")
        if not (math.isfinite(self.friction) and self.friction >= 0.0):
            found.append(f"friction is {self.friction:g}; give 0 or a positive number")
        return found


@dataclass(frozen=True, eq=False)
class Scene:
    """Objects and the pose of the robot's base."""

    name: str
    objects: tuple[SceneObject, ...] = ()
    T_world_base: Array = field(default_factory=lambda: np.eye(4))
    """Pose of the robot's root link [m], shape (4, 4)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "T_world_base", frozen_array(self.T_world_base, (4, 4)))


def same(first: Any, second: Any) -> bool:
    """Whether two descriptions are equal by value; copies from another process are different Python objects."""
    if dataclasses.is_dataclass(first) and type(first) is type(second):
        return all(same(getattr(first, f.name), getattr(second, f.name)) for f in dataclasses.fields(first))
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return np.array_equal(first, second)
    return bool(first == second)


def solid_parts(shape: ObjectShape) -> Iterator[tuple[Geometry, Array]]:
    """The plain shapes that an object is made of, each with its pose in the object's frame; none for a plane."""
    if isinstance(shape, GroundPlane):
        return
    if not isinstance(shape, Table):
        yield shape, np.eye(4)
        return
    length, width, height = shape.size
    yield BoxGeometry(np.array([length, width, TABLE_THICKNESS])), lie.pose(None, [0.0, 0.0, -TABLE_THICKNESS / 2])
    leg_height = height - TABLE_THICKNESS
    leg = BoxGeometry(np.array([TABLE_LEG, TABLE_LEG, leg_height]))
    for x in (-1.0, 1.0):
        for y in (-1.0, 1.0):
            # Slightly inwards, so that the edge of the top is visible.
            corner = [x * (length / 2 - TABLE_LEG), y * (width / 2 - TABLE_LEG), -TABLE_THICKNESS - leg_height / 2]
            yield leg, lie.pose(None, corner)


def _shape_problems(shape: ObjectShape) -> list[str]:
    lengths: dict[str, float] = {}
    if isinstance(shape, BoxGeometry | Table):
        lengths = {f"size {axis}": float(value) for axis, value in zip("xyz", shape.size)}
    elif isinstance(shape, CylinderGeometry):
        lengths = {"radius": shape.radius, "length": shape.length}
    elif isinstance(shape, SphereGeometry):
        lengths = {"radius": shape.radius}
    elif isinstance(shape, MeshGeometry):
        lengths = {f"scale {axis}": float(value) for axis, value in zip("xyz", shape.scale)}
    found = [
        f"{name} is {value:g}; give a positive, finite number"
        for name, value in lengths.items()
        if not (math.isfinite(value) and value > 0.0)
    ]
    if isinstance(shape, Table) and not found:
        smallest = np.array([3 * TABLE_LEG, 3 * TABLE_LEG, 2 * TABLE_THICKNESS])
        if (shape.size < smallest).any():
            found.append(f"a table of {shape.size} m is too small for its legs; make it at least {smallest} m")
    if isinstance(shape, MeshGeometry):
        if not shape.filename.lower().endswith(MESH_FORMATS):
            found.append(f"mesh {shape.uri!r} has an unknown format; give one of {', '.join(MESH_FORMATS)}")
        elif not os.path.isfile(shape.filename):
            found.append(f"mesh {shape.uri!r} does not exist; correct the path")
    return found


def pose_from(name: str, values: ArrayLike) -> Array:
    """A checked copy of a pose, shape (4, 4)."""
    T = np.array(values, dtype=np.float64)
    if T.shape != (4, 4):
        raise ShapeError(name, "(4, 4)", T.shape)
    if not _is_pose(T):
        raise InputError(f"{name} is not a rotation and a finite translation; give a homogeneous matrix")
    return T


def _is_pose(T: Array) -> bool:
    R = T[:3, :3]
    if not np.isfinite(T).all() or not np.allclose(T[3], [0.0, 0.0, 0.0, 1.0], atol=1e-9):
        return False
    return bool(np.allclose(R @ R.T, np.eye(3), atol=1e-6) and np.linalg.det(R) > 0.0)
