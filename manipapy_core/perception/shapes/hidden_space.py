"""Space behind what is seen: it is unknown, not free, so obstacles extend into it down to their support.

From above only the top face of a block is visible. Something holds it up, and nothing shows that the space below is
free: the block reaches down to the table, and each of its points extends along its line of sight to the surface
behind it. Where the camera sees the table straight below an object, that object is held from elsewhere; it then
extends along the line of sight only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...typing import Array
from ..points.detected_plane import DetectedPlane
from ..tracking.line_of_sight import LineOfSight

MAX_EXTENSION = 2.0
"""Obstacles extend at most this far along a line of sight [m]."""
MIN_OVER_PLANE = 0.5
"""Share of an object's points that must be above the observed part of a plane to be held by it."""
FREE_LEVELS = (0.2, 0.4, 0.6, 0.8)
"""Heights below an object that are checked for free space, as shares of its height above the plane."""
MIN_FREE_SHARE = 0.5
"""An object does not stand on a plane if this share of the space straight below it was seen to be free."""
FREE_MARGIN = 0.03
"""A ray must end this far behind a place [m], plus three standard deviations, to show that it is free."""
CHECKED_POINTS = 100
"""Points of an object below which the space is checked."""


def support_of(xyz: Array, planes: Sequence[DetectedPlane]) -> DetectedPlane | None:
    """The plane that would hold an object up: the highest one below it that was seen there, else the highest below it.

    Args:
        xyz: Points of the object [m], shape (points, 3).
    """
    below = sorted((plane for plane in planes if plane.heights(xyz).min() > 0.0), key=lambda plane: -plane.offset)
    seen = (plane for plane in below if plane.covers(xyz).mean() >= MIN_OVER_PLANE)
    return next(seen, below[0] if below else None)


def is_free_below(xyz: Array, sigma: float, plane: DetectedPlane, free_space: LineOfSight) -> bool:
    """Whether most of the space straight below an object, down to a plane, was seen to be free."""
    some = xyz[:: 1 + len(xyz) // CHECKED_POINTS]
    heights = plane.heights(some)
    places = [some - (1.0 - level) * heights[:, None] * plane.normal for level in FREE_LEVELS]
    evidence = free_space.evidence_at(np.concatenate(places), FREE_MARGIN + 3.0 * sigma)
    return evidence.free >= MIN_FREE_SHARE * max(len(places) * len(some), 1)


def extended_to_support(xyz: Array, viewpoint: Array, planes: Sequence[DetectedPlane], support: DetectedPlane) -> Array:
    """Ends of the lines of sight behind points [m], shape (points, 3).

    A line ends at the first plane that was seen there, else at the support.

    Args:
        xyz: [m], shape (points, 3).
        viewpoint: Camera position [m], shape (3,).
        support: The plane that holds the object up.
    """
    away = xyz - viewpoint
    longest = 1.0 + MAX_EXTENSION / np.maximum(np.linalg.norm(away, axis=1), 1e-6)
    end = np.minimum(_reach(away, viewpoint, support), longest)
    for plane in planes:
        reach = _reach(away, viewpoint, plane)
        hit = np.flatnonzero((reach >= 1.0) & (reach < end))
        hit = hit[plane.covers(viewpoint + reach[hit, None] * away[hit])]
        end[hit] = reach[hit]
    return viewpoint + np.maximum(end, 1.0)[:, None] * away


def extended_in_box(xyz: Array, viewpoint: Array, T_base_box: Array, size: Array) -> Array:
    """Where the lines of sight behind points leave a box [m], shape (points, 3): its far side is not seen either.

    Args:
        xyz: [m], shape (points, 3).
        viewpoint: Camera position [m], shape (3,).
        T_base_box: Pose of the box, shape (4, 4).
        size: Its edges [m], shape (3,).
    """
    R, centre = T_base_box[:3, :3], T_base_box[:3, 3]
    local, away = (xyz - centre) @ R, (xyz - viewpoint) @ R
    with np.errstate(divide="ignore", invalid="ignore"):
        leave = np.where(np.abs(away) > 1e-9, (0.5 * size * np.sign(away) - local) / away, np.inf).min(axis=1)
    return xyz + np.clip(leave, 0.0, None)[:, None] * (xyz - viewpoint)


def _reach(away: Array, viewpoint: Array, plane: DetectedPlane) -> Array:
    """Distance to a plane along lines of sight, in multiples of `away`; inf for those that do not reach it."""
    steps, height = away @ plane.normal, float(plane.heights(viewpoint))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(steps * height < 0.0, -height / steps, np.inf)
