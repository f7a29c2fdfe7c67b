"""Dense maps of four dimensions, for arms whose first and last joint are revolute."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..compiler import kernels_of
from ..ik.bounds import search_bounds
from ..jit import njit
from ..typing import Array
from .grid4 import TURN, Grid, locate_one, sector
from .reach_map import EDGE, INSIDE, LIKELY, NO, OUTSIDE, UNKNOWN, UNLIKELY, YES, ReachMap


@dataclass(frozen=True, eq=False)
class DenseMap(ReachMap):
    """Cells in four coordinates that the first and last joint do not change, with the yaws and rolls they allow."""

    grid: Grid

    @cached_property
    def slot(self) -> NDArray[np.int32]:
        """Row of every cell in the arrays of visited cells; -1 for cells not visited; shape (cells,)."""
        slots = np.full(self.grid.cells, -1, dtype=np.int32)
        slots[self.cell] = np.arange(len(self.cell), dtype=np.int32)
        return slots

    @cached_property
    def kind(self) -> NDArray[np.uint8]:
        """OUTSIDE, EDGE or INSIDE, shape (cells,)."""
        visited = self.slot >= 0
        around = self.grid.neighbours(visited)
        edge_or_outside = np.where(visited | (around > 0), EDGE, OUTSIDE)
        return np.where(visited & (around == 8), INSIDE, edge_or_outside).astype(np.uint8)

    @property
    def memory(self) -> int:
        return sum(table.nbytes for table in self._tables()) + self.slot.nbytes + self.kind.nbytes

    @property
    def edge(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.kind == EDGE)

    def edge_poses(self, rng: np.random.Generator) -> Array:
        return self.grid.random_poses(self.edge, rng)

    def set_share(self, cells: NDArray[np.int64], share: NDArray[np.uint8]) -> None:
        self.share[cells] = share

    def rows(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(cells >= 0, self.slot[np.maximum(cells, 0)], -1)

    def verdicts(self, T: Array) -> NDArray[np.uint8]:
        answer = np.empty(len(T), np.uint8)
        query_dense(T, self.grid.numbers, self.slot, self.kind, self.share, self.open, answer)
        return answer

    def seeds_at(self, rows: NDArray[np.int64], T: Array) -> Array:
        """Seeds whose first and last joint are turned to the yaw and roll of the poses."""
        if not len(self.seed):
            return np.full((len(rows), self.chain.n), np.nan)
        q = self.seed[np.maximum(rows, 0)].astype(np.float64)
        places, own = self.grid.locate(T), self.grid.locate(kernels_of(self.chain).forward.run(q))
        bounds = search_bounds(self.chain, True)
        for joint, column in ((0, 1), (-1, 2)):
            angle = q[:, joint] + places[:, column] - own[:, column]
            low, high = bounds.lower[joint], bounds.upper[joint]
            angle -= TURN * np.floor((angle - low) / TURN)
            q[:, joint] = np.where(angle <= high, angle, np.clip(angle, low, high))
        q[rows < 0] = np.nan
        return q


@njit(cache=True, nogil=True)
def query_dense(T, g, slot, kind, share, open_, answer):  # type: ignore[no-untyped-def]
    """Verdicts on poses (N, 4, 4)."""
    places, X = np.empty((1, 3)), np.empty((3, 4))
    for i in range(T.shape[0]):
        locate_one(T, i, g, X, places, 0)
        cell = np.int64(places[0, 0])
        answer[i] = NO
        if cell < 0 or kind[cell] == OUTSIDE:
            continue
        here = slot[cell]
        bit = False
        if here >= 0:
            bit = open_[here, sector(places[0, 2])] >> sector(places[0, 1]) & 1 == 1
        if kind[cell] == INSIDE:
            answer[i] = YES if bit else UNLIKELY
        elif share[cell] == UNKNOWN:
            answer[i] = LIKELY if bit else UNLIKELY
        else:
            answer[i] = LIKELY if bit and share[cell] >= 127 else UNLIKELY
