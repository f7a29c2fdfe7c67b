"""Small things far away, each of whose points might be noise of the table, but not all of them together.

A point counts to the table unless it rises above the noise of a single point: of a ball of four centimetres, seen from
two metres, too little is left to make a cluster. But tables are mostly quieter than promised, which the table itself
shows, and noise does not gather. So what rises less is looked at once more: it is a thing if many points lie together,
wide enough in both directions, and a solid there agrees better with the picture than the bare table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...typing import Array
from ..points.dbscan import dbscan
from ..points.planes import PlaneFound
from ..points.voxels import Voxels
from ..tracking.line_of_sight import LineOfSight
from .clusters import Cluster, ClusterSettings, as_solid, is_stripe, measure

MARGIN = 0.005
"""What rises above a table by this [m] ..."""
DEVIATIONS = 3.0
"""... and so many standard deviations of the table's own noise may be part of a thing ..."""
QUIETEST = 0.35
"""... which is taken for at least this share of the noise that was promised."""
LOUDEST = 0.65
"""With a larger share the noise itself may gather, and nothing more can be told from it."""
HIGHEST = 0.1
"""What rises higher [m] is no bump."""
BESIDE = 0.02
"""Around a thing that was found before there is no other within this [m] and two standard deviations: it is smeared."""
RIM = 0.03
"""Nor is one so near to the rim of what is seen of a table [m]: there the picture changes to what is behind."""
GATHERED = 1.5
"""A bump has so many times the points of the smallest cluster ..."""
NARROWEST = 0.022
"""... and is so wide in both directions [m] ..."""
WIDEST = 0.08
"""... but not wider than this [m]: larger things rise higher, and large waves of a table are none."""
LEAST_EVIDENCE = 0.0
"""By which the solid must be likelier than the bare table (−2 log likelihood)."""


def find_subthreshold_objects(
    voxels: Voxels,
    settings: ClusterSettings,
    *,
    planes: Sequence[PlaneFound],
    clusters: Sequence[Cluster],
    up: ArrayLike,
    sight: LineOfSight,
    blur: float,
) -> list[tuple[Cluster, NDArray[np.intp]]]:
    """Things that `find_clusters` does not find.

    Args:
        voxels: In the base frame, without the robot, with the tables.
        planes: The tables.
        clusters: What was found already.
        up, sight, blur: See `find_clusters`.

    Returns:
        Each thing, and which points are its own.
    """
    eye = sight.T_base_optical[:3, 3]
    found: list[tuple[Cluster, NDArray[np.intp]]] = []
    for plane in planes:
        risen = _risen(voxels, plane, eye)
        risen = risen[_is_apart(voxels.xyz[risen], [*clusters, *(bump for bump, _ in found)])]
        if len(risen) < GATHERED * settings.least_points:
            continue
        raw = dbscan(voxels.xyz[risen], max(settings.eps, 1.8 * voxels.cell), settings.min_samples)
        for number in range(int(raw.max(initial=-1)) + 1):
            members = risen[raw == number]
            if len(members) >= GATHERED * settings.least_points:
                part = voxels.select(members)
                bump = measure(part, settings, planes=(plane,), up=up, eye=eye, balls=False)
                solid = as_solid(bump, sight, blur, LEAST_EVIDENCE) if _is_thing(bump, settings, up, eye) else None
                if solid is not None:
                    found.append((solid, members))
    return found


def _risen(voxels: Voxels, plane: PlaneFound, eye: Array) -> NDArray[np.intp]:
    """Points that rise above the table's own noise, on the part of it that is seen."""
    heights = plane.heights(voxels.xyz)
    low = np.flatnonzero(np.abs(heights) < HIGHEST)
    xyz, heights = voxels.xyz[low].astype(np.float64), heights[low]
    # Depth noise moves a point along its line of sight: only its share across the plane counts.
    steep = np.abs(heights - plane.heights(eye)) / np.maximum(np.linalg.norm(xyz - eye, axis=1), 1e-9)
    promised = np.maximum(voxels.sigma[low] * steep, 1e-6)
    table = np.abs(heights) < 2.0 * MARGIN + 2.0 * promised
    if not table.any():
        return np.empty(0, np.intp)
    # 1.48 medians of the deviations are one standard deviation, whatever stands on the table.
    share = max(1.48 * float(np.median(np.abs(heights[table]) / promised[table])), QUIETEST)
    if share > LOUDEST:
        return np.empty(0, np.intp)
    risen = heights > MARGIN + DEVIATIONS * share * promised
    risen[risen] = plane.covers(xyz[risen], -RIM)
    return np.asarray(low[risen], dtype=np.intp)


def _is_apart(xyz: NDArray[np.float32], clusters: Sequence[Cluster]) -> NDArray[np.bool_]:
    """Which points are not beside a thing that was found already."""
    apart = np.ones(len(xyz), np.bool_)
    for cluster in clusters:
        local = np.abs((xyz - cluster.centre) @ cluster.T_base_box[:3, :3])
        apart &= ~np.all(local < 0.5 * cluster.size + BESIDE + 2.0 * cluster.sigma, axis=1)
    return apart


def _is_thing(bump: Cluster, settings: ClusterSettings, up: ArrayLike, eye: ArrayLike) -> bool:
    if not bump.standing or bump.size[2] < settings.least_height:
        return False
    level = bump.size[:2]
    return level.min() >= NARROWEST and level.max() <= WIDEST and not is_stripe(bump.points, up, eye)
