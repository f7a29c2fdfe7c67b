"""Sparse maps of six dimensions, for arms of any joints: only visited cells are stored, found by a hash table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..compiler import kernels_of
from ..ik.bounds import search_bounds
from ..ik.numeric import solver_for
from ..jit import njit
from ..typing import Array
from .grid4 import SECTORS, TURN, sector
from .grid6 import PoseGrid, locate_one6
from .reach_map import LIKELY, NO, UNKNOWN, UNLIKELY, YES, ReachMap, collision_free

WHOLE = UNKNOWN - 1
"""Reachable share of a cell of which every verified pose is reachable."""


@dataclass(frozen=True, eq=False)
class SparseMap(ReachMap):
    """Cells of place and direction, with bits or cells of the roll."""

    grid: PoseGrid

    @cached_property
    def index(self) -> CellIndex:
        return CellIndex(self.cell)

    @cached_property
    def certain(self) -> NDArray[np.uint16]:
        """Bits of the sectors of roll that are open here, in the sectors beside and in all cells beside; (visited,)."""
        every = np.uint16((1 << SECTORS) - 1)
        here = self.open[:, 0] if self.open.shape[1] else np.full(len(self.cell), every)
        certain = here & _rolled(here, 1) & _rolled(here, -1)
        for side in range(self.grid.sides):
            rows = self.index.rows(self.grid.beside(self.cell, side))
            bits = np.where(rows >= 0, here[rows], np.uint16(0))
            if side >= 6:
                bits = _rolled(bits, -self.grid.sectors_turned[self.cell % self.grid.orientations, side - 6])
            certain &= bits
        return certain

    @property
    def memory(self) -> int:
        tables = (*self._tables(), self.certain, self.grid.turned)
        return sum(table.nbytes for table in tables) + self.index.nbytes

    @property
    def edge(self) -> NDArray[np.int64]:
        """All visited cells: they are large, and an unreachable region may be thinner than one."""
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
        query_sparse(
            T, self.grid.numbers, shape, strides, self.grid.turned, *self.index.tables,
            self.certain, self.share, self.open, answer,
        )  # fmt: skip
        return answer

    def confirmed(self, T: Array, collides: Callable[[Array], NDArray[np.bool_]] | None = None) -> NDArray[np.bool_]:
        """By inverse kinematics from the cell's configuration, and where that fails by a search from many seeds.

        Cells are large: their configuration may belong to another branch of solutions than the pose.
        """
        solver, poses = solver_for(self.chain), np.ascontiguousarray(T)
        solved, found = solver.follow(poses, self.seeds_at(self.rows(self._cells(poses)), poses))
        good = collision_free(solved, found[:, : self.chain.n], collides)
        rest = np.flatnonzero(~good)
        if len(rest):
            solved, found = solver.many(poses[rest])
            good[rest] = collision_free(solved, found[:, : self.chain.n], collides)
        return good

    def seeds_at(self, rows: NDArray[np.int64], T: Array) -> Array:
        """Seeds whose rolling joint is turned to the roll of the poses."""
        q = np.full((len(rows), self.chain.n), np.nan)
        known = rows >= 0
        q[known] = self.seed[rows[known]]
        if self.open.shape[1] and known.any():
            joint, sign = (0, -1.0) if self.grid.seen_from_tip else (-1, 1.0)
            own = self.grid.seen(kernels_of(self.chain).forward.run(q[known]))[:, :3, :3]
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
def neighbour_visited(cell, shape, strides, turned, cells, table):  # type: ignore[no-untyped-def]
    """Whether one of the neighbours of a cell was visited."""
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
def query_sparse(T, g, shape, strides, turned, cells, table, certain, share, open_, answer):  # type: ignore[no-untyped-def]
    """Verdicts on poses (N, 4, 4)."""
    places, X = np.empty((1, 3)), np.empty((3, 4))
    for i in range(T.shape[0]):
        locate_one6(T, i, g, X, places, 0)
        cell, at = np.int64(places[0, 0]), sector(places[0, 2])
        row = find_one(cells, table, cell)
        if cell < 0:
            answer[i] = NO
        elif row < 0:
            answer[i] = UNLIKELY if neighbour_visited(cell, shape, strides, turned, cells, table) else NO
        elif certain[row] >> at & 1 == 1 and share[row] == WHOLE:
            answer[i] = YES
        elif open_.shape[1] and open_[row, 0] >> at & 1 == 0:
            answer[i] = UNLIKELY
        else:
            answer[i] = LIKELY if share[row] == UNKNOWN or share[row] >= 127 else UNLIKELY


def _rolled(bits: NDArray[np.uint16], by: int | NDArray[np.int64]) -> NDArray[np.uint16]:
    """Bit k moved to k + by, round and round."""
    wide, steps = bits.astype(np.uint32), np.asarray(by) % SECTORS
    return (wide << steps | wide >> (SECTORS - steps)).astype(np.uint16)


FIRST_SIZE = 1 << 12
"""Slots at first; doubled when more than half of them are taken."""
SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ over the golden ratio: neighbouring cells end far from each other (Knuth, multiplicative hashing)."""


class CellIndex:
    """Hash table from cell numbers to rows, in order of insertion.

    Args:
        cells: Numbers of cells, each once; the first has row 0.
    """

    def __init__(self, cells: NDArray[np.int64] | None = None):
        self._count = 0
        self._cells = np.empty(FIRST_SIZE, np.int64)
        self._table = np.full(FIRST_SIZE, -1, np.int64)
        if cells is not None:
            self.add(cells)

    def __len__(self) -> int:
        return self._count

    @property
    def cells(self) -> NDArray[np.int64]:
        """By row, shape (rows,)."""
        return self._cells[: self._count]

    @property
    def nbytes(self) -> int:
        return self._cells.nbytes + self._table.nbytes

    @property
    def tables(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For compiled code: cells by row, and rows by slot; valid until a cell is added."""
        return self._cells, self._table

    def rows(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of cells, −1 for those that are not here, shape (N,)."""
        found = np.empty(len(cells), np.int64)
        find_many(self._cells, self._table, cells, found)
        return found

    def add(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of cells, new ones for those that are not here; negative numbers keep −1. Shape (N,)."""
        while 2 * (self._count + len(cells)) > len(self._table):
            self._grow()
        found = np.empty(len(cells), np.int64)
        self._count = insert_many(self._cells, self._table, self._count, cells, found)
        return found

    def _grow(self) -> None:
        held = self.cells
        self._cells = np.empty(2 * len(self._table), np.int64)
        self._cells[: len(held)] = held
        self._table = np.full(2 * len(self._table), -1, np.int64)
        insert_many(self._cells, self._table, 0, held, np.empty(len(held), np.int64))


@njit(cache=True, nogil=True)
def place_of(cells, table, cell):  # type: ignore[no-untyped-def]
    """Slot of a cell in the table, or the free slot for it."""
    mask = np.uint64(table.shape[0] - 1)
    mixed = np.uint64(cell) * SPREAD
    at = (mixed ^ (mixed >> np.uint64(32))) & mask
    while table[at] >= 0 and cells[table[at]] != cell:
        at = (at + np.uint64(1)) & mask
    return at


@njit(cache=True, nogil=True)
def find_one(cells, table, cell):  # type: ignore[no-untyped-def]
    return table[place_of(cells, table, cell)] if cell >= 0 else -1


@njit(cache=True, nogil=True)
def find_many(cells, table, wanted, found):  # type: ignore[no-untyped-def]
    for i in range(wanted.shape[0]):
        found[i] = find_one(cells, table, wanted[i])


@njit(cache=True, nogil=True)
def insert_many(cells, table, count, wanted, found):  # type: ignore[no-untyped-def]
    for i in range(wanted.shape[0]):
        if wanted[i] < 0:
            found[i] = -1
            continue
        at = place_of(cells, table, wanted[i])
        if table[at] < 0:
            table[at] = count
            cells[count] = wanted[i]
            count += 1
        found[i] = table[at]
    return count
