"""Random configurations tallied into the cells of a map, by one worker, and the merging of tallies.

Which result wins never depends on the order: counts add, bits are joined, and of two equally good configurations the
one that is smaller by its numbers stays. Any split over workers gives the same map, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler import kernels_of
from ..ik.bounds import search_bounds
from ..jit import njit
from ..model.chain import Chain
from .grid4 import SECTORS, Grid, open_sectors
from .grid6 import PoseGrid
from .sparse_map import CellIndex

BATCH = 16384
"""Samples at a time: what fits the processor's cache."""
LANES = 16
"""Jacobians whose determinants are computed side by side."""

FIRST_ROWS = 1 << 16
"""Of a tally that grows."""
ROWS = ("count", "best", "penalised", "seed", "open")
"""Tables of a tally, in the order of `merge`."""

Measure = Callable[[NDArray[np.float64]], NDArray[Any]]
"""Takes configurations (N, n) and gives a number, or True or False, for each."""


@dataclass(eq=False)
class Tally:
    """Counts, best qualities and seeds of every cell; grows with the samples.

    A row per cell of a grid of four dimensions; with six, a row per visited cell.
    """

    count: NDArray[np.uint32]
    """Samples, shape (rows,)."""
    best: NDArray[np.float32]
    """Highest quality, shape (rows,)."""
    penalised: NDArray[np.float32]
    """Highest quality where joint limits count, shape (rows,)."""
    seed: NDArray[np.float32]
    """The configuration of the best one by `penalised`, shape (rows, n)."""
    open: NDArray[np.uint16]
    """Per sector of roll, bits of the sectors of yaw that the limits leave, shape (rows, SECTORS). With six dimensions
    bits of the sectors of roll, shape (rows, 1), or (rows, 0) where the roll is a dimension of the cells."""
    index: CellIndex | None = None
    """Rows of cells, where they are not the numbers of the cells themselves."""

    @classmethod
    def empty(cls, grid: Grid | PoseGrid, n: int) -> Tally:
        sparse = isinstance(grid, PoseGrid)
        rows, sectors = (FIRST_ROWS, int(grid.rolls == 1)) if isinstance(grid, PoseGrid) else (grid.cells, SECTORS)
        return cls(
            np.zeros(rows, np.uint32),
            np.zeros(rows, np.float32),
            np.zeros(rows, np.float32),
            np.zeros((rows, n), np.float32),
            np.zeros((rows, sectors), np.uint16),
            CellIndex() if sparse else None,
        )

    def rows(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where cells are counted, −1 for cells of number −1; shape (N,)."""
        if self.index is None:
            return cells
        rows = self.index.add(cells)
        missing = len(self.index) - len(self.count)
        if missing > 0:
            more = max(missing, len(self.count))
            for name in ROWS:
                table = getattr(self, name)
                setattr(self, name, np.concatenate([table, np.zeros((more, *table.shape[1:]), table.dtype)]))
        return rows

    def sparse(self) -> dict[str, NDArray[Any]]:
        """The visited cells only, by number."""
        if self.index is None:
            rows = cell = np.flatnonzero(self.count).astype(np.int64)
        else:
            rows = np.argsort(self.index.cells)
            cell = self.index.cells[rows]
        return {"cell": cell, **{name: getattr(self, name)[rows] for name in ROWS}}

    def add(self, part: dict[str, NDArray[Any]]) -> None:
        """Takes in what `sparse` gives."""
        rows = self.rows(part["cell"])
        merge(rows, *(part[name] for name in ROWS), *(getattr(self, name) for name in ROWS))


@njit(cache=True, nogil=True)
def replaces(value, q, held, seed, i, cell):  # type: ignore[no-untyped-def]
    """Whether row i of q with this value replaces the seed of a cell that holds another."""
    if value != held:
        return value > held
    for j in range(q.shape[1]):
        if q[i, j] != seed[cell, j]:
            return q[i, j] < seed[cell, j]
    return False


@njit(cache=True, nogil=True)
def merge(cells, counts, bests, penaliseds, seeds, opens, count, best, penalised, seed, open_):  # type: ignore[no-untyped-def]
    for i in range(cells.shape[0]):
        cell = cells[i]
        if count[cell] == 0 or replaces(penaliseds[i], seeds, penalised[cell], seed, i, cell):
            penalised[cell] = penaliseds[i]
            seed[cell] = seeds[i]
        best[cell] = max(best[cell], bests[i])
        count[cell] += counts[i]
        for s in range(open_.shape[1]):
            open_[cell, s] |= opens[i, s]


@njit(cache=True, nogil=True, fastmath=True)
def root_determinants(M, L, size, length, product):  # type: ignore[no-untyped-def]
    """√det(M Mᵀ) by Cholesky, for as many matrices as there are lanes side by side in the last axis.

    `singularity.manipulability` takes singular values, one matrix after the other: far too slow for the hundreds of
    millions of samples of a map.
    """
    total = np.empty(LANES, np.float32)
    for lane in range(LANES):
        product[lane] = np.float32(1.0)
    for r in range(size):
        for c in range(r + 1):
            for lane in range(LANES):
                total[lane] = M[r, 0, lane] * M[c, 0, lane]
            for k in range(1, length):
                for lane in range(LANES):
                    total[lane] += M[r, k, lane] * M[c, k, lane]
            for k in range(c):
                for lane in range(LANES):
                    total[lane] -= L[r, k, lane] * L[c, k, lane]
            if r == c:
                for lane in range(LANES):
                    root = np.sqrt(max(total[lane], np.float32(1e-14)))
                    L[r, r, lane] = np.float32(1.0) / root
                    product[lane] *= root
            else:
                for lane in range(LANES):
                    L[r, c, lane] = total[lane] * L[c, c, lane]


@njit(cache=True, nogil=True, fastmath=True)
def limit_weight(q, lower, upper):  # type: ignore[no-untyped-def]
    """What limits leave of a joint, as `singularity.limit_weights`; 1 where they coincide, which means none."""
    width = upper - lower
    if width <= np.float32(0.0):
        return np.float32(1.0)
    above = np.float32(1.0) / max(upper - q, np.float32(1e-6) * width)
    below = np.float32(1.0) / max(q - lower, np.float32(1e-6) * width)
    slope = np.float32(0.25) * width * (above * above - below * below)
    return np.float32(1.0) / np.sqrt(np.float32(1.0) + abs(slope))


@njit(cache=True, nogil=True, fastmath=True)
def volumes(J, q, lower, upper, plain, weighted):  # type: ignore[no-untyped-def]
    """√det(J Jᵀ), or √det(Jᵀ J) for fewer than six joints; and with columns scaled by what limits leave.

    Args:
        J: Jacobians, shape (N, 6, n).
        upper: Equal to `lower` for joints without limits.
    """
    samples, n = J.shape[0], J.shape[2]
    tall = n < 6
    size, length = (n, 6) if tall else (6, n)
    L, M = np.empty((6, 6, LANES), np.float32), np.empty((6, max(6, n), LANES), np.float32)
    product, weight = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    for start in range(0, samples, LANES):
        for lane in range(LANES):
            i = min(start + lane, samples - 1)
            for r in range(6):
                for c in range(n):
                    if tall:
                        M[c, r, lane] = J[i, r, c]
                    else:
                        M[r, c, lane] = J[i, r, c]
        root_determinants(M, L, size, length, product)
        for lane in range(min(LANES, samples - start)):
            plain[start + lane] = product[lane]
        for j in range(n):
            for lane in range(LANES):
                weight[lane] = limit_weight(q[min(start + lane, samples - 1), j], lower[j], upper[j])
            for r in range(6):
                row, column = (j, r) if tall else (r, j)
                for lane in range(LANES):
                    M[row, column, lane] *= weight[lane]
        root_determinants(M, L, size, length, product)
        for lane in range(min(LANES, samples - start)):
            weighted[start + lane] = product[lane]


@njit(cache=True, nogil=True)
def deposit(rows, places, q, plain, weighted, limits, count, best, penalised, seed, open_):  # type: ignore[no-untyped-def]
    """Puts samples into their rows; returns how many lay outside the grid.

    Args:
        rows: Of the tables, −1 outside the grid, shape (N,).
        places: As a grid locates the samples; only the yaw and the roll count here, shape (N, 3).
        limits: Lower and upper limit of the first and of the last joint; a full turn apart if they may turn freely.
            With six dimensions those of the joint that turns the roll, its number, and the sign of its turn.
    """
    outside, last, sectors = 0, q.shape[1] - 1, open_.shape[1]
    for i in range(rows.shape[0]):
        cell = rows[i]
        if cell < 0:
            outside += 1
            continue
        if count[cell] == 0 or replaces(weighted[i], q, penalised[cell], seed, i, cell):
            penalised[cell] = weighted[i]
            seed[cell] = q[i]
        best[cell] = max(best[cell], plain[i])
        count[cell] += 1
        if sectors == 1:
            open_[cell, 0] |= open_sectors(places[i, 2] - limits[3] * q[i, int(limits[2])], limits[0], limits[1])
        elif sectors == SECTORS:
            yaws = open_sectors(places[i, 1] - q[i, 0], limits[0], limits[1])
            rolls = open_sectors(places[i, 2] - q[i, last], limits[2], limits[3])
            for s in range(SECTORS):
                open_[cell, s] |= yaws * (rolls >> s & 1)
    return outside


def sample_block(
    chain: Chain,
    grid: Grid | PoseGrid,
    tally: Tally,
    seed: int,
    block: int,
    samples: int,
    *,
    collides: Measure | None = None,
    accept: Measure | None = None,
    quality: Measure | None = None,
) -> int:
    """Adds one block of random configurations to a tally; the same ones for the same seed and number of the block.

    Args:
        collides: Returns True for configurations to leave out.
        accept: Returns True for configurations that count, such as statically stable ones.
        quality: What is maximised per cell instead of the manipulability, plain and penalised.

    Returns:
        How many were kept.
    """
    bounds = search_bounds(chain, True)
    lower, upper = bounds.lower.astype(np.float32), bounds.upper.astype(np.float32)
    width = np.where(bounds.stops, upper - lower, 0.0).astype(np.float32)  # without a width, no penalty
    limits = np.array([bounds.lower[0], bounds.upper[0], bounds.lower[-1], bounds.upper[-1]])
    if isinstance(grid, PoseGrid):
        # Seen from the tip, the first joint turns the base in the opposite direction.
        limits[2:] = (0, -1) if grid.seen_from_tip else (chain.n - 1, 1)
        limits[:2] = (-limits[1], -limits[0]) if grid.seen_from_tip else (bounds.lower[-1], bounds.upper[-1])
    rng = np.random.default_rng([seed, block])
    kept = 0
    for start in range(0, samples, BATCH):
        size = min(BATCH, samples - start)
        q = lower + rng.random((size, chain.n), dtype=np.float32) * (upper - lower)
        np.clip(q, lower, upper, out=q)
        keep = np.ones(size, dtype=np.bool_)
        if collides is not None:
            keep &= ~np.asarray(collides(q.astype(np.float64)), dtype=np.bool_)
        if accept is not None:
            keep &= np.asarray(accept(q.astype(np.float64)), dtype=np.bool_)
        if collides is not None or accept is not None:
            q = q[keep]
        if not len(q):
            continue
        plain, weighted = np.empty(len(q), np.float32), np.empty(len(q), np.float32)
        if quality is None:
            volumes(kernels_of(chain).body_jacobian.run(q), q, lower, lower + width, plain, weighted)
        else:
            plain[:] = weighted[:] = quality(q.astype(np.float64))
        places = grid.locate(kernels_of(chain).forward.run(q))
        rows = tally.rows(places[:, 0].astype(np.int64))
        deposit(rows, places, q, plain, weighted, limits, *(getattr(tally, name) for name in ROWS))
        kept += len(q)
    return kept
