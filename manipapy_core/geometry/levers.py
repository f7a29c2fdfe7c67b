"""How far points of the arm move per motion of each joint, at most, wherever the arm is.

By the triangle inequality over the frames of the bodies: a joint's axis passes through the origin of its body's frame,
so a point turns about it at most at the sum of the distances in between.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
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
LONGEST = 1e6
"""Finite, also where a prismatic joint has no limits [m]."""


def lever_rows(chain: Chain, groups: Sequence[Group], pairs: Sequence[GroupPair]) -> NDArray[np.float32]:
    """Levers of every group against the base, then of every pair, shape (groups + pairs, n) [m/rad or 1]."""
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
    origin, found = np.zeros(3), np.zeros(chain.n)
    distance = max(float(np.linalg.norm(part.farthest_from(origin))) for part in group.parts)
    for index in _path(bodies, group.frame):
        body = bodies[index]
        found[body.dof] += abs(body.ratio) * (distance if body.revolute else 1.0)
        distance += float(np.linalg.norm(body.translation)) + _travel(chain, body)
    found.setflags(write=False)
    return found


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
