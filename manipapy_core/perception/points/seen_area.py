"""The observed part of a plane: a raster of cells, its outline as convex polygons.

A table is rarely a rectangle along the axes: round tables, two desks of one height and desks around a corner have much
in their bounding rectangle that is no table. A cell counts if points of the plane lie in it, or if cells around it
do: objects hide the table below them. It does not count if a point below the plane was seen through it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...jit import njit
from ...typing import Array

CELL = 0.03
"""Edge of a cell [m]."""
MAX_EXTENT, SURROUNDINGS = 30.0, 0.5
"""Points farther from the base than this [m], or farther from the rectangle that holds nearly all, are ignored."""
CLOSING = 2
"""Gaps between cells of up to twice this many cells are closed ..."""
MIN_PART_CELLS, MIN_PART_SHARE = 22, 0.05
"""... and separate parts that have fewer cells than both this and this share of all are stray points."""
MIN_SEEN_THROUGH = 3
"""Points below the plane that must be seen through a cell to show that it is open."""
MAX_CONVEX_EXCESS = 1.2
"""A part whose convex hull is larger than this many times its cells is split ..."""
MAX_SPLITS = 4
"""... at most this many times."""

Cells = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SeenArea:
    """Cells of a plane that were observed, in the two coordinates of `plane_axes`."""

    first: NDArray[np.int64]
    """Indices of the first cell along both axes, shape (2,)."""
    cells: Cells
    """Shape (cells along the first axis, along the second)."""

    @classmethod
    def of(cls, flat: Array, lower: Array, upper: Array) -> SeenArea:
        """From points of the plane [m], shape (points, 2).

        Args:
            lower: Corner of the rectangle that holds nearly all of them [m], shape (2,); those far away are left out.
            upper: The opposite corner, shape (2,).
        """
        first = np.floor(np.maximum(lower - SURROUNDINGS, -MAX_EXTENT) / CELL).astype(np.int64)
        last = np.floor(np.minimum(upper + SURROUNDINGS, MAX_EXTENT) / CELL).astype(np.int64)
        cells = np.zeros(np.maximum(last - first, 0) + 1, np.bool_)
        _mark(np.ascontiguousarray(flat), first, cells)
        return cls(first, cells)

    @property
    def cell(self) -> float:
        """Edge of a cell [m]."""
        return CELL

    @cached_property
    def largest_part(self) -> float:
        """Area of the largest connected part of the closed cells [m²]."""
        parts, number = connected_parts(self.closed.cells)
        return float(np.bincount(parts.ravel(), minlength=number + 1)[1:].max(initial=0)) * CELL * CELL

    @cached_property
    def closed(self) -> SeenArea:
        """With the gaps below objects closed, without stray points."""
        wide = np.pad(self.cells, CLOSING + 1)
        filled = _without_holes(_grown(wide, CLOSING))
        filled = ~_grown(~filled, CLOSING) | wide
        parts, number = connected_parts(filled)
        counts = np.bincount(parts.ravel(), minlength=number + 1)
        least = min(MIN_PART_CELLS, MIN_PART_SHARE * counts[1:].sum())
        kept = counts >= least
        kept[0] = False
        return SeenArea(self.first - CLOSING - 1, kept[parts])

    def union(self, other: SeenArea) -> SeenArea:
        """Cells of either."""
        first = np.minimum(self.first, other.first)
        last = np.maximum(self.first + self.cells.shape, other.first + other.cells.shape)
        if np.any((last - first) * CELL > 4.0 * MAX_EXTENT):
            return self
        cells = np.zeros(last - first, np.bool_)
        for area in (self, other):
            (a, b), (m, n) = area.first - first, area.cells.shape
            cells[a : a + m, b : b + n] |= area.cells
        return SeenArea(first, cells)

    def without(self, flat: Array) -> SeenArea:
        """Without the cells in which at least `MIN_SEEN_THROUGH` of these points lie."""
        at = np.floor(flat / CELL).astype(np.int64) - self.first
        at = at[np.all((at >= 0) & (at < self.cells.shape), axis=1)]
        open_ = np.zeros(self.cells.shape, np.int64)
        np.add.at(open_, tuple(at.T), 1)
        return SeenArea(self.first, self.cells & (open_ < MIN_SEEN_THROUGH))

    def covers(self, flat: Array, margin: float = 0.0) -> NDArray[np.bool_]:
        """Which points lie in closed cells, enlarged by a margin [m] that may be negative; shape (..., 2) to (...)."""
        # A cell at the border may be seen in part only.
        steps = int(margin / CELL) if margin >= 0.0 else -math.ceil(-margin / CELL) - 1
        area = self._enlarged(steps)
        rows = np.ascontiguousarray(flat, dtype=np.float64)
        return np.asarray(_lookup(rows.reshape(-1, 2), area.first, area.cells)).reshape(rows.shape[:-1])

    def is_opaque(self, flat: Array) -> NDArray[np.bool_]:
        """Which points lie in cells that were observed themselves, like all cells around them; shape (n, 2) to (n,)."""
        first, cells = self._inner
        return np.asarray(_lookup(np.ascontiguousarray(flat, dtype=np.float64), first, cells))

    @cached_property
    def _inner(self) -> tuple[NDArray[np.int64], Cells]:
        return self.first - 1, ~_grown(~np.pad(self.cells, 1), 1)

    @cached_property
    def _kept(self) -> dict[int, SeenArea]:
        return {}

    def _enlarged(self, steps: int) -> SeenArea:
        """The closed cells enlarged by a number of cells, which may be negative."""
        if steps not in self._kept:
            area, border = self.closed, max(steps, 0) + 1
            cells = np.pad(area.cells, border)
            cells = _grown(cells, steps) if steps >= 0 else ~_grown(~cells, -steps)
            self._kept[steps] = SeenArea(area.first - border, cells)
        return self._kept[steps]

    def overlap(self, other: SeenArea) -> float:
        """Share of this area that lies within the other one."""
        own = self.closed
        middle = (np.argwhere(own.cells) + own.first + 0.5).astype(np.float64) * CELL
        return float(other.covers(middle, CELL).mean()) if len(middle) else 0.0

    def polygons(self) -> list[Array]:
        """Convex polygons that cover the closed cells [m], counter-clockwise, each of shape (corners, 2)."""
        area = self.closed
        parts, number = connected_parts(area.cells)
        found: list[Array] = []
        for part in range(1, number + 1):
            index = np.argwhere(parts == part)
            found += _convex_cover(index + area.first, MAX_SPLITS)
        return found


def _convex_cover(index: NDArray[np.int64], splits: int) -> list[Array]:
    """Convex polygons around cells; a set that is far from convex is split across its longer side."""
    corners = (index[:, None] + np.array([[0, 0], [0, 1], [1, 0], [1, 1]])).reshape(-1, 2)
    polygon = _convex_polygon(np.unique(corners, axis=0))
    x, y = polygon.T.astype(np.float64)
    area = 0.5 * abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))
    if splits == 0 or area <= MAX_CONVEX_EXCESS * len(index):
        return [polygon.astype(np.float64) * CELL]
    axis = int(np.argmax(np.ptp(index, axis=0)))
    middle = 0.5 * (index[:, axis].min() + index[:, axis].max())
    low = index[:, axis] <= middle
    return [polygon for half in (low, ~low) if half.any() for polygon in _convex_cover(index[half], splits - 1)]


def _convex_polygon(points: NDArray[np.int64]) -> NDArray[np.int64]:
    """Corners of the convex hull, counter-clockwise (monotone chain, exact on integers); points in lexical order."""
    chains = []
    for row in (points, points[::-1]):
        chain: list[NDArray[np.int64]] = []
        for p in row:
            while len(chain) > 1:
                a, b = chain[-1] - chain[-2], p - chain[-2]
                if a[0] * b[1] - a[1] * b[0] > 0:
                    break
                chain.pop()
            chain.append(p)
        chains.append(chain[:-1])
    return np.array(chains[0] + chains[1])


@njit(cache=True, nogil=True)
def _grown(cells, steps):  # type: ignore[no-untyped-def]
    """Cells within this many steps, diagonal ones included; nothing enters from outside."""
    rows, columns = cells.shape
    wide, out = np.zeros(cells.shape, np.bool_), np.zeros(cells.shape, np.bool_)
    for i in range(rows):
        for j in range(columns):
            if cells[i, j]:
                wide[i, max(j - steps, 0) : min(j + steps + 1, columns)] = True
    for i in range(rows):
        for k in range(max(i - steps, 0), min(i + steps + 1, rows)):
            for j in range(columns):
                out[i, j] |= wide[k, j]
    return out


@njit(cache=True, nogil=True)
def _mark(flat, first, cells):  # type: ignore[no-untyped-def]
    for k in range(flat.shape[0]):
        i, j = int(np.floor(flat[k, 0] / CELL)) - first[0], int(np.floor(flat[k, 1] / CELL)) - first[1]
        if 0 <= i < cells.shape[0] and 0 <= j < cells.shape[1]:
            cells[i, j] = True


@njit(cache=True, nogil=True)
def _lookup(flat, first, cells):  # type: ignore[no-untyped-def]
    out = np.zeros(flat.shape[0], np.bool_)
    for k in range(flat.shape[0]):
        i, j = int(np.floor(flat[k, 0] / CELL)) - first[0], int(np.floor(flat[k, 1] / CELL)) - first[1]
        out[k] = 0 <= i < cells.shape[0] and 0 <= j < cells.shape[1] and cells[i, j]
    return out


def _without_holes(cells: Cells) -> Cells:
    """With the gaps filled that do not reach the border."""
    parts, _ = connected_parts(~cells)
    rim = np.unique(np.concatenate([parts[0], parts[-1], parts[:, 0], parts[:, -1]]))
    return np.asarray(~np.isin(parts, rim[rim > 0]))


def connected_parts(cells: Cells) -> tuple[NDArray[np.int64], int]:
    """Number of the connected part of each cell, from 1 on, 0 for none; and the number of parts."""
    parts = np.zeros(cells.shape, np.int64)
    return parts, int(_label(np.ascontiguousarray(cells), parts))


@njit(cache=True, nogil=True)
def _label(cells, parts):  # type: ignore[no-untyped-def]
    rows, columns = cells.shape
    stack = np.empty((rows * columns, 2), np.int64)
    number = 0
    for i in range(rows):
        for j in range(columns):
            if not cells[i, j] or parts[i, j] > 0:
                continue
            number += 1
            parts[i, j] = number
            stack[0, 0], stack[0, 1] = i, j
            top = 1
            while top > 0:
                top -= 1
                a, b = stack[top, 0], stack[top, 1]
                for k in range(4):
                    x = a + (k == 0) - (k == 1)
                    y = b + (k == 2) - (k == 3)
                    if 0 <= x < rows and 0 <= y < columns and cells[x, y] and parts[x, y] == 0:
                        parts[x, y] = number
                        stack[top, 0], stack[top, 1] = x, y
                        top += 1
    return number
