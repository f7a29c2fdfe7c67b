"""Objects of the collision world as messages and back."""

from __future__ import annotations

import array
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import Point32, Pose
from manipapy_msgs.msg import CollisionObject, Obstacle, ObstacleArray
from numpy.typing import NDArray

from manipapy_core.errors import InputError
from manipapy_core.geometry import (
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    Octomap,
    Plane,
    PointCloud,
    Sphere,
    World,
    WorldObject,
    WorldSnapshot,
)
from manipapy_core.geometry.decomposition import decompose
from manipapy_core.geometry.distance import Shape
from manipapy_core.geometry.octree import binary_stream, occupied_leaves
from manipapy_core.model.meshes import TriangleMesh
from manipapy_core.typing import Array

from .conversions import matrix_from_pose, pose_from_matrix

DIMENSIONS = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "plane": 0, "convex": 0, "mesh": 0,
              "octomap": 1, "octomap_full": 1}  # fmt: skip
"""Dimensions per type; points take one or none."""
CELL = 0.02
"""Default cell size of a point cloud [m]."""
PERCEIVED = "perceived_"
"""Prefix of the names of perceived obstacles; reserved for them."""
SURFACE = "surface_"
"""Prefix of the names of perceived tables, floors and walls; reserved for them."""
MOST_POINTS, MOST_TRIANGLES = 2_000_000, 200_000
"""Per object of a message."""


def shape_of(message: CollisionObject) -> Shape:
    """The shape that a message describes; a mesh counts as its convex hull.

    Raises:
        InputError: No such type, or numbers that do not fit it.
    """
    kind, numbers = message.type, list(message.dimensions)
    known = (*DIMENSIONS, "points")
    if kind not in known:
        raise InputError(f"object {message.id!r} is of type {kind!r}; choose one of {', '.join(known)}")
    if kind == "points":
        if len(numbers) > 1:
            raise InputError(f"points {message.id!r} have {len(numbers)} dimensions; give the cell size, or none")
        return PointCloud(_points(message), numbers[0] if numbers else CELL)
    if len(numbers) != DIMENSIONS[kind]:
        raise InputError(f"{kind} {message.id!r} has {len(numbers)} dimensions; it needs {DIMENSIONS[kind]}")
    if kind == "box":
        return Box(np.array(numbers))
    if kind == "sphere":
        return Sphere(numbers[0])
    if kind == "cylinder":
        return Cylinder(numbers[0], numbers[1])
    if kind == "capsule":
        return Capsule(numbers[0], numbers[1])
    if kind.startswith("octomap"):
        return Octomap(*occupied_leaves(stream_bytes(message.data), numbers[0], binary=kind == "octomap"))
    return Plane() if kind == "plane" else ConvexMesh(_points(message))


def shapes_of(message: CollisionObject) -> list[Shape]:
    """The shapes that a message describes, all in the frame of the object: the convex parts of a mesh, else one.

    Raises:
        InputError: No such type, or numbers that do not fit it.
    """
    if message.type != "mesh" or not len(message.triangles):
        return [shape_of(message)]
    return mesh_parts(_points(message), np.array(message.triangles, dtype=np.int64), message.id)


def mesh_parts(points: Array, corners: NDArray[np.int64], name: str) -> list[Shape]:
    """Convex parts that cover a mesh.

    Args:
        points: [m], shape (points, 3).
        corners: Rows of points, three per triangle.

    Raises:
        InputError: Corners that are not points, or too many triangles.
    """
    if len(corners) % 3 or len(corners) > 3 * MOST_TRIANGLES:
        raise InputError(
            f"mesh {name!r} has {len(corners)} corners; give three per triangle, {MOST_TRIANGLES:,} at most"
        )
    if corners.min() < 0 or corners.max() >= len(points):
        raise InputError(f"mesh {name!r} has {len(points)} points and a triangle with corner {corners.max()}")
    if not np.isfinite(points).all():
        raise InputError(f"mesh {name!r} has a point that is not finite")
    ConvexMesh(points)  # refuses what spans no volume
    return list(decompose(TriangleMesh(points, corners.reshape(-1, 3).astype(np.int64))))


def message_of(name: str, shape: Shape, T: Array, frame: str, *, compact: bool = False) -> CollisionObject:
    """An object as a message.

    Args:
        compact: Fill in `xyz` instead of `points`.
    """
    message = CollisionObject(id=name, pose=pose_from_matrix(T))
    message.header.frame_id = frame
    if isinstance(shape, Box):
        message.type, message.dimensions = "box", shape.size.tolist()
    elif isinstance(shape, Sphere):
        message.type, message.dimensions = "sphere", [shape.radius]
    elif isinstance(shape, (Cylinder, Capsule)):
        message.type = type(shape).__name__.lower()
        message.dimensions = [shape.radius, shape.length]
    elif isinstance(shape, Plane):
        message.type = "plane"
        message.pose = pose_from_matrix(T @ plane_pose(shape.normal, shape.offset))
    else:
        large = _LargeFields.of(shape)
        message.type, message.dimensions = large.type, list(large.dimensions)
        if large.data is not None:
            message.data = large.data
        elif compact:
            message.xyz = large.xyz
        else:
            message.points = [Point32(x=x, y=y, z=z) for x, y, z in np.array(large.xyz).reshape(-1, 3).tolist()]
    return message


def octomap_leaves(message: Any) -> tuple[Array, Array]:
    """Occupied leaves of an octomap_msgs/Octomap: centres [m], shape (leaves, 3), and edges [m], shape (leaves,).

    Raises:
        InputError: Not a tree of OctoMap, or too large.
    """
    data = stream_bytes(message.data)
    return occupied_leaves(data, float(message.resolution), binary=bool(message.binary), kind=message.id)


def stream_bytes(data: Sequence[int]) -> bytes:
    """An int8[] of a message as bytes."""
    return data.tobytes() if isinstance(data, (array.array, np.ndarray)) else array.array("b", data).tobytes()


def pose_of(pose: Pose) -> Array:
    """Homogeneous matrix, shape (4, 4); a quaternion of zeros, as in an empty message, stands for no rotation."""
    o = pose.orientation
    if o.x == o.y == o.z == o.w == 0.0:
        pose = Pose(position=pose.position)
        pose.orientation.w = 1.0
    return matrix_from_pose(pose)


def perceived_objects(message: ObstacleArray) -> Iterator[WorldObject]:
    """Perceived obstacles as objects of the world: padded hulls, or padded boxes where there is no hull."""
    for obstacle in message.obstacles:
        name = f"{PERCEIVED}{obstacle.id}"
        if len(obstacle.hull) >= 4:
            yield WorldObject(name, ConvexMesh(np.array([[p.x, p.y, p.z] for p in obstacle.hull])), np.eye(4))
        else:
            size = np.array([obstacle.size.x, obstacle.size.y, obstacle.size.z]) + 2.0 * obstacle.padding
            yield WorldObject(name, Box(size), pose_of(obstacle.pose))


def set_surfaces(world: World, message: ObstacleArray, T_base_frame: Array) -> int:
    """Replace the perceived tables, floors and walls of a world by those of a message; returns their number."""
    listed = [
        WorldObject(f"{SURFACE}{entry.label}_{entry.id}", ConvexMesh(_hull_points(entry)), T_base_frame)
        for entry in message.obstacles
        if len(entry.hull)
    ]
    names = {item.name for item in listed}
    gone = [name for name in world.snapshot().objects if name.startswith(SURFACE) and name not in names]
    world.update(listed, remove=gone)
    return len(listed)


def _hull_points(entry: Obstacle) -> Array:
    return np.array([[p.x, p.y, p.z] for p in entry.hull], dtype=np.float64)


def set_perceived(world: World, message: ObstacleArray, T_base_frame: Array) -> None:
    """Replace the perceived obstacles of a world by those of a message, in one edit."""
    listed = [
        WorldObject(item.name, item.shape, T_base_frame @ item.T_base_object) for item in perceived_objects(message)
    ]
    names = {item.name for item in listed}
    world.update(listed, remove=[name for name in perceived_names(world.snapshot()) if name not in names])


def perceived_names(world: WorldSnapshot) -> list[str]:
    """Names of the perceived obstacles of a world."""
    return [name for name in world.objects if name.startswith(PERCEIVED)]


@dataclass(frozen=True, eq=False)
class _LargeFields:
    """Fields of a message that take time to fill in; kept as long as the shape exists."""

    type: str
    dimensions: tuple[float, ...]
    xyz: array.array[float]
    data: array.array[int] | None = None

    @classmethod
    def of(cls, shape: ConvexMesh | PointCloud | Octomap) -> _LargeFields:
        found = _KEPT.get(shape)
        if found is None:
            found = _KEPT[shape] = cls._filled(shape)
        return found

    @classmethod
    def _filled(cls, shape: ConvexMesh | PointCloud | Octomap) -> _LargeFields:
        if isinstance(shape, ConvexMesh):
            return cls("convex", (), _floats(shape.vertices))
        if isinstance(shape, PointCloud):
            return cls("points", (shape.cell,), _floats(shape.points))
        try:
            stream, resolution = binary_stream(shape.centres, shape.sizes)
        except InputError:  # not from a tree of OctoMap: the centres of its cells
            grid = shape.grid
            return cls(
                "points", (grid.cell,), _floats(grid.lower + (np.argwhere(grid.distances == 0.0) + 0.5) * grid.cell)
            )
        return cls("octomap", (resolution,), array.array("f"), array.array("b", stream))


_KEPT: weakref.WeakKeyDictionary[Shape, _LargeFields] = weakref.WeakKeyDictionary()


def _floats(points: Array) -> array.array[float]:
    numbers = array.array("f")
    numbers.frombytes(np.ascontiguousarray(points, dtype=np.float32).tobytes())
    return numbers


def plane_pose(normal: Array, offset: float) -> Array:
    """Pose of a frame on the plane normal · x = offset whose z axis is the unit normal, shape (4, 4)."""
    T = np.eye(4)
    if not np.array_equal(normal, [0.0, 0.0, 1.0]):
        across = np.cross(np.eye(3)[int(np.argmin(np.abs(normal)))], normal)
        x = across / np.linalg.norm(across)
        T[:3, :3] = np.column_stack([x, np.cross(normal, x), normal])
    T[:3, 3] = offset * normal
    return T


def _points(message: CollisionObject) -> Array:
    count = len(message.points) + len(message.xyz) // 3
    if not count:
        raise InputError(f"{message.type} {message.id!r} has no points")
    if len(message.xyz) % 3 or (len(message.points) and len(message.xyz)):
        raise InputError(
            f"{message.type} {message.id!r} needs x, y and z of every point, in points or in xyz, not in both"
        )
    if count > MOST_POINTS:
        raise InputError(f"{message.type} {message.id!r} has {count:,} points; give {MOST_POINTS:,} at most")
    if len(message.xyz):
        return np.array(message.xyz, dtype=np.float64).reshape(-1, 3)
    return np.array([[point.x, point.y, point.z] for point in message.points], dtype=np.float64)
