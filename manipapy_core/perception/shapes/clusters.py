"""Clusters of points with the oriented bounding box and ball of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import lie
from ...errors import InputError
from ...typing import Array
from ..points.dbscan import dbscan
from ..points.detected_plane import DetectedPlane
from ..points.voxels import Voxels
from ..tracking.line_of_sight import LineOfSight
from .balls import fit_ball, fit_standing_ball
from .bounding_box import corrected, extent, surface_voxels, upright_frame
from .cluster import Cluster
from .hidden_space import extended_in_box, extended_to_support, is_free_below, support_of
from .padding import DEFAULT_PADDING, PaddingSettings
from .solids import fit_solid
from .splitting import object_parts

EDGE_ARTEFACT_STD = 0.006
"""Horizontal standard deviation [m] of points that are no wider than two centimetres."""
MAX_OUTSIDE = 0.1
"""Share of a cluster's points that may lie outside the fitted solid ..."""
OUTSIDE_TOLERANCE = 0.01
"""... by more than this [m] and two standard deviations; with more the solid is rejected."""
THICKNESS_RATIO = 1.1
"""Minimum height of an object on a plane, relative to the distance within which points belong to that plane."""


@dataclass(frozen=True)
class ClusterSettings:
    """Clustering and which clusters are kept."""

    eps: float = 0.025
    """Neighbourhood radius of DBSCAN [m] ..."""
    deviations: float = 1.0
    """... plus this many standard deviations of the point's depth."""
    max_eps: float = 0.08
    """Upper limit of the radius [m]."""
    min_samples: int = 6
    """Neighbours that make a core point, itself included."""
    min_points: int = 12
    """Clusters with fewer points are dropped as noise."""
    min_size: float = 0.02
    """Clusters whose longest edge is shorter [m] are dropped as noise."""
    min_height: float = 0.015
    """Minimum height of an object on a plane [m] ..."""
    height_deviations: float = 1.5
    """... plus this many standard deviations of its depth; on a plane with little noise, `THICKNESS_RATIO` times the
    thickness of the plane."""
    standing_gap: float = 0.04
    """A cluster whose lowest point is at most this far above a plane [m] stands on it."""
    split: bool = True
    """Split clusters that consist of several convex objects, where a depth image shows it; see `splitting.py`."""

    def __post_init__(self) -> None:
        if not 0.0 < self.eps <= self.max_eps < math.inf:
            raise InputError(f"eps is {self.eps} m, at most {self.max_eps}; give 0 < eps <= max_eps")
        if self.min_samples < 1 or self.min_points < 1:
            raise InputError("min_samples and min_points must be at least 1")
        for name in (
            "deviations",
            "min_size",
            "min_height",
            "height_deviations",
            "standing_gap",
        ):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise InputError(f"{name} is {getattr(self, name)}; give a number that is not negative")


def find_clusters(
    voxels: Voxels,
    settings: ClusterSettings,
    *,
    planes: Sequence[DetectedPlane] = (),
    up: ArrayLike = (0.0, 0.0, 1.0),
    viewpoint: ArrayLike | None = None,
    line_of_sight: LineOfSight | None = None,
    free_space: LineOfSight | None = None,
    blur: float = 0.0,
    padding: PaddingSettings = DEFAULT_PADDING,
) -> tuple[tuple[Cluster, ...], NDArray[np.int64]]:
    """Cluster points and compute the shape of each cluster.

    Args:
        voxels: In the base frame, without robot and planes.
        planes: Planes that clusters may stand on.
        up: The third axis of all boxes.
        viewpoint: Camera position [m], shape (3,); without it nothing is assumed about hidden sides.
        line_of_sight: Depth image of the points; objects on a plane are then fitted with solids.
        free_space: Shows which space below objects is free; if not given, `line_of_sight`.
        blur: Angle by which matching smears outlines in it [rad].
        padding: Enlargement of all shapes.

    Returns:
        The clusters, and per point the index of its cluster, −1 for none.
    """
    if len(voxels) == 0:
        return (), np.empty(0, np.int64)
    # Far voxels hold one pixel each: the radius must span a few of them and the noise.
    radius = np.minimum(settings.eps + settings.deviations * voxels.sigma, settings.max_eps)
    raw = dbscan(voxels.xyz, np.maximum(radius, 1.8 * voxels.cell), settings.min_samples)
    bounded = partial(
        bounding_shape,
        settings=settings,
        planes=planes,
        up=up,
        viewpoint=viewpoint,
        free_space=line_of_sight if free_space is None else free_space,
        padding=padding,
    )
    first = partial(bounded, balls=line_of_sight is None)
    plausible = partial(_is_plausible, settings=settings, cell=voxels.cell, up=up, viewpoint=viewpoint)
    labels = np.full(len(raw), -1, np.int64)
    found: list[Cluster] = []
    for number in range(int(raw.max(initial=-1)) + 1):
        members = np.flatnonzero(raw == number)
        if len(members) < settings.min_points:
            continue
        whole = voxels.select(members)
        cluster = first(whole)
        if not plausible(cluster):
            continue
        parts = [(members, cluster)]
        if settings.split and line_of_sight is not None:
            parts = object_parts(members, cluster, whole, line_of_sight, settings.min_points, first, plausible)
        for own, cluster in parts:
            if cluster.standing and line_of_sight is not None:
                solid = as_solid(cluster, line_of_sight, blur)
                cluster = bounded(voxels.select(own)) if solid is None else solid
            labels[own] = len(found)
            found.append(cluster if viewpoint is None else with_far_side(cluster, viewpoint))
    return tuple(found), labels


def _is_plausible(
    cluster: Cluster, settings: ClusterSettings, cell: float, up: ArrayLike, viewpoint: ArrayLike | None
) -> bool:
    """Whether a cluster is neither noise nor an edge artefact."""
    thin = np.sort(cluster.size)[1] < 2.0 * cell or is_edge_artefact(cluster.points, up, viewpoint)
    if cluster.size.max() < settings.min_size or (thin and len(cluster.points) < 2 * settings.min_points):
        return False  # a cable has more points than an edge artefact
    return not (cluster.standing and cluster.size[2] < cluster.min_height)  # within the noise of the plane


def bounding_shape(
    voxels: Voxels,
    settings: ClusterSettings,
    *,
    planes: Sequence[DetectedPlane] = (),
    up: ArrayLike = (0.0, 0.0, 1.0),
    viewpoint: ArrayLike | None = None,
    balls: bool = True,
    free_space: LineOfSight | None = None,
    padding: PaddingSettings = DEFAULT_PADDING,
) -> Cluster:
    """Box, ball and padding of one group of points; see `find_clusters`.

    Args:
        balls: Whether to fit a ball to an object on a plane.
    """
    xyz = voxels.xyz.astype(np.float64)
    sigma = float(voxels.sigma.mean())
    plane = _plane_below(xyz, sigma, settings, planes)
    seen_to_plane = plane is not None
    support, seen_from = plane, None if viewpoint is None else np.asarray(viewpoint, dtype=np.float64)
    if plane is None and seen_from is not None:
        # Its lower part is not seen; something holds it up unless that space is free.
        support = support_of(xyz, planes)
        if support is not None and not (free_space and is_free_below(xyz, sigma, support, free_space)):
            plane = support
    standing, feet = plane is not None, np.zeros(3)
    normal = np.asarray(up, dtype=np.float64) / np.linalg.norm(up)
    min_height = settings.min_height + settings.height_deviations * sigma
    if plane is not None:
        # The part just above the plane was removed together with the plane.
        normal, feet = plane.normal, plane.offset * plane.normal
        min_height = min(min_height, THICKNESS_RATIO * float(plane.thickness(sigma, min_height)))
    R = upright_frame(xyz[surface_voxels(voxels)], normal)
    local = xyz @ R
    lower, upper = extent(local, voxels.counts)
    if seen_from is not None:
        away = xyz.mean(axis=0) - seen_from
        lower, upper = corrected(lower, upper, R.T @ (away / max(float(np.linalg.norm(away)), 1e-9)), sigma)
    if standing:
        lower[2] = min(lower[2], float(feet @ normal))
    ball = None
    if not standing:
        ball = fit_ball(xyz, sigma)
    elif balls:
        ball = fit_standing_ball(xyz, sigma, feet, normal)
    if ball is not None:
        # Only the near side of a ball is visible; the fit gives the far side.
        middle = ball[0] @ R
        lower, upper = np.minimum(lower, middle - ball[1]), np.maximum(upper, middle + ball[1])
    size = np.maximum(upper - lower, 1e-3)
    centre = R @ (0.5 * (lower + upper))
    corner = np.clip(np.abs(local - centre @ R), 0.0, 0.5 * size)
    radius = max(float(np.linalg.norm(corner, axis=1).max()), 0.5 * float(size.max()))
    hidden = np.empty((0, 3))
    if seen_from is not None and support is not None and not seen_to_plane:
        hidden = extended_to_support(xyz, seen_from, planes, support)
    margin = padding.at_detection(sigma)
    T = lie.pose(R, centre)
    return Cluster(voxels.xyz, T, size, radius, sigma, margin, standing, ball is not None, hidden, min_height)


def _plane_below(
    xyz: Array, sigma: float, settings: ClusterSettings, planes: Sequence[DetectedPlane]
) -> DetectedPlane | None:
    """The plane that the lowest points of an object are next to."""
    for plane in planes:
        heights = plane.heights(xyz)
        if 0.0 < heights.min() < settings.standing_gap + 2.0 * sigma and np.median(heights) > 0.0:
            return plane
    return None


def as_solid(
    cluster: Cluster, line_of_sight: LineOfSight, blur: float, min_evidence: float = -math.inf
) -> Cluster | None:
    """The cluster with the bounding box of the solid that fits the depth image best.

    Args:
        line_of_sight: The depth image.
        blur: See `find_clusters`.
        min_evidence: Required evidence against the bare plane, see `FittedSolid.evidence`.

    Returns:
        None if no solid fits, or if too many points of the cluster lie outside it.
    """
    normal = cluster.T_base_box[:3, 2]
    feet, xyz = cluster.centre - 0.5 * cluster.size[2] * normal, cluster.points.astype(np.float64)
    solid = fit_solid(xyz, cluster.sigma, float(cluster.size[2]), line_of_sight, feet, normal, blur)
    if solid is None or solid.evidence <= min_evidence:
        return None
    local = np.abs((xyz - solid.T_base_box[:3, 3]) @ solid.T_base_box[:3, :3])
    outside = np.any(local > 0.5 * solid.size + OUTSIDE_TOLERANCE + 2.0 * cluster.sigma, axis=1)
    if np.count_nonzero(outside) > MAX_OUTSIDE * len(xyz):
        return None
    corner = float(np.linalg.norm(np.minimum(local, 0.5 * solid.size), axis=1).max())
    radius = max(corner, 0.5 * float(solid.size.max()))
    fitted = replace(cluster, T_base_box=solid.T_base_box, size=solid.size, radius=radius, spherical=solid.spherical)
    fitted = with_far_side(fitted, line_of_sight.T_base_optical[:3, 3])
    if not solid.boxlike:
        return fitted
    corners = 0.5 * solid.size * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return replace(fitted, hidden=np.concatenate([fitted.hidden, corners @ solid.T_base_box[:3, :3].T + fitted.centre]))


def with_far_side(cluster: Cluster, viewpoint: ArrayLike) -> Cluster:
    """The cluster whose hull also has the unseen part of its box, unless it already extends to its support."""
    if not cluster.standing or len(cluster.hidden):
        return cluster
    xyz, seen_from = cluster.points.astype(np.float64), np.asarray(viewpoint, dtype=np.float64)
    return replace(cluster, hidden=extended_in_box(xyz, seen_from, cluster.T_base_box, cluster.size))


def is_edge_artefact(points: NDArray[np.float32], up: ArrayLike, viewpoint: ArrayLike | None) -> bool:
    """Whether points form a narrow vertical or slanted band in the image, an artefact of stereo matching.

    Beside a near object there is a half-occluded band that only one camera sees, and matchers fill it with depths
    between the object and its background. It is narrow horizontally but not in depth.
    """
    if viewpoint is None:
        return False
    xyz, down = points.astype(np.float64), -np.asarray(up, dtype=np.float64)
    away = xyz.mean(axis=0) - np.asarray(viewpoint, dtype=np.float64)
    across = lie.hat(down) @ away
    length = float(np.linalg.norm(across))
    if length < 1e-6:
        return False
    sideways, upright = xyz @ (across / length), xyz @ down
    sideways, upright = sideways - sideways.mean(), upright - upright.mean()
    slant = float(sideways @ upright) / max(float(upright @ upright), 1e-12)
    return float(np.std(sideways - slant * upright)) < EDGE_ARTEFACT_STD
