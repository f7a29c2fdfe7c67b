"""Surfaces of primitive shapes as flat facets of four corners, ready to be moved, shaded and drawn.

A painter's renderer sorts facets by their distance: large ones are cut into pieces so that the order comes out right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..model.elements import RGBA, BoxGeometry, CylinderGeometry, Geometry, Link, SphereGeometry
from ..typing import Array

PIECE = 0.06
"""Largest edge of a facet [m], as far as the shape is flat in that direction."""
SIDES = 24
"""Facets around a cylinder or a sphere."""
DEFAULT_COLOUR: RGBA = (0.72, 0.74, 0.78, 1.0)
_LIGHT = np.array([-0.35, -0.55, 0.76])
_AMBIENT, _DIFFUSE = 0.66, 0.44


@dataclass(frozen=True, eq=False)
class Facets:
    """The facets of many shapes, each in the frame of its link."""

    corners: Array
    """[m], counter-clockwise seen from outside, shape (facets, 4, 3); a triangle repeats its last corner."""
    link: np.typing.NDArray[np.intp]
    """Which link each facet moves with, shape (facets,)."""
    colour: Array
    """Red, green, blue, opacity, shape (facets, 4)."""

    def placed(self, T_base_link: Array) -> Array:
        """Corners in the base frame at given poses of the links.

        Args:
            T_base_link: Shape (links, 4, 4).

        Returns:
            Corners [m], shape (facets, 4, 3).
        """
        T = T_base_link[self.link]
        return np.einsum("fij,fkj->fki", T[:, :3, :3], self.corners) + T[:, None, :3, 3]

    def shaded(self, corners: Array) -> Array:
        """Colours under a light from above, for placed corners; shape (facets, 4)."""
        normal = np.cross(corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1])
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
        brightness = _AMBIENT + _DIFFUSE * np.clip(normal @ _LIGHT / np.linalg.norm(_LIGHT), -0.35, 1.0)
        colour = self.colour.copy()
        colour[:, :3] = np.clip(colour[:, :3] * brightness[:, None], 0.0, 1.0)
        return colour


def facets_of(links: Sequence[Link], *, collisions: bool = False) -> Facets:
    """Facets of all primitive shapes of the links; meshes have none."""
    corners, owners, colours = [np.zeros((0, 4, 3))], [np.zeros(0, dtype=np.intp)], [np.zeros((0, 4))]
    for index, link in enumerate(links):
        for shape in link.collisions if collisions else link.visuals:
            local = _surface(shape.geometry)
            R, p = shape.T_link_shape[:3, :3], shape.T_link_shape[:3, 3]
            corners.append(local @ R.T + p)
            owners.append(np.full(len(local), index))
            colours.append(np.tile(shape.rgba or DEFAULT_COLOUR, (len(local), 1)))
    return Facets(np.concatenate(corners), np.concatenate(owners), np.concatenate(colours))


def _surface(geometry: Geometry) -> Array:
    if isinstance(geometry, BoxGeometry):
        return _box(geometry.size)
    if isinstance(geometry, CylinderGeometry):
        return _cylinder(geometry.radius, geometry.length)
    if isinstance(geometry, SphereGeometry):
        return _sphere(geometry.radius)
    return np.zeros((0, 4, 3))


def _grid(points: Array) -> Array:
    """Facets between neighbouring points of a grid of shape (rows, columns, 3)."""
    quads = np.stack([points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1]], axis=2)
    return quads.reshape(-1, 4, 3)


def _steps(length: float) -> Array:
    """From -1 to 1 in pieces that are short enough."""
    return np.linspace(-1.0, 1.0, 1 + max(1, math.ceil(length / PIECE)))


def _box(size: Array) -> Array:
    faces = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        points = np.zeros((len(_steps(size[v])), len(_steps(size[u])), 3))
        points[..., u], points[..., v] = np.meshgrid(_steps(size[u]), _steps(size[v]))
        points[..., axis] = 1.0
        faces += [_grid(points), _grid(points[:, ::-1] * np.where(np.arange(3) == axis, -1.0, 1.0))]
    return np.concatenate(faces) * 0.5 * size


def _cylinder(radius: float, length: float) -> Array:
    turn = np.linspace(0.0, 2.0 * np.pi, SIDES + 1)
    circle = np.stack([radius * np.cos(turn), radius * np.sin(turn), np.zeros_like(turn)], axis=-1)
    rings = circle + np.array([0.0, 0.0, 0.5 * length]) * _steps(length)[:, None, None]
    top, centre = rings[-1], np.array([0.0, 0.0, 0.5 * length])
    hub = np.broadcast_to(centre, (SIDES, 3))
    lid = np.stack([top[:-1], top[1:], hub, hub], axis=1)
    # The other lid is the same one looked at from below.
    return np.concatenate([_grid(rings), lid, (lid * np.array([1.0, 1.0, -1.0]))[:, [1, 0, 2, 3]]])


def _sphere(radius: float) -> Array:
    around, upwards = np.linspace(0.0, 2.0 * np.pi, SIDES + 1), np.linspace(-0.5 * np.pi, 0.5 * np.pi, SIDES // 2 + 1)
    turn, height = np.meshgrid(around, upwards)
    points = np.stack([np.cos(height) * np.cos(turn), np.cos(height) * np.sin(turn), np.sin(height)], axis=-1)
    return _grid(radius * points)
