"""Surfaces of the primitive shapes as grids of points, to be drawn as quadrilaterals or as triangles.

A shape is a few patches: a sphere is one, a cylinder is its wall and two caps, a box is its six sides. Every drawing of
a primitive shape is made from these patches, by the rasteriser, in PyBullet and in matplotlib alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..typing import Array
from .elements import BoxGeometry, CylinderGeometry, Geometry, SphereGeometry


class SurfacePatch(NamedTuple):
    """A grid of surface points. Columns run counterclockwise around rows, seen from outside."""

    points: Array
    """[m], shape (rows, columns, 3)."""
    normals: Array
    """Outward unit normals, shape (rows, columns, 3)."""
    texture: Array
    """Texture coordinates, 0 to 1, shape (rows, columns, 2)."""


class Triangles(NamedTuple):
    """A triangle mesh with normals and texture coordinates at its vertices."""

    points: Array
    """[m], shape (vertices, 3)."""
    normals: Array
    """Shape (vertices, 3)."""
    texture: Array
    """Texture coordinates, 0 to 1, shape (vertices, 2)."""
    faces: NDArray[np.intp]
    """Vertices of each triangle, counterclockwise seen from outside, shape (triangles, 3)."""


def rectangle_patch(width: float, depth: float, columns: int = 1, rows: int = 1) -> SurfacePatch:
    """A rectangle in the plane z = 0 about the origin, with its normal along z, cut into cells."""
    u, v = np.meshgrid(np.linspace(0.0, 1.0, columns + 1), np.linspace(0.0, 1.0, rows + 1))
    points = np.stack([width * (u - 0.5), depth * (v - 0.5), np.zeros_like(u)], axis=-1)
    return SurfacePatch(points, np.broadcast_to([0.0, 0.0, 1.0], points.shape), np.stack([u, v], axis=-1))


def box_patches(size: Array, cells: Sequence[int] = (1, 1, 1)) -> list[SurfacePatch]:
    """The six sides of a box about the origin; each carries the whole texture.

    Args:
        size: Edge lengths [m], shape (3,).
        cells: Into how many cells each edge is cut, along x, y and z.
    """
    patches = []
    for axis in range(3):
        # The next two axes in cyclic order make a right-handed frame with this one.
        u, v = (axis + 1) % 3, (axis + 2) % 3
        flat = rectangle_patch(size[u], size[v], cells[u], cells[v])
        for side in (-1.0, 1.0):
            # Seen from the other side the columns run the other way.
            points, normals = np.zeros_like(flat.points), np.zeros_like(flat.points)
            points[..., u], points[..., v] = side * flat.points[..., 0], flat.points[..., 1]
            points[..., axis], normals[..., axis] = 0.5 * side * size[axis], side
            patches.append(SurfacePatch(points, normals, flat.texture))
    return patches


def cylinder_patches(radius: float, length: float, segments: int, rows: int = 1) -> list[SurfacePatch]:
    """Wall and caps of a cylinder about z, centred on the origin; its rim is sharp.

    Args:
        segments: Edges around the circle.
        rows: Into how many rings the wall is cut.
    """
    share = np.linspace(0.0, 1.0, segments + 1)
    circle = _circle(share)
    u, v = np.meshgrid(share, np.linspace(0.0, 1.0, rows + 1))
    around = np.broadcast_to(circle, (rows + 1, *circle.shape))
    wall = radius * around + length * (v - 0.5)[..., None] * np.array([0.0, 0.0, 1.0])
    patches = [SurfacePatch(wall, around, np.stack([u, v], axis=-1))]
    for side, rim in ((-1.0, circle[::-1]), (1.0, circle)):
        # From the rim to the centre, which ends every column.
        disc = np.stack([rim, np.zeros_like(rim)])
        up = side * np.array([0.0, 0.0, 1.0])
        points = radius * disc + 0.5 * length * up
        patches.append(SurfacePatch(points, np.broadcast_to(up, points.shape), 0.5 + 0.5 * disc[..., :2]))
    return patches


def sphere_patch(radius: float, segments: int, rings: int) -> SurfacePatch:
    """A sphere about the origin, from its south pole to its north pole.

    Args:
        segments: Edges around the equator.
        rings: Edges from pole to pole.
    """
    share, rise = np.linspace(0.0, 1.0, segments + 1), np.linspace(0.0, 1.0, rings + 1)
    latitude = math.pi * (rise - 0.5)
    normals = np.cos(latitude)[:, None, None] * _circle(share)
    normals[..., 2] = np.sin(latitude)[:, None]
    return SurfacePatch(radius * normals, normals, np.stack(np.meshgrid(share, rise), axis=-1))


def patches_of(geometry: Geometry, *, segments: int, longest_edge: float = math.inf) -> list[SurfacePatch]:
    """Patches of a primitive shape; none for a mesh.

    Args:
        segments: Edges around a circle.
        longest_edge: Cells are no longer than this [m] along straight edges.
    """
    if isinstance(geometry, BoxGeometry):
        return box_patches(geometry.size, [_cells(length, longest_edge) for length in geometry.size])
    if isinstance(geometry, CylinderGeometry):
        rows = _cells(geometry.length, longest_edge)
        return cylinder_patches(geometry.radius, geometry.length, segments, rows)
    if isinstance(geometry, SphereGeometry):
        return [sphere_patch(geometry.radius, segments, segments // 2)]
    return []


def quads(patches: Sequence[SurfacePatch]) -> Array:
    """Cells of patches, counterclockwise seen from outside [m], shape (cells, 4, 3).

    Where a patch ends in one point, at a pole or at the centre of a cap, two corners coincide.
    """
    cells = [np.zeros((0, 4, 3))]
    for points, _, _ in patches:
        corners = [points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1]]
        cells.append(np.stack(corners, axis=2).reshape(-1, 4, 3))
    return np.concatenate(cells)


def triangles(patches: Sequence[SurfacePatch]) -> Triangles:
    """Patches as one triangle mesh; triangles without area are left out."""
    faces, start = [], 0
    for patch in patches:
        rows, columns = patch.points.shape[:2]
        number = start + np.arange(rows * columns).reshape(rows, columns)
        a, b, c, d = (cell.ravel() for cell in (number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]))
        faces += [np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)]
        start += rows * columns
    points = np.concatenate([patch.points.reshape(-1, 3) for patch in patches])
    normals = np.concatenate([patch.normals.reshape(-1, 3) for patch in patches])
    texture = np.concatenate([patch.texture.reshape(-1, 2) for patch in patches])
    face = np.concatenate(faces)
    corners = points[face]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    return Triangles(points, normals, texture, face[area > 1e-12 * area.max()])


def _circle(share: Array) -> Array:
    """Unit circle in the plane z = 0 at shares of a turn, shape (count, 3)."""
    turn = 2.0 * math.pi * share
    return np.stack([np.cos(turn), np.sin(turn), np.zeros_like(turn)], axis=-1)


def _cells(length: float, longest_edge: float) -> int:
    return max(1, math.ceil(length / longest_edge))
