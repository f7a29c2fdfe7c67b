"""Collision objects of MoveIt (moveit_msgs/CollisionObject on `collision_object`).

They edit the planner's world: an object of MoveIt may have several shapes, each of which is an object here, named
after it. Meshes are divided into convex parts; prisms count as their hulls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Pose
from moveit_msgs.msg import CollisionObject

from manipapy_core import lie
from manipapy_core.errors import InputError
from manipapy_core.geometry import Box, ConvexMesh, Cylinder, Plane, Sphere
from manipapy_core.geometry.distance import Shape
from manipapy_core.typing import Array

from ..common.conversions import to_nanoseconds
from ..common.object_messages import PERCEIVED, mesh_parts, plane_pose, pose_of
from .composite_objects import CompositeObject, CompositeObjects, Part

TOPIC = "collision_object"
RING = 24
"""Corners of the polygon around the base of a cone."""
Frame = Callable[[str, int], Array]
"""Pose of a frame in the base of the arm, shape (4, 4), at a time [ns], 0 for now."""


class MoveItObjects:
    """Edits a world by messages; called by one thread.

    Args:
        objects: Those of the planner's world.
        frame: Pose of a frame in the base.
    """

    def __init__(self, objects: CompositeObjects, frame: Frame):
        self._objects, self._frame = objects, frame
        self._own: set[str] = set()

    def apply(self, message: CollisionObject) -> str:
        """Carry out the operation of a message; returns a message that describes it.

        Raises:
            InputError: An invalid operation; the world is unchanged.
        """
        if message.id.startswith(PERCEIVED):
            raise InputError(f"the prefix {PERCEIVED!r} is reserved for perceived obstacles; choose another id")
        # A byte arrives as bytes of length one.
        operation = bytes(message.operation)[0] if isinstance(message.operation, bytes) else int(message.operation)
        edits = (self._add, self._remove, self._append, self._move)
        if operation >= len(edits):
            raise InputError(f"operation {operation} does not exist; CollisionObject.msg lists those that do")
        return edits[operation](message)

    def _add(self, message: CollisionObject) -> str:
        parts, T = self._parts(message), self._pose(message)
        return self._described(message.id, self._objects.add(message.id, T, parts))

    def _append(self, message: CollisionObject) -> str:
        known = self._objects.find(message.id)
        if known is None:
            return self._add(message)
        # New shapes are given in the frame of the message; the object itself stays where it is.
        shift = lie.inverse(known.T_base_object) @ self._pose(message)
        parts = [(shape, shift @ T_object_part) for shape, T_object_part in self._parts(message)]
        return self._described(message.id, self._objects.append(message.id, parts))

    def _remove(self, message: CollisionObject) -> str:
        if message.id:
            self._objects.remove(message.id)
            return f"{message.id!r} removed"
        gone = [id_ for id_ in self._objects.ids if id_ in self._own and not self._objects.is_attached(id_)]
        for id_ in gone:
            self._objects.remove(id_)
        return f"all {len(gone)} objects from {TOPIC} removed"

    def _move(self, message: CollisionObject) -> str:
        if message.primitives or message.meshes or message.planes:
            raise InputError(f"{message.id!r} is moved, but the message has shapes; leave them out, or add it again")
        poses = [*message.primitive_poses, *message.mesh_poses, *message.plane_poses]
        self._objects.move(message.id, self._pose(message), [pose_of(pose) for pose in poses])
        return f"{message.id!r} moved"

    def _described(self, id_: str, composite: CompositeObject) -> str:
        self._own.add(id_)
        return f"{id_!r} added, made of {len(composite.parts)} shapes"

    def _pose(self, message: CollisionObject) -> Array:
        time_ns = to_nanoseconds(message.header.stamp)
        return self._frame(message.header.frame_id, time_ns) @ pose_of(message.pose)

    def _parts(self, message: CollisionObject) -> list[Part]:
        """Shapes with their poses in the frame of the object."""
        if not message.id:
            raise InputError("the object has no id; give it a name")
        parts = shapes_with_poses(message)
        if not parts:
            raise InputError(f"{message.id!r} has neither primitives nor meshes nor planes; give it a shape")
        return parts


def shapes_with_poses(message: CollisionObject) -> list[Part]:
    """Shapes of a message with their poses in the frame of the object.

    Raises:
        InputError: A shape that is invalid, or more or fewer poses than shapes.
    """
    parts: list[Part] = []
    inputs: tuple[tuple[str, Sequence[Any], Sequence[Pose], Callable[[Any], list[Part]]], ...] = (
        ("primitives", message.primitives, message.primitive_poses, lambda item: [solid_of(item)]),
        ("meshes", message.meshes, message.mesh_poses, lambda item: convex_parts_of(item, message.id)),
        ("planes", message.planes, message.plane_poses, lambda item: [plane_of(item)]),
    )
    for kind, shapes, poses, convert in inputs:
        for item, T in zip(shapes, _poses(kind, message.id, shapes, poses), strict=True):
            parts += [(shape, T @ T_pose_shape) for shape, T_pose_shape in convert(item)]
    return parts


def _poses(kind: str, id_: str, shapes: Sequence[Any], poses: Sequence[Pose]) -> list[Array]:
    if poses and len(poses) != len(shapes):
        raise InputError(f"{id_!r} has {len(shapes)} {kind} and {len(poses)} poses for them; give one each, or none")
    return [pose_of(pose) for pose in poses] if poses else [np.eye(4)] * len(shapes)


def solid_of(primitive: Any) -> tuple[Shape, Array]:
    """A shape_msgs/SolidPrimitive as a shape, with its pose."""
    kinds = {primitive.BOX: 3, primitive.SPHERE: 1, primitive.CYLINDER: 2, primitive.CONE: 2, primitive.PRISM: 1}
    sizes = list(primitive.dimensions)
    if primitive.type not in kinds:
        raise InputError(f"primitive of type {primitive.type}; SolidPrimitive.msg lists those that exist")
    if len(sizes) < kinds[primitive.type]:
        raise InputError(f"a primitive of type {primitive.type} has {len(sizes)} of {kinds[primitive.type]} dimensions")
    shape: Shape
    if primitive.type == primitive.BOX:
        shape = Box(np.array(sizes[:3]))
    elif primitive.type == primitive.SPHERE:
        shape = Sphere(sizes[0])
    elif primitive.type == primitive.CYLINDER:
        shape = Cylinder(sizes[primitive.CYLINDER_RADIUS], sizes[primitive.CYLINDER_HEIGHT])
    elif primitive.type == primitive.CONE:
        radius, half = sizes[primitive.CONE_RADIUS] / np.cos(np.pi / RING), 0.5 * sizes[primitive.CONE_HEIGHT]
        angles = np.linspace(0.0, 2.0 * np.pi, RING, endpoint=False)
        ring = np.column_stack([radius * np.cos(angles), radius * np.sin(angles), np.full(RING, -half)])
        shape = ConvexMesh(np.vstack([ring, [0.0, 0.0, half]]))
    else:
        half = 0.5 * sizes[primitive.PRISM_HEIGHT]
        corners = [[point.x, point.y, z] for point in primitive.polygon.points for z in (-half, half)]
        shape = ConvexMesh(np.array(corners).reshape(-1, 3))
    return shape, np.eye(4)


def convex_parts_of(mesh: Any, name: str) -> list[Part]:
    """Convex parts of a shape_msgs/Mesh, with their poses; without triangles, its convex hull."""
    points = np.array([[point.x, point.y, point.z] for point in mesh.vertices]).reshape(-1, 3)
    corners = np.array([list(face.vertex_indices) for face in mesh.triangles], dtype=np.int64).reshape(-1)
    shapes: list[Shape] = [ConvexMesh(points)] if not len(corners) else mesh_parts(points, corners, name)
    return [(shape, np.eye(4)) for shape in shapes]


def plane_of(plane: Any) -> tuple[Shape, Array]:
    """A shape_msgs/Plane, ax + by + cz + d = 0, as the half-space below it, with its pose; z is the normal."""
    normal, offset = np.array(plane.coef[:3], dtype=np.float64), float(plane.coef[3])
    length = float(np.linalg.norm(normal))
    if not (1e-9 < length < np.inf) or not np.isfinite(offset):
        raise InputError(f"a plane has the coefficients {list(plane.coef)}; the first three are its normal")
    return Plane(), plane_pose(normal / length, -offset / length)
