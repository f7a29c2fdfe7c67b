"""Split a cluster that consists of several objects, by convexity.

Objects that touch, or are closer than the range of the clustering, form one cluster. Most objects to be picked are
convex: a chord between two points of one object lies inside it, and is not seen. If the camera sees something behind
the middle of a chord, its ends lie on two objects, or on both sides of a concave edge.

All chords of a few centimetres vote. Small patches of points are merged, the pair with the smallest share of free
chords first, until that share is large for all pairs (average linkage). Then every point moves to the part with which
it has the fewest free chords, and parts with a small share are merged again.

Chords in directions without a measurement, and those shorter than the depth noise can tell, do not separate: noise and
holes keep objects together. Two objects of one height with flush faces have no free chord, and stay one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...jit import njit
from ...typing import Array
from ..points.cell_grid import cell_grid, first_of_cells, runs_around
from ..points.voxels import Voxels
from ..tracking.line_of_sight import LineOfSight
from .cluster import Cluster

MIN_CHORD, MAX_CHORD = 0.018, 0.05
"""Lengths of the chords [m]."""
MARGIN, DEVIATIONS = 0.002, 2.5
"""A ray must end this far behind the middle of a chord [m], plus this many standard deviations, to show it free."""
HIDDEN_WEIGHT, UNKNOWN_WEIGHT = 0.3, 0.05
"""Weight of chords behind a surface, and without a measurement; that of chords in a surface is 1."""
PATCH = 0.02
"""Edge of the patches that are merged [m]; larger ones where there would be more than `MAX_PATCHES`."""
MAX_PATCHES = 100
MIN_FREE_SHARE = 0.3
"""Parts with this share of free chords between them are different objects ..."""
MIN_FREE = 8.0
"""... if there are at least this many free chords."""
SWEEPS = 4
"""How often all points choose their part again."""
EVERY_CHORD = 200
"""Larger clusters [points] have more chords than needed: every second one votes."""
MAX_POINTS = 4000
"""Larger clusters are no objects to be picked, and are not split."""


def convex_parts(voxels: Voxels, line_of_sight: LineOfSight, *, min_points: int = 12) -> NDArray[np.int64]:
    """Part of each point, from 0 on; all 0 if the points belong to one object.

    Args:
        voxels: One cluster, in the base frame.
        line_of_sight: Depth image of the same frame.
        min_points: Smaller parts are merged with another.

    Returns:
        Shape (points,).
    """
    n = len(voxels)
    whole = np.zeros(n, np.int64)
    if not 2 * min_points <= n <= MAX_POINTS:
        return whole
    xyz = voxels.xyz.astype(np.float64)
    grid = cell_grid(xyz, MAX_CHORD)
    order = grid.order
    xyz = np.ascontiguousarray(xyz[order])
    margin = MARGIN + DEVIATIONS * voxels.sigma[order].astype(np.float64)
    T = line_of_sight.T_base_optical
    optical = np.ascontiguousarray((xyz - T[:3, 3]) @ T[:3, :3])
    K = line_of_sight.K
    scale = np.array([K[0, 0], K[1, 1], K[0, 2], K[1, 2]])
    ends, weights = _chords(xyz, optical, margin, grid.keys, grid.along, scale, line_of_sight.depth)
    if weights[:, 0].sum() < MIN_FREE:
        return whole
    patches, count = _patches(xyz)
    parts = _agglomerate(ends, weights, patches, count, MIN_FREE_SHARE, 0.0, 0)
    parts = _reassigned(ends, weights, parts, SWEEPS)
    parts, count = _renumbered(parts)
    parts = _agglomerate(ends, weights, parts, count, MIN_FREE_SHARE, MIN_FREE, min_points)
    parts, _ = _renumbered(parts)
    whole[order] = parts
    return whole


def object_parts(
    members: NDArray[np.intp],
    cluster: Cluster,
    whole: Voxels,
    line_of_sight: LineOfSight,
    min_points: int,
    bounded: Callable[[Voxels], Cluster],
    plausible: Callable[[Cluster], bool],
) -> list[tuple[NDArray[np.intp], Cluster]]:
    """The objects that a cluster consists of; all its points remain in one of them.

    Args:
        members: Indices of its points.
        cluster: Its shape.
        whole: Its points.
        line_of_sight: Depth image of the same frame.
        min_points: See `convex_parts`.
        bounded: Gives the shape of points.
        plausible: Whether a shape is an object.

    Returns:
        Indices and shape of each.
    """
    numbers = convex_parts(whole, line_of_sight, min_points=min_points)
    if not numbers.any():
        return [(members, cluster)]
    shapes = [bounded(whole.select(numbers == part)) for part in range(int(numbers.max()) + 1)]
    kept = [part for part, shape in enumerate(shapes) if plausible(shape)]
    if len(kept) < 2:
        return [(members, cluster)]
    known = np.isin(numbers, kept)
    if not known.all():
        # Noise between objects is not dropped, since it is covered without the split: each point to its neighbour.
        stray, others = np.flatnonzero(~known), np.flatnonzero(known)
        apart = whole.xyz[stray][:, None] - whole.xyz[others]
        numbers[stray] = numbers[others[np.einsum("ijk,ijk->ij", apart, apart).argmin(axis=1)]]
        shapes = [bounded(whole.select(numbers == part)) if part in kept else cluster for part in range(len(shapes))]
    return [(members[numbers == part], shapes[part]) for part in kept]


def _patches(xyz: Array) -> tuple[NDArray[np.int64], int]:
    """Number of the patch of each point, and how many there are."""
    edge, lowest = PATCH, xyz.min(axis=0)
    while True:
        index = ((xyz - lowest) / edge).astype(np.int64)
        along = index.max(axis=0) + 1
        keys = (index[:, 2] * along[1] + index[:, 1]) * along[0] + index[:, 0]
        found, patches = np.unique(keys, return_inverse=True)
        if len(found) <= MAX_PATCHES:
            return patches.astype(np.int64).ravel(), len(found)
        edge *= 1.25


def _renumbered(parts: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    found, numbers = np.unique(parts, return_inverse=True)
    return numbers.astype(np.int64).ravel(), len(found)


@njit(cache=True, nogil=True)
def _chords(xyz, optical, margin, keys, along, scale, depth):  # type: ignore[no-untyped-def]
    """Ends of all chords, shape (chords, 2), and their weights as free and as solid, shape (chords, 2)."""
    n = xyz.shape[0]
    rows, columns = depth.shape
    home, runs, begins, finish = runs_around(keys, along, first_of_cells(keys))
    shortest, longest = MIN_CHORD * MIN_CHORD, MAX_CHORD * MAX_CHORD
    count, skipped = 0, 1 if n > EVERY_CHORD else 0
    ends, weights = np.empty((1024, 2), np.int32), np.empty((1024, 2), np.float32)
    for i in range(n):
        h = home[i]
        for run in range(runs[h]):
            for j in range(max(begins[h, run], i + 1), finish[h, run]):
                if (i ^ j) & skipped:
                    continue
                dx, dy, dz = xyz[i, 0] - xyz[j, 0], xyz[i, 1] - xyz[j, 1], xyz[i, 2] - xyz[j, 2]
                square = dx * dx + dy * dy + dz * dz
                if square < shortest or square > longest:
                    continue
                x, y = optical[i, 0] + optical[j, 0], optical[i, 1] + optical[j, 1]
                z = 0.5 * (optical[i, 2] + optical[j, 2])
                free, solid = 0.0, UNKNOWN_WEIGHT
                if z > 1e-3:
                    u = int(np.rint(0.5 * x / z * scale[0] + scale[2]))
                    v = int(np.rint(0.5 * y / z * scale[1] + scale[3]))
                    if 0 <= u < columns and 0 <= v < rows:
                        measured = depth[v, u]
                        behind = 0.5 * (margin[i] + margin[j])
                        if measured > z + behind:
                            free, solid = 1.0, 0.0
                        elif measured < z - behind:
                            solid = HIDDEN_WEIGHT
                        elif measured == measured:
                            solid = 1.0
                if count == ends.shape[0]:
                    more, heavier = np.empty((2 * count, 2), np.int32), np.empty((2 * count, 2), np.float32)
                    more[:count], heavier[:count] = ends, weights
                    ends, weights = more, heavier
                ends[count, 0], ends[count, 1] = i, j
                weights[count, 0], weights[count, 1] = free, solid
                count += 1
    return ends[:count], weights[:count]


@njit(cache=True, nogil=True)
def _agglomerate(ends, weights, parts, count, min_share, min_free, min_points):  # type: ignore[no-untyped-def]
    """Merge parts, the pair with the smallest share of free chords first; new part of each point."""
    free, solid = np.zeros((count, count)), np.zeros((count, count))
    for k in range(ends.shape[0]):
        a, b = parts[ends[k, 0]], parts[ends[k, 1]]
        if a != b:
            free[a, b] += weights[k, 0]
            free[b, a] += weights[k, 0]
            solid[a, b] += weights[k, 1]
            solid[b, a] += weights[k, 1]
    points = np.zeros(count, np.int64)
    for i in range(parts.shape[0]):
        points[parts[i]] += 1
    into = np.arange(count)
    alive = np.ones(count, np.bool_)
    while True:
        first, second, least, most = -1, -1, np.inf, 0.0
        for a in range(count):
            if not alive[a]:
                continue
            for b in range(a + 1, count):
                total = free[a, b] + solid[a, b]
                if not alive[b] or total == 0.0:
                    continue
                share = free[a, b] / total
                small = min(points[a], points[b]) < min_points
                if share >= min_share and free[a, b] >= min_free and not small:
                    continue
                if share < least or (share == least and solid[a, b] > most):
                    first, second, least, most = a, b, share, solid[a, b]
        if first < 0:
            break
        alive[second] = False
        points[first] += points[second]
        for c in range(count):
            free[first, c] += free[second, c]
            free[c, first] += free[c, second]
            solid[first, c] += solid[second, c]
            solid[c, first] += solid[c, second]
            if into[c] == second:
                into[c] = first
        into[second] = first
    out = np.empty(parts.shape[0], np.int64)
    for i in range(parts.shape[0]):
        out[i] = into[parts[i]]
    return out


@njit(cache=True, nogil=True)
def _reassigned(ends, weights, parts, sweeps):  # type: ignore[no-untyped-def]
    """Each point to the part with which it has the smallest share of free chords."""
    n = parts.shape[0]
    count = parts.max() + 1
    for _ in range(sweeps):
        free, solid = np.zeros((n, count), np.float32), np.zeros((n, count), np.float32)
        for k in range(ends.shape[0]):
            i, j = ends[k, 0], ends[k, 1]
            free[i, parts[j]] += weights[k, 0]
            free[j, parts[i]] += weights[k, 0]
            solid[i, parts[j]] += weights[k, 1]
            solid[j, parts[i]] += weights[k, 1]
        moved = 0
        for i in range(n):
            best, most = parts[i], np.float32(-np.inf)
            for part in range(count):
                value = solid[i, part] - np.float32(2.0) * free[i, part]
                if (solid[i, part] > 0.0 or free[i, part] > 0.0) and value > most:
                    best, most = part, value
            moved += best != parts[i]
            parts[i] = best
        if moved == 0:
            break
    return parts
