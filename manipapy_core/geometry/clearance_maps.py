"""How far two links stay apart over the two joints between them, in a table.

Links with one link between them pass each other at millimetres in every configuration: bounding balls and spheres never
decide, and their convex parts are compared each time. Where they are depends on two joints only. Over a grid of these
the distance is bounded from below once, from contacts at ever more padding and from how far parts move inside a cell.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..model.chain import Chain
from ..typing import Array
from .body import ClearanceMap, Group, GroupPair, make_group
from .codegen.engine import checker_code, frames_code, workspace
from .codegen.layout import MAP_CELLS
from .levers import levers
from .tables import Padding, robot_tables, scene_tables

SAMPLES = (12, 48)
"""Per cell and joint; the second where the first leave most cells below `ENOUGH`."""
ENOUGH = 1.2e-3
"""Distance that planners keep between links, with the safety margin, and a little more [m]."""
PADDINGS = (0.0007, 0.001, 0.0015, 0.002, 0.003, 0.004, 0.006, 0.009, 0.013, 0.02, 0.03)
"""Of each link, tried in this order [m]."""
ROUNDING = 1e-4
"""Added to half the width of a cell [rad]: joint positions in single precision may fall into the next one."""
TURN = 2.0 * np.pi


def clearance_map(chain: Chain, groups: Sequence[Group], pair: GroupPair) -> ClearanceMap | None:
    """The table of a pair of links; None if they have not two revolute joints between them."""
    both = groups[pair.first], groups[pair.second]
    joints = tuple(sorted(levers(chain, *both)))
    turning = all(body.revolute and body.ratio == 1.0 for body in chain.bodies if body.dof in joints)
    if len(joints) != 2 or not turning:
        return None
    least = np.full((MAP_CELLS, MAP_CELLS), np.inf)
    for part_pairs in _by_lever(chain, both, pair):
        for samples in SAMPLES:
            found = _least_distances(chain, both, part_pairs, joints, samples)
            if np.median(found) > ENOUGH:
                break
        least = np.minimum(least, found)
    around = np.min([np.roll(least, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)], axis=0)
    return ClearanceMap(joints, np.stack([least, around], axis=-1).astype(np.float32))


def _by_lever(chain: Chain, both: tuple[Group, Group], pair: GroupPair) -> list[list[tuple[int, int]]]:
    """Pairs of parts near the joints and far from them: those near, which are close together, move less."""
    ways = [sum(levers(chain, *_only(both, [parts])).values()) for parts in pair.part_pairs]
    middle = 0.5 * (min(ways) + max(ways))
    near = [parts for parts, way in zip(pair.part_pairs, ways) if way <= middle]
    far = [parts for parts, way in zip(pair.part_pairs, ways) if way > middle]
    return [parts for parts in (near, far) if parts]


def _only(both: tuple[Group, Group], part_pairs: Sequence[tuple[int, int]]) -> tuple[Group, Group]:
    """The two groups with these parts alone."""
    first, second = (
        make_group(group.name, group.frame, tuple(group.parts[i] for i in sorted({p[side] for p in part_pairs})),
                   group.spheres)
        for side, group in enumerate(both)
    )  # fmt: skip
    return first, second


def _least_distances(
    chain: Chain, both: tuple[Group, Group], part_pairs: list[tuple[int, int]], joints: tuple[int, int], samples: int
) -> Array:
    """Lower bound in each cell [m], shape (cells, cells)."""
    rates = levers(chain, *_only(both, part_pairs))
    half = 0.5 * TURN / (MAP_CELLS * samples) + ROUNDING
    moved = half * sum(rates.values())
    frames, code = frames_code(chain), checker_code()
    pair = GroupPair(0, 1, tuple(part_pairs))
    scenes = [
        scene_tables(
            robot_tables(
                frames.address, chain.n, len(chain.bodies), both, [pair], padding=Padding(own=pad), keep_alive=frames
            )
        )
        for pad in PADDINGS
    ]
    work = workspace(scenes[0].work_vectors)
    angles = TURN * (np.arange(MAP_CELLS * samples) + 0.5) / (MAP_CELLS * samples)
    least = np.empty((MAP_CELLS, MAP_CELLS))
    q = np.zeros((samples * len(angles), chain.n))
    q[:, joints[1]] = np.tile(angles, samples)
    for cell in range(MAP_CELLS):
        q[:, joints[0]] = np.repeat(angles[cell * samples : (cell + 1) * samples], len(angles))
        apart = np.zeros(len(q))
        open_rows = np.arange(len(q))
        for pad, scene in zip(PADDINGS, scenes):
            rows, hits = np.ascontiguousarray(q[open_rows]), np.empty(len(open_rows), dtype=np.bool_)
            code.calls["check"](scene.address, rows.ctypes.data, len(rows), work.ctypes.data, hits.ctypes.data)
            open_rows = open_rows[~hits]
            apart[open_rows] = 2.0 * pad
        least[cell] = apart.reshape(samples, MAP_CELLS, samples).min(axis=(0, 2)) - moved
    return least
