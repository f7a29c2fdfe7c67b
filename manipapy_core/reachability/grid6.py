"""The six-dimensional grid of a reachability map: position, direction and roll, for arms of any joints.

The place is that of the last joint's frame in the base frame, in cubes. The direction of that joint's axis falls into
bands of equal tilt, each cut into pieces about as wide as high. The roll about it is measured from the middle of the
piece, roll + (yaw − middle) cos(tilt), so that all cells are alike, also where the axis points straight up or down and
the yaw means nothing.

Where the last joint turns, it changes nothing but the roll: which rolls its limits leave is kept as 16 bits per cell.
Where it slides and the first one turns, everything is seen from the tip, as the first joint's frame in the tip's, and
the roll is the base's yaw. Where neither turns, the roll is a dimension of the cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import lie
from ..compiler import Mechanism, mechanism_of
from ..errors import InputError
from ..jit import njit
from ..model.chain import Chain
from ..typing import Array
from .grid4 import SECTORS, TURN, located, rotations

MOST_CELLS = 1 << 53
"""Cell numbers are stored as floats, which are exact up to here."""


@dataclass(frozen=True, eq=False)
class PoseGrid:
    """Cells of place, direction and, if no joint turns about the direction alone, roll."""

    resolution: float
    """Edge of a cell [m]."""
    shape: tuple[int, int, int]
    """Cells along x, y and z."""
    tilts: int
    """Bands of directions; a cell is π/tilts wide."""
    rolls: int
    """Cells of the roll; 1 where a joint turns it and bits tell how far."""
    seen_from_tip: bool
    """Whether the first joint's frame is located in the tip's, instead of the last one's in the base's."""
    lowest: Array
    """Corner of the first cell [m], shape (3,)."""
    frame: Array
    """Rows of B⁻¹, the last joint's frame in the tip's; or of A, the first one's in the base's; shape (12,)."""

    dimensions = 6

    @property
    def sides(self) -> int:
        """Neighbours of a cell: two per dimension."""
        return 10 if self.rolls == 1 else 12

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """Number of the first piece of every band, and of all pieces, shape (tilts + 1,)."""
        middle = (np.arange(self.tilts) + 0.5) * np.pi / self.tilts
        return np.concatenate([[0], np.cumsum(np.maximum(3, np.round(2 * self.tilts * np.sin(middle))))]).astype(int)

    @property
    def orientations(self) -> int:
        return int(self.first[-1]) * self.rolls

    @property
    def cells(self) -> int:
        return math.prod(self.shape) * self.orientations

    @property
    def reach(self) -> float:
        """No tip in the grid is farther from the base's origin [m]."""
        high = self.lowest + self.resolution * np.array(self.shape)
        corner = np.maximum(np.abs(self.lowest), np.abs(high))
        return float(np.linalg.norm(corner) + np.linalg.norm(self.frame.reshape(3, 4)[:, 3]))

    radius = reach

    @cached_property
    def numbers(self) -> Array:
        """All of it for the compiled code: frame, lowest corner, cells per metre, shape, tilts, rolls, view, bands."""
        counts = [1.0 / self.resolution, *self.shape, self.tilts, self.rolls, float(self.seen_from_tip)]
        return np.concatenate([self.frame, self.lowest, counts, self.first])

    def locate(self, T: ArrayLike) -> Array:
        """Cell (−1 outside), yaw and roll [rad] of poses T_base_tip (..., 4, 4); shape (..., 3)."""
        return located(T, locate_many6, self.numbers)

    def seen(self, T: Array) -> Array:
        """The frame that is located for poses T_base_tip (..., 4, 4): its z axis is that of a joint."""
        X = np.eye(4)
        X[:3] = self.frame.reshape(3, 4)
        return lie.inverse(T) @ X if self.seen_from_tip else T @ X

    def beside(self, cells: NDArray[np.int64], side: int) -> NDArray[np.int64]:
        """The neighbours of cells on one of the sides, −1 where the grid ends; shape (N,)."""
        if side >= 6:
            orientation = cells % self.orientations
            return np.where(cells >= 0, cells - orientation + self.turned[orientation, side - 6], -1)
        axis, step = side // 2, 1 - 2 * (side % 2)
        stride = math.prod(self.shape[axis + 1 :]) * self.orientations
        at = cells // stride % self.shape[axis] + step
        return np.where((cells >= 0) & (at >= 0) & (at < self.shape[axis]), cells + step * stride, -1)

    @cached_property
    def turned(self) -> NDArray[np.int64]:
        """Orientations beside each one: its middle turned by a cell's width about its axes, (orientations, 4 or 6)."""
        return self._beside_middles[..., 0].astype(np.int64).T.copy()

    @cached_property
    def sectors_turned(self) -> NDArray[np.int64]:
        """By how many sectors the roll of a pose grows when it is seen from the orientations beside, as `turned`."""
        middle = TURN / 2.0  # the roll of every middle, where the roll is no dimension of the cells
        return np.round((self._beside_middles[..., 2] - middle) * (SECTORS / TURN)).astype(np.int64).T % SECTORS

    @cached_property
    def _beside_middles(self) -> Array:
        number = np.arange(self.orientations)
        middle = self._rotations(number, np.full((3, len(number)), 0.5))
        widths = (np.pi / self.tilts, np.pi / self.tilts, TURN / self.rolls)[: self.sides // 2 - 3]
        steps = [lie.exp_so3(sign * width * axis) for width, axis in zip(widths, np.eye(3)) for sign in (1.0, -1.0)]
        here = PoseGrid(1.0, (1, 1, 1), self.tilts, self.rolls, False, np.full(3, -0.5), np.eye(4)[:3].ravel())
        T = np.tile(np.eye(4), (len(steps), len(number), 1, 1))
        for at, step in enumerate(steps):
            T[at, :, :3, :3] = middle @ step
        return here.locate(T)

    def random_poses(self, cells: NDArray[np.int64], rng: np.random.Generator, roll: Array | None = None) -> Array:
        """A random pose T_base_tip in each of the cells, shape (count, 4, 4).

        Args:
            roll: As a share of the cell's rolls, 0 to 1, shape (count,); any if not given.
        """
        place = np.stack(np.unravel_index(cells // self.orientations, self.shape), axis=1)
        share = rng.random((3, len(cells)))
        if roll is not None:
            share[2] = roll
        X = np.zeros((len(cells), 4, 4))
        X[:, :3, :3] = self._rotations(cells % self.orientations, share)
        X[:, :3, 3] = self.lowest + (place + rng.random((len(cells), 3))) * self.resolution
        X[:, 3, 3] = 1.0
        frame = np.eye(4)
        frame[:3] = self.frame.reshape(3, 4)
        return frame @ lie.inverse(X) if self.seen_from_tip else X @ lie.inverse(frame)

    def _rotations(self, orientation: NDArray[np.int64], share: Array) -> Array:
        """Rotations in cells of orientation, at shares (3, N) of their tilt, yaw and roll; shape (N, 3, 3)."""
        piece, roll = np.divmod(orientation, self.rolls)
        band = np.searchsorted(self.first, piece, side="right") - 1
        pieces = np.diff(self.first)[band]
        tilt = (band + share[0]) * np.pi / self.tilts
        off = (share[1] - 0.5) * TURN / pieces
        yaw = (piece - self.first[band] + 0.5) * TURN / pieces + off
        return rotations(yaw, tilt, (roll + share[2]) * TURN / self.rolls - off * np.cos(tilt))


def turning_joint(mechanism: Mechanism) -> int | None:
    """0 or −1: an end of a chain whose joint turns what is beyond it and nothing else; None if there is none."""
    bodies = mechanism.bodies
    serial = all(body.parent == index - 1 and body.dof == index for index, body in enumerate(bodies))
    if not bodies or mechanism.coupled or not serial or mechanism.tip.body != len(bodies) - 1:
        return None
    return next((end for end in (-1, 0) if bodies[end].revolute and bodies[end].ratio == 1.0), None)


def make_pose_grid(chain: Chain, resolution: float, tilts: int, T_samples: Array) -> PoseGrid:
    """A grid that holds the poses of some samples (count, 4, 4), with a cell to spare."""
    if not 0.005 <= resolution <= 1.0 or not 4 <= tilts <= 72:
        raise InputError(f"resolution is {resolution} and tilts {tilts}; give 0.005 to 1 m, and 4 to 72")
    mechanism = mechanism_of(chain)
    turning = turning_joint(mechanism)
    if turning == 0:
        body = mechanism.bodies[0]
        frame = lie.pose(np.reshape(body.rotation, (3, 3)), body.translation)
    else:
        tip = mechanism.tip
        frame = lie.inverse(lie.pose(np.reshape(tip.rotation, (3, 3)), tip.translation))
    rows, rolls = frame[:3].ravel(), 2 * tilts if turning is None else 1
    places = PoseGrid(1.0, (1, 1, 1), tilts, rolls, turning == 0, np.zeros(3), rows).seen(T_samples)[:, :3, 3]
    spare = 0.02 * np.ptp(places, axis=0) + resolution
    low = places.min(axis=0) - spare
    x, y, z = np.ceil((places.max(axis=0) + spare - low) / resolution).astype(int).tolist()
    grid = PoseGrid(resolution, (x, y, z), tilts, rolls, turning == 0, low, rows)
    if grid.cells >= MOST_CELLS:
        raise InputError(f"this grid has {grid.cells:.1e} cells; choose a coarser resolution or fewer tilts")
    return grid


@njit(cache=True, nogil=True)
def write_located(T, i, g, X):  # type: ignore[no-untyped-def]
    """Writes what is located for pose i of T (N, 4, 4) into X (3, 4)."""
    for r in range(3):
        for c in range(4):
            total = 0.0
            if g[21] > 0.0:  # the inverse of T times the frame
                for k in range(3):
                    total += T[i, k, r] * (g[4 * k + c] - (T[i, k, 3] if c == 3 else 0.0))
            else:
                for k in range(3):
                    total += T[i, r, k] * g[4 * k + c]
                total += T[i, r, 3] if c == 3 else 0.0
            X[r, c] = total


@njit(cache=True, nogil=True)
def locate_one6(T, i, g, X, places, at):  # type: ignore[no-untyped-def]
    """Writes row `at` of `places` for pose i of T (N, 4, 4); g are the numbers of a grid, X is scratch (3, 4)."""
    write_located(T, i, g, X)
    tilts, rolls = g[19], g[20]
    flat = math.sqrt(X[0, 2] * X[0, 2] + X[1, 2] * X[1, 2])
    c, s = (X[0, 2] / flat, X[1, 2] / flat) if flat > 1e-9 else (1.0, 0.0)
    tilt, yaw = math.atan2(flat, X[2, 2]), math.atan2(s, c)
    # The second row of Rz(−yaw) R is (sin roll, cos roll, 0).
    roll = math.atan2(c * X[1, 0] - s * X[0, 0], c * X[1, 1] - s * X[0, 1])
    band = int(min(math.floor(tilt / math.pi * tilts), tilts - 1))
    pieces = g[23 + band] - g[22 + band]
    share = yaw / TURN
    share = (share - math.floor(share)) * pieces
    piece = min(math.floor(share), pieces - 1)
    roll += (share - piece - 0.5) / pieces * TURN * math.cos(tilt)
    turn = roll / TURN
    step = min(math.floor((turn - math.floor(turn)) * rolls), rolls - 1)
    number, inside = 0.0, True
    for r in range(3):
        k = math.floor((X[r, 3] - g[12 + r]) * g[15])
        inside = inside and 0 <= k < g[16 + r]
        number = number * g[16 + r] + k
    whole = number * (g[22 + int(tilts)] * rolls) + (g[22 + band] + piece) * rolls + step
    places[at, 0] = whole if inside else -1.0
    places[at, 1] = yaw
    places[at, 2] = roll


@njit(cache=True, nogil=True)
def locate_many6(T, g, places):  # type: ignore[no-untyped-def]
    X = np.empty((3, 4))
    for i in range(T.shape[0]):
        locate_one6(T, i, g, X, places, i)
