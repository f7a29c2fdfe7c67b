"""Distance of two convex solids with nearest points, compiled: the algorithm of Gilbert, Johnson and Keerthi (1988).

A solid is a core, given by its farthest point along a direction, and a ball swept over it. Solids that overlap have a
negative distance: the shortest shift that parts them, found by iterated shifts and distances, which may end in a local
minimum. Coal computes the same; this needs no package, and is called from loops without Python.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..jit import njit
from ..typing import Array
from .hulls import spread_directions
from .shapes import Box, Capsule, Convex, ConvexMesh, Cylinder, pose_matrix

POINTS, BOX, CYLINDER = 0, 1, 2
"""Kinds of cores: corners, a box along its axes, a cylinder along z."""
ITERATIONS = 64
TOLERANCE = 1e-7
"""Of a distance [m]."""
INSIDE = 1e-9
"""Cores nearer than this overlap [m]."""
SHIFTS = 4
"""Shifts by which the direction of an overlap is improved."""
DIRECTIONS = spread_directions(60)
"""Where the search for it starts."""


@dataclass(frozen=True, eq=False)
class SolidTable:
    """Convex solids in their own frames, as arrays for compiled code."""

    kind: NDArray[np.int64]
    """Of the core, shape (solids,)."""
    first: NDArray[np.int64]
    """Where the corners of each solid begin, shape (solids + 1,)."""
    corners: Array
    """Of all cores of kind `POINTS` [m], shape (corners, 3)."""
    size: Array
    """Half lengths of a box; radius, radius and half length of a cylinder [m], shape (solids, 3)."""
    ball: Array
    """Radius of the swept ball [m], shape (solids,)."""
    bound: Array
    """Radius of a ball about the origin that holds the solid [m], shape (solids,)."""

    @classmethod
    def of(cls, shapes: list[Convex]) -> SolidTable:
        """Solids in this order."""
        from .distance import bounding_radius

        kinds, sizes, balls, corners = [], [], [], []
        for shape in shapes:
            kind, size, ball, points = POINTS, (0.0, 0.0, 0.0), 0.0, np.zeros((0, 3))
            if isinstance(shape, Box):
                kind, size = BOX, tuple(0.5 * shape.size)
            elif isinstance(shape, Cylinder):
                kind, size = CYLINDER, (shape.radius, shape.radius, 0.5 * shape.length)
            elif isinstance(shape, ConvexMesh):
                points = shape.vertices
            else:
                half = 0.5 * shape.length if isinstance(shape, Capsule) else 0.0
                points, ball = np.array([[0.0, 0.0, half], [0.0, 0.0, -half]])[: 2 if half > 0.0 else 1], shape.radius
            kinds.append(kind)
            sizes.append(size)
            balls.append(ball)
            corners.append(points)
        return cls(
            np.array(kinds, dtype=np.int64),
            np.concatenate([[0], np.cumsum([len(points) for points in corners])]).astype(np.int64),
            np.concatenate([np.zeros((0, 3)), *corners]),
            np.array(sizes, dtype=np.float64).reshape(-1, 3),
            np.array(balls, dtype=np.float64),
            np.array([bounding_radius(shape) for shape in shapes], dtype=np.float64),
        )

    def joined(self, other: SolidTable) -> SolidTable:
        """These solids, then the others."""
        return SolidTable(
            np.concatenate([self.kind, other.kind]),
            np.concatenate([self.first, other.first[1:] + self.first[-1]]),
            np.concatenate([self.corners, other.corners]),
            np.concatenate([self.size, other.size]),
            np.concatenate([self.ball, other.ball]),
            np.concatenate([self.bound, other.bound]),
        )

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Array, Array, Array]:
        """The first argument of the compiled functions."""
        return self.kind, self.first, self.corners, self.size, self.ball


def convex_distance(
    first: Convex, T_first: ArrayLike, second: Convex, T_second: ArrayLike
) -> tuple[float, Array, Array, Array]:
    """Distance of two convex shapes at poses in one frame, shape (4, 4) each.

    Returns:
        Distance [m], negative for an overlap; nearest point of the first and of the second [m], shape (3,); unit
        vector from the first to the second, shape (3,).
    """
    table = SolidTable.of([first, second])
    T = np.array([pose_matrix(T_first, "T_first"), pose_matrix(T_second, "T_second")])
    out, memory = np.empty(10), new_memory()
    separation(table.arrays, 0, T[0], 1, T[1], np.inf, out, memory)
    return float(out[0]), out[4:7].copy(), out[7:10].copy(), out[1:4].copy()


@njit(cache=True, nogil=True)
def new_memory():  # type: ignore[no-untyped-def]
    """Simplex and scratch of one thread."""
    return np.zeros((4, 9)), np.zeros((4, 4)), np.zeros((6, 3)), np.zeros(4)


@njit(cache=True, nogil=True)
def farthest(solids, i, T, n, out):  # type: ignore[no-untyped-def]
    """Writes the point of a core that lies farthest along n."""
    kind, first, corners, size, _ = solids
    x = T[0, 0] * n[0] + T[1, 0] * n[1] + T[2, 0] * n[2]
    y = T[0, 1] * n[0] + T[1, 1] * n[1] + T[2, 1] * n[2]
    z = T[0, 2] * n[0] + T[1, 2] * n[1] + T[2, 2] * n[2]
    if kind[i] == POINTS:
        best, at = -np.inf, first[i]
        for k in range(first[i], first[i + 1]):
            height = x * corners[k, 0] + y * corners[k, 1] + z * corners[k, 2]
            if height > best:
                best, at = height, k
        x, y, z = corners[at, 0], corners[at, 1], corners[at, 2]
    elif kind[i] == BOX:
        x = size[i, 0] if x >= 0.0 else -size[i, 0]
        y = size[i, 1] if y >= 0.0 else -size[i, 1]
        z = size[i, 2] if z >= 0.0 else -size[i, 2]
    else:
        across = (x * x + y * y) ** 0.5
        scale = size[i, 0] / across if across > 1e-12 else 0.0
        x, y, z = scale * x, scale * y, size[i, 2] if z >= 0.0 else -size[i, 2]
    for r in range(3):
        out[r] = T[r, 0] * x + T[r, 1] * y + T[r, 2] * z + T[r, 3]


@njit(cache=True, nogil=True)
def copy_row(source, target):  # type: ignore[no-untyped-def]
    """Writes one row over another: an assignment of slices checks shapes, which takes a second to compile."""
    for i in range(len(source)):
        target[i] = source[i]


@njit(cache=True, nogil=True)
def dot(a, b):  # type: ignore[no-untyped-def]
    """Scalar product in three dimensions; numba compiles np.dot only where scipy is installed, whose BLAS it calls."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True, nogil=True)
def _triangle(W, i, j, k, share):  # type: ignore[no-untyped-def]
    """Writes the shares of three corners in the point of their triangle that is nearest to the origin."""
    a, b, c = W[i], W[j], W[k]
    abx, aby, abz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    acx, acy, acz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    d1, d2 = -(abx * a[0] + aby * a[1] + abz * a[2]), -(acx * a[0] + acy * a[1] + acz * a[2])
    d3, d4 = -(abx * b[0] + aby * b[1] + abz * b[2]), -(acx * b[0] + acy * b[1] + acz * b[2])
    d5, d6 = -(abx * c[0] + aby * c[1] + abz * c[2]), -(acx * c[0] + acy * c[1] + acz * c[2])
    for m in range(4):
        share[m] = 0.0
    if d1 <= 0.0 and d2 <= 0.0:
        share[i] = 1.0
        return
    if d3 >= 0.0 and d4 <= d3:
        share[j] = 1.0
        return
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        t = d1 / (d1 - d3) if d1 - d3 > 0.0 else 0.0
        share[i], share[j] = 1.0 - t, t
        return
    if d6 >= 0.0 and d5 <= d6:
        share[k] = 1.0
        return
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        t = d2 / (d2 - d6) if d2 - d6 > 0.0 else 0.0
        share[i], share[k] = 1.0 - t, t
        return
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        span = (d4 - d3) + (d5 - d6)
        t = (d4 - d3) / span if span > 0.0 else 0.0
        share[j], share[k] = 1.0 - t, t
        return
    total = va + vb + vc
    share[i], share[j], share[k] = va / total, vb / total, vc / total


@njit(cache=True, nogil=True)
def _nearest_in_simplex(W, count, shares, share):  # type: ignore[no-untyped-def]
    """Writes the shares of the corners in the point nearest to the origin; True if the simplex holds the origin."""
    for m in range(4):
        share[m] = 0.0
    if count == 1:
        share[0] = 1.0
        return False
    if count == 2:
        top, square = 0.0, 0.0
        for r in range(3):
            edge = W[1, r] - W[0, r]
            top -= edge * W[0, r]
            square += edge * edge
        t = min(max(top / square, 0.0), 1.0) if square > 0.0 else 0.0
        share[0], share[1] = 1.0 - t, t
        return False
    if count == 3:
        _triangle(W, 0, 1, 2, share)
        return False
    best, outside = np.inf, False
    for lone in range(4):
        i, j, k = (lone + 1) % 4, (lone + 2) % 4, (lone + 3) % 4
        ax, ay, az = W[j, 0] - W[i, 0], W[j, 1] - W[i, 1], W[j, 2] - W[i, 2]
        bx, by, bz = W[k, 0] - W[i, 0], W[k, 1] - W[i, 1], W[k, 2] - W[i, 2]
        nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        here = -(nx * W[i, 0] + ny * W[i, 1] + nz * W[i, 2])
        there = nx * (W[lone, 0] - W[i, 0]) + ny * (W[lone, 1] - W[i, 1]) + nz * (W[lone, 2] - W[i, 2])
        flat = abs(there) <= 1e-12 * (nx * nx + ny * ny + nz * nz) ** 0.5
        if here * there < 0.0 or flat:
            outside = True
            _triangle(W, i, j, k, shares[lone])
            x = shares[lone, 0] * W[0, 0] + shares[lone, 1] * W[1, 0] + shares[lone, 2] * W[2, 0]
            y = shares[lone, 0] * W[0, 1] + shares[lone, 1] * W[1, 1] + shares[lone, 2] * W[2, 1]
            z = shares[lone, 0] * W[0, 2] + shares[lone, 1] * W[1, 2] + shares[lone, 2] * W[2, 2]
            x, y, z = x + shares[lone, 3] * W[3, 0], y + shares[lone, 3] * W[3, 1], z + shares[lone, 3] * W[3, 2]
            square = x * x + y * y + z * z
            if square < best:
                best = square
                copy_row(shares[lone], share)
    return not outside


@njit(cache=True, nogil=True)
def core_distance(solids, i, T_i, j, T_j, limit, out, memory):  # type: ignore[no-untyped-def]
    """Distance of two cores: writes distance, direction and nearest points as `separation`.

    Ends as soon as the cores are proved to be farther apart than the limit; then the distance is that lower bound and
    the points are not the nearest. Returns 1 if the cores overlap.
    """
    n = memory[2][3]
    n[0], n[1], n[2] = T_j[0, 3] - T_i[0, 3], T_j[1, 3] - T_i[1, 3], T_j[2, 3] - T_i[2, 3]
    return _core_distance_from(solids, i, T_i, j, T_j, limit, out, memory)


@njit(cache=True, nogil=True)
def _core_distance_from(solids, i, T_i, j, T_j, limit, out, memory):  # type: ignore[no-untyped-def]
    """The same, from the direction in the memory."""
    rows, shares, scratch, share = memory
    v, a, b, n = scratch[0], scratch[1], scratch[2], scratch[3]
    count, square = 0, np.inf
    size = dot(n, n) ** 0.5
    if size < 1e-6:
        n[0], n[1], n[2], size = 1.0, 0.0, 0.0, 1.0
    for r in range(3):
        n[r] /= size
    lower = 0.0
    for _ in range(ITERATIONS):
        farthest(solids, i, T_i, n, a)
        for r in range(3):
            n[r] = -n[r]
        farthest(solids, j, T_j, n, b)
        wx, wy, wz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        if count == 0:
            lower = -(n[0] * wx + n[1] * wy + n[2] * wz)
            if lower > limit:
                out[0] = lower
                for r in range(3):
                    out[1 + r], out[4 + r], out[7 + r] = -n[r], a[r], b[r]
                return 0
            lower = max(lower, 0.0)
        else:
            length = square**0.5
            lower = max(lower, (v[0] * wx + v[1] * wy + v[2] * wz) / length)
            if length - lower <= TOLERANCE or lower > limit:
                break
            known = False
            for k in range(count):
                known |= rows[k, 0] == wx and rows[k, 1] == wy and rows[k, 2] == wz
            if known:
                break
        rows[count, 0], rows[count, 1], rows[count, 2] = wx, wy, wz
        for r in range(3):
            rows[count, 3 + r], rows[count, 6 + r] = a[r], b[r]
        count += 1
        inside = _nearest_in_simplex(rows, count, shares, share)
        kept = 0
        for k in range(count):
            if share[k] > 0.0:
                if kept < k:
                    copy_row(rows[k], rows[kept])
                    share[kept] = share[k]
                kept += 1
        for r in range(3):
            v[r] = 0.0
            for k in range(kept):
                v[r] += share[k] * rows[k, r]
        before, square = square, dot(v, v)
        if inside or square < INSIDE * INSIDE:
            return 1
        count = kept
        if square >= before * (1.0 - 1e-14):
            break
        for r in range(3):
            n[r] = v[r]
    length = square**0.5
    out[0] = lower if lower > limit else length
    for r in range(3):
        out[1 + r], out[4 + r], out[7 + r] = v[r] / length, 0.0, 0.0
        for k in range(count):
            out[4 + r] += share[k] * rows[k, 3 + r]
            out[7 + r] += share[k] * rows[k, 6 + r]
    return 0


@njit(cache=True, nogil=True)
def _gap_along(solids, i, T_i, j, T_j, n, out, memory):  # type: ignore[no-untyped-def]
    """Gap of two cores along a unit vector, with the points that bound it; negative for an overlap."""
    back = memory[2][5]
    farthest(solids, i, T_i, n, out[4:7])
    back[0], back[1], back[2] = -n[0], -n[1], -n[2]
    farthest(solids, j, T_j, back, out[7:10])
    out[0] = n[0] * (out[7] - out[4]) + n[1] * (out[8] - out[5]) + n[2] * (out[9] - out[6])
    for r in range(3):
        out[1 + r] = n[r]
    return out[0]


@njit(cache=True, nogil=True)
def separation(solids, i, T_i, j, T_j, limit, out, memory):  # type: ignore[no-untyped-def]
    """Writes signed distance, unit vector from the first solid to the second, and their nearest points, (10,).

    Beyond the limit the distance is a lower bound and the rest is not exact.
    """
    n = memory[2][3]
    n[0], n[1], n[2] = T_j[0, 3] - T_i[0, 3], T_j[1, 3] - T_i[1, 3], T_j[2, 3] - T_i[2, 3]
    separation_from(solids, i, T_i, j, T_j, limit, out, memory)


@njit(cache=True, nogil=True)
def separation_from(solids, i, T_i, j, T_j, limit, out, memory):  # type: ignore[no-untyped-def]
    """The same, searched from the direction in the memory (the fourth row of its third array), as of a moment before.

    Solids that it separates by more than the limit are proved apart at once.
    """
    balls = solids[4][i] + solids[4][j]
    if _core_distance_from(solids, i, T_i, j, T_j, limit + balls, out, memory):
        n, best, trial = memory[2][4], np.empty(10), np.empty(10)
        best[0] = -np.inf
        for k in range(len(DIRECTIONS)):
            copy_row(DIRECTIONS[k], n)
            if _gap_along(solids, i, T_i, j, T_j, n, trial, memory) > best[0]:
                copy_row(trial, best)
        T_far = T_j.copy()
        for _ in range(SHIFTS):
            # A shift beyond the overlap parts the solids; their shortest distance then gives a better direction.
            for r in range(3):
                T_far[r, 3] = T_j[r, 3] + (1e-3 - 1.05 * best[0]) * best[1 + r]
            if core_distance(solids, i, T_i, j, T_far, np.inf, out, memory):
                break
            for r in range(3):
                n[r] = out[1 + r]
            if _gap_along(solids, i, T_i, j, T_j, n, trial, memory) <= best[0]:
                break
            copy_row(trial, best)
        copy_row(best, out)
    out[0] -= balls
    for r in range(3):
        out[4 + r] += solids[4][i] * out[1 + r]
        out[7 + r] -= solids[4][j] * out[1 + r]
