"""The planner's world: objects of users, of a scene file and of MoveIt, maps, perceived obstacles, attached objects.

The planner owns it; other nodes follow it (`common/world_follower.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from manipapy_msgs.msg import CollisionObject, ObstacleArray, WorldEdit
from manipapy_msgs.srv import ChangeWorld, ListObjects
from numpy.typing import ArrayLike

from manipapy_core import kinematics, lie
from manipapy_core.errors import InputError, UnknownLink
from manipapy_core.geometry import Octomap, Plane, PointCloud, World, WorldSnapshot
from manipapy_core.geometry.distance import Shape
from manipapy_core.geometry.parts import convex_of
from manipapy_core.perception import UnknownSpace
from manipapy_core.sim import Scene
from manipapy_core.sim import scene as scenes
from manipapy_core.sim.scene import solid_parts
from manipapy_core.typing import Array

from ..common.object_messages import (
    PERCEIVED,
    SURFACE,
    message_of,
    octomap_leaves,
    perceived_names,
    pose_of,
    set_perceived,
    set_surfaces,
    shapes_of,
)
from ..common.robot_loader import LoadedRobot, reach_of
from ..common.tf_buffer import TfBuffer
from .composite_objects import CompositeObjects

OCTOMAP, POINT_CLOUD, UNKNOWN = "octomap", "point_cloud", "unknown_space"
"""Names of the objects that come on the topics `octomap_binary`, `~/point_cloud` and `unknown_space`."""
REACH_MARGIN = 1.0
"""Maps are cut off this far beyond the reach of the arm [m]: carried objects have a size."""
Edit: TypeAlias = ChangeWorld.Request | WorldEdit


class PlannerWorld:
    """Edits a world by messages. Called by the executor only; readers take snapshots.

    Args:
        model: Its base is the frame of the world.
        positions: Joint positions of the arm now [rad or m], shape (n,), for attached objects.
    """

    def __init__(self, model: LoadedRobot, positions: Callable[[], Array]):
        self.world = World()
        self.objects = CompositeObjects(self.world)
        """The same world, by objects that may have several shapes."""
        self._model, self._positions = model, positions
        self._range = reach_of(model.chain) + REACH_MARGIN
        self._edits: Mapping[int, Callable[[Edit], str]] = {
            ChangeWorld.Request.ADD: self._add,
            ChangeWorld.Request.MOVE: self._move,
            ChangeWorld.Request.REMOVE: self._remove,
            ChangeWorld.Request.CLEAR: self._clear,
            ChangeWorld.Request.ATTACH: self._attach,
            ChangeWorld.Request.DETACH: self._detach,
        }
        self._surfaces: list[tuple[str, int, list[tuple[float, float, float]]]] | None = None
        self.perceived_at = -np.inf
        """Arrival of the last obstacle message, on the monotonic clock [s]."""

    def snapshot(self) -> WorldSnapshot:
        """The current world."""
        return self.world.snapshot()

    def change(self, request: Edit) -> str:
        """Carry out an edit; returns a message that describes it.

        Raises:
            InputError: An invalid edit; the world is unchanged.
        """
        if request.operation not in self._edits:
            raise InputError(f"operation {request.operation} does not exist; ChangeWorld.srv lists those that do")
        for prefix, meaning in ((PERCEIVED, "perceived obstacles"), (SURFACE, "perceived tables and walls")):
            if request.object.id.startswith(prefix):
                raise InputError(f"the prefix {prefix!r} is reserved for {meaning}; choose another id")
        return self._edits[request.operation](request)

    def listing(self, response: ListObjects.Response) -> None:
        """Fill in all objects."""
        now, base = self.snapshot(), self._model.chain.base
        response.objects = [message_of(o.name, o.shape, o.T_base_object, base) for o in now.objects.values()]
        response.attached = [message_of(o.name, o.shape, o.T_link_object, o.link) for o in now.attached.values()]
        response.version = now.version

    def update_perceived(self, message: ObstacleArray) -> None:
        """Replace the perceived obstacles by those of a message.

        Raises:
            InputError: The frame of the message moves relative to the base, or an obstacle is invalid.
        """
        set_perceived(self.world, message, self._T_base_frame(message.header.frame_id))
        self.perceived_at = time.monotonic()

    def update_surfaces(self, message: ObstacleArray) -> str:
        """Replace the perceived tables, floors and walls by those of a message; returns a text that describes it.

        Raises:
            InputError: The frame of the message moves relative to the base, or a surface is invalid.
        """
        content = [(entry.label, entry.id, [(p.x, p.y, p.z) for p in entry.hull]) for entry in message.obstacles]
        known = self.world.snapshot().objects
        if content == self._surfaces and all(f"{SURFACE}{label}_{number}" in known for label, number, _ in content):
            return "the same surfaces again"
        number = set_surfaces(self.world, message, self._T_base_frame(message.header.frame_id))
        self._surfaces = content
        return f"{number} parts of tables, floors and walls"

    def remove_perceived(self) -> int:
        """Remove all perceived obstacles; returns their number."""
        names = perceived_names(self.snapshot())
        self.world.update(remove=names)
        return len(names)

    def set_octomap(self, message: Any, T_base_map: Array) -> str:
        """Replace the map by that of an octomap_msgs/Octomap; returns a message that describes it.

        Args:
            T_base_map: Pose of its frame, shape (4, 4).

        Raises:
            InputError: Not a tree of OctoMap, or too large.
        """
        centres, sizes = octomap_leaves(message)
        near = self._in_range(centres, T_base_map, 0.5 * np.sqrt(3.0) * sizes)
        shape = Octomap(centres[near], sizes[near]) if near.any() else None
        return self._set_map(OCTOMAP, shape, T_base_map)

    def set_unknown(
        self, message: Any, T_base_map: Array, policy: UnknownSpace, spheres: Array, distance: float
    ) -> str:
        """Replace the unknown space that is an obstacle; returns a message that describes it.

        Args:
            message: octomap_msgs/Octomap whose occupied leaves are unknown space.
            T_base_map: Pose of its frame, shape (4, 4).
            spheres: That cover the arm now, in the base [m], shape (spheres, 4).
            distance: For `UnknownSpace.AUTO` [m].

        Raises:
            InputError: Not a tree of OctoMap, or too large.
        """
        centres, sizes = octomap_leaves(message) if len(message.data) else (np.empty((0, 3)), np.empty(0))
        if not len(centres):
            return self._set_map(UNKNOWN, None, T_base_map)
        placed = centres @ T_base_map[:3, :3].T + T_base_map[:3, 3]
        kept = policy.blocked(placed, float(sizes.max()), spheres, distance)
        kept &= self._in_range(centres, T_base_map, 0.5 * np.sqrt(3.0) * sizes).astype(np.bool_)
        return self._set_map(UNKNOWN, Octomap(centres[kept], sizes[kept]) if kept.any() else None, T_base_map)

    def set_point_cloud(self, xyz: ArrayLike, T_base_cloud: Array, cell: float) -> str:
        """Replace the point cloud; returns a message that describes it.

        Args:
            xyz: Points in the frame of the cloud [m], shape (points, 3); those that are not finite are left out.
            T_base_cloud: Pose of its frame, shape (4, 4).
            cell: Edge of the cells that points are merged in [m].
        """
        points = np.asarray(xyz, dtype=np.float64).reshape(-1, 3)
        points = points[np.isfinite(points).all(axis=1)]
        points = points[self._in_range(points, T_base_cloud, np.zeros(len(points)))]
        return self._set_map(POINT_CLOUD, PointCloud(points, cell) if len(points) else None, T_base_cloud)

    def _in_range(self, points: Array, T: Array, radius: Array) -> Array:
        return np.linalg.norm(points @ T[:3, :3].T + T[:3, 3], axis=1) - radius <= self._range

    def _set_map(self, name: str, shape: Shape | None, T: Array) -> str:
        if shape is not None:
            self.objects.add(name, T, [(shape, np.eye(4))])
            return f"{name} replaced"
        if name in self.snapshot().objects:
            self.objects.remove(name)
        return f"nothing of the {name} is occupied within {self._range:.1f} m"

    def load(self, scene: Scene, *, movable: bool) -> list[str]:
        """Add the objects of a scene file; returns the names of those without a size, which are left out.

        Args:
            movable: Also add objects with a mass, at their poses in the file.
        """
        T_base_world = lie.inverse(scene.T_world_base @ self._T_root_base())
        skipped = []
        for item in scene.objects:
            if item.mass > 0.0 and not movable:
                continue
            parts = list(_shapes(item.shape))
            if not parts:
                skipped.append(item.name)
                continue
            self.objects.add(item.name, T_base_world @ item.T_world_object, parts)
        return skipped

    # The operations.

    def _add(self, request: Edit) -> str:
        item = request.object
        self.objects.add(item.id, self._pose(item), [(shape, np.eye(4)) for shape in shapes_of(item)])
        return f"{item.type} {item.id!r} added"

    def _move(self, request: Edit) -> str:
        self.objects.move(request.object.id, self._pose(request.object))
        return f"{request.object.id!r} moved"

    def _remove(self, request: Edit) -> str:
        name = request.object.id
        if name in self.snapshot().attached:
            self._detach(request)
        self.objects.remove(name)
        return f"{name!r} removed"

    def _clear(self, _: Edit) -> str:
        self.objects.clear()
        return "all objects removed, except attached ones"

    def _attach(self, request: Edit) -> str:
        item, link = request.object, request.object.header.frame_id
        if link not in self._model.chain.link_names:
            raise UnknownLink(link, self._model.chain.link_names)
        added = self.objects.find(item.id) is None
        if added:
            self.objects.add(item.id, np.eye(4), [(shape, np.eye(4)) for shape in shapes_of(item)])
        try:
            self.objects.attach(item.id, link, pose_of(item.pose), request.touch_links)
        except InputError:
            if added:
                self.objects.remove(item.id)
            raise
        return f"{item.id!r} moves with {link}"

    def _detach(self, request: Edit) -> str:
        name, attached = request.object.id, self.snapshot().attached
        if name not in attached:
            raise InputError(f"{name!r} is not attached; attached are: {', '.join(attached) or 'none'}")
        chain = self._model.chain
        poses = kinematics.link_poses(chain, self._positions())
        self.objects.detach(name, poses[chain.link_names.index(attached[name].link)])
        return f"{name!r} detached at its current pose"

    def frame(self, name: str, frames: TfBuffer, time_ns: int) -> Array:
        """T_base_frame of any frame, shape (4, 4): of links by forward kinematics, of others by tf.

        Raises:
            InputError: Its pose is not known.
        """
        chain = self._model.chain
        if name not in self._model.robot.links:
            return np.eye(4) if not name else frames.pose(chain.base, name, time_ns)
        if chain.link_placements[chain.link_names.index(name)][0] < 0:
            return self._T_base_frame(name)
        return kinematics.link_poses(chain, self._positions())[chain.link_names.index(name)]

    def _pose(self, item: CollisionObject) -> Array:
        return self._T_base_frame(item.header.frame_id) @ pose_of(item.pose)

    def _T_base_frame(self, frame: str) -> Array:
        return np.eye(4) if frame in ("", self._model.chain.base) else self._model.fixed_pose(frame)

    def _T_root_base(self) -> Array:
        return lie.inverse(self._model.fixed_pose(self._model.robot.root))


def _shapes(shape: scenes.ObjectShape) -> list[tuple[Shape, Array]]:
    """Solids of a scene's object, each with its pose in the object's frame."""
    if isinstance(shape, scenes.GroundPlane):
        return [(Plane(), np.eye(4))]
    return [(solid, T) for part, T in solid_parts(shape) if (solid := convex_of(part)) is not None]
