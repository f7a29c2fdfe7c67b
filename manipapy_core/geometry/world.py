"""The world of a robot: static objects, carried objects and allowed contacts.

Every edit makes a new immutable snapshot; a reader works on the one that it took.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..typing import Array
from .distance import Shape
from .fields import Octomap, PointCloud
from .shapes import Convex, Plane, pose_matrices, pose_matrix

SHAPES: tuple[type, ...] = get_args(Shape)


class UnknownObject(InputError):
    """A name that the world does not have."""

    def __init__(self, name: str, available: Mapping[str, object], kind: str = "object"):
        listing = ", ".join(available) or "none"
        super().__init__(f"no {kind} {name!r}; there are: {listing}")
        self.name, self.available = name, tuple(available)


@dataclass(frozen=True, eq=False)
class WorldObject:
    """A static object."""

    name: str
    shape: Shape
    T_base_object: Array
    """Pose in the base frame of the chain, shape (4, 4)."""


@dataclass(frozen=True, eq=False)
class AttachedObject:
    """An object that moves with a link."""

    name: str
    shape: Convex
    link: str
    T_link_object: Array
    """Pose in the frame of the link, shape (4, 4)."""
    touch_links: frozenset[str] = frozenset()
    """Links beside its own that it may touch, such as the fingers of a gripper."""


@dataclass(frozen=True, eq=False)
class WorldSnapshot:
    """The world at one moment."""

    objects: Mapping[str, WorldObject] = field(default_factory=lambda: MappingProxyType({}))
    attached: Mapping[str, AttachedObject] = field(default_factory=lambda: MappingProxyType({}))
    allowed: frozenset[frozenset[str]] = frozenset()
    """Pairs of names of links, objects and attached objects that may touch."""
    version: int = 0
    """Counts the edits."""

    def may_touch(self, first: str, second: str) -> bool:
        return frozenset({first, second}) in self.allowed


class World:
    """Named objects, attached objects and allowed contacts. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._snapshot = WorldSnapshot()

    def snapshot(self) -> WorldSnapshot:
        """The current world; later edits do not change it."""
        return self._snapshot

    @property
    def names(self) -> tuple[str, ...]:
        """Of all objects, then of those attached."""
        now = self._snapshot
        return (*now.objects, *now.attached)

    def add(self, name: str, shape: Shape, T_base_object: ArrayLike | None = None) -> None:
        """Adds an object, or replaces the one of that name.

        Args:
            T_base_object: Pose in the base frame of the chain, shape (4, 4); the base itself when not given.
        """
        pose = pose_matrix(np.eye(4) if T_base_object is None else T_base_object, "T_base_object")
        self.update([WorldObject(name, shape, pose)])

    def move(self, name: str, T_base_object: ArrayLike) -> None:
        pose = pose_matrix(T_base_object, "T_base_object")
        with self._lock:
            self._edit(objects={**self._snapshot.objects, name: WorldObject(name, self._object(name).shape, pose)})

    def remove(self, name: str) -> None:
        """Removes an object; what is attached must be detached first."""
        with self._lock:
            self._object(name)
            self._edit(objects={key: value for key, value in self._snapshot.objects.items() if key != name})

    def update(self, objects: Iterable[WorldObject] = (), remove: Iterable[str] = ()) -> None:
        """Adds or replaces several objects and removes others, all in one edit: no reader sees a part of it."""
        new = {item.name: item for item in objects}
        for item in new.values():
            if not isinstance(item.name, str) or not item.name:
                raise InputError(f"an object is named {item.name!r}; give a text that is not empty")
            _check_shape(item.name, item.shape)
        poses = pose_matrices([item.T_base_object for item in new.values()], "T_base_object")
        new = {item.name: WorldObject(item.name, item.shape, T) for item, T in zip(new.values(), poses)}
        gone = set(remove) - new.keys()
        with self._lock:
            for name in new:
                self._require_free(name)
            for name in gone:
                self._object(name)
            if new or gone:
                kept = {key: value for key, value in self._snapshot.objects.items() if key not in gone}
                self._edit(objects={**kept, **new})

    def clear(self) -> None:
        """Removes all objects; attached ones and allowed contacts stay."""
        with self._lock:
            self._edit(objects={})

    def attach(
        self, name: str, link: str, T_link_object: ArrayLike, *, touch_links: frozenset[str] | tuple[str, ...] = ()
    ) -> None:
        """Attaches an object of the world to a link, with which it moves from then on.

        Args:
            T_link_object: Pose in the frame of the link, shape (4, 4).
            touch_links: Links beside that one that it may touch.
        """
        pose = pose_matrix(T_link_object, "T_link_object")
        with self._lock:
            shape = self._object(name).shape
            if isinstance(shape, (Plane, PointCloud, Octomap)):
                raise InputError(f"object {name!r} is a {type(shape).__name__}; only convex shapes can be carried")
            taken = AttachedObject(name, shape, link, pose, frozenset(touch_links))
            objects = {key: value for key, value in self._snapshot.objects.items() if key != name}
            self._edit(objects=objects, attached={**self._snapshot.attached, name: taken})

    def detach(self, name: str, T_base_object: ArrayLike) -> None:
        """Detaches an object and places it at a pose in the base frame, shape (4, 4)."""
        pose = pose_matrix(T_base_object, "T_base_object")
        with self._lock:
            if name not in self._snapshot.attached:
                raise UnknownObject(name, self._snapshot.attached, "attached object")
            put = WorldObject(name, self._snapshot.attached[name].shape, pose)
            attached = {key: value for key, value in self._snapshot.attached.items() if key != name}
            self._edit(objects={**self._snapshot.objects, name: put}, attached=attached)

    def allow(self, first: str, second: str, allowed: bool = True) -> None:
        """Allows contact between two links or objects, or forbids it again. The names need not exist yet."""
        if first == second:
            raise InputError(f"{first!r} with itself is no contact; give two names")
        pair = frozenset({first, second})
        with self._lock:
            now = self._snapshot.allowed
            self._edit(allowed=now | {pair} if allowed else now - {pair})

    def set_allowed(self, pairs: Iterable[Iterable[str]]) -> None:
        """Replaces all pairs of links and objects that may touch, in one edit. The names need not exist yet."""
        wanted = frozenset(frozenset(pair) for pair in pairs)
        for pair in wanted:
            if len(pair) != 2:
                raise InputError(f"{sorted(pair)} is no pair of names; give two that differ")
        with self._lock:
            self._edit(allowed=wanted)

    def _require_free(self, name: str) -> None:
        if name in self._snapshot.attached:
            raise InputError(f"object {name!r} is attached to a link; detach it first, or choose another name")

    def _object(self, name: str) -> WorldObject:
        if name not in self._snapshot.objects:
            raise UnknownObject(name, self._snapshot.objects)
        return self._snapshot.objects[name]

    def _edit(
        self,
        objects: Mapping[str, WorldObject] | None = None,
        attached: Mapping[str, AttachedObject] | None = None,
        allowed: frozenset[frozenset[str]] | None = None,
    ) -> None:
        now = self._snapshot
        self._snapshot = WorldSnapshot(
            now.objects if objects is None else MappingProxyType(objects),
            now.attached if attached is None else MappingProxyType(attached),
            now.allowed if allowed is None else allowed,
            now.version + 1,
        )


def _check_shape(name: str, shape: object) -> None:
    if not isinstance(shape, SHAPES):
        raise InputError(
            f"object {name!r} is {type(shape).__name__}; give a Sphere, Capsule, Box, Cylinder, ConvexMesh, Plane, "
            "PointCloud or Octomap"
        )
