"""Maps of six dimensions, which keep only the cells that were met: for arms of any joints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..ik.bounds import search_bounds
from ..ik.numeric import solver_for
from .reach_grid import SECTORS, TURN, sector
from .reach_grid6 import PoseGrid, locate_one6
from .reach_index import CellIndex, find_one
from .reach_map import HARDLY, NO, PROBABLY, UNKNOWN, YES, Array, ReachMap, good_ones

WHOLE = UNKNOWN - 1
"""Share of a cell of which every pose that was asked about can be reached."""


@dataclass(frozen=True, eq=False)
class SparseMap(ReachMap):
    """Cells of place and direction, with bits or cells of the roll."""

    grid: PoseGrid

    @cached_property
    def index(self) -> CellIndex:
        return CellIndex(self.cell)

    @cached_property
    def sure(self) -> NDArray[np.uint16]:
        """Bits of the sectors of roll that are open here, in the sectors beside, and in all cells beside; (met,)."""
        every = np.uint16((1 << SECTORS) - 1)
        here = self.open[:, 0] if self.open.shape[1] else np.full(len(self.cell), every)
        sure = here & _rolled(here, 1) & _rolled(here, -1)
        for side in range(self.grid.sides):
            rows = self.index.rows(self.grid.beside(self.cell, side))
            bits = np.where(rows >= 0, here[rows], np.uint16(0))
            if side >= 6:
                bits = _rolled(bits, -self.grid.sectors_turned[self.cell % self.grid.orientations, side - 6])
            sure &= bits
        return sure

    @property
    def memory(self) -> int:
        tables = (*self._tables(), self.sure, self.grid.turned)
        return sum(table.nbytes for table in tables) + self.index.nbytes

    @property
    def edge(self) -> NDArray[np.int64]:
        """All that were met: cells are large, and what is out of reach may be thinner than one."""
        return self.cell

    def edge_poses(self, rng: np.random.Generator) -> Array:
        if not self.open.shape[1]:
            return self.grid.random_poses(self.cell, rng)
        # Of the open sectors of each cell, one at random: the highest of random numbers, where it is open.
        bits = self.open >> np.arange(SECTORS, dtype=np.uint16) & 1
        chosen = (bits * rng.random(bits.shape, np.float32)).argmax(axis=1)
        return self.grid.random_poses(self.cell, rng, (chosen + rng.random(len(chosen))) / SECTORS)

    def set_share(self, cells: NDArray[np.int64], share: NDArray[np.uint8]) -> None:
        self.share[self.rows(cells)] = share

    def rows(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.index.rows(cells)

    def verdicts(self, T: Array) -> NDArray[np.uint8]:
        answer = np.empty(len(T), np.uint8)
        strides = np.array([*np.cumprod(self.grid.shape[:0:-1])[::-1], 1], dtype=np.int64) * self.grid.orientations
        shape = np.array(self.grid.shape, dtype=np.int64)
        ask6(
            T, self.grid.numbers, shape, strides, self.grid.turned, *self.index.tables,
            self.sure, self.share, self.open, answer,
        )  # fmt: skip
        return answer

    def settled(self, T: Array, collides: Callable[[Array], NDArray[np.bool_]] | None = None) -> NDArray[np.bool_]:
        """From the cell's configuration, and where that fails by a search from many starts.

        Cells are large: their configuration may belong to another branch of solutions than the pose.
        """
        solver, poses = solver_for(self.chain), np.ascontiguousarray(T)
        solved, found = solver.follow(poses, self.seeds_at(self.rows(self._cells(poses)), poses))
        good = good_ones(solved, found[:, : self.chain.n], collides)
        rest = np.flatnonzero(~good)
        if len(rest):
            solved, found = solver.many(poses[rest])
            good[rest] = good_ones(solved, found[:, : self.chain.n], collides)
        return good

    def seeds_at(self, rows: NDArray[np.int64], T: Array) -> Array:
        """With the joint that turns the roll brought to that of the poses."""
        q = np.full((len(rows), self.chain.n), np.nan)
        known = rows >= 0
        q[known] = self.seed[rows[known]]
        if self.open.shape[1] and known.any():
            joint, sign = (0, -1.0) if self.grid.seen_from_tip else (-1, 1.0)
            own = self.grid.seen(self.chain.kernels.forward.run(q[known]))[:, :3, :3]
            M = np.swapaxes(own, 1, 2) @ self.grid.seen(T[known])[:, :3, :3]
            # The turn about z that brings one rotation nearest to the other.
            turn = np.arctan2(M[:, 1, 0] - M[:, 0, 1], M[:, 0, 0] + M[:, 1, 1])
            bounds = search_bounds(self.chain, True)
            low, high = bounds.lower[joint], bounds.upper[joint]
            angle = q[known, joint] + sign * turn
            angle -= TURN * np.floor((angle - low) / TURN)
            q[known, joint] = np.where(angle <= high, angle, np.clip(q[known, joint] + sign * turn, low, high))
        return q


@njit(cache=True, nogil=True)
def met_beside(cell, shape, strides, turned, cells, table):  # type: ignore[no-untyped-def]
    """Whether one of the neighbours of a cell was met."""
    orientations = turned.shape[0]
    orientation = cell % orientations
    for side in range(turned.shape[1]):
        if find_one(cells, table, cell - orientation + turned[orientation, side]) >= 0:
            return True
    for axis in range(3):
        at = cell // strides[axis] % shape[axis]
        if at > 0 and find_one(cells, table, cell - strides[axis]) >= 0:
            return True
        if at < shape[axis] - 1 and find_one(cells, table, cell + strides[axis]) >= 0:
            return True
    return False


@njit(cache=True, nogil=True)
def ask6(T, g, shape, strides, turned, cells, table, sure, share, open_, answer):  # type: ignore[no-untyped-def]
    """Verdicts on poses (N, 4, 4)."""
    places, X = np.empty((1, 3)), np.empty((3, 4))
    for i in range(T.shape[0]):
        locate_one6(T, i, g, X, places, 0)
        cell, at = np.int64(places[0, 0]), sector(places[0, 2])
        row = find_one(cells, table, cell)
        if cell < 0:
            answer[i] = NO
        elif row < 0:
            answer[i] = HARDLY if met_beside(cell, shape, strides, turned, cells, table) else NO
        elif sure[row] >> at & 1 == 1 and share[row] == WHOLE:
            answer[i] = YES
        elif open_.shape[1] and open_[row, 0] >> at & 1 == 0:
            answer[i] = HARDLY
        else:
            answer[i] = PROBABLY if share[row] == UNKNOWN or share[row] >= 127 else HARDLY


def _rolled(bits: NDArray[np.uint16], by: int | NDArray[np.int64]) -> NDArray[np.uint16]:
    """Bit k moved to k + by, round and round."""
    wide, steps = bits.astype(np.uint32), np.asarray(by) % SECTORS
    return (wide << steps | wide >> (SECTORS - steps)).astype(np.uint16)
