"""Solid shapes, each in a frame of its own and checked when it is made."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError
from ..typing import Array
from .hulls import convex_hull

SMALLEST = 1e-6
"""Lengths below this [m] are refused."""
LARGEST = 100.0
"""Lengths and positions beyond this [m] are refused: float32 would round them by more than the safety margin."""


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
        if size.min() < SMALLEST:
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
    wanted = str(tuple("any" if length is None else length for length in shape)).replace("'", "")
    if array.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, array.shape)):
        raise InputError(f"{name} has shape {array.shape}; expected {wanted}")
    if not np.all(np.abs(array) <= LARGEST):
        index = tuple(int(i) for i in np.argwhere(~(np.abs(array) <= LARGEST))[0])
        raise InputError(f"{name}[{', '.join(map(str, index))}] is {array[index]!r}; give at most {LARGEST:g} m")
    array.setflags(write=False)
    return array


def pose_matrix(T: ArrayLike, name: str) -> Array:
    """A read-only pose, checked to be one."""
    matrix = finite_array(T, (4, 4), name)
    rotation = matrix[:3, :3]
    if not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-6) or np.linalg.det(rotation) < 0.0:
        raise InputError(f"{name} has no rotation in its upper left 3×3 part; it must be orthonormal, right-handed")
    if not np.array_equal(matrix[3], [0.0, 0.0, 0.0, 1.0]):
        raise InputError(f"{name} ends with the row {matrix[3].tolist()}; a pose ends with 0, 0, 0, 1")
    return matrix


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
