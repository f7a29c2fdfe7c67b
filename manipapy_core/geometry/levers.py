"""How far points of the arm move per motion of each joint, at most, wherever the arm is.

By the triangle inequality over the frames of the bodies: a joint's axis passes through the origin of its body's frame,
so a point turns about it at most at the sum of the distances in between.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ..compiler import mechanism_of
from ..compiler.mechanism import Body
from ..model.chain import Chain
from ..typing import Array
from .body import Group, GroupPair

ROUNDING = 1.0 + 1e-6
"""Levers in single precision are at least those in double precision."""
STILL = 1e-9
"""A translation shorter than this is none [m]."""
LONGEST = 1e6
"""Finite, also where a prismatic joint has no limits [m]."""


@dataclass(frozen=True, eq=False)
class GroupReach:
    """Where the groups of a robot can be, and how fast they get there."""

    levers: NDArray[np.float32]
    """Of every group against the base, then of every pair [m/rad or 1], shape (groups + pairs, n)."""
    centres: Array
    """Of a ball for each group that it never leaves [m], shape (groups, 3)."""
    radii: Array
    """Of these balls [m], shape (groups,)."""


def reach_of(chain: Chain, groups: Sequence[Group], pairs: Sequence[GroupPair]) -> GroupReach:
    balls = [reach_ball(chain, group) for group in groups]
    centres = np.array([centre for centre, _ in balls]).reshape(-1, 3)
    return GroupReach(_lever_rows(chain, groups, pairs), centres, np.array([radius for _, radius in balls]))


def _lever_rows(chain: Chain, groups: Sequence[Group], pairs: Sequence[GroupPair]) -> NDArray[np.float32]:
    rows = np.zeros((len(groups) + len(pairs), chain.n))
    for row, group in zip(rows, groups):
        row[:] = reaches(chain, group)
    for row, pair in zip(rows[len(groups) :], pairs):
        for joint, lever in levers(chain, groups[pair.first], groups[pair.second]).items():
            row[joint] = lever
    return np.minimum(ROUNDING * rows, LONGEST).astype(np.float32)


@functools.lru_cache(maxsize=256)
def reaches(chain: Chain, group: Group) -> Array:
    """How far points of a group move per motion of each joint [m/rad or 1], shape (n,); read-only."""
    bodies = _bodies(chain)
    found, distance = np.zeros(chain.n), _farthest(group)
    for index in _path(bodies, group.frame):
        body = bodies[index]
        found[body.dof] += abs(body.ratio) * (distance if body.revolute else 1.0)
        distance += float(np.linalg.norm(body.translation)) + _travel(chain, body)
    found.setflags(write=False)
    return found


@functools.lru_cache(maxsize=256)
def reach_ball(chain: Chain, group: Group) -> tuple[Array, float]:
    """Centre [m], shape (3,), and radius of a ball that a group never leaves.

    The first joint's origin stands still, and so does that of the next one where it is on the first one's axis.
    """
    bodies, centre, radius = _bodies(chain), np.zeros(3), _farthest(group)
    path = _path(bodies, group.frame)[::-1]
    still = 0
    for place, index in enumerate(path):
        body, step = bodies[index], np.array(bodies[index].translation)
        along = np.linalg.norm(step[:2]) < STILL if place == 1 else np.linalg.norm(step) < STILL
        if place != still or not (body.revolute and (place == 0 or along)):
            radius += float(np.linalg.norm(step)) + _travel(chain, body)
            continue
        still = place + 1
        if place == 0:
            centre, axis = step, np.array(body.rotation)[[2, 5, 8]]
        elif place == 1:
            centre = centre + step[2] * axis
    return centre, radius


def _farthest(group: Group) -> float:
    """Distance of the farthest point from the origin of the frame [m]."""
    return max(float(np.linalg.norm(part.farthest_from(np.zeros(3)))) for part in group.parts)


@functools.lru_cache(maxsize=4096)
def levers(chain: Chain, first: Group, second: Group) -> Mapping[int, float]:
    """For each joint between two groups: how far a point of one moves against the other per unit of q, at most."""
    bodies = _bodies(chain)
    carriers = [_path(bodies, group.frame) for group in (first, second)]
    common = set(carriers[0]) & set(carriers[1])
    found: dict[int, float] = {}
    for group, path in zip((first, second), carriers):
        reach = float(np.linalg.norm(group.centre)) + group.bound
        for index in path:
            if index in common:
                break
            body = bodies[index]
            rate = abs(body.ratio) * (reach if body.revolute else 1.0)
            found[body.dof] = found.get(body.dof, 0.0) + rate
            reach += float(np.linalg.norm(body.translation)) + _travel(chain, body)
    return MappingProxyType(found)


@functools.lru_cache(maxsize=16)
def _bodies(chain: Chain) -> Sequence[Body]:
    return mechanism_of(chain).bodies


def _path(bodies: Sequence[Body], frame: int) -> list[int]:
    """Bodies from a frame down to the base."""
    path = []
    index = frame - 1
    while index >= 0:
        path.append(index)
        index = bodies[index].parent
    return path


def _travel(chain: Chain, body: Body) -> float:
    """How far a prismatic joint moves its body from its place at q = 0 [m]."""
    if body.revolute:
        return 0.0
    return abs(body.ratio) * float(max(abs(chain.limits.lower[body.dof]), abs(chain.limits.upper[body.dof])))
