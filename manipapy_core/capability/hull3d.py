"""The hull of a solid projection, grown facet by facet; Numba.

Each facet asks for the point of the set that lies farthest beyond it. The point either makes the hull grow, or proves
that the facet belongs to the set. Facets on a plane that is proved already are not asked.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .simplex import FULL, OPTIMAL, support


@njit(cache=True, nogil=True)
def set_plane(X, corners, facet, planes):  # type: ignore[no-untyped-def]
    """Unit normal and offset of a facet; returns twice its area."""
    i, j, k = corners[facet, 0], corners[facet, 1], corners[facet, 2]
    ax, ay, az = X[j, 0] - X[i, 0], X[j, 1] - X[i, 1], X[j, 2] - X[i, 2]
    bx, by, bz = X[k, 0] - X[i, 0], X[k, 1] - X[i, 1], X[k, 2] - X[i, 2]
    x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    size = np.sqrt(x * x + y * y + z * z)
    if size < 1e-30:
        planes[facet, 0] = planes[facet, 1] = planes[facet, 2] = planes[facet, 3] = 0.0
        return 0.0
    planes[facet, 0], planes[facet, 1], planes[facet, 2] = x / size, y / size, z / size
    planes[facet, 3] = (x * X[i, 0] + y * X[i, 1] + z * X[i, 2]) / size
    return size


@njit(cache=True, nogil=True)
def height(planes, facet, X, point):  # type: ignore[no-untyped-def]
    """How far a point lies beyond a facet."""
    return (
        planes[facet, 0] * X[point, 0]
        + planes[facet, 1] * X[point, 1]
        + planes[facet, 2] * X[point, 2]
        - planes[facet, 3]
    )


@njit(cache=True, nogil=True)
def first_facets(X, tetrahedron, corners, planes, alive):  # type: ignore[no-untyped-def]
    """The four facets of the first four points, normals outward."""
    for facet in range(4):
        at = 0
        for vertex in range(4):
            if vertex != facet:
                corners[facet, at] = tetrahedron[vertex]
                at += 1
        set_plane(X, corners, facet, planes)
        if height(planes, facet, X, tetrahedron[facet]) > 0.0:
            corners[facet, 0], corners[facet, 1] = corners[facet, 1], corners[facet, 0]
            set_plane(X, corners, facet, planes)
        alive[facet] = True


@njit(cache=True, nogil=True)
def insert(point, visible, X, corners, planes, alive, proved, facets, starts, ends):  # type: ignore[no-untyped-def]
    """Replaces the facets that see a point by a fan from their rim to it; returns the new number of facets or −1."""
    edges = 0
    for facet in range(facets):
        if not alive[facet] or height(planes, facet, X, point) <= visible:
            continue
        alive[facet] = False
        for side in range(3):
            a, b = corners[facet, side], corners[facet, (side + 1) % 3]
            twin = -1
            for e in range(edges):
                if starts[e] == b and ends[e] == a:
                    twin = e
                    break
            if twin >= 0:
                edges -= 1
                starts[twin], ends[twin] = starts[edges], ends[edges]
            elif edges < starts.shape[0]:
                starts[edges], ends[edges] = a, b
                edges += 1
            else:
                return -1
    free = 0
    for e in range(edges):
        while free < facets and alive[free]:
            free += 1
        if free == corners.shape[0]:
            return -1
        corners[free, 0], corners[free, 1], corners[free, 2] = starts[e], ends[e], point
        size = set_plane(X, corners, free, planes)
        alive[free] = True
        proved[free] = size < 1e-14  # too thin for a normal: nothing can be asked of it
        facets = max(facets, free + 1)
    return facets


@njit(cache=True, nogil=True)
def is_proved_plane(planes, facet, known, count, gap):  # type: ignore[no-untyped-def]
    for p in range(count):
        if (
            abs(planes[facet, 0] - known[p, 0]) < 1e-8
            and abs(planes[facet, 1] - known[p, 1]) < 1e-8
            and abs(planes[facet, 2] - known[p, 2]) < 1e-8
            and planes[facet, 3] > known[p, 3] - gap
        ):
            return True
    return False


@njit(cache=True, nogil=True)
def grow_hull(N, A, b, gap, visible, Y, X, count, tetrahedron, corners, planes, c, scratch):  # type: ignore[no-untyped-def]
    """Grows the hull of the points X[:count] to that of the set.

    Args:
        gap: A facet that the set surpasses by less than this is proved.
        visible: A point must lie this far beyond a facet to replace it.
        corners: Receives the facets, shape (most, 3); planes their normals and offsets, shape (most, 4).

    Returns:
        Status, points taken, facets.
    """
    most = corners.shape[0]
    alive, proved = np.zeros(most, np.bool_), np.zeros(most, np.bool_)
    known, planes_known = np.empty((most, 4)), 0
    starts, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    first_facets(X, tetrahedron, corners, planes, alive)
    facets, asked = 4, 0
    for point in range(count):
        if facets < 0:
            return FULL, count, 0
        facets = insert(point, visible, X, corners, planes, alive, proved, facets, starts, ends)
    while True:
        looked = 0
        while looked < facets and (not alive[asked] or proved[asked]):
            asked, looked = (asked + 1) % facets, looked + 1
        if looked == facets:
            break
        if planes_known == most:
            return FULL, count, 0
        if is_proved_plane(planes, asked, known, planes_known, gap):
            proved[asked] = True
            continue
        if count == X.shape[0]:
            return FULL, count, 0
        status = support(planes[asked], N, A, b, Y, X, count, c, scratch)
        if status != OPTIMAL:
            return status, count, facets
        proved[asked] = True
        if height(planes, asked, X, count) <= gap:
            for a in range(4):
                known[planes_known, a] = planes[asked, a]
            planes_known += 1
            continue
        twin = False
        for i in range(count):
            if (
                abs(X[i, 0] - X[count, 0]) < gap
                and abs(X[i, 1] - X[count, 1]) < gap
                and abs(X[i, 2] - X[count, 2]) < gap
            ):
                twin = True  # the normal of a sliver is uncertain: it asks for a corner that is there
                break
        if twin:
            continue
        facets = insert(count, visible, X, corners, planes, alive, proved, facets, starts, ends)
        if facets < 0:
            return FULL, count, 0
        count += 1
    kept = 0
    for facet in range(facets):
        if alive[facet]:
            for a in range(3):
                corners[kept, a] = corners[facet, a]
            for a in range(4):
                planes[kept, a] = planes[facet, a]
            kept += 1
    return OPTIMAL, count, kept


@njit(cache=True, nogil=True)
def is_closed_and_convex(X, count, corners, facets, planes, tolerance):  # type: ignore[no-untyped-def]
    """Euler's count for a triangulated sphere, and no point beyond any facet."""
    used = np.zeros(count, np.bool_)
    for facet in range(facets):
        for a in range(3):
            used[corners[facet, a]] = True
    vertices = 0
    for i in range(count):
        vertices += used[i]
    if facets != 2 * vertices - 4:
        return False
    for facet in range(facets):
        for i in range(count):
            if height(planes, facet, X, i) > tolerance:
                return False
    return True
