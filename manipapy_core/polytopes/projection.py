"""Exact projection of a joint set to the tip: corners, half-spaces, surface and volume.

The set {matrix · y + offset : y in a box, A y ≤ b} is found from support points, one linear program each, until every
face of their hull is proved to be a face of the set. Before that, coordinates are whitened so that the projected box is
about as long as wide; afterwards the hull is checked (Euler's count, convexity). A hull that fails the check is grown
again in rotated coordinates, at last with slightly relaxed rows, so every polytope that is returned has passed.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, ShapeError
from ..jit import njit
from ..typing import Array
from .hull3d import grow_hull, is_closed_and_convex
from .joint_set import JointSet, NotSolved, UnitSet
from .low_dimensional import flat_polytope, grow_polygon, spread
from .polytope import Polytope, Source, empty_polytope
from .simplex import EMPTY, INVALID_HULL, OPTIMAL, OUT_OF_CAPACITY, memory

FLAT = 1e-7
"""A set thinner than this share of its length is flat."""
GAP, VISIBLE, CONVEX = 1e-10, 1e-11, 1e-8
"""Tolerances of the hull, as shares of the projected box: proof of a face, replacing one, the final check."""
FIRST_CAPACITY, LARGE_CAPACITY = (256, 640), (4000, 16000)
"""Capacity for points and facets: at first, and where that is exceeded."""
ROTATED_ATTEMPTS = 6
"""Rotated coordinate systems that are tried after the first."""
RELAXED_ATTEMPTS, RELAXATION = 60, 1e-7
"""Attempts after those, with rows moved outwards at random by up to so much, as a share of what the box allows: faces
that nearly coincide are distinguished."""


@njit(cache=True, nogil=True)
def _whiten(M, N, L):  # type: ignore[no-untyped-def]
    """M = L N with orthonormal rows of N, longest first, by Gram–Schmidt with pivoting; returns the rank."""
    d, n = M.shape
    rest = M.copy()
    largest = 0.0
    for rank in range(d):
        best, size = 0, -1.0
        for row in range(d):
            total = 0.0
            for j in range(n):
                total += rest[row, j] ** 2
            if total > size:
                best, size = row, total
        size = np.sqrt(size)
        if rank == 0:
            largest = size
        if size <= FLAT * largest or size == 0.0:
            return rank
        for j in range(n):
            N[rank, j] = rest[best, j] / size
        for _ in range(2):  # the second pass removes the rounding errors of the first
            for row in range(d):
                along = 0.0
                for j in range(n):
                    along += rest[row, j] * N[rank, j]
                L[row, rank] += along
                for j in range(n):
                    rest[row, j] -= along * N[rank, j]
    return d


@njit(cache=True, nogil=True)
def _grow(N, A, b, gap, visible, points, facets):  # type: ignore[no-untyped-def]
    """Dimension, corners and surface of a set, with capacity for so many points and facets."""
    k, n = A.shape
    scratch, c = memory(n, k), np.empty(n)
    Y, X = np.empty((points, n)), np.empty((points, 3))
    frame, first = np.zeros((3, 3)), np.zeros(4, np.int64)
    status, dimension, count = spread(N, A, b, FLAT, Y, X, frame, first, c, scratch)
    corners, planes, ring = np.empty((facets, 3), np.int64), np.empty((facets, 4)), np.zeros(points + 1, np.int64)
    used, length = 0, min(dimension, 1) + 1
    ring[:2] = first[:2]
    if status == OPTIMAL and dimension == 3:
        status, count, used = grow_hull(N, A, b, gap, visible, Y, X, count, first, corners, planes, c, scratch)
        if status == OPTIMAL and not is_closed_and_convex(X, count, corners, used, planes, CONVEX):
            status = INVALID_HULL
    elif status == OPTIMAL and dimension == 2:
        status, length, count = grow_polygon(N, A, b, gap, Y, X, count, frame, first, ring, c, scratch)
    return status, dimension, X[:count], Y[:count], corners[:used], planes[:used], ring[:length]


@njit(cache=True, nogil=True)
def _inverse(L):  # type: ignore[no-untyped-def]
    """Determinant and inverse of a 3 × 3 matrix."""
    K = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            a, b, c, d = (j + 1) % 3, (j + 2) % 3, (i + 1) % 3, (i + 2) % 3
            K[i, j] = L[a, c] * L[b, d] - L[a, d] * L[b, c]
    determinant = L[0, 0] * K[0, 0] + L[0, 1] * K[1, 0] + L[0, 2] * K[2, 0]
    return determinant, K / determinant


@njit(cache=True, nogil=True)
def _in_caller_coordinates(X, Y, corners, planes, L, centre, joint_centre, half):  # type: ignore[no-untyped-def]
    """Result in the coordinates of the caller: the points that are corners, each plane once, and the volume."""
    n = Y.shape[1]
    number, count = np.full(X.shape[0], -1), 0
    for facet in range(corners.shape[0]):
        for a in range(3):
            if number[corners[facet, a]] < 0:
                number[corners[facet, a]] = count
                count += 1
    points, preimages = np.empty((count, 3)), np.empty((count, n))
    for i in range(X.shape[0]):
        if number[i] >= 0:
            for a in range(3):
                points[number[i], a] = L[a, 0] * X[i, 0] + L[a, 1] * X[i, 1] + L[a, 2] * X[i, 2] + centre[a]
            for j in range(n):
                preimages[number[i], j] = joint_centre[j] + half[j] * Y[i, j]
    determinant, K = _inverse(L)
    volume, faces = 0.0, 0
    white, normals, offsets = np.empty((corners.shape[0], 3)), np.empty((corners.shape[0], 3)), np.empty(len(corners))
    triangles = np.empty((corners.shape[0], 3), np.int64)
    for facet in range(corners.shape[0]):
        for a in range(3):
            at = a if determinant > 0.0 else 2 - a
            triangles[facet, at] = number[corners[facet, a]]
        o, u, v, w = X[corners[0, 0]], X[corners[facet, 0]], X[corners[facet, 1]], X[corners[facet, 2]]
        u0, u1, u2, v0, v1, v2 = u[0] - o[0], u[1] - o[1], u[2] - o[2], v[0] - o[0], v[1] - o[1], v[2] - o[2]
        w0, w1, w2 = w[0] - o[0], w[1] - o[1], w[2] - o[2]
        volume += (u0 * (v1 * w2 - v2 * w1) - u1 * (v0 * w2 - v2 * w0) + u2 * (v0 * w1 - v1 * w0)) / 6.0
        x, y, z, h = planes[facet, 0], planes[facet, 1], planes[facet, 2], planes[facet, 3]
        if x == 0.0 and y == 0.0 and z == 0.0:
            continue  # three corners on a line: closes the surface, bounds nothing
        # n·z ≤ h is n·L⁻¹ (x − centre) ≤ h
        a0 = x * K[0, 0] + y * K[1, 0] + z * K[2, 0]
        a1 = x * K[0, 1] + y * K[1, 1] + z * K[2, 1]
        a2 = x * K[0, 2] + y * K[1, 2] + z * K[2, 2]
        size = np.sqrt(a0 * a0 + a1 * a1 + a2 * a2)
        offset = (h + a0 * centre[0] + a1 * centre[1] + a2 * centre[2]) / size
        same = -1
        for p in range(faces):
            if abs(x - white[p, 0]) < 1e-8 and abs(y - white[p, 1]) < 1e-8 and abs(z - white[p, 2]) < 1e-8:
                same = p
                break
        if same >= 0:
            offsets[same] = max(offsets[same], offset)
        else:
            white[faces, 0], white[faces, 1], white[faces, 2] = x, y, z
            normals[faces, 0], normals[faces, 1], normals[faces, 2] = a0 / size, a1 / size, a2 / size
            offsets[faces] = offset
            faces += 1
    return points, preimages, triangles, normals[:faces].copy(), offsets[:faces].copy(), volume * abs(determinant)


def project(matrix: ArrayLike, joints: JointSet, offset: ArrayLike | None = None) -> Polytope:
    """The exact image of a joint set.

    Args:
        matrix: Shape (d, n) with d from 1 to 3: rows of a Jacobian, for example.
        offset: Added to every point, shape (d,).

    Returns:
        A polytope in d dimensions; it may be flat or empty.
    """
    M = np.array(matrix, dtype=np.float64)
    if M.ndim != 2 or not 1 <= M.shape[0] <= 3 or M.shape[1] != joints.n:
        raise ShapeError("matrix", f"(1 to 3, {joints.n})", M.shape)
    if not isfinite(M.sum()):
        raise InputError("matrix has elements that are not finite")
    d = len(M)
    shift = np.zeros(d) if offset is None else np.array(offset, dtype=np.float64)
    if shift.shape != (d,) or not isfinite(shift.sum()):
        raise InputError(f"offset must be {d} finite numbers")
    source, unit = Source(M, shift, joints), joints.unit
    if unit.empty:
        return empty_polytope(source)
    # x = centre + L z, where z are coordinates in which the projected box is about as long as wide
    N, L = np.zeros((3, joints.n)), np.zeros((d, d))
    rank = _whiten(M * unit.half, N, L)
    status, dimension, X, Y, corners, planes, ring, checked = _checked_growth(N, unit)
    if status == EMPTY:
        return empty_polytope(source)
    centre = M @ unit.centre + shift
    if dimension < 3 or d < 3:
        preimages = unit.centre + unit.half * Y[ring]
        return flat_polytope(source, X[ring, :rank] @ L[:, :rank].T + centre, preimages, dimension)
    points, preimages, triangles, normals, offsets, volume = _in_caller_coordinates(
        X, Y, corners, planes, L, centre, unit.centre, unit.half
    )
    return Polytope(points, triangles, 3, volume, preimages, source, normals, offsets, checked)


def _checked_growth(N: Array, unit: UnitSet) -> tuple[Any, ...]:
    """`_grow` until the hull passes its check; the last element is True if the first attempt did."""
    found = _grow(N, unit.A, unit.b, GAP, VISIBLE, *FIRST_CAPACITY)
    if found[0] == OUT_OF_CAPACITY:
        found = _grow(N, unit.A, unit.b, GAP, VISIBLE, *LARGE_CAPACITY)
    if found[0] in (OPTIMAL, EMPTY):
        return (*found, True)
    rng = np.random.default_rng(0)
    for attempt in range(ROTATED_ATTEMPTS + RELAXED_ATTEMPTS):
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        relaxed = attempt >= ROTATED_ATTEMPTS
        factor = 1.0 if relaxed else 10.0 ** (attempt // 2)
        b = unit.b + rng.uniform(0.0, RELAXATION, len(unit.b)) if relaxed else unit.b
        status, dimension, X, Y, corners, planes, ring = _grow(
            turn @ N, unit.A, b, GAP * factor, VISIBLE * factor, *LARGE_CAPACITY
        )
        if status in (OPTIMAL, EMPTY):
            planes[:, :3] = planes[:, :3] @ turn
            if np.linalg.det(turn) < 0.0:
                corners = corners[:, ::-1].copy()
            return status, dimension, X @ turn, Y, corners, planes, ring, False
    raise NotSolved(
        "no hull of the projected set passed its check", "scale the rows, or widen bounds that nearly coincide"
    )
