"""Which simple solid on a table a camera sees, and how large it is.

Points alone say little about the size of a thing far away: depth noise smears them along the line of sight, and
matchers smear its outline. In the picture more counts: where a surface ends and the table begins, how high a lid is,
which pixels see nothing but table. So boxes, balls, standing and lying cylinders are tried, each moved and resized
until the depths that it would show agree best with those that were measured. Where several agree about as well, the
truth lies between them, and so does the result.
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

MOST_PIXELS = 250
"""That are compared, about; more do not tell more."""
LEAST_PIXELS = 30
MARGIN = 0.03
"""How much of the table around a thing is looked at [m]."""
STRANGER = 0.02
"""What stands farther from a thing's points [m] is another one."""
NOISE_SHARE = 0.8
"""Of the standard deviation of depths that is not shared with the table beside the thing."""
FLOOR = 0.003
"""Real things are no ideal solids: their depths may be off by this [m] as well."""
PIXELS_PER_MEASUREMENT = 10.0
"""Neighbouring pixels share their noise: so many of them count as one."""
SHUFFLE = 7919
"""A prime number larger than the number of pixels."""
UNLIKELY = 1e-3
"""Solids that are so much less likely than the best one do not count."""
EDGE = 0.01
"""A step of the depth by more than this [m], and a standard deviation, is the edge of something."""


@dataclass(frozen=True, eq=False)
class SolidFound:
    """A solid that stands on a table."""

    T_base_box: Array
    """Middle and axes of the box around it; z is up, shape (4, 4)."""
    size: Array
    """Of that box [m], shape (3,)."""
    round: bool
    """Whether it is most likely a ball."""
    evidence: float
    """By how much −2 log likelihood is lower than that of a bare table, which has nothing to adjust."""


def fit_solid(
    xyz: Array, sigma: float, height: float, sight: LineOfSight, feet: Array, normal: Array, blur: float
) -> SolidFound | None:
    """The solid that agrees best with a picture; None where there is nothing to compare.

    Args:
        xyz: Points of the thing in the base frame [m], shape (points, 3).
        sigma: Standard deviation of their depth [m].
        height: Of the thing above the table, about [m].
        sight: The picture.
        feet: A point of the table [m], shape (3,).
        normal: Of the table, shape (3,).
        blur: How far outlines are smeared, as an angle [rad].
    """
    eye, middle = sight.T_base_optical[:3, 3], xyz.mean(axis=0)
    level = middle - eye
    level = level - (level @ normal) * normal
    distance = float(np.linalg.norm(level))
    if distance < 1e-3:
        return None  # from right above, no direction is away
    away = level / distance
    R = np.column_stack([lie.hat(away) @ normal, away, normal])
    origin = middle - ((middle - feet) @ normal) * normal
    local, eye_local = (xyz - origin) @ R, (eye - origin) @ R
    if eye_local[2] < height + EDGE:
        return None  # its upper side is not seen
    pixels = _pixels(local, height, sigma, sight, R, origin, blur)
    if pixels is None or np.count_nonzero(pixels[:, 3] == pixels[:, 3]) < LEAST_PIXELS:
        return None
    sharpness = 1.0 / math.hypot(NOISE_SHARE * sigma, FLOOR)
    numbers, scores = best_solids(local, height, eye_local, pixels, sharpness, 1.0 / PIXELS_PER_MEASUREMENT)
    nearer = np.fmin(pixels[:, 3] - pixels[:, 4], 0.0) * sharpness  # where nothing was measured, nothing is nearer
    bare = float(np.minimum(nearer * nearer, TRUNCATED).sum()) / PIXELS_PER_MEASUREMENT
    centre, size, turn = _mean_box(numbers, scores)
    c, s = math.cos(turn), math.sin(turn)
    T = lie.pose(R @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]), origin + R @ centre)
    return SolidFound(T, size, int(np.argmin(scores)) == BALL, bare - float(scores.min()))


def _pixels(
    local: Array, height: float, sigma: float, sight: LineOfSight, R: Array, origin: Array, blur: float
) -> Array | None:
    """Lines of sight in the frame on the table, measured depths and those of the table, shape (pixels, 5)."""
    T, K = sight.T_base_optical, sight.K
    low, high = local[:, :2].min(axis=0), local[:, :2].max(axis=0)
    x, y = (low - MARGIN, high + MARGIN)
    corners = np.array([[a, b, c] for a in (x[0], y[0]) for b in (x[1], y[1]) for c in (0.0, height)])
    optical = (corners @ R.T + origin - T[:3, 3]) @ T[:3, :3]
    if optical[:, 2].min() < 0.05:
        return None
    at = optical[:, :2] / optical[:, 2:] * [K[0, 0], K[1, 1]] + K[:2, 2]
    rows, columns = sight.depth.shape
    (u0, v0), (u1, v1) = np.maximum(at.min(axis=0), 0).astype(int), at.max(axis=0).astype(int) + 2
    u1, v1 = min(u1, columns), min(v1, rows)
    if u1 <= u0 or v1 <= v0:
        return None
    # Rows may be farther apart than columns: about as many per metre of each.
    every = math.sqrt((u1 - u0) * (v1 - v0) / MOST_PIXELS)
    taller = math.sqrt(K[0, 0] / K[1, 1])
    across, down = max(1, round(every * taller)), max(1, round(every / taller))
    # Columns that matching has smeared over what is behind an edge.
    smeared = int(0.5 * blur * K[0, 0])
    eye = (T[:3, 3] - origin) @ R
    bounds = np.array([*(low - STRANGER), *(high + STRANGER), EDGE + 2.0 * sigma])
    places = np.array([u0, u1, across, v0, v1, down])
    scale = np.array([K[0, 0], K[1, 1], K[0, 2], K[1, 2]])
    pixels = _look(sight.depth, places, scale, R.T @ T[:3, :3], eye, bounds, smeared, EDGE + sigma)
    # In any order: a bad guess is given up after a part of them.
    return pixels[np.arange(len(pixels)) * SHUFFLE % max(len(pixels), 1)]


@njit(cache=True, nogil=True)
def _look(depth, places, scale, R, eye, bounds, smeared, edge):  # type: ignore[no-untyped-def]
    """Rows for `_pixels`; each edge is moved back by the columns that it was smeared over what is behind."""
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
                px, py, pz = eye[0] + gx * z, eye[1] + gy * z, eye[2] + gz * z
                inside = bounds[0] <= px <= bounds[2] and bounds[1] <= py <= bounds[3]
                if pz > bounds[4] and not inside:
                    continue  # another thing
            out[count, 0], out[count, 1], out[count, 2] = gx, gy, gz
            out[count, 3], out[count, 4] = z, -eye[2] / gz
            count += 1
    return out[:count]


def _mean_box(numbers: Array, scores: Array) -> tuple[Array, Array, float]:
    """Middle, size and turn of the box around the solids, each counted by how likely it is."""
    likely = np.exp(-0.5 * (scores - scores.min()))
    likely[likely < UNLIKELY] = 0.0
    likely /= likely.sum()
    best = int(np.argmin(scores))
    turn = numbers[best, 0] if best in (BOX, LYING) else numbers[BOX, 0]
    centre, size = np.zeros(3), np.zeros(3)
    for kind in range(KINDS):
        if likely[kind] == 0.0:
            continue
        own_centre, own_size, own_turn = _box_around(kind, numbers[kind])
        if round((own_turn - turn) / (0.5 * math.pi)) % 2 and kind in (BOX, LYING):
            own_size = own_size[[1, 0, 2]]  # its first side lies along the other's second
        centre += likely[kind] * own_centre
        size += likely[kind] * own_size
    return centre, size, float(turn)


def _box_around(kind: int, p: Array) -> tuple[Array, Array, float]:
    """Middle, size and turn; see `solid_search` for the numbers."""
    if kind == CYLINDER:
        return np.array([p[0], p[1] + p[2], 0.5 * p[3]]), np.array([2.0 * p[2], 2.0 * p[2], p[3]]), 0.0
    if kind == BALL:
        return np.array([p[0], p[1] + p[2], p[2]]), np.full(3, 2.0 * p[2]), 0.0
    c, s, u = math.cos(p[0]), math.sin(p[0]), 0.5 * (p[1] + p[2])
    v, wide, high = (0.5 * (p[3] + p[4]), p[4] - p[3], p[5]) if kind == BOX else (p[3], 2.0 * p[4], 2.0 * p[4])
    return np.array([c * u - s * v, s * u + c * v, 0.5 * high]), np.array([p[2] - p[1], wide, high]), float(p[0])
