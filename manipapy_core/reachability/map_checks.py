"""Checks of maps that were read from files: compiled code reads their arrays without bounds checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.chain import Chain
from .grid4 import SECTORS, Grid
from .grid6 import PoseGrid

MAX_CELLS = 2**40
"""Of a grid."""
TYPES = {
    "cell": np.int64,
    "count": np.uint32,
    "best": np.float32,
    "penalised": np.float32,
    "seed": np.float32,
    "clearance": np.float32,
    "open": np.uint16,
    "share": np.uint8,
    "q": np.float32,
    "quality": np.float32,
}
"""Element types of the tables."""


def grid_problem(grid: Grid | PoseGrid) -> str:
    """What is wrong with a grid; empty if nothing is."""
    numbers = [grid.resolution, *np.ravel(grid.lowest), *np.ravel(grid.frame)]
    if isinstance(grid, Grid):
        numbers.append(grid.radius)
    if np.asarray(numbers).dtype.kind not in "fi" or not np.isfinite(numbers).all() or not grid.resolution > 0.0:
        return "the grid has numbers that cannot be"
    if np.size(grid.frame) != (24 if isinstance(grid, Grid) else 12) or min(grid.shape) < 1:
        return "the grid has a wrong shape"
    if isinstance(grid, PoseGrid):
        if np.shape(grid.lowest) != (3,) or not _counts(grid.tilts) or not _counts(grid.rolls):
            return "the grid has a wrong shape"
        if grid.seen_from_tip not in (True, False):
            return "the grid has numbers that cannot be"
    return "" if grid.cells < MAX_CELLS else "the grid has too many cells"


def _counts(value: object) -> bool:
    return isinstance(value, int) and 1 <= value <= 10_000


def table_problem(tables: Mapping[str, NDArray[Any]], grid: Grid | PoseGrid, chain: Chain) -> str:
    """What is wrong with the tables of a reachability map; empty if nothing is."""
    visited = len(tables["cell"]) if tables["cell"].ndim == 1 else -1
    dense = isinstance(grid, Grid)
    columns = (SECTORS,) if dense else (0, 1)
    shapes: dict[str, tuple[tuple[int, ...], ...]] = {
        "seed": ((visited, chain.n),),
        "open": tuple((visited, count) for count in columns),
        "share": ((grid.cells if dense else visited,),),
    }
    for name, table in tables.items():
        if name not in TYPES:
            continue
        if table.dtype != TYPES[name] or table.shape not in shapes.get(name, ((visited,),)):
            return f"table {name!r} has the type {table.dtype} and the shape {table.shape}"
    cell = tables["cell"]
    if visited and (cell[0] < 0 or cell[-1] >= grid.cells or (np.diff(cell) <= 0).any()):
        return "the cells are not ascending numbers of the grid"
    return "" if np.isfinite(tables["seed"]).all() else "table 'seed' has numbers that are not finite"


def inverse_problem(tables: Mapping[str, NDArray[Any]], numbers: tuple[float, ...], chain: Chain) -> str:
    """What is wrong with an inverse map; empty if nothing is."""
    q, quality = tables["q"], tables["quality"]
    if q.dtype != TYPES["q"] or q.ndim != 2 or q.shape[1] != chain.n or not np.isfinite(q).all():
        return f"table 'q' is not a list of configurations of {chain.n} joints"
    if quality.dtype != TYPES["quality"] or quality.shape != q.shape[:1]:
        return "table 'quality' does not fit to the configurations"
    if not np.isfinite(numbers).all() or min(numbers) < 0.0:
        return "the resolution has numbers that cannot be"
    return ""
