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
from ...jit import njit
from ...typing import Array
from ..points.dbscan import dbscan
from ..points.planes import DetectedPlane, plane_axes
from ..points.voxels import Voxels
from ..tracking.line_of_sight import LineOfSight
from .balls import fit_ball, fit_standing_ball
from .padding import DEFAULT_PADDING, PaddingSettings
from .solids import fit_solid

TURNS = np.radians(np.arange(0.0, 90.0, 4.0))
"""Orientations tried for a box [rad]."""
NOISE_BIAS = 0.35
"""By how many standard deviations noise moves each side of a box outwards after the tails are cut off."""
EDGE_ARTEFACT_STD = 0.006
"""Horizontal standard deviation [m] of points that are no wider than two centimetres."""
TAIL = 0.02
"""Share of pixels that may lie beyond each side of a box: matchers smear a few between object and background."""
MAX_OUTSIDE = 0.1
"""Share of a cluster's points that may lie outside the fitted solid ..."""
OUTSIDE_TOLERANCE = 0.01
"""... by more than this [m] and two standard deviations; with more the solid is rejected."""


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
    """... plus this many standard deviations of its depth."""
    standing_gap: float = 0.04
    """A cluster whose lowest point is at most this far above a plane [m] stands on it."""

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


@dataclass(frozen=True, eq=False)
class Cluster:
    """One detected object, in the base frame."""

    points: NDArray[np.float32]
    """Mean points of its voxels [m], shape (points, 3)."""
    T_base_box: Array
    """Pose of the bounding box: centre and axes, z up, shape (4, 4)."""
    size: Array
    """Edge lengths of the box that holds all but a few stray pixels, without padding [m], shape (3,)."""
    radius: float
    """Radius of the ball about the box centre that holds the same points, without padding [m]."""
    sigma: float
    """Mean standard deviation of its depth [m]."""
    padding: float
    """Padding on every side [m], see `PaddingSettings.at_detection`."""
    standing: bool
    """Whether it stands on a plane; its box is extended down to the plane."""
    spherical: bool
    """Whether a ball was fitted; the box then includes the far side."""

    @property
    def centre(self) -> Array:
        """Centre of the box [m], shape (3,)."""
        return self.T_base_box[:3, 3]


def find_clusters(
    voxels: Voxels,
    settings: ClusterSettings,
    *,
    planes: Sequence[DetectedPlane] = (),
    up: ArrayLike = (0.0, 0.0, 1.0),
    viewpoint: ArrayLike | None = None,
    line_of_sight: LineOfSight | None = None,
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
    labels = np.full(len(raw), -1, np.int64)
    found: list[Cluster] = []
    for number in range(int(raw.max(initial=-1)) + 1):
        members = raw == number
        if np.count_nonzero(members) < settings.min_points:
            continue
        part = voxels.select(members)
        bounded = partial(bounding_shape, part, settings, planes=planes, up=up, viewpoint=viewpoint, padding=padding)
        cluster = bounded(balls=line_of_sight is None)
        thin = np.sort(cluster.size)[1] < 2.0 * voxels.cell or is_edge_artefact(cluster.points, up, viewpoint)
        if cluster.size.max() < settings.min_size or (thin and len(cluster.points) < 2 * settings.min_points):
            continue  # a cable has more points than an edge artefact
        if cluster.standing and cluster.size[2] < settings.min_height + settings.height_deviations * cluster.sigma:
            continue  # within the noise of the plane
        if cluster.standing and line_of_sight is not None:
            solid = as_solid(cluster, line_of_sight, blur)
            cluster = bounded() if solid is None else solid
        labels[members] = len(found)
        found.append(cluster)
    return tuple(found), labels


def bounding_shape(
    voxels: Voxels,
    settings: ClusterSettings,
    *,
    planes: Sequence[DetectedPlane] = (),
    up: ArrayLike = (0.0, 0.0, 1.0),
    viewpoint: ArrayLike | None = None,
    balls: bool = True,
    padding: PaddingSettings = DEFAULT_PADDING,
) -> Cluster:
    """Box, ball and padding of one group of points; see `find_clusters`.

    Args:
        balls: Whether to fit a ball to an object on a plane.
    """
    xyz = voxels.xyz.astype(np.float64)
    sigma = float(voxels.sigma.mean())
    standing, feet = False, np.zeros(3)
    normal = np.asarray(up, dtype=np.float64) / np.linalg.norm(up)
    for plane in planes:
        heights = plane.heights(xyz)
        if 0.0 < heights.min() < settings.standing_gap + 2.0 * sigma and np.median(heights) > 0.0:
            # The part just above the plane was removed together with the plane.
            standing, normal = True, plane.normal
            feet = plane.offset * plane.normal
            break
    R = _frame(xyz[_solid(voxels)], normal)
    local = xyz @ R
    lower, upper = _extent(local, voxels.counts)
    if viewpoint is not None:
        away = xyz.mean(axis=0) - np.asarray(viewpoint, dtype=np.float64)
        lower, upper = _corrected(lower, upper, R.T @ (away / max(float(np.linalg.norm(away)), 1e-9)), sigma)
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
    margin = padding.at_detection(sigma)
    return Cluster(voxels.xyz, lie.pose(R, centre), size, radius, sigma, margin, standing, ball is not None)


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
    return replace(cluster, T_base_box=solid.T_base_box, size=solid.size, radius=radius, spherical=solid.spherical)


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


def _solid(voxels: Voxels) -> NDArray[np.bool_]:
    """Which voxels hold as many pixels as a surface would."""
    return np.asarray(voxels.counts >= min(3, int(np.median(voxels.counts))))


def _extent(local: Array, counts: NDArray[np.int32]) -> tuple[Array, Array]:
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


def _corrected(lower: Array, upper: Array, away: Array, sigma: float) -> tuple[Array, Array]:
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


def _frame(xyz: Array, up: Array) -> Array:
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
