"""Edits of the planner's world by moveit_msgs/PlanningScene, CollisionObject and AttachedCollisionObject."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from moveit_msgs.msg import AllowedCollisionMatrix, AttachedCollisionObject, CollisionObject, PlanningScene

from manipapy_core import lie
from manipapy_core.errors import InputError, UnknownLink
from manipapy_core.geometry import UnknownObject, World
from manipapy_core.typing import Array

from ...common.object_messages import PERCEIVED, pose_of
from ..composite_objects import CompositeObjects
from ..moveit_objects import MoveItObjects, shapes_with_poses
from ..world import OCTOMAP, PlannerWorld
from .group import PlanningGroup
from .scene_messages import attached_ids, object_ids


class SceneEdits:
    """Applies messages to the world; called by the executor.

    Args:
        group: The arm whose links carry objects.
        world: The planner's.
        frame: T_base_frame of any frame at a time [ns], shape (4, 4).
        ignored: Whether a pair of links is never checked.
    """

    def __init__(
        self,
        group: PlanningGroup,
        world: PlannerWorld,
        frame: Callable[[str, int], Array],
        ignored: Callable[[frozenset[str]], bool],
    ):
        self._group, self._planner_world, self._frame, self._ignored = group, world, frame, ignored
        self._objects: CompositeObjects = world.objects
        self._world: World = world.world
        self._messages = MoveItObjects(world.objects, frame)

    def edit_object(self, message: CollisionObject) -> str:
        """Carry out the operation of a message; returns a message that describes it.

        Raises:
            InputError: An invalid operation; the world is unchanged.
        """
        return self._messages.apply(message)

    def edit_attached(self, message: AttachedCollisionObject) -> str:
        """Attach or detach an object; returns a message that describes it.

        Raises:
            InputError: An invalid operation; the world is unchanged.
        """
        item, operation = message.object, _operation(message.object)
        if operation == CollisionObject.REMOVE[0]:
            return self._detach(item.id, message.link_name)
        if operation not in (CollisionObject.ADD[0], CollisionObject.APPEND[0]):
            raise InputError(f"operation {operation} does not attach an object; use ADD or REMOVE")
        link = message.link_name
        if link not in self._group.chain.link_names:
            raise UnknownLink(link, self._group.chain.link_names)
        for name in message.touch_links:
            if name not in self._group.chain.link_names:
                raise UnknownLink(name, self._group.chain.link_names)
        if not item.id:
            raise InputError("the attached object has no id; give the id of an object of the world, or of a new one")
        T_base_link = self._frame(link, 0)
        parts = shapes_with_poses(item)
        attached = self._objects.is_attached(item.id)
        if parts:
            if item.id.startswith(PERCEIVED):
                raise InputError(f"the prefix {PERCEIVED!r} is reserved for perceived obstacles; choose another id")
            T_base_object = self._frame(item.header.frame_id or link, 0) @ pose_of(item.pose)
            if attached:
                self._detach(item.id, "")
            self._objects.add(item.id, T_base_object, parts)
        elif attached:
            self._detach(item.id, "")
        found = self._objects.find(item.id)
        if found is None:
            known = dict.fromkeys(object_ids(self._objects, self._world.snapshot()))
            raise UnknownObject(item.id, known)
        T_link_object = lie.inverse(T_base_link) @ found.T_base_object
        self._objects.attach(item.id, link, T_link_object, message.touch_links)
        return f"{item.id!r} moves with {link}"

    def apply(self, scene: PlanningScene) -> str:
        """Replace the scene, or change it if it is a difference; returns a message that describes it.

        Joint positions are not taken over: those of the arm are measured.

        Raises:
            InputError: A part of it cannot be applied; parts before it are.
        """
        if any(item.padding != 0.0 for item in scene.link_padding):
            raise InputError("link_padding is not supported; set the parameter padding of the planner")
        if any(item.scale not in (0.0, 1.0) for item in scene.link_scale):
            raise InputError("link_scale is not supported; leave it at 1")
        done = []
        if not scene.is_diff:
            done.append(self.clear())
        # In MoveIt's order: what is detached can be removed by the same message.
        for carried in scene.robot_state.attached_collision_objects:
            done.append(self.edit_attached(carried))
        for item in scene.world.collision_objects:
            done.append(self.edit_object(item))
        if scene.world.octomap.octomap.data:
            T = self._frame(scene.world.octomap.header.frame_id, 0) @ pose_of(scene.world.octomap.origin)
            done.append(self._planner_world.set_octomap(scene.world.octomap.octomap, T))
        if scene.allowed_collision_matrix.entry_names or not scene.is_diff:
            done.append(self.set_matrix(scene.allowed_collision_matrix))
        return "; ".join(done) or "nothing to change"

    def clear(self) -> str:
        """Detach and remove everything except perceived obstacles, and allow no contacts."""
        for id_ in attached_ids(self._objects, self._world.snapshot()):
            self._detach(id_, "")
        ids = [id_ for id_ in object_ids(self._objects, self._world.snapshot()) if not id_.startswith(PERCEIVED)]
        for id_ in ids:
            self._objects.remove(id_)
        self.clear_octomap()
        if self._world.snapshot().allowed:
            self._world.set_allowed(())
        return f"{len(ids)} objects removed"

    def clear_octomap(self) -> str:
        """Remove the map."""
        if OCTOMAP in self._world.snapshot().objects:
            self._objects.remove(OCTOMAP)
            return "octomap removed"
        return "there is no octomap"

    def set_matrix(self, matrix: AllowedCollisionMatrix) -> str:
        """Allow and forbid contacts as a matrix says; pairs that it does not name stay as they are.

        Raises:
            InputError: The matrix is not square.
        """
        names, rows = list(matrix.entry_names), [list(entry.enabled) for entry in matrix.entry_values]
        if len(rows) != len(names) or any(len(row) != len(names) for row in rows):
            raise InputError(f"the collision matrix has {len(names)} names, but is not {len(names)} × {len(names)}")
        if len(matrix.default_entry_names) != len(matrix.default_entry_values):
            raise InputError("the collision matrix has more default names than default values, or fewer")
        now = self._world.snapshot()
        allowed, forbidden = set[frozenset[str]](), set[frozenset[str]]()
        table = np.array(rows, dtype=bool).reshape(len(names), len(names))
        for i, j in zip(*np.triu_indices(len(names), 1)):
            pair = frozenset({names[i], names[j]})
            if len(pair) == 2 and not self._ignored(pair) and not self._touching(pair):
                (allowed if table[i, j] and table[j, i] else forbidden).add(pair)
        everything = (*self._group.chain.link_names, *object_ids(self._objects, now), *attached_ids(self._objects, now))
        for name, value in zip(matrix.default_entry_names, matrix.default_entry_values):
            pairs = {frozenset({name, other}) for other in everything if other != name}
            for pair in pairs - allowed - forbidden:
                (allowed if value else forbidden).add(pair)
        wanted = (now.allowed | self._all_parts(allowed)) - self._all_parts(forbidden)
        if wanted != now.allowed:
            self._world.set_allowed(wanted)
        return f"{len(allowed)} contacts allowed"

    def _all_parts(self, pairs: set[frozenset[str]]) -> set[frozenset[str]]:
        """The pairs, with every shape of an object for its id."""
        found = set()
        for pair in pairs:
            first, second = sorted(pair)
            for a in self._parts(first):
                found |= {frozenset({a, b}) for b in self._parts(second)}
        return found

    def _parts(self, name: str) -> tuple[str, ...]:
        composite = self._objects.find(name)
        return (name,) if composite is None else tuple(composite.parts)

    def _touching(self, pair: frozenset[str]) -> bool:
        """Whether a pair is an attached object and a link that it may touch anyway."""
        attached = self._world.snapshot().attached
        return any(
            name in attached and not (pair - {name}).isdisjoint({attached[name].link, *attached[name].touch_links})
            for name in pair
        )

    def _detach(self, id_: str, link: str) -> str:
        """Detach one object, or with an empty id all of a link, or with neither all."""
        now = self._world.snapshot()
        if id_:
            if id_ not in now.attached:
                raise UnknownObject(id_, dict.fromkeys(attached_ids(self._objects, now)), "attached object")
            self._objects.detach(id_, self._frame(now.attached[id_].link, 0))
            return f"{id_!r} detached"
        ids = [name for name in attached_ids(self._objects, now) if not link or now.attached[name].link == link]
        if not ids:
            raise InputError(f"nothing is attached{f' to {link!r}' if link else ''}; there is nothing to detach")
        for name in ids:
            self._detach(name, "")
        return f"{len(ids)} objects detached"


def _operation(message: CollisionObject) -> int:
    """A byte arrives as bytes of length one."""
    return message.operation[0] if isinstance(message.operation, bytes) else int(message.operation)
