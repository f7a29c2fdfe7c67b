"""What the planner counts with: objects that users name, a scene file, and what cameras see."""

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
from .world_messages import SEEN, message_of, pose_of, seen_objects, shape_of


class PlannerWorld:
    """Edits a world by messages. Called by the executor alone; readers take snapshots.

    Args:
        model: Its base is the frame of the world.
        positions: Joint positions of the arm now [rad or m], shape (n,): where attached things are.
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
        self.seen_at = -np.inf
        """When the last word about obstacles came, on the monotonic clock [s]."""

    def snapshot(self) -> WorldSnapshot:
        """The world as it is now."""
        return self.world.snapshot()

    def change(self, request: ChangeWorld.Request) -> str:
        """Carry out an edit; what was done, in words.

        Raises:
            InputError: It makes no sense; nothing is changed.
        """
        if request.operation not in self._edits:
            raise InputError(f"operation {request.operation} does not exist; ChangeWorld.srv lists those that do")
        if request.object.id.startswith(SEEN):
            raise InputError(f"names that begin with {SEEN!r} belong to the cameras; choose another id")
        return self._edits[request.operation](request)

    def listing(self, response: ListObjects.Response) -> None:
        """Everything there is."""
        now, base = self.snapshot(), self._model.chain.base
        response.objects = [message_of(o.name, o.shape, o.T_base_object, base) for o in now.objects.values()]
        response.attached = [message_of(o.name, o.shape, o.T_link_object, o.link) for o in now.attached.values()]
        response.version = now.version

    def see(self, message: ObstacleArray) -> None:
        """Take over what cameras see; what they no longer list goes.

        Raises:
            InputError: The message is given in a frame that moves against the base, or makes no sense.
        """
        T_base_frame = self._T_base_frame(message.header.frame_id)
        listed = {thing.name: thing for thing in seen_objects(message)}
        known = [name for name in self.snapshot().objects if name.startswith(SEEN)]
        for name, thing in listed.items():
            self.world.add(name, thing.shape, T_base_frame @ thing.T_base_object)
        for name in known:
            if name not in listed:
                self.world.remove(name)
        self.seen_at = time.monotonic()

    def forget_seen(self) -> int:
        """Remove all that cameras have seen; how many that were."""
        names = [name for name in self.snapshot().objects if name.startswith(SEEN)]
        for name in names:
            self.world.remove(name)
        return len(names)

    def load(self, scene: Scene, *, movable: bool) -> list[str]:
        """Put the objects of a scene file into the world; the names of those that were left out.

        Args:
            movable: Also those that have a mass, where they stand in the file.
        """
        T_base_world = lie.inverse(scene.T_world_base @ self._T_root_base())
        skipped = []
        for thing in scene.objects:
            if thing.mass > 0.0 and not movable:
                continue
            parts = list(_shapes(thing.shape))
            if not parts:
                skipped.append(thing.name)
            for number, (shape, T_object_part) in enumerate(parts):
                name = thing.name if len(parts) == 1 else f"{thing.name}/{number}"
                self.world.add(name, shape, T_base_world @ thing.T_world_object @ T_object_part)
        return skipped

    # The operations.

    def _add(self, request: ChangeWorld.Request) -> str:
        thing = request.object
        self.world.add(thing.id, shape_of(thing), self._pose(thing))
        return f"{thing.type} {thing.id!r} added"

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
        return "all objects removed; what is attached stays"

    def _attach(self, request: ChangeWorld.Request) -> str:
        thing, link = request.object, request.object.header.frame_id
        if link not in self._model.chain.link_names:
            raise UnknownLink(link, self._model.chain.link_names)
        added = thing.id not in self.snapshot().objects
        if added:
            self.world.add(thing.id, shape_of(thing))
        try:
            self.world.attach(thing.id, link, pose_of(thing.pose), touch_links=tuple(request.touch_links))
        except InputError:
            if added:
                self.world.remove(thing.id)
            raise
        return f"{thing.id!r} moves with {link}"

    def _detach(self, request: ChangeWorld.Request) -> str:
        name, attached = request.object.id, self.snapshot().attached
        if name not in attached:
            raise InputError(f"{name!r} is not attached; attached are: {', '.join(attached) or 'none'}")
        thing, chain = attached[name], self._model.chain
        poses = kinematics.link_poses(chain, self._positions())
        self.world.detach(name, poses[chain.link_names.index(thing.link)] @ thing.T_link_object)
        return f"{name!r} put down where it is"

    def frame(self, name: str, frames: TfBuffer, time_ns: int) -> Array:
        """T_base_frame of any frame, shape (4, 4): links are where the arm holds them now, others where tf has them.

        Raises:
            InputError: Nobody knows where it is.
        """
        chain = self._model.chain
        if name not in self._model.robot.links:
            return np.eye(4) if not name else frames.pose(chain.base, name, time_ns)
        if chain.link_placements[chain.link_names.index(name)][0] < 0:
            return self._T_base_frame(name)
        return kinematics.link_poses(chain, self._positions())[chain.link_names.index(name)]

    def _pose(self, thing: CollisionObject) -> Array:
        return self._T_base_frame(thing.header.frame_id) @ pose_of(thing.pose)

    def _T_base_frame(self, frame: str) -> Array:
        return np.eye(4) if frame in ("", self._model.chain.base) else self._model.fixed_pose(frame)

    def _T_root_base(self) -> Array:
        return lie.inverse(self._model.fixed_pose(self._model.robot.root))


def _shapes(shape: scenes.ObjectShape) -> list[tuple[Shape, Array]]:
    """Solids of a scene's object, each with its pose in the object's frame."""
    if isinstance(shape, scenes.GroundPlane):
        return [(Plane(), np.eye(4))]
    return [(solid, T) for part, T in solid_parts(shape) if (solid := convex_of(part)) is not None]
