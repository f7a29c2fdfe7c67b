"""`ReachMap`: which poses an arm reaches, with what quality, and from which seed configuration.

Cells are inside (all neighbours visited too), outside (neither visited nor beside a visited cell) or on the edge. At
the edge the table alone is a guess; `exact=True` solves inverse kinematics there, seeded by the configurations of the
cell and its neighbours. What differs between four and six dimensions is in `DenseMap` and `SparseMap`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, ShapeError
from ..ik.numeric import solver_for
from ..model.chain import Chain
from ..typing import Array
from .grid4 import TURN, Grid
from .grid6 import PoseGrid

OUTSIDE, EDGE, INSIDE = 0, 1, 2
UNKNOWN = 255
"""Reachable share of a cell that was not verified."""
NO, UNLIKELY, LIKELY, YES = 0, 1, 2, 3
"""Verdict of the table on a pose."""


@dataclass(frozen=True, eq=False)
class ReachMap(ABC):
    """A filled grid; made by `build_map` or read from a file."""

    chain: Chain
    grid: Grid | PoseGrid
    cell: NDArray[np.int64]
    """Numbers of the visited cells, ascending, shape (visited,)."""
    count: NDArray[np.uint32]
    """Samples in them, shape (visited,)."""
    best: NDArray[np.float32]
    """Highest quality in them, shape (visited,)."""
    penalised: NDArray[np.float32]
    """Highest quality where joint limits count, shape (visited,)."""
    seed: NDArray[np.float32]
    """A configuration for each [rad or m], shape (visited, n)."""
    clearance: NDArray[np.float32]
    """Least distance between the arm's own links at that configuration [m]; NaN if not computed; shape (visited,)."""
    open: NDArray[np.uint16]
    """Yaws and rolls inside the limits, shape (visited, SECTORS); with six dimensions (visited, 1) or (visited, 0)."""
    share: NDArray[np.uint8]
    """Reachable part of edge cells as found by inverse kinematics, 0 to 254; 255 where not verified. For every cell
    of a grid of four dimensions; with six, for the visited ones."""
    attributes: dict[str, Any] = field(default_factory=dict)
    """Where it comes from: robot, limits, samples, versions."""

    @staticmethod
    def of_tables(
        chain: Chain, grid: Grid | PoseGrid, tables: Mapping[str, NDArray[Any]], attributes: dict[str, Any]
    ) -> ReachMap:
        """From arrays by name; `share` and `clearance` may be missing: they are then unknown."""
        from .dense_map import DenseMap  # these two are kinds of this class
        from .sparse_map import SparseMap

        visited = len(tables["cell"])
        known = {name: tables[name] for name in ("cell", "count", "best", "penalised", "seed", "open")}
        known["clearance"] = tables.get("clearance", np.full(visited, np.nan, np.float32))
        shares = np.full(visited if isinstance(grid, PoseGrid) else grid.cells, UNKNOWN, np.uint8)
        known["share"] = tables.get("share", shares)
        if isinstance(grid, PoseGrid):
            return SparseMap(chain=chain, grid=grid, attributes=attributes, **known)
        return DenseMap(chain=chain, grid=grid, attributes=attributes, **known)

    @property
    @abstractmethod
    def memory(self) -> int:
        """Of all tables [bytes]."""

    @property
    @abstractmethod
    def edge(self) -> NDArray[np.int64]:
        """Numbers of the cells that inverse kinematics can verify, shape (count,)."""

    @abstractmethod
    def edge_poses(self, rng: np.random.Generator) -> Array:
        """A random pose in each of them, as far as joint limits let the cell turn, shape (count, 4, 4)."""

    @abstractmethod
    def set_share(self, cells: NDArray[np.int64], share: NDArray[np.uint8]) -> None:
        """Writes what inverse kinematics has found about edge cells."""

    @abstractmethod
    def rows(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of cells among the visited ones, −1 for others; shape (N,)."""

    @abstractmethod
    def verdicts(self, T: Array) -> NDArray[np.uint8]:
        """NO, UNLIKELY, LIKELY or YES for poses (N, 4, 4), by the table alone; shape (N,)."""

    @abstractmethod
    def seeds_at(self, rows: NDArray[np.int64], T: Array) -> Array:
        """Configurations of cells, made to suit poses (N, 4, 4); NaN for rows below 0; shape (N, n)."""

    def reachable(
        self, T: ArrayLike, *, exact: bool = False, collides: Callable[[Array], NDArray[np.bool_]] | None = None
    ) -> NDArray[np.bool_]:
        """Which poses the tip can take.

        Args:
            T: T_base_tip, shape (..., 4, 4).
            exact: Solve inverse kinematics where the table is not certain: slower there, and right. In six dimensions
                only verified cells are certain.
            collides: Takes configurations (N, n), returns True for those to reject (`Checker.check`); used where
                inverse kinematics is solved.

        Returns:
            Shape (...,).
        """
        poses, flat = _flat(T)
        verdict = self.verdicts(flat)
        yes = verdict >= LIKELY
        if exact:
            likely, unlikely = (np.flatnonzero(verdict == kind) for kind in (LIKELY, UNLIKELY))
            yes[likely] = self.confirmed(flat[likely], collides)
            yes[unlikely] = self.solvable(flat[unlikely], collides)
        return yes.reshape(poses.shape[:-2])

    def quality(self, T: ArrayLike, *, penalised: bool = False) -> NDArray[np.float32]:
        """Highest quality known for the cell of each pose, 0 where it is not reachable, shape (...,)."""
        return self._lookup(T, self.penalised if penalised else self.best, 0.0)

    def clearances(self, T: ArrayLike) -> NDArray[np.float32]:
        """Least distance between the arm's own links at the best configuration of the cell of each pose.

        Returns:
            [m], shape (...,); NaN where the pose is not reachable, or the map was built without self-collision.
        """
        return self._lookup(T, self.clearance, np.nan)

    def _lookup(self, T: ArrayLike, table: NDArray[np.float32], otherwise: float) -> NDArray[np.float32]:
        poses, flat = _flat(T)
        rows = self.rows(self._cells(flat))
        good = (rows >= 0) & (self.verdicts(flat) >= LIKELY)
        found = np.full(len(flat), otherwise, np.float32)
        found[good] = table[rows[good]]
        return found.reshape(poses.shape[:-2])

    def seeds(self, T: ArrayLike) -> Array:
        """A configuration near each pose: a start for inverse kinematics.

        Returns:
            [rad or m], shape (..., n); NaN where the map has none.
        """
        poses, flat = _flat(T)
        return self.seeds_at(self.rows(self._cells(flat)), flat).reshape(*poses.shape[:-2], self.chain.n)

    def directions(self, point: ArrayLike, *, count: int = 200, rolls: int = 8) -> tuple[Array, Array, Array]:
        """How a point can be approached.

        Args:
            point: Of the tip in the base frame [m], shape (3,).
            count: Directions tried, evenly spread.
            rolls: Turns about each of them that are tried.

        Returns:
            Directions of the tip's z axis, best first, shape (count, 3); the share of rolls that is reachable, and the
            best quality, each of shape (count,).
        """
        place = np.asarray(point, dtype=np.float64)
        if place.shape != (3,):
            raise ShapeError("point", "(3,)", place.shape)
        z = even_directions(count)
        T = np.tile(np.eye(4), (count, rolls, 1, 1))
        x = np.cross(np.where(np.abs(z[:, 2:]) < 0.9, [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]]), z)
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        y = np.cross(z, x)
        for roll in range(rolls):
            c, s = np.cos(TURN * roll / rolls), np.sin(TURN * roll / rolls)
            T[:, roll, :3, 0], T[:, roll, :3, 1], T[:, roll, :3, 2] = c * x + s * y, c * y - s * x, z
        T[..., :3, 3] = place
        quality = self.quality(T)
        share, best = (quality > 0.0).mean(axis=1), quality.max(axis=1)
        order = np.lexsort((-best, -share))
        return z[order], share[order], best[order].astype(np.float64)

    def confirmed(self, T: Array, collides: Callable[[Array], NDArray[np.bool_]] | None = None) -> NDArray[np.bool_]:
        """Which of the poses (N, 4, 4) that are likely reachable inverse kinematics confirms."""
        return self.solvable(T, collides)

    def solvable(self, T: Array, collides: Callable[[Array], NDArray[np.bool_]] | None = None) -> NDArray[np.bool_]:
        """Which poses (N, 4, 4) inverse kinematics solves, starting from the pose's cell, then from those beside it."""
        solver, solved, cell = solver_for(self.chain), np.zeros(len(T), dtype=bool), self._cells(T)
        for side in range(-1, self.grid.sides):
            unsolved = np.flatnonzero(~solved & (cell >= 0))
            if not len(unsolved):
                break
            rows = self.rows(cell[unsolved] if side < 0 else self.grid.beside(cell[unsolved], side))
            tried, rows = unsolved[rows >= 0], rows[rows >= 0]
            if len(tried):
                poses = np.ascontiguousarray(T[tried])
                good, found = solver.follow(poses, self.seeds_at(rows, poses))
                solved[tried] = collision_free(good, found[:, : self.chain.n], collides)
        return solved

    def _cells(self, T: Array) -> NDArray[np.int64]:
        return self.grid.locate(T)[:, 0].astype(np.int64)

    def _tables(self) -> tuple[NDArray[Any], ...]:
        return (self.cell, self.count, self.best, self.penalised, self.seed, self.clearance, self.open, self.share)


def even_directions(count: int) -> Array:
    """Unit vectors on a Fibonacci spiral, shape (count, 3)."""
    if count < 1:
        raise InputError(f"count is {count}; give at least 1")
    index = np.arange(count) + 0.5
    z = 1.0 - 2.0 * index / count
    around = np.pi * (1.0 + np.sqrt(5.0)) * index
    flat = np.sqrt(1.0 - z * z)
    return np.column_stack([flat * np.cos(around), flat * np.sin(around), z])


def _flat(T: ArrayLike) -> tuple[Array, Array]:
    poses = np.asarray(T, dtype=np.float64)
    if poses.shape[-2:] != (4, 4):
        raise ShapeError("T", "(..., 4, 4)", poses.shape)
    return poses, np.ascontiguousarray(poses.reshape(-1, 4, 4))


def collision_free(
    solved: NDArray[np.bool_], q: Array, collides: Callable[[Array], NDArray[np.bool_]] | None
) -> NDArray[np.bool_]:
    """Which solutions (N, n) were found and do not collide."""
    good = solved.copy()
    if collides is not None and good.any():
        good[good] = ~np.asarray(collides(q[good]), dtype=bool)
    return good
