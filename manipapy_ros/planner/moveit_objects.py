"""Collision objects of MoveIt (moveit_msgs/CollisionObject on `collision_object`).

Where moveit_msgs is installed, its messages edit the planner's world: an object of MoveIt may have several shapes,
each of which is an object here, named after it. Non-convex meshes and prisms count as their convex hulls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from geometry_msgs.msg import Pose

from manipapy_core import lie
from manipapy_core.errors import InputError
from manipapy_core.geometry import Box, ConvexMesh, Cylinder, Plane, Sphere, World
from manipapy_core.geometry.distance import Shape
from manipapy_core.typing import Array

from ..common.conversions import to_nanoseconds
from .world_messages import PERCEIVED, pose_of

if TYPE_CHECKING:
    from moveit_msgs.msg import CollisionObject

TOPIC = "collision_object"
QUEUE = 100
RING = 24
"""Corners of the polygon around the base of a cone."""
Frame = Callable[[str, int], Array]
"""Pose of a frame in the base of the arm, shape (4, 4), at a time [ns], 0 for now."""


def message_type() -> type[CollisionObject] | None:
    """moveit_msgs/CollisionObject; None where moveit_msgs is not installed."""
    try:
        from moveit_msgs.msg import CollisionObject
    except ImportError:
        return None
    return CollisionObject


@dataclass
class _Known:
    """An object of MoveIt in our world."""

    T_base_object: Array
    parts: dict[str, Array] = field(default_factory=dict)
    """Names in our world, with the pose in the frame of the object, shape (4, 4)."""


class MoveItObjects:
    """Edits a world by messages; called by one thread.

    Args:
        frame: Pose of a frame in the base.
    """

    def __init__(self, world: World, frame: Frame):
        self._world, self._frame = world, frame
        self._known: dict[str, _Known] = {}

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
        if message.id in self._world.snapshot().attached:
            raise InputError(f"{message.id!r} is attached to a link; detach it first, or choose another id")
        self._forget(message.id)
        return self._put(message.id, T, parts, 0)

    def _append(self, message: CollisionObject) -> str:
        known = self._present(message.id)
        if known is None:
            return self._add(message)
        T = known.T_base_object
        # New shapes are given in the frame of the message; the object itself stays where it is.
        shift = lie.inverse(T) @ self._pose(message)
        parts = [(shape, shift @ T_object_part) for shape, T_object_part in self._parts(message)]
        return self._put(message.id, T, parts, len(known.parts))

    def _remove(self, message: CollisionObject) -> str:
        if not message.id:
            gone = [name for name in list(self._known) if self._forget(name)]
            return f"all {len(gone)} objects from {TOPIC} removed"
        if not self._forget(message.id):
            raise InputError(f"there is no object {message.id!r} to remove; there are: {self._names()}")
        return f"{message.id!r} removed"

    def _move(self, message: CollisionObject) -> str:
        known = self._present(message.id)
        if known is None:
            raise InputError(f"there is no object {message.id!r} to move; there are: {self._names()}")
        if message.primitives or message.meshes or message.planes:
            raise InputError(f"{message.id!r} is moved, but the message has shapes; leave them out, or add it again")
        T = self._pose(message)
        poses = [*message.primitive_poses, *message.mesh_poses, *message.plane_poses]
        if poses and len(poses) != len(known.parts):
            raise InputError(f"{message.id!r} has {len(known.parts)} shapes, but the message has {len(poses)} poses")
        if poses:
            known.parts = dict(zip(known.parts, (pose_of(pose) for pose in poses), strict=True))
        known.T_base_object = T
        for name, T_object_part in known.parts.items():
            self._world.move(name, T @ T_object_part)
        return f"{message.id!r} moved"

    def _put(self, id_: str, T: Array, parts: list[tuple[Shape, Array]], first: int) -> str:
        known = self._known.setdefault(id_, _Known(T))
        for number, (shape, T_object_part) in enumerate(parts, start=first):
            name = id_ if number == 0 else f"{id_}/{number}"
            self._world.add(name, shape, T @ T_object_part)
            known.parts[name] = T_object_part
        return f"{id_!r} added, made of {len(known.parts)} shapes"

    def _present(self, id_: str) -> _Known | None:
        """An object that was added here and not removed since."""
        known = self._known.get(id_)
        if known is None or not all(name in self._world.snapshot().objects for name in known.parts):
            return None
        return known

    def _forget(self, id_: str) -> bool:
        """Remove an object with all its shapes; whether it existed."""
        known, there = self._known.pop(id_, None), self._world.snapshot().objects
        names = [name for name in (known.parts if known is not None else (id_,)) if name in there]
        for name in names:
            self._world.remove(name)
        return bool(names)

    def _names(self) -> str:
        return ", ".join(self._known) or "none"

    def _pose(self, message: CollisionObject) -> Array:
        time_ns = to_nanoseconds(message.header.stamp)
        return self._frame(message.header.frame_id, time_ns) @ pose_of(message.pose)

    def _parts(self, message: CollisionObject) -> list[tuple[Shape, Array]]:
        """Shapes with their poses in the frame of the object."""
        if not message.id:
            raise InputError("the object has no id; give it a name")
        parts: list[tuple[Shape, Array]] = []
        for kind, shapes, poses, convert in (
            ("primitives", message.primitives, message.primitive_poses, solid_of),
            ("meshes", message.meshes, message.mesh_poses, hull_of),
            ("planes", message.planes, message.plane_poses, plane_of),
        ):
            for item, T in zip(shapes, _poses(kind, message.id, shapes, poses), strict=True):
                shape, T_pose_shape = convert(item)
                parts.append((shape, T @ T_pose_shape))
        if not parts:
            raise InputError(f"{message.id!r} has neither primitives nor meshes nor planes; give it a shape")
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


def hull_of(mesh: Any) -> tuple[Shape, Array]:
    """The convex hull of a shape_msgs/Mesh, with its pose."""
    return ConvexMesh(np.array([[point.x, point.y, point.z] for point in mesh.vertices]).reshape(-1, 3)), np.eye(4)


def plane_of(plane: Any) -> tuple[Shape, Array]:
    """A shape_msgs/Plane, ax + by + cz + d = 0, as the half-space below it, with its pose; z is the normal."""
    normal, offset = np.array(plane.coef[:3], dtype=np.float64), float(plane.coef[3])
    length = float(np.linalg.norm(normal))
    if not (1e-9 < length < np.inf) or not np.isfinite(offset):
        raise InputError(f"a plane has the coefficients {list(plane.coef)}; the first three are its normal")
    z = normal / length
    across = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x = across / np.linalg.norm(across)
    return Plane(), lie.pose(np.column_stack([x, np.cross(z, x), z]), -offset / length * z)
