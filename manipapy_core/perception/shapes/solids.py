"""Fit of simple solids on a plane to a depth image.

Points alone give little information on the size of a distant object: depth noise smears them along the line of sight,
and matchers smear its outline. The depth image contains more: where a surface ends and the plane begins, how high the
top face is, which pixels show only the plane. So boxes, balls, standing and lying cylinders are fitted, each moved and
resized until its rendered depths agree best with the measured ones. Where several agree about equally well, the result
is the likelihood-weighted mean of their boxes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ... import lie
from ...jit import njit
from ...typing import Array
from ..tracking.line_of_sight import LineOfSight
from .solid_search import BALL, BOX, CYLINDER, KINDS, LYING, TRUNCATED, best_solids

MAX_PIXELS = 250
"""Approximate number of pixels compared; more do not improve the fit."""
MIN_PIXELS = 30
"""No fit with fewer measured pixels."""
MARGIN = 0.03
"""Width of the surrounding plane that is compared as well [m]."""
OTHER_OBJECT = 0.02
"""Measurements above the plane farther from the object's points than this [m] belong to another object."""
NOISE_SHARE = 0.8
"""Share of the depth noise that is not common to the object and the plane beside it."""
MODEL_SIGMA = 0.003
"""Additional standard deviation of a depth [m], since real objects are not ideal solids."""
PIXELS_PER_MEASUREMENT = 10.0
"""Neighbouring pixels share their noise: this many count as one measurement."""
SHUFFLE = 7919
"""A prime number larger than the number of pixels, the stride of their permutation."""
MIN_LIKELIHOOD = 1e-3
"""Solids with a smaller likelihood relative to the best one are ignored."""
EDGE = 0.01
"""A depth step of more than this [m] plus one standard deviation is an edge."""


@dataclass(frozen=True, eq=False)
class FittedSolid:
    """The fitted solid on a plane."""

    T_base_box: Array
    """Pose of its bounding box: centre and axes, z up, shape (4, 4)."""
    size: Array
    """Edge lengths of that box [m], shape (3,)."""
    spherical: bool
    """Whether the best solid is a ball."""
    boxlike: bool
    """Whether the best solid is a box."""
    evidence: float
    """−2 log likelihood of the bare plane, which has no parameters, minus the score of the solid."""


def fit_solid(
    xyz: Array, sigma: float, height: float, line_of_sight: LineOfSight, feet: Array, normal: Array, blur: float
) -> FittedSolid | None:
    """The solid that fits a depth image best; None where too little is visible.

    Args:
        xyz: Points of the object in the base frame [m], shape (points, 3).
        sigma: Standard deviation of their depth [m].
        height: Approximate height of the object above the plane [m].
        line_of_sight: The depth image.
        feet: A point of the plane [m], shape (3,).
        normal: Plane normal, shape (3,).
        blur: Angle by which matching smears outlines [rad].
    """
    viewpoint, middle = line_of_sight.T_base_optical[:3, 3], xyz.mean(axis=0)
    level = middle - viewpoint
    level = level - (level @ normal) * normal
    distance = float(np.linalg.norm(level))
    if distance < 1e-3:
        return None  # directly above: the viewing direction has no horizontal part
    away = level / distance
    R = np.column_stack([lie.hat(away) @ normal, away, normal])
    origin = middle - ((middle - feet) @ normal) * normal
    local, viewpoint_local = (xyz - origin) @ R, (viewpoint - origin) @ R
    if viewpoint_local[2] < height + EDGE:
        return None  # its top face is not visible
    pixels = _pixels(local, height, sigma, line_of_sight, R, origin, blur)
    if pixels is None or np.count_nonzero(pixels[:, 3] == pixels[:, 3]) < MIN_PIXELS:
        return None
    sharpness = 1.0 / math.hypot(NOISE_SHARE * sigma, MODEL_SIGMA)
    parameters, scores = best_solids(local, height, viewpoint_local, pixels, sharpness, 1.0 / PIXELS_PER_MEASUREMENT)
    nearer = np.fmin(pixels[:, 3] - pixels[:, 4], 0.0) * sharpness  # NaN, not measured: no deviation
    bare = float(np.minimum(nearer * nearer, TRUNCATED).sum()) / PIXELS_PER_MEASUREMENT
    centre, size, turn = _mean_box(parameters, scores)
    c, s = math.cos(turn), math.sin(turn)
    T = lie.pose(R @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), origin + R @ centre)
    best = int(np.argmin(scores))
    return FittedSolid(T, size, best == BALL, best == BOX, bare - float(scores.min()))


def _pixels(
    local: Array, height: float, sigma: float, line_of_sight: LineOfSight, R: Array, origin: Array, blur: float
) -> Array | None:
    """Rays in the frame on the plane, measured depths and those of the plane, shape (pixels, 5)."""
    T, K = line_of_sight.T_base_optical, line_of_sight.K
    low, high = local[:, :2].min(axis=0), local[:, :2].max(axis=0)
    x, y = (low - MARGIN, high + MARGIN)
    corners = np.array([[a, b, c] for a in (x[0], y[0]) for b in (x[1], y[1]) for c in (0.0, height)])
    optical = (corners @ R.T + origin - T[:3, 3]) @ T[:3, :3]
    if optical[:, 2].min() < 0.05:
        return None
    at = optical[:, :2] / optical[:, 2:] * [K[0, 0], K[1, 1]] + K[:2, 2]
    rows, columns = line_of_sight.depth.shape
    (u0, v0), (u1, v1) = np.maximum(at.min(axis=0), 0).astype(int), at.max(axis=0).astype(int) + 2
    u1, v1 = min(u1, columns), min(v1, rows)
    if u1 <= u0 or v1 <= v0:
        return None
    # Rows may be farther apart than columns: sample both with about the same density per metre.
    every = math.sqrt((u1 - u0) * (v1 - v0) / MAX_PIXELS)
    taller = math.sqrt(K[0, 0] / K[1, 1])
    across, down = max(1, round(every * taller)), max(1, round(every / taller))
    # Columns by which matching smears an edge over its background.
    smeared = int(0.5 * blur * K[0, 0])
    viewpoint = (T[:3, 3] - origin) @ R
    bounds = np.array([*(low - OTHER_OBJECT), *(high + OTHER_OBJECT), EDGE + 2.0 * sigma])
    places = np.array([u0, u1, across, v0, v1, down])
    scale = np.array([K[0, 0], K[1, 1], K[0, 2], K[1, 2]])
    pixels = _sample_pixels(
        line_of_sight.depth, places, scale, R.T @ T[:3, :3], viewpoint, bounds, smeared, EDGE + sigma
    )
    # Permuted: the cost of a bad candidate is abandoned after a part of them.
    return pixels[np.arange(len(pixels)) * SHUFFLE % max(len(pixels), 1)]


@njit(cache=True, nogil=True)
def _sample_pixels(depth, places, scale, R, viewpoint, bounds, smeared, edge):  # type: ignore[no-untyped-def]
    """Rows of `_pixels`; each edge is moved back by the columns that it was smeared over the background."""
    u0, u1, across, v0, v1, down = places
    out = np.empty(((1 + (u1 - u0) // across) * (1 + (v1 - v0) // down), 5))
    count = 0
    for v in range(v0, v1, down):
        y = (v - scale[3]) / scale[1]
        for u in range(u0, u1, across):
            x = (u - scale[2]) / scale[0]
            gx = R[0, 0] * x + R[0, 1] * y + R[0, 2]
            gy = R[1, 0] * x + R[1, 1] * y + R[1, 2]
            gz = R[2, 0] * x + R[2, 1] * y + R[2, 2]
            if gz > -1e-6:
                continue
            z = np.float64(depth[v, u])
            behind = z
            for k in range(max(u - smeared, 0), min(u + smeared + 1, depth.shape[1])):
                if depth[v, k] > behind:
                    behind = np.float64(depth[v, k])
            if behind - z > edge:
                z = behind
            if not np.isfinite(z):
                z = np.nan
            else:
                px, py, pz = viewpoint[0] + gx * z, viewpoint[1] + gy * z, viewpoint[2] + gz * z
                inside = bounds[0] <= px <= bounds[2] and bounds[1] <= py <= bounds[3]
                if pz > bounds[4] and not inside:
                    continue  # another object
            out[count, 0], out[count, 1], out[count, 2] = gx, gy, gz
            out[count, 3], out[count, 4] = z, -viewpoint[2] / gz
            count += 1
    return out[:count]


def _mean_box(parameters: Array, scores: Array) -> tuple[Array, Array, float]:
    """Centre, size and rotation of the likelihood-weighted mean of the bounding boxes."""
    likely = np.exp(-0.5 * (scores - scores.min()))
    likely[likely < MIN_LIKELIHOOD] = 0.0
    likely /= likely.sum()
    best = int(np.argmin(scores))
    turn = parameters[best, 0] if best in (BOX, LYING) else parameters[BOX, 0]
    centre, size = np.zeros(3), np.zeros(3)
    for kind in range(KINDS):
        if likely[kind] == 0.0:
            continue
        own_centre, own_size, own_turn = _box_around(kind, parameters[kind])
        if round((own_turn - turn) / (0.5 * math.pi)) % 2 and kind in (BOX, LYING):
            own_size = own_size[[1, 0, 2]]  # its first side lies along the other's second
        centre += likely[kind] * own_centre
        size += likely[kind] * own_size
    return centre, size, float(turn)


def _box_around(kind: int, p: Array) -> tuple[Array, Array, float]:
    """Centre, size and rotation; see `solid_search` for the parameters."""
    if kind == CYLINDER:
        return np.array([p[0], p[1] + p[2], 0.5 * p[3]]), np.array([2.0 * p[2], 2.0 * p[2], p[3]]), 0.0
    if kind == BALL:
        return np.array([p[0], p[1] + p[2], p[2]]), np.full(3, 2.0 * p[2]), 0.0
    c, s, u = math.cos(p[0]), math.sin(p[0]), 0.5 * (p[1] + p[2])
    v, wide, high = (0.5 * (p[3] + p[4]), p[4] - p[3], p[5]) if kind == BOX else (p[3], 2.0 * p[4], 2.0 * p[4])
    return np.array([c * u - s * v, s * u + c * v, 0.5 * high]), np.array([p[2] - p[1], wide, high]), float(p[0])
