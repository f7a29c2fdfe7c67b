"""The workspace of an arm: voxels of a reachability map, and tip positions of random configurations with their hull."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler import kernels_of
from ..errors import InputError, MissingPackage
from ..ik.bounds import search_bounds
from ..model.chain import Chain
from ..typing import Array
from .reach_map import ReachMap, even_directions

CHUNK = 500
"""Positions per query: some tens of megabytes of poses."""
BLOCK, MOST_BLOCKS = 200_000, 20
"""Random configurations at a time, for arms with few joints, and how many times at most."""
FEW_NEW = 1e-3
"""Sampling ends when a block adds a smaller share of positions."""


@dataclass(frozen=True, eq=False)
class MapVoxels:
    """Reachable positions of a map on a lattice."""

    step: float
    """Distance of neighbouring positions [m]."""
    points: Array
    """Of the tip in the base frame [m], shape (count, 3)."""
    best: NDArray[np.float32]
    """Highest quality over all directions, shape (count,)."""
    share: NDArray[np.float32]
    """Part of the directions of the tip's z axis that can be reached, shape (count,)."""


def voxels(reach: ReachMap, *, step: float = 0.1, directions: int = 40, rolls: int = 2) -> MapVoxels:
    """Reachable positions of a map on a lattice.

    An arm that cannot turn its tip freely, such as one with fewer than six joints, meets no given pose. Its positions
    are those with a tip in the cube around them, from random configurations in cells of the map.

    Args:
        step: Distance of neighbouring positions [m].
        directions: Of the tip's z axis, evenly spread.
        rolls: About each direction.
    """
    if not step > 0.0 or directions < 1 or rolls < 1:
        raise InputError(f"step is {step}, directions {directions}, rolls {rolls}; give a distance, and 1 or more")
    if not len(reach.cell):
        return MapVoxels(step, np.zeros((0, 3)), np.zeros(0, np.float32), np.zeros(0, np.float32))
    if not _moves_freely(reach):
        return _sampled_voxels(reach, step, directions)
    tips = kernels_of(reach.chain).forward.run(reach.seed.astype(np.float64))[:, :3, 3]
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
    return MapVoxels(step, places[good], best[good], share[good])


def _moves_freely(reach: ReachMap) -> bool:
    """Whether the tip can move and turn in all six directions somewhere."""
    if reach.chain.n < 6:
        return False
    some = reach.seed[:: max(1, len(reach.seed) // 50)].astype(np.float64)
    smallest = np.linalg.svd(kernels_of(reach.chain).body_jacobian.run(some), compute_uv=False)[:, -1]
    return bool(smallest.max() > 1e-6)


def _sampled_voxels(reach: ReachMap, step: float, directions: int) -> MapVoxels:
    bounds, rng = search_bounds(reach.chain, True), np.random.default_rng(0)
    z = even_directions(directions)
    far = int(np.ceil(reach.grid.reach / step)) + 1
    width = 2 * far + 1
    known = np.zeros(0, dtype=np.int64)  # lattice point and direction as one number, each once
    best = np.zeros(0, np.float32)  # quality there
    for _ in range(MOST_BLOCKS):
        q = rng.uniform(bounds.lower, bounds.upper, (BLOCK, reach.chain.n))
        T = kernels_of(reach.chain).forward.run(q)
        rows = reach.rows(reach.grid.locate(T)[:, 0].astype(np.int64))
        T, quality = T[rows >= 0], reach.best[rows[rows >= 0]]
        x, y, height = (np.round(T[:, :3, 3] / step).astype(np.int64) + far).T
        number = ((x * width + y) * width + height) * directions + np.argmax(T[:, :3, 2] @ z.T, axis=1)
        places = len(np.unique(known // directions))
        known, inverse = np.unique(np.concatenate([known, number]), return_inverse=True)
        highest = np.zeros(len(known), np.float32)
        np.maximum.at(highest, inverse, np.concatenate([best, quality]))
        best = highest
        if len(np.unique(known // directions)) - places <= FEW_NEW * places:
            break
    cells, first, counts = np.unique(known // directions, return_index=True, return_counts=True)
    points = np.stack([cells // width**2, cells // width % width, cells % width], axis=1) - far
    highest = np.maximum.reduceat(best, first) if len(first) else best
    return MapVoxels(step, step * points.astype(np.float64), highest, (counts / directions).astype(np.float32))


def _turns(directions: int, rolls: int) -> Array:
    """Rotations with z along even directions, turned about them; shape (directions, rolls, 3, 3)."""
    z = even_directions(directions)[:, None]
    side = np.cross(np.where(np.abs(z[..., 2:]) < 0.9, [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]), z)
    side /= np.linalg.norm(side, axis=-1, keepdims=True)
    other = np.cross(z, side)
    angle = 2.0 * np.pi * np.arange(rolls)[:, None] / rolls
    x = np.cos(angle) * side + np.sin(angle) * other
    return np.stack([x, np.cross(z, x), np.broadcast_to(z, x.shape)], axis=-1)


@dataclass(frozen=True, eq=False)
class Workspace:
    """Positions that the tip takes over evenly random configurations."""

    q: Array
    """Configurations [rad or m], shape (samples, n)."""
    points: Array
    """Tip positions in the base frame [m], shape (samples, 3)."""
    manipulability: Array
    """Of each configuration, shape (samples,)."""

    @cached_property
    def hull(self) -> tuple[Array, NDArray[np.int64]]:
        """Corners [m], shape (corners, 3), and triangles (facets, 3) of the convex hull; needs scipy.

        A planar arm has a flat workspace and no hull of this kind: triangles are then none.
        """
        hull = self._qhull()
        if hull is None:
            return self.points[:0], np.zeros((0, 3), dtype=np.int64)
        number = np.full(len(self.points), -1)
        number[hull.vertices] = np.arange(len(hull.vertices))
        return self.points[hull.vertices], number[hull.simplices]

    @cached_property
    def hull_volume(self) -> float:
        """Of the convex hull [m³]: more than the workspace, which has dents and holes. 0 for a planar arm."""
        hull = self._qhull()
        return 0.0 if hull is None else float(hull.volume)

    def voxel_volume(self, cell: float) -> float:
        """Of all cubes with this edge [m] that hold a point [m³]: grows towards the truth with more samples."""
        if not cell > 0.0:
            raise InputError(f"cell is {cell}; give an edge above zero [m]")
        return float(len(np.unique(np.floor(self.points / cell).astype(np.int64), axis=0)) * cell**3)

    def _qhull(self) -> Any:
        try:
            from scipy.spatial import ConvexHull, QhullError
        except ImportError:
            raise MissingPackage("scipy", "a convex hull", "collision") from None
        try:
            return ConvexHull(self.points)
        except QhullError:
            if np.linalg.matrix_rank(self.points - self.points[0], tol=1e-9) < 3:
                return None  # flat, not a failure
            raise

    def draw(self, axes: Any, *, size: float = 1.0) -> Any:
        """Scatters the points into 3-D axes of matplotlib, coloured by manipulability; returns the collection."""
        return axes.scatter(*self.points.T, c=self.manipulability, s=size, cmap="viridis", linewidths=0)


def sample_workspace(chain: Chain, samples: int = 10_000, *, seed: int = 0) -> Workspace:
    """Tip positions of random configurations inside the limits, the same ones for the same seed."""
    from ..singularity import manipulability

    if samples < 4:
        raise InputError(f"samples is {samples}; give at least 4")
    bounds = search_bounds(chain, True)
    q = np.random.default_rng(seed).uniform(bounds.lower, bounds.upper, (samples, chain.n))
    return Workspace(q, kernels_of(chain).forward.run(q)[:, :3, 3].copy(), manipulability(chain, q))
