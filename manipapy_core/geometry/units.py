"""Links that are fixed to each other, taken together: one ball is compared before those of the links.

A gripper is many links on one body. The hierarchy of a check begins with one ball per body.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..typing import Array
from .body import Group, GroupPair
from .codegen.layout import MOST_GROUPS
from .parts import enclosing_ball


@dataclass(frozen=True, eq=False)
class Units:
    """Groups by their frames, and pairs by the frames of their groups."""

    members: tuple[tuple[int, ...], ...]
    """Groups of every unit; neighbours in the order of groups."""
    balls: tuple[tuple[Array, float], ...]
    """Centre and radius around each unit of more than one group [m]."""
    rows: tuple[int, ...]
    """Row of each unit's ball: the group's own, or one behind those of all groups."""
    order: NDArray[np.int64]
    """Of the pairs, so that those between the same two units are neighbours."""
    blocks: tuple[tuple[int, int, int, int], ...]
    """Rows of the balls of two units, and the first and last of their pairs in this order."""


def units_of(groups: Sequence[Group], pairs: Sequence[GroupPair]) -> Units:
    runs = [tuple(run) for _, run in itertools.groupby(range(len(groups)), lambda index: groups[index].frame)]
    if len(groups) + len(runs) > MOST_GROUPS:
        runs = [(index,) for index in range(len(groups))]
    rows: list[int] = []
    balls: list[tuple[Array, float]] = []
    unit_of: dict[int, int] = {}
    for unit, run in enumerate(runs):
        unit_of.update(dict.fromkeys(run, unit))
        if len(run) == 1:
            rows.append(run[0])
            continue
        rows.append(len(groups) + len(balls))
        balls.append(enclosing_ball([part for index in run for part in groups[index].parts]))
    between: dict[tuple[int, int], list[int]] = {}
    for index, pair in enumerate(pairs):
        between.setdefault((unit_of[pair.first], unit_of[pair.second]), []).append(index)
    ends = np.cumsum([0, *(len(members) for members in between.values())]).tolist()
    blocks = [(rows[a], rows[b], *ends[i : i + 2]) for i, (a, b) in enumerate(between)]
    order = np.array([index for members in between.values() for index in members], dtype=np.int64)
    return Units(tuple(runs), tuple(balls), tuple(rows), order, tuple(blocks))
