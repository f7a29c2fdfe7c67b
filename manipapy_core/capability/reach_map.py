"""`ReachMap`: which poses an arm reaches, how well, and with which joints; millions of answers a second.

Three kinds of cells: inside, where all neighbours are met too; outside, where nothing is near; and the edge between. An
answer from the table alone is a guess at the edge. `exact=True` asks inverse kinematics there, beginning at the cell's
own configuration and its neighbours'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from .. import lie
from ..errors import InputError, ShapeError
from ..ik.bounds import search_bounds
from ..ik.numeric import solver_for
from ..model.chain import Chain
from .reach_grid import TURN, Grid, locate_one, sector

Array = NDArray[np.float64]

OUTSIDE, EDGE, INSIDE = 0, 1, 2
UNKNOWN = 255
"""Share of a cell that was not verified."""


@dataclass(frozen=True, eq=False)
class ReachMap:
    """A filled grid; made by `build_map` or read from a file."""

    chain: Chain
    grid: Grid
    cell: NDArray[np.int64]
    """Numbers of the cells that were met, ascending, shape (met,)."""
    count: NDArray[np.uint32]
    """Samples in them, shape (met,)."""
    best: NDArray[np.float32]
    """Highest quality in them, shape (met,)."""
    penalised: NDArray[np.float32]
    """Highest quality where joint limits count, shape (met,)."""
    seed: NDArray[np.float32]
    """A configuration for each [rad or m], shape (met, n)."""
    open: NDArray[np.uint16]
    """Yaws and rolls that the limits leave, shape (met, SECTORS)."""
    share: NDArray[np.uint8]
    """Reachable part of edge cells as found by inverse kinematics, 0 to 254; 255 where not asked; shape (cells,)."""
    attributes: dict[str, Any] = field(default_factory=dict)
    """Where it comes from: robot, limits, samples, versions."""

    @classmethod
    def of_tables(
        cls, chain: Chain, grid: Grid, tables: Mapping[str, NDArray[Any]], attributes: dict[str, Any]
    ) -> ReachMap:
        """From arrays by name; a map that was never verified has no `share` among them."""
        share = tables.get("share")
        return cls(
            chain,
            grid,
            tables["cell"],
            tables["count"],
            tables["best"],
            tables["penalised"],
            tables["seed"],
            tables["open"],
            np.full(grid.cells, UNKNOWN, np.uint8) if share is None else share,
            attributes,
        )

    @cached_property
    def slot(self) -> NDArray[np.int32]:
        """Place of every cell of the grid in the arrays of met ones; -1 where none was met; shape (cells,)."""
        slots = np.full(self.grid.cells, -1, dtype=np.int32)
        slots[self.cell] = np.arange(len(self.cell), dtype=np.int32)
        return slots

    @cached_property
    def kind(self) -> NDArray[np.uint8]:
        """OUTSIDE, EDGE or INSIDE, shape (cells,)."""
        met = self.slot >= 0
        around = self.grid.neighbours(met)
        return np.where(met & (around == 8), INSIDE, np.where(met | (around > 0), EDGE, OUTSIDE)).astype(np.uint8)

    @property
    def memory(self) -> int:
        """Of all tables [bytes]."""
        tables = (self.cell, self.count, self.best, self.penalised, self.seed, self.open, self.share)
        return sum(table.nbytes for table in tables) + self.slot.nbytes + self.kind.nbytes

    def reachable(
        self, T: ArrayLike, *, exact: bool = False, collides: Callable[[Array], NDArray[np.bool_]] | None = None
    ) -> NDArray[np.bool_]:
        """Which poses the tip can take.

        Args:
            T: T_base_tip, shape (..., 4, 4).
            exact: Ask inverse kinematics where the table is not sure: slower at the edge, and right there.
            collides: Takes configurations (N, n), gives True for each that must not be the answer (`Checker.check`);
                counts where inverse kinematics is asked.

        Returns:
            Shape (...,).
        """
        poses, flat = _flat(T)
        answer = np.empty(len(flat), np.uint8)
        ask(flat, self.grid.numbers, self.slot, self.kind, self.share, self.open, answer)
        yes = answer >= 2
        if exact:
            unsure = np.flatnonzero((answer == 1) | (answer == 2))
            if len(unsure):
                yes[unsure] = self.solvable(flat[unsure], collides)
        return yes.reshape(poses.shape[:-2])

    def quality(self, T: ArrayLike, *, penalised: bool = False) -> NDArray[np.float32]:
        """Highest quality known for the cell of each pose, 0 where it is not reachable, shape (...,)."""
        poses, flat = _flat(T)
        table = self.penalised if penalised else self.best
        slots = self._slots(self.grid.locate(flat))
        found = np.where(slots >= 0, table[np.maximum(slots, 0)], np.float32(0.0))
        return np.where(self.reachable(flat), found, np.float32(0.0)).reshape(poses.shape[:-2])

    def seeds(self, T: ArrayLike) -> Array:
        """A configuration near each pose, turned to its yaw and roll: a start for inverse kinematics.

        Returns:
            [rad or m], shape (..., n); NaN where the map knows none.
        """
        poses, flat = _flat(T)
        places = self.grid.locate(flat)
        return self._turned_seeds(self._slots(places), places).reshape(*poses.shape[:-2], self.chain.n)

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

    def _slots(self, places: Array) -> NDArray[np.int64]:
        cell = places[:, 0].astype(np.int64)
        return np.where(cell >= 0, self.slot[np.maximum(cell, 0)], -1)

    def _turned_seeds(self, slots: NDArray[np.int64], places: Array) -> Array:
        """Seeds with the first and last joint brought to the yaw and roll of poses, NaN where there is none."""
        q = self.seed[np.maximum(slots, 0)].astype(np.float64)
        own = self.grid.locate(self.chain.kernels.forward.run(q))
        bounds = search_bounds(self.chain, True)
        for joint, column in ((0, 1), (-1, 2)):
            angle = q[:, joint] + places[:, column] - own[:, column]
            low, high = bounds.lower[joint], bounds.upper[joint]
            angle -= TURN * np.floor((angle - low) / TURN)
            q[:, joint] = np.where(angle <= high, angle, np.clip(angle, low, high))
        q[slots < 0] = np.nan
        return q

    def solvable(
        self, T: Array, collides: Callable[[Array], NDArray[np.bool_]] | None = None
    ) -> NDArray[np.bool_]:
        """Which poses (N, 4, 4) inverse kinematics solves, starting from the pose's cell, then from those beside it."""
        solver, places = solver_for(self.chain), self.grid.locate(T)
        solved = np.zeros(len(T), dtype=bool)
        cell = places[:, 0].astype(np.int64)
        for offset in (0, *self._offsets()):
            open_ = np.flatnonzero(~solved & (cell >= 0))
            if not len(open_):
                break
            beside = cell[open_] + offset
            good = (beside >= 0) & (beside < self.grid.cells)
            slots = np.where(good, self.slot[np.where(good, beside, 0)], -1)
            tried, slots = open_[slots >= 0], slots[slots >= 0]
            if len(tried):
                q = self._turned_seeds(slots, places[tried])
                good, rows = solver.follow(np.ascontiguousarray(T[tried]), q)
                if collides is not None and good.any():
                    good[good] = ~np.asarray(collides(rows[good, : self.chain.n]), dtype=bool)
                solved[tried] = good
        return solved

    def _offsets(self) -> list[int]:
        _, tilts, ahead, aside = self.grid.shape
        steps = (1, aside, aside * ahead, aside * ahead * tilts)
        return [sign * step for step in steps for sign in (1, -1)]


@njit(cache=True, nogil=True)
def ask(T, g, slot, kind, share, open_, answer):  # type: ignore[no-untyped-def]
    """0 no, 1 probably not, 2 probably, 3 yes, for poses (N, 4, 4)."""
    places, X = np.empty((1, 3)), np.empty((3, 4))
    for i in range(T.shape[0]):
        locate_one(T, i, g, X, places, 0)
        cell = np.int64(places[0, 0])
        answer[i] = 0
        if cell < 0 or kind[cell] == OUTSIDE:
            continue
        here = slot[cell]
        bit = False
        if here >= 0:
            bit = open_[here, sector(places[0, 2])] >> sector(places[0, 1]) & 1 == 1
        if kind[cell] == INSIDE:
            answer[i] = 3 if bit else 1
        elif share[cell] == UNKNOWN:
            answer[i] = 2 if bit else 1
        else:
            answer[i] = 2 if bit and share[cell] >= 127 else 1


def even_directions(count: int) -> Array:
    """Unit vectors on a Fibonacci spiral, shape (count, 3)."""
    if count < 1:
        raise InputError(f"count is {count}; give at least 1")
    index = np.arange(count) + 0.5
    z = 1.0 - 2.0 * index / count
    around = np.pi * (1.0 + np.sqrt(5.0)) * index
    flat = np.sqrt(1.0 - z * z)
    return np.column_stack([flat * np.cos(around), flat * np.sin(around), z])


def cell_poses(grid: Grid, cells: NDArray[np.int64], rng: np.random.Generator) -> Array:
    """A random pose T_base_tip in each of the cells, any yaw and roll, shape (count, 4, 4)."""
    heights = np.stack(np.unravel_index(cells, grid.shape), axis=1) + rng.random((len(cells), 4))
    height = grid.lowest + heights[:, 0] * grid.resolution
    tilt = heights[:, 1] * np.pi / grid.shape[1]
    ahead, aside = (heights[:, axis] * grid.resolution - grid.radius for axis in (2, 3))
    yaw, roll = rng.uniform(0.0, TURN, (2, len(cells)))
    # Straight up and down cells are rings: the place is turned by an angle of its own.
    ring = (heights[:, 1] < 1.0) | (heights[:, 1] >= grid.shape[1] - 1)
    around = np.where(ring, rng.uniform(0.0, TURN, len(cells)), yaw)
    aside = np.where(ring, 0.0, aside)
    cy, sy, ct, st, cr, sr = (f(angle) for angle in (yaw, tilt, roll) for f in (np.cos, np.sin))
    X = np.zeros((len(cells), 4, 4))
    X[:, 0, :3] = np.stack([cy * ct * cr - sy * sr, -cy * ct * sr - sy * cr, cy * st], axis=1)
    X[:, 1, :3] = np.stack([sy * ct * cr + cy * sr, -sy * ct * sr + cy * cr, sy * st], axis=1)
    X[:, 2, :3] = np.stack([-st * cr, st * sr, ct], axis=1)
    ca, sa = np.cos(around), np.sin(around)
    X[:, :3, 3] = np.stack([ca * ahead - sa * aside, sa * ahead + ca * aside, height], axis=1)
    X[:, 3, 3] = 1.0
    A, B = np.eye(4), np.eye(4)
    A[:3], B[:3] = grid.frame[:12].reshape(3, 4), grid.frame[12:].reshape(3, 4)
    return lie.inverse(A) @ X @ lie.inverse(B)


def _flat(T: ArrayLike) -> tuple[Array, Array]:
    poses = np.asarray(T, dtype=np.float64)
    if poses.shape[-2:] != (4, 4):
        raise ShapeError("T", "(..., 4, 4)", poses.shape)
    return poses, np.ascontiguousarray(poses.reshape(-1, 4, 4))
