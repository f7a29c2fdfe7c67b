"""Tables, floors and walls for the planner: solids below what was seen of a plane.

Planes are removed from the points before obstacles are found, so no obstacle covers them. A planner needs them: a
surface is the observed part of a plane, as convex prisms that reach into the unknown space behind it, down to the next
surface that was seen there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..geometry import ConvexMesh
from ..typing import Array
from .points.detected_plane import DetectedPlane

WALL_TILT = math.pi / 4
"""Planes that are steeper than this [rad] are walls."""
MIN_THICKNESS = 0.01
"""[m]"""
KEPT_OFFSET, KEPT_ANGLE, KEPT_AREA = 0.004, 0.01, 0.9
"""A surface is kept as it is while the plane moved by less than this [m], turned by less than this [rad], and covers
this share of the same area: it enters the planner's world, where a change means a new check of the path."""


@dataclass(frozen=True, eq=False)
class SeenSurface:
    """A table, floor or wall."""

    label: str
    """table, floor or wall."""
    plane: DetectedPlane
    parts: tuple[ConvexMesh, ...]
    """Prisms behind its observed part, in the base frame."""


def surfaces_of(
    planes: Sequence[DetectedPlane],
    viewpoint: ArrayLike,
    *,
    up: ArrayLike = (0.0, 0.0, 1.0),
    max_thickness: float = 1.0,
) -> tuple[SeenSurface, ...]:
    """Surfaces of detected planes.

    Args:
        planes: Of one frame.
        viewpoint: Camera position [m], shape (3,): surfaces are solid behind what it sees.
        up: Upward direction, shape (3,).
        max_thickness: They reach at most this far into unknown space [m].
    """
    axis = np.asarray(up, dtype=np.float64) / np.linalg.norm(up)
    found = []
    for plane in planes:
        if plane.area is None:
            continue
        side = 1.0 if float(plane.heights(viewpoint)) >= 0.0 else -1.0
        wall = abs(float(plane.normal @ axis)) < math.cos(WALL_TILT)
        lower = [other for other in planes if not wall and other.offset < plane.offset - MIN_THICKNESS]
        parts = []
        for polygon in plane.area.polygons():
            top = polygon @ plane.axes.T + plane.offset * plane.normal
            thickness = max(_unknown_depth(top, lower, max_thickness), MIN_THICKNESS)
            parts.append(ConvexMesh(np.concatenate([top, top - side * thickness * plane.normal])))
        if parts:
            floor = not wall and len(planes) > 1 and not lower
            found.append(SeenSurface("wall" if wall else "floor" if floor else "table", plane, tuple(parts)))
    return tuple(found)


def _unknown_depth(top: Array, lower: Sequence[DetectedPlane], longest: float) -> float:
    """From a polygon down to the next plane that was seen below most of it [m], at most `longest`."""
    depths = [float(plane.heights(top).min()) for plane in lower if plane.covers(top).mean() > 0.5]
    return min([longest, *(depth for depth in depths if depth > 0.0)])


class SurfaceKeeper:
    """Keeps surfaces constant while their planes only jitter."""

    def __init__(self) -> None:
        self._kept: tuple[SeenSurface, ...] = ()

    def reset(self) -> None:
        """Forget all surfaces."""
        self._kept = ()

    def update(
        self, planes: Sequence[DetectedPlane], viewpoint: ArrayLike, **options: float
    ) -> tuple[SeenSurface, ...]:
        """Surfaces of a frame; the known ones while they agree with its planes, or while it shows no plane at all.

        Args:
            planes: Of the frame.
            viewpoint: See `surfaces_of`.
            **options: See `surfaces_of`.
        """
        if not planes:
            return self._kept
        same = len(planes) == len(self._kept) and all(
            _agree(plane, surface.plane) for plane, surface in zip(planes, self._kept)
        )
        if not same:
            self._kept = surfaces_of(planes, viewpoint, **options)
        return self._kept


def _agree(plane: DetectedPlane, known: DetectedPlane) -> bool:
    if abs(plane.offset - known.offset) > KEPT_OFFSET or float(plane.normal @ known.normal) < math.cos(KEPT_ANGLE):
        return False
    if plane.area is None or known.area is None:
        return False
    return min(plane.area.overlap(known.area), known.area.overlap(plane.area)) >= KEPT_AREA
