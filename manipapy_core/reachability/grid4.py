"""The four-dimensional grid of a reachability map: coordinates of a pose that the first and last joint do not change.

Both of them turn about their own axis, so a pose is moved to the axes first: X = A⁻¹ T B⁻¹, with z along the first
axis at one end and along the last one at the other. Then X = Rz(yaw) Ry(tilt) Rz(roll), the first joint adds to yaw,
the last one to roll, and what is left of the place is its height and its two coordinates seen from the yaw (Rudorfer
2025). Cells are boxes in these four numbers. Which yaw and roll the limits of the two joints leave is kept per cell as
16 × 16 bits.

Where the tip points straight up or down, as for grasps from above, the tilt has no direction. There the direction of
the place is the yaw: its cells are rings, and a ring gathers samples from all around.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import lie
from ..compiler import mechanism_of
from ..errors import InputError, ShapeError
from ..ik.seed_table import suits
from ..jit import njit
from ..model.chain import Chain
from ..typing import Array

TURN = 2.0 * math.pi
SECTORS = 16
"""Of yaw and of roll."""
CELL, YAW, ROLL = range(3)
"""Columns of a located pose: number of the cell (−1 outside the grid), and two angles."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells of height, tilt and two horizontal coordinates."""

    resolution: float
    """Edge of a cell [m]."""
    shape: tuple[int, int, int, int]
    """Cells of height, tilt, ahead and aside."""
    lowest: float
    """Height of the first cell above the origin of the first axis [m]."""
    radius: float
    """Half width of the grid, ahead and aside [m]."""
    frame: Array
    """Rows of A⁻¹ and of B⁻¹, shape (24,)."""

    dimensions = 4
    sides = 8
    """Neighbours of a cell: two per dimension."""

    @property
    def cells(self) -> int:
        return math.prod(self.shape)

    @property
    def reach(self) -> float:
        """No tip in the grid is farther from the base's origin [m]."""
        high = max(abs(self.lowest), abs(self.lowest + self.shape[0] * self.resolution))
        offsets = np.linalg.norm(self.frame.reshape(2, 3, 4)[:, :, 3], axis=1).sum()
        return math.hypot(self.radius, high) + float(offsets)

    @property
    def numbers(self) -> Array:
        """All of it for the compiled code: frame, lowest height, radius, cells per metre, shape; (31,)."""
        return np.concatenate([self.frame, [self.lowest, self.radius, 1.0 / self.resolution, *self.shape]])

    def locate(self, T: ArrayLike) -> Array:
        """Cell, yaw and roll [rad] of poses T_base_tip (..., 4, 4); shape (..., 3)."""
        return located(T, locate_many, self.numbers)

    def beside(self, cells: NDArray[np.int64], side: int) -> NDArray[np.int64]:
        """The neighbours of cells on one of the sides, −1 where the grid ends; shape (N,)."""
        axis, step = side // 2, 1 - 2 * (side % 2)
        stride = math.prod(self.shape[axis + 1 :])
        at = cells // stride % self.shape[axis] + step
        return np.where((cells >= 0) & (at >= 0) & (at < self.shape[axis]), cells + step * stride, -1)

    def random_poses(self, cells: NDArray[np.int64], rng: np.random.Generator) -> Array:
        """A random pose T_base_tip in each of the cells, any yaw and roll, shape (count, 4, 4)."""
        heights = np.stack(np.unravel_index(cells, self.shape), axis=1) + rng.random((len(cells), 4))
        height = self.lowest + heights[:, 0] * self.resolution
        tilt = heights[:, 1] * np.pi / self.shape[1]
        ahead, aside = (heights[:, axis] * self.resolution - self.radius for axis in (2, 3))
        yaw, roll = rng.uniform(0.0, TURN, (2, len(cells)))
        # Straight up and down cells are rings: the place is turned by an angle of its own.
        ring = (heights[:, 1] < 1.0) | (heights[:, 1] >= self.shape[1] - 1)
        around = np.where(ring, rng.uniform(0.0, TURN, len(cells)), yaw)
        aside = np.where(ring, 0.0, aside)
        X = np.zeros((len(cells), 4, 4))
        X[:, :3, :3] = rotations(yaw, tilt, roll)
        ca, sa = np.cos(around), np.sin(around)
        X[:, :3, 3] = np.stack([ca * ahead - sa * aside, sa * ahead + ca * aside, height], axis=1)
        X[:, 3, 3] = 1.0
        A, B = np.eye(4), np.eye(4)
        A[:3], B[:3] = self.frame[:12].reshape(3, 4), self.frame[12:].reshape(3, 4)
        return lie.inverse(A) @ X @ lie.inverse(B)

    def neighbours(self, occupied: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many of the eight cells beside each one (two per direction) are occupied; those outside count as not."""
        grid = occupied.reshape(self.shape).astype(np.int8)
        count = np.zeros(self.shape, dtype=np.int64)
        for axis in range(4):
            ahead, behind = [slice(None)] * 4, [slice(None)] * 4
            ahead[axis], behind[axis] = slice(1, None), slice(None, -1)
            count[tuple(ahead)] += grid[tuple(behind)]
            count[tuple(behind)] += grid[tuple(ahead)]
        return count.ravel()


def located(T: ArrayLike, locate: Callable[[Array, Array, Array], object], numbers: Array) -> Array:
    """Cell, yaw and roll [rad] of poses (..., 4, 4), found by the compiled code of a grid; shape (..., 3)."""
    poses = np.asarray(T)
    if poses.shape[-2:] != (4, 4):
        raise ShapeError("T", "(..., 4, 4)", poses.shape)
    flat = np.ascontiguousarray(poses.reshape(-1, 4, 4))
    places = np.empty((len(flat), 3))
    locate(flat, numbers, places)
    return places.reshape(*poses.shape[:-2], 3)


def rotations(yaw: Array, tilt: Array, roll: Array) -> Array:
    """Rz(yaw) Ry(tilt) Rz(roll) for many angles [rad], shape (N, 3, 3)."""
    cy, sy, ct, st, cr, sr = (f(angle) for angle in (yaw, tilt, roll) for f in (np.cos, np.sin))
    rows = [
        [cy * ct * cr - sy * sr, -cy * ct * sr - sy * cr, cy * st],
        [sy * ct * cr + cy * sr, -sy * ct * sr + cy * cr, sy * st],
        [-st * cr, st * sr, ct],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def make_grid(chain: Chain, resolution: float, tilts: int, T_samples: Array) -> Grid:
    """A grid that holds the poses of some samples (count, 4, 4), with a cell to spare.

    Raises:
        InputError: For chains whose first and last joint do not both turn.
    """
    mechanism = mechanism_of(chain)
    if not suits(mechanism):
        raise InputError(
            "a map of four dimensions needs a serial chain of at least three joints whose first and last one turn; "
            f"{chain.base!r} → {chain.tip!r} is not one: choose index 6d or auto"
        )
    if not 0.005 <= resolution <= 1.0 or tilts < 6:
        raise InputError(f"resolution is {resolution} and tilts {tilts}; give 0.005 to 1 m, and at least 6")
    first, tip = mechanism.bodies[0], mechanism.tip
    A = lie.inverse(lie.pose(np.reshape(first.rotation, (3, 3)), first.translation))
    B = lie.inverse(lie.pose(np.reshape(tip.rotation, (3, 3)), tip.translation))
    places = (A @ T_samples @ B)[:, :3, 3]
    reach = float(np.hypot(places[:, 0], places[:, 1]).max())
    half = math.ceil(1.02 * reach / resolution) + 1
    span = float(np.ptp(places[:, 2]))
    lowest = float(places[:, 2].min()) - 0.02 * span - resolution
    heights = math.ceil((float(places[:, 2].max()) + 0.02 * span + resolution - lowest) / resolution)
    frame = np.concatenate([A[:3].ravel(), B[:3].ravel()])
    return Grid(resolution, (heights, tilts, 2 * half, 2 * half), lowest, half * resolution, frame)


@njit(cache=True, nogil=True)
def locate_one(T, i, g, X, places, at):  # type: ignore[no-untyped-def]
    """Writes row `at` of `places` for pose i of T (N, 4, 4); g are the numbers of a grid, X is scratch (3, 4)."""
    for r in range(3):
        for c in range(4):
            total = g[4 * r + 3] if c == 3 else 0.0
            for k in range(3):
                total += g[4 * r + k] * T[i, k, c]
            X[r, c] = total
    p0 = X[0, 0] * g[15] + X[0, 1] * g[19] + X[0, 2] * g[23] + X[0, 3]
    p1 = X[1, 0] * g[15] + X[1, 1] * g[19] + X[1, 2] * g[23] + X[1, 3]
    p2 = X[2, 0] * g[15] + X[2, 1] * g[19] + X[2, 2] * g[23] + X[2, 3]
    z0 = X[0, 0] * g[14] + X[0, 1] * g[18] + X[0, 2] * g[22]
    z1 = X[1, 0] * g[14] + X[1, 1] * g[18] + X[1, 2] * g[22]
    z2 = X[2, 0] * g[14] + X[2, 1] * g[18] + X[2, 2] * g[22]
    per_metre, tilts = g[26], g[28]
    it = min(math.floor(math.acos(min(max(z2, -1.0), 1.0)) / math.pi * tilts), tilts - 1)
    if it == 0 or it == tilts - 1:
        z0, z1 = p0, p1
    flat = math.sqrt(z0 * z0 + z1 * z1)
    cosine, sine = (z0 / flat, z1 / flat) if flat > 1e-9 else (1.0, 0.0)
    yaw = math.atan2(sine, cosine)
    # The second row of Rz(−yaw) R is (sin roll, cos roll, 0).
    x0 = X[0, 0] * g[12] + X[0, 1] * g[16] + X[0, 2] * g[20]
    x1 = X[1, 0] * g[12] + X[1, 1] * g[16] + X[1, 2] * g[20]
    y0 = X[0, 0] * g[13] + X[0, 1] * g[17] + X[0, 2] * g[21]
    y1 = X[1, 0] * g[13] + X[1, 1] * g[17] + X[1, 2] * g[21]
    roll = math.atan2(cosine * x1 - sine * x0, cosine * y1 - sine * y0)
    iz = math.floor((p2 - g[24]) * per_metre)
    ix = math.floor((cosine * p0 + sine * p1 + g[25]) * per_metre)
    aside = cosine * p1 - sine * p0 if 0 < it < tilts - 1 else 0.5 / per_metre
    iy = math.floor((aside + g[25]) * per_metre)
    inside = 0 <= iz < g[27] and 0 <= ix < g[29] and 0 <= iy < g[30]
    places[at, 0] = ((iz * tilts + it) * g[29] + ix) * g[30] + iy if inside else -1
    places[at, 1] = yaw
    places[at, 2] = roll


@njit(cache=True, nogil=True)
def locate_many(T, g, places):  # type: ignore[no-untyped-def]
    X = np.empty((3, 4))
    for i in range(T.shape[0]):
        locate_one(T, i, g, X, places, i)


@njit(cache=True, nogil=True)
def sector(angle):  # type: ignore[no-untyped-def]
    share = angle / TURN
    return min(int((share - math.floor(share)) * SECTORS), SECTORS - 1)


@njit(cache=True, nogil=True)
def open_sectors(offset, lower, upper):  # type: ignore[no-untyped-def]
    """Bits of the sectors whose middle a joint reaches between its limits, where angle = joint + offset."""
    first = math.ceil((lower + offset) * (SECTORS / TURN) - 0.5)
    count = math.floor((upper + offset) * (SECTORS / TURN) - 0.5) - first + 1
    if count >= SECTORS:
        return (1 << SECTORS) - 1
    bits = ((1 << max(count, 0)) - 1) << (first % SECTORS)
    return (bits | bits >> SECTORS) & ((1 << SECTORS) - 1)
