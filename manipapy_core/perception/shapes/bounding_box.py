"""Upright bounding boxes of points: orientation, extent without stray pixels, and the hidden back."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ... import lie
from ...jit import njit
from ...typing import Array
from ..points.plane_fit import plane_axes
from ..points.voxels import Voxels

TURNS = np.radians(np.arange(0.0, 90.0, 4.0))
"""Orientations tried for a box [rad]."""
NOISE_BIAS = 0.35
"""By how many standard deviations noise moves each side of a box outwards after the tails are cut off."""
TAIL = 0.02
"""Share of pixels that may lie beyond each side of a box: matchers smear a few between object and background."""


def surface_voxels(voxels: Voxels) -> NDArray[np.bool_]:
    """Which voxels hold as many pixels as a surface would."""
    return np.asarray(voxels.counts >= min(3, int(np.median(voxels.counts))))


def extent(local: Array, counts: NDArray[np.int32]) -> tuple[Array, Array]:
    """Interval that holds all but a share `TAIL` of the pixels on each side, extended for a uniform surface."""
    lower, upper = np.empty(3), np.empty(3)
    for axis in range(3):
        order = np.argsort(local[:, axis])
        share = np.cumsum(counts[order]) / counts.sum()
        low = local[order[np.searchsorted(share, TAIL)], axis]
        high = local[order[min(int(np.searchsorted(share, 1.0 - TAIL)), len(order) - 1)], axis]
        stretch = 0.5 * (high - low) * 2.0 * TAIL / (1.0 - 2.0 * TAIL)
        lower[axis] = max(low - stretch, local[:, axis].min())
        upper[axis] = min(high + stretch, local[:, axis].max())
    return lower, upper


def corrected(lower: Array, upper: Array, away: Array, sigma: float) -> tuple[Array, Array]:
    """Remove the noise bias along the line of sight, and add the occluded back of rounded objects.

    The back of balls and lying bottles is not visible. So an object is assumed to be at least nine tenths as deep as it
    is wide; the addition is at most 28 % of its smaller side, so that boards do not become blocks.

    Args:
        away: Unit vector from the camera, in the axes of the box, shape (3,).
    """
    shrink = np.minimum(NOISE_BIAS * sigma * np.abs(away), 0.2 * (upper - lower))
    lower, upper = lower + shrink, upper - shrink
    level = float(np.hypot(away[0], away[1]))
    if level < 0.2:
        return lower, upper  # from above all sides are visible
    size = upper - lower
    along = np.abs(away[:2]) / level
    deep, wide = float(along @ size[:2]), float(along[::-1] @ size[:2])
    hidden = min(max(0.9 * wide - deep, 0.0), 0.28 * min(wide, float(size[2])))
    lower[:2] += np.minimum(hidden * away[:2] / level, 0.0)
    upper[:2] += np.maximum(hidden * away[:2] / level, 0.0)
    return lower, upper


def upright_frame(xyz: Array, up: Array) -> Array:
    """Axes of the upright box with the smallest footprint, z up, shape (3, 3)."""
    x, y = plane_axes(up).T
    flat = np.column_stack([xyz @ x, xyz @ y])
    turn = TURNS[_smallest_turn(flat, TURNS)]
    along = math.cos(turn) * x + math.sin(turn) * y
    return np.column_stack([along, lie.hat(up) @ along, up])


@njit(cache=True, nogil=True)
def _smallest_turn(flat, turns):  # type: ignore[no-untyped-def]
    """Index of the rotation with the smallest bounding rectangle."""
    best, smallest = 0, np.inf
    for k in range(turns.shape[0]):
        c, s = math.cos(turns[k]), math.sin(turns[k])
        u0 = v0 = np.inf
        u1 = v1 = -np.inf
        for i in range(flat.shape[0]):
            u, v = c * flat[i, 0] + s * flat[i, 1], c * flat[i, 1] - s * flat[i, 0]
            u0, u1, v0, v1 = min(u0, u), max(u1, u), min(v0, v), max(v1, v)
        area = (u1 - u0) * (v1 - v0)
        if area < smallest:
            best, smallest = k, area
    return best
