"""Small distant objects whose points are each within the noise of the plane, but not all of them together.

A point belongs to a plane unless it rises above the noise of a single point: of a ball of four centimetres at two
metres too few points are left for a cluster. But most planes are less noisy than the depth model, as their own
points show, and noise does not form groups. So lower points are searched once more: they are an object if many of them
lie together, wide enough in both directions, and a solid there fits the depth image better than the bare plane.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...typing import Array
from ..points.dbscan import dbscan
from ..points.detected_plane import DetectedPlane
from ..points.voxels import Voxels
from ..tracking.line_of_sight import LineOfSight
from .cluster import Cluster
from .clusters import ClusterSettings, as_solid, bounding_shape, is_edge_artefact
from .padding import DEFAULT_PADDING, PaddingSettings

MARGIN = 0.005
"""Points higher above a plane than this [m] ..."""
DEVIATIONS = 3.0
"""... plus this many standard deviations of the plane's own noise may be part of an object."""
MIN_NOISE_SHARE = 0.35
"""Lower limit of the plane's own noise, as a share of the noise of the depth model."""
MAX_NOISE_SHARE = 0.65
"""With a larger share the noise itself may form groups, and the plane is skipped."""
MAX_HEIGHT = 0.1
"""Points higher than this [m] are left to `find_clusters`."""
CLUSTER_CLEARANCE = 0.02
"""No object is searched within this distance [m] and two standard deviations of a known cluster, whose outline is
smeared."""
BORDER = 0.03
"""Nor within this distance of the border of the observed part of a plane [m], where the image shows the background."""
MIN_POINTS_FACTOR = 1.5
"""A group must have this many times the points of the smallest cluster ..."""
MIN_WIDTH = 0.022
"""... and be this wide in both directions [m] ..."""
MAX_WIDTH = 0.08
"""... but not wider than this [m]: larger objects rise higher, and wide groups are waves of the plane."""
MIN_EVIDENCE = 0.0
"""Required evidence of the solid against the bare plane (−2 log likelihood)."""


def find_subthreshold_objects(
    voxels: Voxels,
    settings: ClusterSettings,
    *,
    planes: Sequence[DetectedPlane],
    clusters: Sequence[Cluster],
    up: ArrayLike,
    line_of_sight: LineOfSight,
    blur: float,
    padding: PaddingSettings = DEFAULT_PADDING,
) -> list[tuple[Cluster, NDArray[np.intp]]]:
    """Detect small objects that `find_clusters` misses.

    Args:
        voxels: In the base frame, without the robot, with the points of the planes.
        planes: Planes to search on.
        clusters: Result of `find_clusters`.
        up, line_of_sight, blur, padding: See `find_clusters`.

    Returns:
        Each object with the indices of its voxels.
    """
    viewpoint = line_of_sight.T_base_optical[:3, 3]
    found: list[tuple[Cluster, NDArray[np.intp]]] = []
    for plane in planes:
        above = _above_noise(voxels, plane, viewpoint)
        above = above[_is_apart(voxels.xyz[above], [*clusters, *(cluster for cluster, _ in found)])]
        if len(above) < MIN_POINTS_FACTOR * settings.min_points:
            continue
        raw = dbscan(voxels.xyz[above], max(settings.eps, 1.8 * voxels.cell), settings.min_samples)
        for number in range(int(raw.max(initial=-1)) + 1):
            members = above[raw == number]
            if len(members) >= MIN_POINTS_FACTOR * settings.min_points:
                part = voxels.select(members)
                group = bounding_shape(
                    part, settings, planes=(plane,), up=up, viewpoint=viewpoint, balls=False, padding=padding
                )
                if not _is_plausible(group, settings, up, viewpoint):
                    continue
                solid = as_solid(group, line_of_sight, blur, MIN_EVIDENCE)
                if solid is not None:
                    found.append((solid, members))
    return found


def _above_noise(voxels: Voxels, plane: DetectedPlane, viewpoint: Array) -> NDArray[np.intp]:
    """Indices of points above the plane's own noise, on its observed part."""
    heights = plane.heights(voxels.xyz)
    low = np.flatnonzero(np.abs(heights) < MAX_HEIGHT)
    xyz, heights = voxels.xyz[low].astype(np.float64), heights[low]
    # Depth noise moves a point along its line of sight: only the component normal to the plane counts.
    steep = np.abs(heights - plane.heights(viewpoint)) / np.maximum(np.linalg.norm(xyz - viewpoint, axis=1), 1e-9)
    expected = np.maximum(voxels.sigma[low] * steep, 1e-6)
    on_plane = np.abs(heights) < 2.0 * MARGIN + 2.0 * expected
    if not on_plane.any():
        return np.empty(0, np.intp)
    # 1.48 median absolute deviations are one standard deviation, robust to objects on the plane.
    share = max(1.48 * float(np.median(np.abs(heights[on_plane]) / expected[on_plane])), MIN_NOISE_SHARE)
    if share > MAX_NOISE_SHARE:
        return np.empty(0, np.intp)
    above = heights > MARGIN + DEVIATIONS * share * expected
    above[above] = plane.covers(xyz[above], -BORDER)
    return np.asarray(low[above], dtype=np.intp)


def _is_apart(xyz: NDArray[np.float32], clusters: Sequence[Cluster]) -> NDArray[np.bool_]:
    """Which points are clear of all known clusters."""
    apart = np.ones(len(xyz), np.bool_)
    for cluster in clusters:
        local = np.abs((xyz - cluster.centre) @ cluster.T_base_box[:3, :3])
        apart &= ~np.all(local < 0.5 * cluster.size + CLUSTER_CLEARANCE + 2.0 * cluster.sigma, axis=1)
    return apart


def _is_plausible(group: Cluster, settings: ClusterSettings, up: ArrayLike, viewpoint: ArrayLike) -> bool:
    """Whether a group of points has the height and width of a small object."""
    if not group.standing or group.size[2] < min(settings.min_height, group.min_height):
        return False
    level = group.size[:2]
    return level.min() >= MIN_WIDTH and level.max() <= MAX_WIDTH and not is_edge_artefact(group.points, up, viewpoint)
