"""Clusters of points, and the box, ball and hull around each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import lie
from ...errors import InputError
from ...jit import njit
from ...typing import Array
from ..points.dbscan import dbscan
from ..points.planes import PlaneFound, plane_axes
from ..points.voxels import Voxels
from ..tracking.line_of_sight import LineOfSight
from .balls import fit_ball, fit_standing_ball
from .solids import fit_solid

TURNS = np.radians(np.arange(0.0, 90.0, 4.0))
"""Directions that are tried for the sides of a box [rad]."""
NOISE_BIAS = 0.35
"""By how many standard deviations noise moves each side of a box outwards, with the tails cut off."""
STRIPE = 0.006
"""Standard deviation [m] from side to side of what is no wider than two centimetres."""
TAIL = 0.02
"""Share of pixels that may lie beyond each side of a box: matchers smear a few between a thing and its background."""
LEFT_OUT = 0.1
"""Share of a thing's points that may lie outside the solid that it is taken for ..."""
SLACK = 0.01
"""... by more than this [m] and two standard deviations; with more it is no such solid."""


@dataclass(frozen=True)
class ClusterSettings:
    """What makes a cluster."""

    eps: float = 0.025
    """Reach of a point [m] ..."""
    deviations: float = 1.0
    """... and so many standard deviations of its depth more."""
    farthest_reach: float = 0.08
    """But never more than this [m]."""
    min_samples: int = 6
    """Points within reach that make a core point, itself included."""
    least_points: int = 12
    """Smaller clusters are noise."""
    least_size: float = 0.02
    """Clusters whose longest edge is shorter [m] are noise."""
    least_height: float = 0.015
    """What stands on a table must rise so high above it [m] ..."""
    height_deviations: float = 1.5
    """... and so many standard deviations of its depth higher."""
    foot: float = 0.04
    """A cluster that ends so near above a table [m] stands on it."""
    padding: float = 0.005
    """Shapes are larger than what was seen by this on every side [m] ..."""
    padding_deviations: float = 1.0
    """... and so many standard deviations of the depth."""

    def __post_init__(self) -> None:
        if not 0.0 < self.eps <= self.farthest_reach < math.inf:
            raise InputError(f"eps is {self.eps} m, at most {self.farthest_reach}; give 0 < eps <= farthest_reach")
        if self.min_samples < 1 or self.least_points < 1:
            raise InputError("min_samples and least_points must be at least 1")
        for name in (
            "deviations",
            "least_size",
            "least_height",
            "height_deviations",
            "foot",
            "padding",
            "padding_deviations",
        ):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise InputError(f"{name} is {getattr(self, name)}; give a number that is not negative")


@dataclass(frozen=True, eq=False)
class Cluster:
    """One thing that was seen, in the base frame."""

    points: NDArray[np.float32]
    """Mean points of its cells [m], shape (points, 3)."""
    T_base_box: Array
    """Middle and axes of the box around it; z is up, shape (4, 4)."""
    size: Array
    """Of the box that holds all but a few stray pixels, without padding [m], shape (3,)."""
    radius: float
    """Of the ball about the box's middle that holds the box's share of points, without padding [m]."""
    sigma: float
    """Mean standard deviation of its depth [m]."""
    padding: float
    """What to add on every side to be sure [m]."""
    standing: bool
    """Whether it was drawn down to the table it stands on."""
    round: bool
    """Whether it looks like a ball, whose far side was then added."""

    @property
    def centre(self) -> Array:
        """Middle of the box [m], shape (3,)."""
        return self.T_base_box[:3, 3]


def find_clusters(
    voxels: Voxels,
    settings: ClusterSettings,
    *,
    planes: Sequence[PlaneFound] = (),
    up: ArrayLike = (0.0, 0.0, 1.0),
    eye: ArrayLike | None = None,
    sight: LineOfSight | None = None,
    blur: float = 0.0,
) -> tuple[tuple[Cluster, ...], NDArray[np.int64]]:
    """Groups points and measures the groups.

    Args:
        voxels: In the base frame, without robot and tables.
        planes: What clusters may stand on.
        up: The third axis of all boxes.
        eye: Where the camera is [m], shape (3,); without it nothing is assumed about hidden sides.
        sight: The picture that the points are from: what stands on a table is then compared with simple solids.
        blur: How far outlines are smeared in it, as an angle [rad].

    Returns:
        The clusters, and per point the number of its cluster, −1 for none.
    """
    if len(voxels) == 0:
        return (), np.empty(0, np.int64)
    # Cells far away are seen by one pixel each: the reach must span a few of them and the noise.
    reach = np.minimum(settings.eps + settings.deviations * voxels.sigma, settings.farthest_reach)
    raw = dbscan(voxels.xyz, np.maximum(reach, 1.8 * voxels.cell), settings.min_samples)
    labels = np.full(len(raw), -1, np.int64)
    found: list[Cluster] = []
    for number in range(int(raw.max(initial=-1)) + 1):
        members = raw == number
        if np.count_nonzero(members) < settings.least_points:
            continue
        part = voxels.select(members)
        cluster = measure(part, settings, planes=planes, up=up, eye=eye, balls=sight is None)
        thread = np.sort(cluster.size)[1] < 2.0 * voxels.cell or is_stripe(cluster.points, up, eye)
        if cluster.size.max() < settings.least_size or (thread and len(cluster.points) < 2 * settings.least_points):
            continue  # a cable is long, a smeared edge is not
        if cluster.standing and cluster.size[2] < settings.least_height + settings.height_deviations * cluster.sigma:
            continue  # the table's own noise rises as high
        if cluster.standing and sight is not None:
            solid = as_solid(cluster, sight, blur)
            cluster = measure(part, settings, planes=planes, up=up, eye=eye) if solid is None else solid
        labels[members] = len(found)
        found.append(cluster)
    return tuple(found), labels


def measure(
    voxels: Voxels,
    settings: ClusterSettings,
    *,
    planes: Sequence[PlaneFound] = (),
    up: ArrayLike = (0.0, 0.0, 1.0),
    eye: ArrayLike | None = None,
    balls: bool = True,
) -> Cluster:
    """The box, ball and padding of one group of points; see `find_clusters`.

    Args:
        balls: Whether what stands on a table may be a ball.
    """
    xyz = voxels.xyz.astype(np.float64)
    sigma = float(voxels.sigma.mean())
    standing, feet = False, np.zeros(3)
    normal = np.asarray(up, dtype=np.float64) / np.linalg.norm(up)
    for plane in planes:
        heights = plane.heights(xyz)
        if 0.0 < heights.min() < settings.foot + 2.0 * sigma and np.median(heights) > 0.0:
            # The part just above the table was taken out together with the table.
            standing, normal = True, plane.normal
            feet = plane.offset * plane.normal
            break
    R = _frame(xyz[_solid(voxels)], normal)
    local = xyz @ R
    lower, upper = _extent(local, voxels.counts)
    if eye is not None:
        away = xyz.mean(axis=0) - np.asarray(eye, dtype=np.float64)
        lower, upper = _corrected(lower, upper, R.T @ (away / max(float(np.linalg.norm(away)), 1e-9)), sigma)
    if standing:
        lower[2] = min(lower[2], float(feet @ normal))
    ball = None
    if not standing:
        ball = fit_ball(xyz, sigma)
    elif balls:
        ball = fit_standing_ball(xyz, sigma, feet, normal)
    if ball is not None:
        # Of a ball only the near side is seen; the fit tells where the far side is.
        middle = ball[0] @ R
        lower, upper = np.minimum(lower, middle - ball[1]), np.maximum(upper, middle + ball[1])
    size = np.maximum(upper - lower, 1e-3)
    centre = R @ (0.5 * (lower + upper))
    corner = np.clip(np.abs(local - centre @ R), 0.0, 0.5 * size)
    radius = max(float(np.linalg.norm(corner, axis=1).max()), 0.5 * float(size.max()))
    padding = settings.padding + settings.padding_deviations * sigma
    return Cluster(voxels.xyz, lie.pose(R, centre), size, radius, sigma, padding, standing, ball is not None)


def as_solid(cluster: Cluster, sight: LineOfSight, blur: float, least_evidence: float = -math.inf) -> Cluster | None:
    """The cluster with the box around the solid that the picture shows.

    Args:
        sight: The picture.
        blur: See `find_clusters`.
        least_evidence: How much likelier than the bare table it must be, see `SolidFound.evidence`.

    Returns:
        None if there is none, or if it leaves out too much of the cluster.
    """
    normal = cluster.T_base_box[:3, 2]
    feet, xyz = cluster.centre - 0.5 * cluster.size[2] * normal, cluster.points.astype(np.float64)
    solid = fit_solid(xyz, cluster.sigma, float(cluster.size[2]), sight, feet, normal, blur)
    if solid is None or solid.evidence <= least_evidence:
        return None
    local = np.abs((xyz - solid.T_base_box[:3, 3]) @ solid.T_base_box[:3, :3])
    outside = np.any(local > 0.5 * solid.size + SLACK + 2.0 * cluster.sigma, axis=1)
    if np.count_nonzero(outside) > LEFT_OUT * len(xyz):
        return None
    corner = float(np.linalg.norm(np.minimum(local, 0.5 * solid.size), axis=1).max())
    radius = max(corner, 0.5 * float(solid.size.max()))
    return replace(cluster, T_base_box=solid.T_base_box, size=solid.size, radius=radius, round=solid.round)


def is_stripe(points: NDArray[np.float32], up: ArrayLike, eye: ArrayLike | None) -> bool:
    """Whether points lie in a narrow stripe, upright or slanted, as the camera sees them.

    Beside a near thing there is a stripe that only one camera sees, and matchers fill it with what is between the thing
    and its background. It is narrow from side to side but not in depth.
    """
    if eye is None:
        return False
    xyz, down = points.astype(np.float64), -np.asarray(up, dtype=np.float64)
    away = xyz.mean(axis=0) - np.asarray(eye, dtype=np.float64)
    across = lie.hat(down) @ away
    length = float(np.linalg.norm(across))
    if length < 1e-6:
        return False
    sideways, upright = xyz @ (across / length), xyz @ down
    sideways, upright = sideways - sideways.mean(), upright - upright.mean()
    slant = float(sideways @ upright) / max(float(upright @ upright), 1e-12)
    return float(np.std(sideways - slant * upright)) < STRIPE


def _solid(voxels: Voxels) -> NDArray[np.bool_]:
    """Which points are seen by as many pixels as a surface would be."""
    return np.asarray(voxels.counts >= min(3, int(np.median(voxels.counts))))


def _extent(local: Array, counts: NDArray[np.int32]) -> tuple[Array, Array]:
    """Where all but a share `TAIL` of pixels lie on each side, stretched to what an even surface would have."""
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
    """Takes out what noise adds along the line of sight, and adds what hides behind a rounded front.

    Of things that curve away, such as balls and lying bottles, a camera does not see the back, nor that it is missing.
    So a thing is taken to be at least nine tenths as deep as it is wide; the addition is at most 28 % of its
    smaller side, so that boards do not become blocks.

    Args:
        away: Unit vector from the camera, in the axes of the box, shape (3,).
    """
    shrink = np.minimum(NOISE_BIAS * sigma * np.abs(away), 0.2 * (upper - lower))
    lower, upper = lower + shrink, upper - shrink
    level = float(np.hypot(away[0], away[1]))
    if level < 0.2:
        return lower, upper  # from above all sides are seen
    size = upper - lower
    along = np.abs(away[:2]) / level
    deep, wide = float(along @ size[:2]), float(along[::-1] @ size[:2])
    hidden = min(max(0.9 * wide - deep, 0.0), 0.28 * min(wide, float(size[2])))
    lower[:2] += np.minimum(hidden * away[:2] / level, 0.0)
    upper[:2] += np.maximum(hidden * away[:2] / level, 0.0)
    return lower, upper


def _frame(xyz: Array, up: Array) -> Array:
    """Axes of the upright box with the smallest footprint, shape (3, 3), z up."""
    x, y = plane_axes(up).T
    flat = np.column_stack([xyz @ x, xyz @ y])
    turn = TURNS[_smallest_turn(flat, TURNS)]
    along = math.cos(turn) * x + math.sin(turn) * y
    return np.column_stack([along, lie.hat(up) @ along, up])


@njit(cache=True, nogil=True)
def _smallest_turn(flat, turns):  # type: ignore[no-untyped-def]
    """Number of the turn in which the rectangle around points is smallest."""
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
