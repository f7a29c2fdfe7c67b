"""Compiled voxel grid filter: one mean point per voxel, by a hash table instead of sorting."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError, ShapeError
from ...jit import njit
from ..stereo.depth import Points

FloatArray = NDArray[np.float32]

MAX_CELL = 1 << 20
"""Cells are counted from −2²⁰ to 2²⁰ along each axis; points beyond are dropped."""


@dataclass(frozen=True, eq=False)
class Voxels:
    """Mean points of the occupied cells."""

    xyz: FloatArray
    """[m], shape (cells, 3)."""
    sigma: FloatArray
    """Mean standard deviation along the line of sight [m], shape (cells,)."""
    counts: NDArray[np.int32]
    """Points per cell, shape (cells,)."""
    cell: float
    """Edge of the cells [m]."""

    def __len__(self) -> int:
        return len(self.xyz)

    def select(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> Voxels:
        """A subset."""
        return Voxels(self.xyz[chosen], self.sigma[chosen], self.counts[chosen], self.cell)


def voxel_grid(
    points: Points,
    cell: float,
    *,
    lower: ArrayLike = (-math.inf,) * 3,
    upper: ArrayLike = (math.inf,) * 3,
    min_points: int = 1,
) -> Voxels:
    """Merge the points of each cell, within a crop box; points that are not finite are dropped.

    Args:
        points: Organised or not.
        cell: Edge of the cells [m].
        lower: Corner of the crop box [m], shape (3,).
        upper: The opposite corner [m], shape (3,).
        min_points: Cells with fewer points are dropped.

    Returns:
        In order of first occurrence.
    """
    if not (1e-4 <= cell <= 10.0):
        raise InputError(f"the cell size is {cell!r} m; give 0.0001 to 10")
    edge = cell * (MAX_CELL - 1)
    box = np.clip([crop_corner(lower, "lower"), crop_corner(upper, "upper")], -edge, edge)
    xyz = np.ascontiguousarray(points.xyz, dtype=np.float32).reshape(-1, 3)
    sigma = np.ascontiguousarray(points.sigma, dtype=np.float32).reshape(-1)
    if len(sigma) != len(xyz):
        raise ShapeError("Points.sigma", f"({len(xyz)},)", sigma.shape)
    # Usually there are far fewer cells than points: start small, and grow when the table is more than half full.
    size = 1 << max(12, min(17, len(xyz).bit_length()))
    while True:
        sums = np.empty((size // 2, 4))
        counts = np.empty(size // 2, np.int32)
        found = _merge(xyz, sigma, 1.0 / cell, box, np.full(size, -1, np.int64), np.empty(size, np.int32), sums, counts)
        if found >= 0:
            break
        size *= 4
    means, mean_sigma, kept = _means(sums[:found], counts[:found], max(min_points, 1))
    return Voxels(means, mean_sigma, kept, float(cell))


def crop_corner(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """A corner of a box, which may be at infinity, shape (3,)."""
    corner = np.array(values, dtype=np.float64)
    if corner.shape != (3,):
        raise ShapeError(name, "(3,)", corner.shape)
    if np.isnan(corner).any():
        raise InputError(f"{name} is {corner.tolist()}; a corner may be infinite but not NaN")
    return corner


def crop(points: Points, lower: ArrayLike, upper: ArrayLike) -> Points:
    """Points within a box; points outside become NaN if organised, and are removed otherwise."""
    low, high = crop_corner(lower, "lower"), crop_corner(upper, "upper")
    with np.errstate(invalid="ignore"):
        inside = np.all((points.xyz >= low) & (points.xyz <= high), axis=-1)
    if not points.organised:
        return Points(points.xyz[inside], points.sigma[inside])
    return Points(np.where(inside[..., None], points.xyz, np.float32(np.nan)), points.sigma)


@njit(cache=True, nogil=True)
def _merge(xyz, sigma, per_metre, box, keys, slots, sums, counts):  # type: ignore[no-untyped-def]
    """Fill sums and counts; returns the number of cells, or −1 if the table is too small."""
    mask = keys.shape[0] - 1
    capacity = sums.shape[0]
    found = 0
    last_key, last_slot = np.int64(-1), np.int32(0)
    sx = sy = sz = ss = 0.0
    pending = 0
    x0, y0, z0 = box[0, 0], box[0, 1], box[0, 2]
    x1, y1, z1 = box[1, 0], box[1, 1], box[1, 2]
    for i in range(xyz.shape[0]):
        x, y, z = xyz[i, 0], xyz[i, 1], xyz[i, 2]
        # Written so that NaN fails.
        if not (x >= x0 and x <= x1 and y >= y0 and y <= y1 and z >= z0 and z <= z1):
            continue
        # Positive within the grid, so that cutting off the fraction rounds down.
        a = np.int64(x * per_metre + MAX_CELL)
        b = np.int64(y * per_metre + MAX_CELL)
        c = np.int64(z * per_metre + MAX_CELL)
        key = (a << 42) | (b << 21) | c
        # Neighbouring pixels usually fall into the same cell: their sum is kept in registers.
        if key != last_key:
            if pending > 0:
                _add(sums, counts, last_slot, sx, sy, sz, ss, pending)
            sx = sy = sz = ss = 0.0
            pending = 0
            # Neighbouring cells are close in the table, too, for the cache.
            at = (a + 181 * b + 32771 * c) & mask
            while keys[at] != -1 and keys[at] != key:
                at = (at + 1) & mask
            if keys[at] == -1:
                if found == capacity:
                    return -1
                keys[at] = key
                slots[at] = found
                sums[found, 0] = sums[found, 1] = sums[found, 2] = sums[found, 3] = 0.0
                counts[found] = 0
                found += 1
            last_key, last_slot = key, slots[at]
        sx += x
        sy += y
        sz += z
        ss += sigma[i]
        pending += 1
    if pending > 0:
        _add(sums, counts, last_slot, sx, sy, sz, ss, pending)
    return found


@njit(cache=True, nogil=True, inline="always")
def _add(sums, counts, slot, x, y, z, sigma, count):  # type: ignore[no-untyped-def]
    sums[slot, 0] += x
    sums[slot, 1] += y
    sums[slot, 2] += z
    sums[slot, 3] += sigma
    counts[slot] += count


@njit(cache=True, nogil=True)
def _means(sums, counts, min_points):  # type: ignore[no-untyped-def]
    kept = 0
    for i in range(counts.shape[0]):
        kept += counts[i] >= min_points
    xyz = np.empty((kept, 3), np.float32)
    sigma = np.empty(kept, np.float32)
    numbers = np.empty(kept, np.int32)
    at = 0
    for i in range(counts.shape[0]):
        if counts[i] >= min_points:
            share = 1.0 / counts[i]
            for axis in range(3):
                xyz[at, axis] = sums[i, axis] * share
            sigma[at] = sums[i, 3] * share
            numbers[at] = counts[i]
            at += 1
    return xyz, sigma, numbers
