"""Polytopes of dimension zero, one and two, in a space of one, two or three dimensions."""

from __future__ import annotations

import numpy as np

from ..typing import Array
from .polytope import Polytope, Source


def flat_polytope(source: Source, points: Array, preimages: Array, dimension: int) -> Polytope:
    """A polytope from its corners.

    Args:
        points: One, two, or the corners of a polygon in order; shape (corners, d).
        preimages: Shape (corners, n).
        dimension: 0, 1 or 2.
    """
    d = points.shape[1]
    along, across = _directions(points, dimension)
    normals = [across, -across]
    offsets = [across @ points[0], -across @ points[0]]
    measure, triangles = 1.0, np.zeros((0, 3), np.int64)
    if dimension == 1:
        ends = points @ along[0]
        normals += [along, -along]
        offsets += [ends.max(keepdims=True), -ends.min(keepdims=True)]
        measure = float(ends.max() - ends.min())
    elif dimension == 2:
        flat = (points - points[0]) @ along.T
        following = np.roll(flat, -1, axis=0)
        measure = 0.5 * float((flat[:, 0] * following[:, 1] - flat[:, 1] * following[:, 0]).sum())
        if measure < 0.0:  # the basis is turned the other way round than the corners
            points, preimages, flat = points[::-1], preimages[::-1], flat[::-1]
            following, measure = np.roll(flat, -1, axis=0), -measure
        edges = following - flat
        outward = np.column_stack([edges[:, 1], -edges[:, 0]])
        outward /= np.linalg.norm(outward, axis=1, keepdims=True)
        normals.append(outward @ along)
        offsets.append((outward * flat).sum(axis=1) + (outward @ along) @ points[0])
        fan = np.arange(1, len(points) - 1)
        triangles = np.column_stack([np.zeros_like(fan), fan, fan + 1])
    elif dimension == 0:
        measure = 0.0 if d else 1.0
    return Polytope(
        np.ascontiguousarray(points),
        triangles,
        dimension,
        measure,
        np.ascontiguousarray(preimages),
        source,
        np.concatenate(normals).reshape(-1, d),
        np.concatenate(offsets),
    )


def _directions(points: Array, dimension: int) -> tuple[Array, Array]:
    """Orthonormal rows along the set and across it."""
    d = points.shape[1]
    if dimension == 0:
        return np.zeros((0, d)), np.eye(d)
    _, _, basis = np.linalg.svd(points - points.mean(axis=0), full_matrices=True)
    return basis[:dimension], basis[dimension:]
