"""The planner's world: objects of users, of a scene file, and perceived obstacles."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np
from manipapy_msgs.msg import CollisionObject, ObstacleArray
from manipapy_msgs.srv import ChangeWorld, ListObjects

from manipapy_core import kinematics, lie
from manipapy_core.errors import InputError, UnknownLink
from manipapy_core.geometry import Plane, World, WorldSnapshot
from manipapy_core.geometry.distance import Shape
from manipapy_core.geometry.parts import convex_of
from manipapy_core.sim import Scene
from manipapy_core.sim import scene as scenes
from manipapy_core.sim.scene import solid_parts
from manipapy_core.typing import Array

from ..common.robot_loader import LoadedRobot
from ..common.tf_buffer import TfBuffer
from .world_messages import PERCEIVED, message_of, perceived_objects, pose_of, shape_of


class PlannerWorld:
    """Edits a world by messages. Called by the executor only; readers take snapshots.

    Args:
        model: Its base is the frame of the world.
        positions: Joint positions of the arm now [rad or m], shape (n,), for attached objects.
    """

    def __init__(self, model: LoadedRobot, positions: Callable[[], Array]):
        self.world = World()
        self._model, self._positions = model, positions
        self._edits: Mapping[int, Callable[[ChangeWorld.Request], str]] = {
            ChangeWorld.Request.ADD: self._add,
            ChangeWorld.Request.MOVE: self._move,
            ChangeWorld.Request.REMOVE: self._remove,
            ChangeWorld.Request.CLEAR: self._clear,
            ChangeWorld.Request.ATTACH: self._attach,
            ChangeWorld.Request.DETACH: self._detach,
        }
        self.perceived_at = -np.inf
        """Arrival of the last obstacle message, on the monotonic clock [s]."""

    def snapshot(self) -> WorldSnapshot:
        """The current world."""
        return self.world.snapshot()

    def change(self, request: ChangeWorld.Request) -> str:
        """Carry out an edit; returns a message that describes it.

        Raises:
            InputError: An invalid edit; the world is unchanged.
        """
        if request.operation not in self._edits:
            raise InputError(f"operation {request.operation} does not exist; ChangeWorld.srv lists those that do")
        if request.object.id.startswith(PERCEIVED):
            raise InputError(f"the prefix {PERCEIVED!r} is reserved for perceived obstacles; choose another id")
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
        T_base_frame = self._T_base_frame(message.header.frame_id)
        listed = {item.name: item for item in perceived_objects(message)}
        known = [name for name in self.snapshot().objects if name.startswith(PERCEIVED)]
        for name, item in listed.items():
            self.world.add(name, item.shape, T_base_frame @ item.T_base_object)
        for name in known:
            if name not in listed:
                self.world.remove(name)
        self.perceived_at = time.monotonic()

    def remove_perceived(self) -> int:
        """Remove all perceived obstacles; returns their number."""
        names = [name for name in self.snapshot().objects if name.startswith(PERCEIVED)]
        for name in names:
            self.world.remove(name)
        return len(names)

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
            for number, (shape, T_object_part) in enumerate(parts):
                name = item.name if len(parts) == 1 else f"{item.name}/{number}"
                self.world.add(name, shape, T_base_world @ item.T_world_object @ T_object_part)
        return skipped

    # The operations.

    def _add(self, request: ChangeWorld.Request) -> str:
        item = request.object
        self.world.add(item.id, shape_of(item), self._pose(item))
        return f"{item.type} {item.id!r} added"

    def _move(self, request: ChangeWorld.Request) -> str:
        self.world.move(request.object.id, self._pose(request.object))
        return f"{request.object.id!r} moved"

    def _remove(self, request: ChangeWorld.Request) -> str:
        name = request.object.id
        if name in self.snapshot().attached:
            self._detach(request)
        self.world.remove(name)
        return f"{name!r} removed"

    def _clear(self, _: ChangeWorld.Request) -> str:
        self.world.clear()
        return "all objects removed, except attached ones"

    def _attach(self, request: ChangeWorld.Request) -> str:
        item, link = request.object, request.object.header.frame_id
        if link not in self._model.chain.link_names:
            raise UnknownLink(link, self._model.chain.link_names)
        added = item.id not in self.snapshot().objects
        if added:
            self.world.add(item.id, shape_of(item))
        try:
            self.world.attach(item.id, link, pose_of(item.pose), touch_links=tuple(request.touch_links))
        except InputError:
            if added:
                self.world.remove(item.id)
            raise
        return f"{item.id!r} moves with {link}"

    def _detach(self, request: ChangeWorld.Request) -> str:
        name, attached = request.object.id, self.snapshot().attached
        if name not in attached:
            raise InputError(f"{name!r} is not attached; attached are: {', '.join(attached) or 'none'}")
        item, chain = attached[name], self._model.chain
        poses = kinematics.link_poses(chain, self._positions())
        self.world.detach(name, poses[chain.link_names.index(item.link)] @ item.T_link_object)
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
