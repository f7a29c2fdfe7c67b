"""How far two links stay apart over the two joints between them, in a table.

Links with one link between them pass each other at millimetres in every configuration: bounding balls and spheres never
decide, and their convex parts are compared each time. Where they are depends on two joints only. Over a grid of these
the distance is bounded from below once, from contacts at ever more padding and from how far parts move inside a cell.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..model.chain import Chain
from ..typing import Array
from .body import ClearanceMap, Group, GroupPair, make_group
from .codegen.engine import checker_code, frames_code, workspace
from .codegen.layout import MAP_CELLS
from .levers import levers
from .tables import CheckerTables, Padding, robot_tables, scene_tables

SAMPLES = (3, 6, 12, 24, 48)
"""Per cell and joint. More are taken in cells that fewer leave below `ENOUGH`."""
USUAL = 12
"""More than this many are taken only if most cells are below `ENOUGH`, and may be above."""
MOST_CHECKS = 9_000_000
"""Of pairs of parts with more samples than the fewest: up to a second."""
ENOUGH = 1.2e-3
"""Distance that planners keep between links, with the safety margin, and a little more [m]."""
NEEDED = ENOUGH + 1e-5
"""Least distance that is looked for with more samples [m]."""
PADDINGS = (0.0007, 0.0011, 0.0018, 0.003, 0.005, 0.009, 0.017, 0.03)
"""Of each link, tried in this order with the fewest samples [m]."""
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
        # What other parts have left in contact, these cannot mend.
        found, unsure = np.full(least.shape, -np.inf), least > 0.0
        distances = _LeastDistances(chain, both, part_pairs, joints)
        for samples in SAMPLES:
            if samples > SAMPLES[0] and np.count_nonzero(unsure) * samples**2 * len(part_pairs) > MOST_CHECKS:
                break
            apart = distances.at(samples, unsure)
            found = np.where(unsure, np.maximum(found, apart - distances.moved(samples)), found)
            # More samples do not help where one of few is in contact, or other parts are too close.
            unsure &= (found <= ENOUGH) & (apart > 0.0) & (least > ENOUGH)
            known, possible = np.mean(found > ENOUGH), np.mean((found > ENOUGH) | unsure)
            if possible == known or (samples >= USUAL and (known > 0.5 or possible < 0.5)):
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


class _LeastDistances:
    """Lower bounds of the distance of some pairs of parts of two links.

    Args:
        part_pairs: Indices of the parts in the two groups.
        joints: The two joints between the links.
    """

    def __init__(
        self, chain: Chain, both: tuple[Group, Group], part_pairs: list[tuple[int, int]], joints: tuple[int, int]
    ):
        self._chain, self._both, self._joints = chain, both, joints
        self._pair, self._frames = GroupPair(0, 1, tuple(part_pairs)), frames_code(chain)
        self._rate = sum(levers(chain, *_only(both, part_pairs)).values())
        self._scenes: dict[float, CheckerTables] = {}

    def moved(self, samples: int) -> float:
        """How far the parts move from a sample to the edge of its part of a cell, at most [m]."""
        return (0.5 * TURN / (MAP_CELLS * samples) + ROUNDING) * self._rate

    def at(self, samples: int, wanted: NDArray[np.bool_]) -> Array:
        """Lower bound at all samples of a cell [m], shape (cells, cells).

        Args:
            samples: Per cell and joint.
            wanted: Cells to look at, shape (cells, cells). The others get 0.
        """
        angles = TURN * (np.arange(MAP_CELLS * samples) + 0.5) / (MAP_CELLS * samples)
        apart = np.zeros((MAP_CELLS, MAP_CELLS))
        q = np.zeros((MAP_CELLS, samples, samples, self._chain.n))
        q[..., self._joints[1]] = angles.reshape(MAP_CELLS, 1, samples)
        for cell in range(MAP_CELLS):
            q[..., self._joints[0]] = angles[cell * samples : (cell + 1) * samples, None]
            open_cells = np.flatnonzero(wanted[cell])
            if samples == SAMPLES[0]:
                for pad in PADDINGS:
                    open_cells = open_cells[self._free(pad, q[open_cells])]
                    apart[cell, open_cells] = 2.0 * pad
                continue
            # Such cells have links close to each other: are they farther apart than needed, or never that far?
            for distance in (NEEDED + self.moved(samples), NEEDED):
                free = self._free(0.5 * distance, q[open_cells])
                apart[cell, open_cells[free]] = distance
                open_cells = open_cells[~free]
        return apart

    def _free(self, pad: float, q: Array) -> NDArray[np.bool_]:
        """Whether no configuration of a cell is in contact, shape (cells,).

        Args:
            pad: Padding of each link [m].
            q: Shape (cells, samples, samples, n).
        """
        if not len(q):
            return np.empty(0, np.bool_)
        scene = self._scene(pad)
        hits, work = np.empty((len(q), q.shape[1] * q.shape[2]), np.bool_), workspace(scene.work_vectors)
        check = checker_code().calls["check"]
        check(scene.address, q.ctypes.data, hits.size, work.ctypes.data, hits.ctypes.data)
        return np.logical_not(hits.any(axis=1))

    def _scene(self, pad: float) -> CheckerTables:
        if pad not in self._scenes:
            chain, frames = self._chain, self._frames
            own = robot_tables(
                frames.address, chain.n, len(chain.bodies), self._both, [self._pair], padding=Padding(own=pad),
                keep_alive=frames,
            )  # fmt: skip
            self._scenes[pad] = scene_tables(own)
        return self._scenes[pad]
