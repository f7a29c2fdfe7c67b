"""Solids of an arm and its world as arrays, for the search of near points."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..geometry import Octomap, Plane, PointCloud, RobotBody, WorldSnapshot
from ..geometry.body import Group
from ..geometry.gjk import SolidTable
from ..geometry.parts import Part, centred_part
from ..geometry.shapes import Box, Convex
from ..geometry.table_builder import groups_and_pairs
from ..geometry.world import AttachedObject, WorldObject
from ..typing import Array

PLANE_EXTENT = 50.0
"""A plane is a box of this half length below it [m]."""


@dataclass(frozen=True, eq=False)
class ArmTables:
    """Links and carried objects as solids, and the pairs of them that can collide."""

    groups: tuple[Group, ...]
    solids: SolidTable
    """The parts of all groups, one group after the other."""
    first: NDArray[np.int64]
    """Where the solids of each group begin, shape (groups + 1,)."""
    frame: NDArray[np.int64]
    """Frame of each group, shape (groups,)."""
    T_frame_solid: Array
    """Shape (solids, 4, 4)."""
    balls: Array
    """Centre in its frame and radius of a ball around each group [m], shape (groups, 4)."""
    pairs: NDArray[np.int64]
    """Groups of each pair, and where its rows of `parts` begin and end, shape (pairs, 4)."""
    parts: NDArray[np.int64]
    """Solids of the part pairs, shape (part pairs, 2)."""


@dataclass(frozen=True, eq=False)
class SceneTables:
    """An arm and its world; after the arm's solids come those of the objects, and one of a cell."""

    arm: ArmTables
    solids: SolidTable
    T_base_object: Array
    """Of the objects' solids and the cell, shape (objects + 1, 4, 4)."""
    object_names: tuple[str, ...]
    pairs: NDArray[np.int64]
    """Group and object that must not touch, shape (pairs, 2)."""
    fields: tuple[tuple[WorldObject, Array, NDArray[np.bool_]], ...]
    """Point clouds and octomaps: the object; its cells, centre in the base frame and half edge [m], shape (cells, 4);
    which groups must not touch it, shape (groups,)."""

    @functools.cached_property
    def frame_of_solid(self) -> NDArray[np.int64]:
        """Frame of each solid; 0 for objects and the cell, which are given in the base frame."""
        own = np.repeat(self.arm.frame, np.diff(self.arm.first))
        return np.concatenate([own, np.zeros(len(self.T_base_object), dtype=np.int64)])

    @functools.cached_property
    def T_frame_solid(self) -> Array:
        """Of all solids, shape (solids, 4, 4)."""
        return np.concatenate([self.arm.T_frame_solid, self.T_base_object])

    @functools.cached_property
    def part_pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs of parts that must not touch, and the pairs of bodies that they belong to.

        Returns:
            Solids, shape (part pairs, 2). Per pair of bodies: group, the other group or number of groups + solid of the
            object, start and end of their parts, shape (pairs, 4).
        """
        arm, objects_at = self.arm, len(self.arm.T_frame_solid)
        parts, pairs, end = [arm.parts], [tuple(pair) for pair in arm.pairs.tolist()], len(arm.parts)
        for group, item in self.pairs.tolist():
            own = np.arange(arm.first[group], arm.first[group + 1])
            parts.append(np.column_stack([own, np.full(len(own), objects_at + item)]))
            pairs.append((group, len(arm.groups) + objects_at + item, end, end + len(own)))
            end += len(own)
        return np.ascontiguousarray(np.concatenate(parts)), np.array(pairs, dtype=np.int64).reshape(-1, 4)


@functools.lru_cache(maxsize=32)
def arm_tables(body: RobotBody, attached: tuple[AttachedObject, ...], allowed: frozenset[frozenset[str]]) -> ArmTables:
    """Tables of an arm with the objects that it carries."""
    groups, pairs = groups_and_pairs(
        body, WorldSnapshot(attached={item.name: item for item in attached}, allowed=allowed)
    )
    counts = [len(group.parts) for group in groups]
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    rows, parts, end = [], [], 0
    for pair in pairs:
        if pair.comes_near:
            rows.append((pair.first, pair.second, end, end + len(pair.part_pairs)))
            parts.append(np.array(pair.part_pairs, dtype=np.int64) + first[[pair.first, pair.second]])
            end += len(pair.part_pairs)
    return ArmTables(
        tuple(groups),
        SolidTable.of([part.shape for group in groups for part in group.parts]),
        first,
        np.array([group.frame for group in groups], dtype=np.int64),
        np.array([part.T_frame_shape for group in groups for part in group.parts]).reshape(-1, 4, 4),
        np.array([[*group.centre, group.bound] for group in groups]).reshape(-1, 4),
        np.array(rows, dtype=np.int64).reshape(-1, 4),
        np.concatenate([np.zeros((0, 2), np.int64), *parts]),
    )


@functools.lru_cache(maxsize=32)
def scene_tables(body: RobotBody, snapshot: WorldSnapshot) -> SceneTables:
    """Tables of an arm in a world."""
    arm = arm_tables(body, tuple(snapshot.attached.values()), snapshot.allowed)
    moving = [index for index, group in enumerate(arm.groups) if group.frame > 0]
    shapes: list[Convex] = []
    poses, names, pairs, fields = [], [], [], []
    for item in snapshot.objects.values():
        bounded = [index for index in moving if not snapshot.may_touch(arm.groups[index].name, item.name)]
        if isinstance(item.shape, (PointCloud, Octomap)):
            mask = np.zeros(len(arm.groups), dtype=np.bool_)
            mask[bounded] = True
            fields.append((item, _cells(item), mask))
            continue
        if isinstance(item.shape, Plane):
            part = _as_box(item.shape, item.T_base_object)
        else:
            part = centred_part(item.shape, item.T_base_object)
        pairs += [(index, len(shapes)) for index in bounded]
        shapes.append(part.shape)
        poses.append(part.T_frame_shape)
        names.append(item.name)
    shapes.append(Box(np.full(3, 1e-3)))
    poses.append(np.eye(4))
    return SceneTables(
        arm,
        arm.solids.joined(SolidTable.of(shapes)),
        np.array(poses),
        tuple(names),
        np.array(pairs, dtype=np.int64).reshape(-1, 2),
        tuple(fields),
    )


def _cells(item: WorldObject) -> Array:
    shape, T = item.shape, item.T_base_object
    if isinstance(shape, PointCloud):
        # The points themselves, not the cells of the checker, because the directions must be exact.
        centres, half = shape.points, np.zeros(len(shape.points))
    else:
        assert isinstance(shape, Octomap)
        centres, half = shape.centres, 0.5 * shape.sizes
    return np.ascontiguousarray(np.column_stack([centres @ T[:3, :3].T + T[:3, 3], half]))


def _as_box(plane: Plane, T_base_object: Array) -> Part:
    """A box whose upper face lies in the plane, near the origin of the base."""
    normal = T_base_object[:3, :3] @ plane.normal
    offset = plane.offset + normal @ T_base_object[:3, 3]
    T = np.eye(4)
    T[:3, 2] = normal
    T[:3, 0] = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    T[:3, 0] /= np.linalg.norm(T[:3, 0])
    T[:3, 1] = np.cross(normal, T[:3, 0])
    T[:3, 3] = (offset - PLANE_EXTENT) * normal
    return Part(Box(np.full(3, 2.0 * PLANE_EXTENT)), T)
