"""A reachability map as a person looks at it: places, how many ways lead there, and how good the best one is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .reach_map import ReachMap, even_directions

Array = NDArray[np.float64]

CHUNK = 500
"""Places asked about at a time: some tens of megabytes of poses."""


@dataclass(frozen=True, eq=False)
class Voxels:
    """The places that can be reached."""

    step: float
    """Distance of neighbouring places [m]."""
    points: Array
    """Of the tip in the base frame [m], shape (count, 3)."""
    best: NDArray[np.float32]
    """Highest quality over all directions, shape (count,)."""
    share: NDArray[np.float32]
    """Part of the directions of the tip's z axis that can be reached, shape (count,)."""


def voxels(reach: ReachMap, *, step: float = 0.1, directions: int = 40, rolls: int = 2) -> Voxels:
    """Asks the map about places on a lattice.

    Args:
        step: Distance of neighbouring places [m].
        directions: Of the tip's z axis, evenly spread.
        rolls: About each direction.
    """
    if not step > 0.0 or directions < 1 or rolls < 1:
        raise InputError(f"step is {step}, directions {directions}, rolls {rolls}; give a distance, and 1 or more")
    if not len(reach.cell):
        return Voxels(step, np.zeros((0, 3)), np.zeros(0, np.float32), np.zeros(0, np.float32))
    tips = reach.chain.kernels.forward.run(reach.seed.astype(np.float64))[:, :3, 3]
    # The first joint may carry every tip around its axis, the base's origin need not lie on it.
    far = np.linalg.norm(tips, axis=1).max() + step
    line = step * np.arange(-np.ceil(far / step), np.ceil(far / step) + 1)
    places = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3)
    places = places[np.linalg.norm(places, axis=1) <= far]
    R = _turns(directions, rolls)
    best, share = np.zeros(len(places), np.float32), np.zeros(len(places), np.float32)
    for start in range(0, len(places), CHUNK):
        some = places[start : start + CHUNK]
        T = np.zeros((len(some), directions, rolls, 4, 4))
        T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, some[:, None, None], 1.0
        quality = reach.quality(T)
        best[start : start + CHUNK] = quality.max(axis=(1, 2))
        share[start : start + CHUNK] = (quality > 0.0).any(axis=2).mean(axis=1)
    good = best > 0.0
    return Voxels(step, places[good], best[good], share[good])


def _turns(directions: int, rolls: int) -> Array:
    """Rotations with z along even directions, turned about them; shape (directions, rolls, 3, 3)."""
    z = even_directions(directions)[:, None]
    side = np.cross(np.where(np.abs(z[..., 2:]) < 0.9, [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]), z)
    side /= np.linalg.norm(side, axis=-1, keepdims=True)
    other = np.cross(z, side)
    angle = 2.0 * np.pi * np.arange(rolls)[:, None] / rolls
    x = np.cos(angle) * side + np.sin(angle) * other
    return np.stack([x, np.cross(z, x), np.broadcast_to(z, x.shape)], axis=-1)
