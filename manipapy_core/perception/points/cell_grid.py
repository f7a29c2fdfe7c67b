"""Fixed-radius neighbour grid: points sorted by cell, so that neighbours lie in a few contiguous runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...jit import njit

MAX_CELLS_ALONG = 1 << 20
"""Cells along one axis; larger scenes get larger cells, which is slower but correct."""


@dataclass(frozen=True, eq=False)
class CellGrid:
    """Points by cell."""

    order: NDArray[np.int64]
    """Point indices, cell by cell, shape (points,)."""
    keys: NDArray[np.int64]
    """Cell of each point in that order, shape (points,)."""
    along: NDArray[np.int64]
    """Cells along x, y and z, shape (3,)."""


def cell_grid(xyz: NDArray[np.float64], reach: float) -> CellGrid:
    """Grid in which all points within `reach` [m] of a point lie in its cell or the 26 around it.

    Args:
        xyz: Finite points [m], at least one, shape (points, 3).
    """
    lowest = xyz.min(axis=0)
    extent = xyz.max(axis=0) - lowest
    # Slightly wider than the reach: rounding must not put neighbours two cells apart.
    cell = max(reach * (1.0 + 1e-9), float(extent.max()) / MAX_CELLS_ALONG)
    along = np.floor(extent / cell).astype(np.int64) + 1
    index = ((xyz - lowest) / cell).astype(np.int64)
    keys = (index[:, 2] * along[1] + index[:, 1]) * along[0] + index[:, 0]
    order = np.argsort(keys, kind="stable").astype(np.int64)
    return CellGrid(order, keys[order], along)


@njit(cache=True, nogil=True)
def first_of_cells(keys):  # type: ignore[no-untyped-def]
    """Index of the first point of each cell, and the number of points."""
    count = 1
    for i in range(1, keys.shape[0]):
        count += keys[i] != keys[i - 1]
    first = np.empty(count + 1, np.int64)
    first[0] = 0
    at = 1
    for i in range(1, keys.shape[0]):
        if keys[i] != keys[i - 1]:
            first[at] = i
            at += 1
    first[count] = keys.shape[0]
    return first


@njit(cache=True, nogil=True)
def runs_around(keys, along, first):  # type: ignore[no-untyped-def]
    """Per cell, the runs of points in it and the cells around it: three cells along x are contiguous.

    Returns:
        Cell index of each point; per cell the number of runs (at most 9), their begins and ends.
    """
    cells = first.shape[0] - 1
    home = np.empty(keys.shape[0], np.int64)
    runs = np.zeros(cells, np.int64)
    begins, ends = np.empty((cells, 9), np.int64), np.empty((cells, 9), np.int64)
    # For each of the nine rows the runs advance monotonically from cell to cell: no search is needed.
    low, high = np.zeros(9, np.int64), np.zeros(9, np.int64)
    for cell in range(cells):
        key = keys[first[cell]]
        home[first[cell] : first[cell + 1]] = cell
        x = key % along[0]
        rest = key // along[0]
        y, z = rest % along[1], rest // along[1]
        left, right = max(x - 1, 0), min(x + 1, along[0] - 1)
        count = 0
        for row in range(9):
            dz, dy = row // 3 - 1, row % 3 - 1
            base = ((z + dz) * along[1] + y + dy) * along[0]
            while low[row] < cells and keys[first[low[row]]] < base + left:
                low[row] += 1
            while high[row] < cells and keys[first[high[row]]] <= base + right:
                high[row] += 1
            outside = z + dz < 0 or z + dz >= along[2] or y + dy < 0 or y + dy >= along[1]
            if not outside and high[row] > low[row]:
                begins[cell, count] = first[low[row]]
                ends[cell, count] = first[high[row]]
                count += 1
        runs[cell] = count
    return home, runs, begins, ends
