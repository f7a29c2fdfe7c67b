"""Objects of one or several shapes in a world, edited by their id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from manipapy_core import lie
from manipapy_core.errors import InputError
from manipapy_core.geometry import World, WorldObject
from manipapy_core.geometry.distance import Shape
from manipapy_core.typing import Array

Part = tuple[Shape, Array]
"""A shape and its pose in the frame of the object, shape (4, 4)."""
_IDENTITY = np.eye(4)
_IDENTITY.setflags(write=False)


@dataclass
class CompositeObject:
    """An object of a world."""

    T_base_object: Array
    """Pose in the base, shape (4, 4); while it is attached, the last one before."""
    parts: dict[str, Array] = field(default_factory=dict)
    """Names of its shapes in the world, with their poses in the frame of the object, shape (4, 4)."""


class CompositeObjects:
    """Edits a world by objects of one or several shapes; called by one thread.

    The first shape has the name of the object, the others follow as `name/1`, `name/2`. Objects that were added to the
    world in another way count as objects of one shape.
    """

    def __init__(self, world: World):
        self._world = world
        self._known: dict[str, CompositeObject] = {}

    @property
    def ids(self) -> tuple[str, ...]:
        """Of objects that were added here and are still there."""
        return tuple(id_ for id_ in self._known if self.find(id_) is not None)

    def find(self, id_: str) -> CompositeObject | None:
        """An object that is in the world, attached or not."""
        now = self._world.snapshot()
        known = self._known.get(id_)
        if known is None and id_ in now.objects:
            return CompositeObject(now.objects[id_].T_base_object, {id_: _IDENTITY})
        if known is None or not all(name in now.objects or name in now.attached for name in known.parts):
            return None
        return known

    def is_attached(self, id_: str) -> bool:
        return id_ in self._world.snapshot().attached

    def add(self, id_: str, T_base_object: Array, parts: Sequence[Part]) -> CompositeObject:
        """Add an object, or replace the one of that id, in one edit of the world."""
        before = self.find(id_)
        composite = CompositeObject(T_base_object)
        items = self._items(composite, id_, parts)
        old = () if before is None else tuple(name for name in before.parts if name in self._world.snapshot().objects)
        self._world.update(items, remove=old)
        self._known[id_] = composite
        return composite

    def append(self, id_: str, parts: Sequence[Part]) -> CompositeObject:
        """Add shapes to an object, whose frame stays where it is."""
        before = self._require(id_)
        composite = CompositeObject(before.T_base_object, dict(before.parts))
        self._world.update(self._items(composite, id_, parts))
        self._known[id_] = composite
        return composite

    def move(self, id_: str, T_base_object: Array, poses: Sequence[Array] = ()) -> None:
        """Move an object in one edit of the world.

        Args:
            poses: New poses of its shapes in its frame, shape (4, 4) each; none: as they are.
        """
        before, now = self._require(id_), self._world.snapshot()
        if poses and len(poses) != len(before.parts):
            raise InputError(f"{id_!r} has {len(before.parts)} shapes, but {len(poses)} poses are given; give one each")
        if self.is_attached(id_):
            raise InputError(f"{id_!r} is attached to a link; detach it first")
        parts = dict(zip(before.parts, poses, strict=True)) if poses else before.parts
        self._world.update(
            WorldObject(name, now.objects[name].shape, T_base_object @ T_object_part)
            for name, T_object_part in parts.items()
        )
        self._known[id_] = CompositeObject(T_base_object, parts)

    def remove(self, id_: str) -> None:
        """Remove an object with all its shapes; one that is attached must be detached first."""
        composite = self._require(id_)
        if self.is_attached(id_):
            raise InputError(f"{id_!r} is attached to a link; detach it first")
        self._world.update(remove=composite.parts)
        self._known.pop(id_, None)

    def clear(self) -> None:
        """Remove all objects except attached ones."""
        self._world.clear()
        self._known = {id_: item for id_, item in self._known.items() if self.is_attached(id_)}

    def attach(self, id_: str, link: str, T_link_object: Array, touch_links: Sequence[str] = ()) -> None:
        """Let an object move with a link, at a pose in its frame, shape (4, 4)."""
        composite, done = self._require(id_), []
        if self.is_attached(id_):
            raise InputError(f"{id_!r} is attached to a link already; detach it first")
        try:
            for name, T_object_part in composite.parts.items():
                self._world.attach(name, link, T_link_object @ T_object_part, touch_links=tuple(touch_links))
                done.append(name)
        except InputError:
            for name in done:
                self._world.detach(name, composite.T_base_object @ composite.parts[name])
            raise
        self._known[id_] = composite

    def detach(self, id_: str, T_base_link: Array) -> None:
        """Leave an attached object where it is, given the pose of its link in the base, shape (4, 4)."""
        attached = self._world.snapshot().attached
        if id_ not in attached:
            raise InputError(f"{id_!r} is not attached; attached are: {', '.join(attached) or 'none'}")
        composite = self._known.get(id_, CompositeObject(_IDENTITY, {id_: _IDENTITY}))
        for name in composite.parts:
            self._world.detach(name, T_base_link @ attached[name].T_link_object)
        # The first shape tells where the frame of the object is.
        first = next(iter(composite.parts))
        T_base_object = T_base_link @ attached[first].T_link_object @ lie.inverse(composite.parts[first])
        self._known[id_] = CompositeObject(T_base_object, composite.parts)

    def _items(self, composite: CompositeObject, id_: str, parts: Sequence[Part]) -> list[WorldObject]:
        items = []
        for number, (shape, T_object_part) in enumerate(parts, start=len(composite.parts)):
            name = id_ if number == 0 else f"{id_}/{number}"
            composite.parts[name] = T_object_part
            items.append(WorldObject(name, shape, composite.T_base_object @ T_object_part))
        return items

    def _require(self, id_: str) -> CompositeObject:
        found = self.find(id_)
        if found is None:
            now = self._world.snapshot()
            raise InputError(
                f"there is no object {id_!r}; there are: {', '.join((*now.objects, *now.attached)) or 'none'}"
            )
        return found
