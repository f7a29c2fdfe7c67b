"""What touches what at one configuration: the names behind a collision check."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import kinematics
from ..typing import Array
from .body import Group, link_frames
from .checker import Checker
from .gjk import convex_distance
from .parts import Part
from .shapes import Box, Capsule, Convex, ConvexMesh, Cylinder, Sphere
from .table_builder import groups_and_pairs
from .world import WorldSnapshot

CONVEX = (Box, Capsule, ConvexMesh, Cylinder, Sphere)


def contact_names(checker: Checker, q: ArrayLike, *, snapshot: WorldSnapshot | None = None) -> list[tuple[str, str]]:
    """Pairs of links, and of links and objects, that overlap; empty for a configuration that is free.

    Pairs are found by the covering spheres, and confirmed by the convex parts where both have some. A configuration
    that the checker rejects only because of its spheres has the pairs of the spheres.

    Args:
        q: Joint positions [rad or m], shape (n,).
        snapshot: World; the newest of the checker when not given.
    """
    row = np.asarray(q, dtype=np.float64)
    world = checker.world.snapshot() if snapshot is None else snapshot
    if not checker.check(row[None], snapshot=world)[0]:
        return []
    candidates: dict[tuple[str, str], float] = {}
    groups, pairs = groups_and_pairs(checker.body, world)
    poses = _frame_poses(checker, row)
    by_name = {group.name: group for group in groups}
    for pair in pairs:
        first, second = groups[pair.first], groups[pair.second]
        if _spheres_overlap(first, poses[first.frame], second, poses[second.frame]):
            parts = ((first.parts[i], second.parts[j]) for i, j in pair.part_pairs)
            candidates[first.name, second.name] = min(
                _part_distance(a, poses[first.frame], b.shape, poses[second.frame] @ b.T_frame_shape) for a, b in parts
            )
    for link, item in _near_objects(checker, row, world):
        shape, group = world.objects[item].shape, by_name[link]
        if isinstance(shape, CONVEX):
            T = world.objects[item].T_base_object
            candidates[link, item] = min(_part_distance(part, poses[group.frame], shape, T) for part in group.parts)
        else:
            candidates[link, item] = 0.0
    confirmed = [names for names, distance in candidates.items() if distance <= checker.padding]
    return sorted(confirmed or candidates, key=lambda names: candidates[names])


def _near_objects(checker: Checker, q: Array, world: WorldSnapshot) -> list[tuple[str, str]]:
    found = checker.distances(q, snapshot=world)
    rows = zip(found.links, found.distance, found.object_index, strict=True)
    return [
        (link, found.object_names[index])
        for link, distance, index in rows
        if index >= 0 and distance <= checker.padding and found.object_names[index] in world.objects
    ]


def _spheres_overlap(first: Group, T_first: Array, second: Group, T_second: Array) -> bool:
    a = first.spheres[:, :3] @ T_first[:3, :3].T + T_first[:3, 3]
    b = second.spheres[:, :3] @ T_second[:3, :3].T + T_second[:3, 3]
    apart = np.linalg.norm(a[:, None] - b[None], axis=-1)
    return bool((apart <= first.spheres[:, None, 3] + second.spheres[None, :, 3]).any())


def _part_distance(part: Part, T_frame: Array, shape: Convex, T_shape: Array) -> float:
    return convex_distance(part.shape, T_frame @ part.T_frame_shape, shape, T_shape)[0]


def _frame_poses(checker: Checker, q: Array) -> dict[int, Array]:
    """Poses of the bodies that links move with, by their numbers, shape (4, 4) each."""
    chain = checker.body.chain
    frames, links = link_frames(chain), kinematics.link_poses(chain, q)
    poses = {0: np.eye(4)}
    for name, T_base_link in zip(chain.link_names, links, strict=True):
        R, p = frames[name]
        back = np.eye(4)
        back[:3, :3], back[:3, 3] = R.T, -R.T @ p
        poses[checker.body.frame_of(name)] = T_base_link @ back
    return poses
