"""Hulls with few corners: the rest is made up for by a ball around them."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from .shapes import ConvexMesh

Array = NDArray[np.float64]

MOST_VERTICES = 48
"""The support function visits all of them."""


@functools.lru_cache(maxsize=512)
def slim_vertices(mesh: ConvexMesh) -> tuple[Array, float]:
    """Some of the corners, and the radius of the ball that added to their hull covers the whole mesh [m].

    The corners are spread over the mesh by always taking the one farthest from those taken. No corner that is left
    out lies farther from the hull of the others than from the nearest of them; a few steps of Gilbert's algorithm
    bring that bound close to the true distance.
    """
    vertices = mesh.vertices
    if len(vertices) <= MOST_VERTICES:
        return vertices, 0.0
    taken = [int(np.argmax(np.linalg.norm(vertices - vertices.mean(axis=0), axis=1)))]
    nearest = np.linalg.norm(vertices - vertices[taken[0]], axis=1)
    while len(taken) < MOST_VERTICES:
        taken.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, np.linalg.norm(vertices - vertices[taken[-1]], axis=1))
    corners = vertices[taken]
    points = corners[np.argmin(np.linalg.norm(vertices[:, None] - corners, axis=2), axis=1)]
    for _ in range(200):
        ends = corners[np.argmax((vertices - points) @ corners.T, axis=1)]
        step = ends - points
        square = np.sum(step * step, axis=1)
        share = np.sum((vertices - points) * step, axis=1) / np.where(square > 0.0, square, 1.0)
        points = points + np.clip(share, 0.0, 1.0)[:, None] * step
    return corners, float(np.linalg.norm(vertices - points, axis=1).max())
