"""Solid shapes, each in a frame of its own and checked when it is made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..jit import njit
from ..typing import Array
from .hulls import convex_hull

SMALLEST = 1e-6
"""Lengths below this [m] are refused."""
LARGEST = 100.0
"""Lengths and positions beyond this [m] are refused: float32 would round them by more than the safety margin."""
ORTHONORMAL = 1e-6
"""How far products of a rotation's rows may be off."""


@dataclass(frozen=True)
class Sphere:
    """A ball about the origin of its frame."""

    radius: float
    """[m]"""

    def __post_init__(self) -> None:
        _positive(self, "radius")


@dataclass(frozen=True)
class Capsule:
    """All points within the radius of a segment along z, centred on the frame."""

    radius: float
    """[m]"""
    length: float
    """Of the segment, without the round ends [m]."""

    def __post_init__(self) -> None:
        _positive(self, "radius", "length")


@dataclass(frozen=True)
class Cylinder:
    """A cylinder along z, centred on the frame."""

    radius: float
    """[m]"""
    length: float
    """[m]"""

    def __post_init__(self) -> None:
        _positive(self, "radius", "length")


@dataclass(frozen=True, eq=False)
class Box:
    """A box along the axes, centred on the frame."""

    size: Array
    """Edge lengths along x, y, z [m], shape (3,)."""

    def __post_init__(self) -> None:
        size = finite_array(self.size, (3,), "Box.size")
        if min(size.tolist()) < SMALLEST:
            raise InputError(f"Box.size is {size.tolist()}; every edge must be at least {SMALLEST:g} m long")
        object.__setattr__(self, "size", size)


@dataclass(frozen=True, eq=False)
class ConvexMesh:
    """The convex hull of points, which must span a volume."""

    points: Array
    """[m], shape (points, 3)."""
    vertices: Array = field(init=False, repr=False)
    """Those points that are corners of the hull [m], shape (vertices, 3)."""
    planes: Array = field(init=False, repr=False)
    """Outward unit normal and offset of each face: inside, n·x ≤ offset; shape (faces, 4)."""
    triangles: NDArray[np.int64] = field(init=False, repr=False)
    """Corners of the faces as rows of `vertices`, outward by the right-hand rule, shape (triangles, 3)."""

    def __post_init__(self) -> None:
        points = finite_array(self.points, (None, 3), "ConvexMesh.points")
        hull = convex_hull(points)
        for name, value in (("points", points), *vars(hull).items()):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    def moved(self, offset: Array) -> ConvexMesh:
        """The same mesh, shifted by a vector [m]; the hull is not computed again."""
        other = object.__new__(ConvexMesh)
        shifted = {
            "points": self.vertices + offset,
            "vertices": self.vertices + offset,
            "planes": self.planes + np.outer(self.planes[:, :3] @ offset, [0.0, 0.0, 0.0, 1.0]),
            "triangles": self.triangles,
        }
        for name, value in shifted.items():
            value.setflags(write=False)
            object.__setattr__(other, name, value)
        return other


@dataclass(frozen=True, eq=False)
class Plane:
    """The half space below a plane: all points with normal · x ≤ offset."""

    normal: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    """Points out of the solid; any length but zero, kept as a unit vector, shape (3,)."""
    offset: float = 0.0
    """Of the plane along the unit normal [m]."""

    def __post_init__(self) -> None:
        normal = finite_array(self.normal, (3,), "Plane.normal")
        length = float(np.linalg.norm(normal))
        if length < SMALLEST:
            raise InputError("Plane.normal is zero; give the direction that points out of the solid")
        if not abs(self.offset) <= LARGEST:
            raise InputError(f"Plane.offset is {self.offset!r}; give a finite distance of at most {LARGEST:g} m")
        unit = normal / length
        unit.setflags(write=False)
        object.__setattr__(self, "normal", unit)


Convex = Sphere | Capsule | Box | Cylinder | ConvexMesh
"""Shapes that can be parts of a robot, and carried by it."""


def finite_array(values: ArrayLike, shape: tuple[int | None, ...], name: str) -> Array:
    """A read-only copy as float64, or an error that names the array; None allows any length."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not an array of numbers: {error}") from None
    if array.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, array.shape)):
        wanted = str(tuple("any" if length is None else length for length in shape)).replace("'", "")
        raise InputError(f"{name} has shape {array.shape}; expected {wanted}")
    if not (array.size and np.abs(array).max() <= LARGEST):  # false for NaN
        _refuse_large(array, name)
    array.setflags(write=False)
    return array


def _refuse_large(array: Array, name: str) -> None:
    beyond = np.argwhere(~(np.abs(array) <= LARGEST))
    if len(beyond):
        index = tuple(int(i) for i in beyond[0])
        raise InputError(f"{name}[{', '.join(map(str, index))}] is {array[index]!r}; give at most {LARGEST:g} m")


def pose_matrix(T: ArrayLike, name: str) -> Array:
    """A read-only pose, checked to be one."""
    return pose_matrices([T], name)[0]


def pose_matrices(poses: Sequence[ArrayLike], name: str) -> Array:
    """Read-only poses, checked to be such, shape (poses, 4, 4); faster than one after the other."""
    try:
        matrices = np.array(poses, dtype=np.float64)
    except (TypeError, ValueError):
        matrices = np.empty(0)
    if matrices.shape != (len(poses), 4, 4) or first_fault(matrices) >= 0:
        for T in poses:
            _refuse_pose(T, name)
        return np.empty((0, 4, 4))
    matrices.setflags(write=False)
    return matrices


def _refuse_pose(T: ArrayLike, name: str) -> None:
    """Says what is wrong, if anything is."""
    matrix = finite_array(T, (4, 4), name)
    fault = int(first_fault(matrix[None]))
    if fault == NO_ROTATION:
        raise InputError(f"{name} has no rotation in its upper left 3×3 part; it must be orthonormal, right-handed")
    if fault >= 0:
        raise InputError(f"{name} ends with the row {matrix[3].tolist()}; a pose ends with 0, 0, 0, 1")


NO_ROTATION, NO_LAST_ROW, TOO_LARGE = range(3)


@njit(cache=True, nogil=True)
def first_fault(poses):  # type: ignore[no-untyped-def]
    """What is wrong with the first of poses (N, 4, 4) that is none; -1 if all are."""
    for k in range(poses.shape[0]):
        T = poses[k]
        for i in range(3):
            for j in range(4):
                if not abs(T[i, j]) <= LARGEST:  # true for NaN
                    return TOO_LARGE
            for j in range(3):
                product = T[i, 0] * T[j, 0] + T[i, 1] * T[j, 1] + T[i, 2] * T[j, 2]
                if not abs(product - (1.0 if i == j else 0.0)) <= ORTHONORMAL:
                    return NO_ROTATION
        x = T[0, 1] * T[1, 2] - T[0, 2] * T[1, 1]
        y = T[0, 2] * T[1, 0] - T[0, 0] * T[1, 2]
        z = T[0, 0] * T[1, 1] - T[0, 1] * T[1, 0]
        if x * T[2, 0] + y * T[2, 1] + z * T[2, 2] < 0.0:
            return NO_ROTATION
        if T[3, 0] != 0.0 or T[3, 1] != 0.0 or T[3, 2] != 0.0 or T[3, 3] != 1.0:
            return NO_LAST_ROW
    return -1


def _positive(shape: Sphere | Capsule | Cylinder, *names: str) -> None:
    for name in names:
        value = getattr(shape, name)
        if not isinstance(value, (int, float, np.floating)) or not math.isfinite(value):
            raise InputError(f"{type(shape).__name__}.{name} is {value!r}; give a finite length in m")
        if not SMALLEST <= value <= LARGEST:
            raise InputError(
                f"{type(shape).__name__}.{name} is {value!r}; it must lie between {SMALLEST:g} and {LARGEST:g} m"
            )
        object.__setattr__(shape, name, float(value))
