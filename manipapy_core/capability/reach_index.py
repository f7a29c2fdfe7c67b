"""Which row of a table belongs to a cell, where there are too many cells to keep a place for each: a hash table."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

FIRST_SIZE = 1 << 12
"""Places at first; doubled when more than half of them are taken."""
SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""2⁶⁴ over the golden ratio: neighbouring cells end far from each other (Knuth, multiplicative hashing)."""


class CellIndex:
    """Rows of cells in the order in which they came.

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
        """For compiled code: cells by row, and rows by place; good until something is added."""
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
    """Where a cell is in the table, or the free place where it belongs."""
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
