"""Tables of the checker from a robot's body and a snapshot of its world."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import UnknownLink
from ..typing import Array
from .body import Group, GroupPair, RobotBody, link_frames, make_group, overshoot_of
from .cover import cover
from .levers import reach_of
from .object_tables import object_tables
from .parts import Part, centred_part
from .shapes import Convex
from .tables import CheckerTables, Padding, RobotTables, robot_tables, scene_tables
from .world import AttachedObject, WorldSnapshot

if TYPE_CHECKING:
    from .codegen.engine import FramesCode


def scene_of(
    body: RobotBody,
    snapshot: WorldSnapshot,
    frames: FramesCode,
    padding: Padding,
    last: CheckerTables | None = None,
    other: CheckerTables | None = None,
) -> CheckerTables:
    """Tables of a robot with its carried objects, padded, in its world.

    Args:
        last: Of another snapshot: as much of them as possible is used again.
        other: Of this snapshot with another padding: the objects are the same.
    """
    carried = tuple(snapshot.attached.values())
    robot = _robot_tables(body, carried, _between_links(snapshot), frames, padding)
    near = last if other is None else other
    known = near.objects if near is not None and _same_order(near.robot, robot) else None
    objects = object_tables(snapshot.objects, _allowed_bits(robot, snapshot), robot.pieces.counts, known)
    return scene_tables(robot, objects, last)


def _same_order(first: RobotTables, second: RobotTables) -> bool:
    """Whether the rows of objects are the same beside two robots."""
    return first is second or (first.pieces.counts == second.pieces.counts and first.names == second.names)


def _between_links(snapshot: WorldSnapshot) -> frozenset[frozenset[str]]:
    """Allowed contacts without those of static objects, which do not concern the tables of the robot."""
    if not snapshot.allowed:
        return snapshot.allowed
    return frozenset(pair for pair in snapshot.allowed if snapshot.objects.keys().isdisjoint(pair))


@functools.lru_cache(maxsize=64)
def _robot_tables(
    body: RobotBody,
    carried: tuple[AttachedObject, ...],
    allowed: frozenset[frozenset[str]],
    frames: FramesCode,
    padding: Padding,
) -> RobotTables:
    attached = {item.name: item for item in carried}
    groups, pairs = groups_and_pairs(body, WorldSnapshot(attached=attached, allowed=allowed))
    chain = body.chain
    return robot_tables(
        frames.address, chain.n, len(chain.bodies), groups, pairs, padding=padding, keep_alive=(frames, tuple(groups)),
        reach=reach_of(chain, groups, pairs),
    )  # fmt: skip


def groups_and_pairs(body: RobotBody, snapshot: WorldSnapshot) -> tuple[list[Group], list[GroupPair]]:
    """The robot's links and carried objects, those fixed to the base first, and the pairs that must not touch."""
    carried = [carried_group(body, item) for item in snapshot.attached.values()]
    static = [group for group in (*body.groups, *carried) if group.frame == 0]
    groups = [*static, *(group for group in (*carried, *body.groups) if group.frame > 0)]
    numbers = {group.name: index for index, group in enumerate(groups)}
    pairs = []
    for pair in body.pairs:
        first, second = body.groups[pair.first].name, body.groups[pair.second].name
        if not snapshot.may_touch(first, second):
            pairs.append(GroupPair(numbers[first], numbers[second], pair.part_pairs, pair.comes_near, pair.clearances))
    for item in snapshot.attached.values():
        pairs += _carried_pairs(item, groups, numbers, snapshot)
    return groups, pairs


def _allowed_bits(robot: RobotTables, snapshot: WorldSnapshot) -> dict[str, int]:
    """By name of an object that some group may touch: the bits of those groups."""
    bits: dict[str, int] = {}
    numbers = {name: index for index, name in enumerate(robot.names)} if snapshot.allowed else {}
    for pair in snapshot.allowed:
        for name in pair & snapshot.objects.keys():
            for other in pair - {name}:
                if other in numbers:
                    bits[name] = bits.get(name, 0) | 1 << numbers[other]
    return bits


@functools.lru_cache(maxsize=64)
def carried_group(body: RobotBody, item: AttachedObject) -> Group:
    """Collision geometry of a carried object, in the frame of the body that it moves with."""
    frames = link_frames(body.chain)
    if item.link not in frames:
        raise UnknownLink(item.link, body.chain.link_names)
    R, p = frames[item.link]
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    part = centred_part(item.shape, T @ item.T_link_object)
    own = _own_spheres(item.shape, body.overshoot)
    middle = part.T_frame_shape
    spheres = np.column_stack([own[:, :3] @ middle[:3, :3].T + middle[:3, 3], own[:, 3:]])
    return make_group(item.name, body.frame_of(item.link), (part,), spheres)


def carried_spheres(body: RobotBody, item: AttachedObject) -> Array:
    """Covering spheres of a carried object in the frame of its link: centre and radius [m], shape (spheres, 4)."""
    group = carried_group(body, item)
    R, p = link_frames(body.chain)[item.link]
    return np.column_stack([(group.spheres[:, :3] - p) @ R, group.spheres[:, 3]])


@functools.lru_cache(maxsize=256)
def _own_spheres(shape: Convex, overshoot: float) -> Array:
    """Covering spheres of a carried shape about its middle; cached because the same object is often picked up again."""
    parts = (Part(centred_part(shape, np.eye(4)).shape, np.eye(4)),)
    return cover(parts, overshoot_of(parts, overshoot))


def _carried_pairs(
    item: AttachedObject, groups: Sequence[Group], numbers: dict[str, int], snapshot: WorldSnapshot
) -> list[GroupPair]:
    """Pairs of a carried object with everything that does not move with it, except the links that it may touch."""
    own = numbers[item.name]
    free = {item.link, *item.touch_links}
    pairs = []
    for index, group in enumerate(groups):
        same = group.frame == groups[own].frame
        counted = group.name in snapshot.attached and index <= own
        if same or counted or group.name in free or snapshot.may_touch(item.name, group.name):
            continue
        pairs.append(GroupPair(own, index, tuple((0, part) for part in range(len(group.parts)))))
    return pairs
