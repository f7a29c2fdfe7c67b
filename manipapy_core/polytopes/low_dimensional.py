"""Dimension of a projected set, and polytopes of dimension zero, one and two; the searches are compiled by Numba.

The set is {N y : −1 ≤ y ≤ 1, A y ≤ b} with N of three rows. `spread` takes first support points and finds how many
dimensions they span; `grow_polygon` finds the corners of a flat set; `flat_polytope` makes the result from corners.
"""

from __future__ import annotations

import numpy as np

from ..jit import njit
from ..typing import Array
from .polytope import Polytope, Source
from .simplex import OPTIMAL, OUT_OF_CAPACITY, support


@njit(cache=True, nogil=True)
def spread(N, A, b, flat, Y, X, frame, corners, c, scratch):  # type: ignore[no-untyped-def]
    """Takes support points until they span the set: 12 at most, along three axes, two directions across and one normal.

    Args:
        flat: A width below this counts as none.
        frame: Receives orthonormal directions, the first `dimension` of them along the set, shape (3, 3).
        corners: Receives the numbers of dimension + 1 points that span it, shape (4,).

    Returns:
        Status of the linear programs, dimension (0 to 3), points taken.
    """
    count = 0
    for axis in range(3):
        for sign in range(2):
            for a in range(3):
                c_sign = 1.0 - 2.0 * sign
                frame[0, a] = c_sign if a == axis else 0.0
            status = support(frame[0], N, A, b, Y, X, count, c, scratch)
            if status != OPTIMAL:
                return status, 0, 0
            count += 1
    widest = -1.0
    for i in range(count):
        for j in range(i):
            size = np.sqrt((X[i, 0] - X[j, 0]) ** 2 + (X[i, 1] - X[j, 1]) ** 2 + (X[i, 2] - X[j, 2]) ** 2)
            if size > widest:
                widest, corners[0], corners[1] = size, j, i
    if widest <= flat:
        return OPTIMAL, 0, count
    for a in range(3):
        frame[0, a] = (X[corners[1], a] - X[corners[0], a]) / widest
    complete(frame)
    for direction in range(1, 3):
        for _ in range(2):
            for a in range(3):
                frame[direction, a] = -frame[direction, a]
            status = support(frame[direction], N, A, b, Y, X, count, c, scratch)
            if status != OPTIMAL:
                return status, 0, 0
            count += 1
    farthest = -1.0
    for i in range(count):
        along = 0.0
        for a in range(3):
            along += (X[i, a] - X[corners[0], a]) * frame[0, a]
        off = 0.0
        for a in range(3):
            off += (X[i, a] - X[corners[0], a] - along * frame[0, a]) ** 2
        if off > farthest:
            farthest, corners[2] = off, i
    farthest = np.sqrt(farthest)
    if farthest <= flat:
        return OPTIMAL, 1, count
    along = 0.0
    for a in range(3):
        along += (X[corners[2], a] - X[corners[0], a]) * frame[0, a]
    for a in range(3):
        frame[1, a] = (X[corners[2], a] - X[corners[0], a] - along * frame[0, a]) / farthest
    cross(frame[0], frame[1], frame[2])
    farthest = -1.0
    for _ in range(2):
        for a in range(3):
            frame[2, a] = -frame[2, a]
        status = support(frame[2], N, A, b, Y, X, count, c, scratch)
        if status != OPTIMAL:
            return status, 0, 0
        off = 0.0
        for a in range(3):
            off += (X[count, a] - X[corners[0], a]) * frame[2, a]
        if off > farthest:
            farthest, corners[3] = off, count
        count += 1
    return OPTIMAL, 3 if farthest > flat else 2, count


@njit(cache=True, nogil=True)
def cross(a, b, out):  # type: ignore[no-untyped-def]
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@njit(cache=True, nogil=True)
def complete(frame):  # type: ignore[no-untyped-def]
    """Two directions orthogonal to the first."""
    least = 0
    for a in range(1, 3):
        if abs(frame[0, a]) < abs(frame[0, least]):
            least = a
    for a in range(3):
        frame[2, a] = 1.0 if a == least else 0.0
    cross(frame[0], frame[2], frame[1])
    size = np.sqrt(frame[1, 0] ** 2 + frame[1, 1] ** 2 + frame[1, 2] ** 2)
    for a in range(3):
        frame[1, a] /= size
    cross(frame[0], frame[1], frame[2])


@njit(cache=True, nogil=True)
def grow_polygon(N, A, b, gap, Y, X, count, frame, corners, ring, c, scratch):  # type: ignore[no-untyped-def]
    """Corners in order of a flat set, in the plane of the first two directions of `frame`.

    The support point along the normal of an edge extends the polygon, until no edge has one beyond it.

    Returns:
        Status, number of corners (their numbers are in `ring`, counter-clockwise), points taken.
    """
    ring[0], ring[1] = corners[0], corners[1]
    length, edge, proved = 2, 0, 0
    direction = np.empty(3)
    while proved < length:
        first, second = ring[edge], ring[(edge + 1) % length]
        u = v = 0.0
        for a in range(3):
            step = X[second, a] - X[first, a]
            u += step * frame[0, a]
            v += step * frame[1, a]
        size = np.sqrt(u * u + v * v)
        if count >= X.shape[0]:
            return OUT_OF_CAPACITY, length, count
        for a in range(3):
            direction[a] = (v * frame[0, a] - u * frame[1, a]) / size  # outward normal
        status = support(direction, N, A, b, Y, X, count, c, scratch)
        if status != OPTIMAL:
            return status, length, count
        beyond = 0.0
        for a in range(3):
            beyond += (X[count, a] - X[first, a]) * direction[a]
        if beyond > gap:
            for i in range(length, edge + 1, -1):
                ring[i] = ring[i - 1]
            ring[edge + 1] = count
            length, count, proved = length + 1, count + 1, 0
        else:
            edge, proved = (edge + 1) % length, proved + 1
    return OPTIMAL, length, count


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
        if measure < 0.0:  # the corners run clockwise in this basis
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
