"""The hull of a three-dimensional projection, grown facet by facet; compiled by Numba.

The support point of the set along the normal of a facet either extends the hull, or proves that the facet is part of
the surface. Facets on a plane that is already proved are skipped.

Written by hand because the points come one at a time from linear programs that the hull itself requests. Qhull's
half-space intersection in joint space and the hull of the mapped corners (SciPy) take 2.8 ms without obstacle rows and
4.9 ms with 24 of them, this hull with its programs 0.07 ms and 0.29 ms in the same run (benchmarks/polytope.py).
"""

from __future__ import annotations

import numpy as np

from ..jit import njit
from .simplex import OPTIMAL, OUT_OF_CAPACITY, support

CORNER_ACCURACY = 1e-11
"""Accuracy of corners, as a share of the projected box."""


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
    """Signed distance of a point beyond the plane of a facet."""
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
def are_neighbours(corners, one, other):  # type: ignore[no-untyped-def]
    """Whether two facets share an edge."""
    for a in range(3):
        for b in range(3):
            if corners[one, a] == corners[other, (b + 1) % 3] and corners[one, (a + 1) % 3] == corners[other, b]:
                return True
    return False


@njit(cache=True, nogil=True)
def visible_facets(point, visible, X, corners, planes, alive, facets, front):  # type: ignore[no-untyped-def]
    """Finds the connected facets that are visible from a point, beginning at the one that it lies farthest beyond.

    The normal of a sliver is uncertain, so a facet elsewhere may appear visible within rounding. Replacing it as well
    would turn the surface inside out.
    """
    count, best = 0, visible
    for facet in range(facets):
        if not alive[facet]:
            continue
        beyond = height(planes, facet, X, point)
        if beyond > visible:
            front[count] = facet
            if beyond > best:
                front[0], front[count], best = front[count], front[0], beyond
            count += 1
    reached, at = min(count, 1), 0
    while at < reached:
        for other in range(reached, count):
            if are_neighbours(corners, front[at], front[other]):
                front[reached], front[other] = front[other], front[reached]
                reached += 1
        at += 1
    return reached


@njit(cache=True, nogil=True)
def insert(point, visible, X, corners, planes, alive, proved, facets, starts, ends, front):  # type: ignore[no-untyped-def]
    """Replaces the facets visible from a point by a fan from their rim to it; returns the number of facets or −1."""
    edges = 0
    for i in range(visible_facets(point, visible, X, corners, planes, alive, facets, front)):
        facet = front[i]
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
        proved[free] = size < 1e-14  # too thin for a normal
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
        gap: A facet is proved if no point of the set lies farther beyond it.
        visible: A point must lie this far beyond a facet to replace it.
        corners: Receives the facets, shape (most, 3); planes their normals and offsets, shape (most, 4).

    Returns:
        Status, points taken, facets.
    """
    most = corners.shape[0]
    alive, proved = np.zeros(most, np.bool_), np.zeros(most, np.bool_)
    known, planes_known = np.empty((most, 4)), 0
    starts, ends, front = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    first_facets(X, tetrahedron, corners, planes, alive)
    facets, current = 4, 0
    for point in range(count):
        if facets < 0:
            return OUT_OF_CAPACITY, count, 0
        facets = insert(point, visible, X, corners, planes, alive, proved, facets, starts, ends, front)
    while True:
        checked = 0
        while checked < facets and (not alive[current] or proved[current]):
            current, checked = (current + 1) % facets, checked + 1
        if checked == facets:
            break
        if planes_known == most:
            return OUT_OF_CAPACITY, count, 0
        if is_proved_plane(planes, current, known, planes_known, gap):
            proved[current] = True
            continue
        if count == X.shape[0]:
            return OUT_OF_CAPACITY, count, 0
        status = support(planes[current], N, A, b, Y, X, count, c, scratch)
        if status != OPTIMAL:
            return status, count, facets
        proved[current] = True
        if height(planes, current, X, count) <= gap:
            for a in range(4):
                known[planes_known, a] = planes[current, a]
            planes_known += 1
            continue
        twin = False
        for i in range(count):
            if (
                abs(X[i, 0] - X[count, 0]) < gap
                and abs(X[i, 1] - X[count, 1]) < gap
                and abs(X[i, 2] - X[count, 2]) < gap
            ):
                twin = True  # the normal of a sliver is uncertain: its support point is a known corner
                break
        if twin:
            continue
        facets = insert(count, visible, X, corners, planes, alive, proved, facets, starts, ends, front)
        if facets < 0:
            return OUT_OF_CAPACITY, count, 0
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
    """Euler's count for a triangulated sphere, and no point beyond any facet.

    Corners are known to `CORNER_ACCURACY`, so the plane of a sliver tips by that over its height. Planes are moved
    outwards until no corner is beyond, within the tolerance or the uncertainty of a sliver.
    """
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
        beyond = 0.0
        for i in range(count):
            beyond = max(beyond, height(planes, facet, X, i))
        if beyond > tolerance and beyond * sliver_height(X, corners, facet) > CORNER_ACCURACY:
            return False
        planes[facet, 3] += beyond
    return True


@njit(cache=True, nogil=True)
def sliver_height(X, corners, facet):  # type: ignore[no-untyped-def]
    """Smallest height of a triangle: twice its area over its longest side."""
    longest, area = 0.0, 0.0
    i, j, k = corners[facet, 0], corners[facet, 1], corners[facet, 2]
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        across = (X[j, u] - X[i, u]) * (X[k, v] - X[i, v]) - (X[j, v] - X[i, v]) * (X[k, u] - X[i, u])
        area += across * across
    for a in range(3):
        p, q, side = corners[facet, a], corners[facet, (a + 1) % 3], 0.0
        for axis in range(3):
            side += (X[p, axis] - X[q, axis]) ** 2
        longest = max(longest, side)
    return np.sqrt(area / longest) if longest > 0.0 else 0.0
