"""Search of near points, compiled: the nearest parts of two bodies, and where else they would meet after a turn."""

from __future__ import annotations

import numpy as np

from ..geometry.gjk import copy_row, dot, new_memory, separation
from ..jit import njit

TURN = 0.15
"""Angle by which a body is turned about its nearest point to find where else it may meet the other [rad]."""
TURNED_WITHIN = 0.12
"""Bodies farther apart have their nearest point alone [m]."""
SAME_POINT = 0.015
"""Points of a body nearer to each other than this count as one [m]."""
OTHER_SIDES = 2
"""Points of further parts per pair of bodies that meet the other body from another side."""
OTHER_SIDE = 0.5
"""Cosine of the angle beyond which a direction is another side."""
CANDIDATES = 8
"""Cells of a point cloud or octomap per link that are measured exactly."""
DESCENTS = 4
"""Cells that are tried in turn from each candidate, each nearer than the one before."""
ROW = 10
"""Distance, unit vector from the first to the second, nearest points of both."""


@njit(cache=True, nogil=True)
def place(first, frame, T_frame_solid, frames, balls, T, centres):  # type: ignore[no-untyped-def]
    """Writes the poses of an arm's solids and the centres of its groups."""
    for g in range(len(frame)):
        F = frames[frame[g]]
        for r in range(3):
            centres[g, r] = F[r, 3]
            for k in range(3):
                centres[g, r] += F[r, k] * balls[g, k]
        for s in range(first[g], first[g + 1]):
            for r in range(4):
                for c in range(4):
                    total = 0.0
                    for k in range(4):
                        total += F[r, k] * T_frame_solid[s, k, c]
                    T[s, r, c] = total


@njit(cache=True, nogil=True)
def nearest(solids, bound, T, parts, start, end, limit, out, memory):  # type: ignore[no-untyped-def]
    """Writes the nearest points of the part pairs start to end; returns its row of `parts`, -1 beyond the limit."""
    best, least = -1, np.inf
    for p in range(start, end):
        gap = ball_gap(bound, T, parts[p, 0], parts[p, 1])
        if gap < least:
            best, least = p, gap
    if best < 0 or least > limit:
        return -1
    trial = np.empty(ROW)
    separation(solids, parts[best, 0], T[parts[best, 0]], parts[best, 1], T[parts[best, 1]], limit, out, memory)
    first, found = best, best if out[0] <= limit else -1
    least = min(out[0], limit)
    for p in range(start, end):
        i, j = parts[p, 0], parts[p, 1]
        if p != first and ball_gap(bound, T, i, j) < least:
            separation(solids, i, T[i], j, T[j], least, trial, memory)
            if trial[0] < least:
                found, least = p, trial[0]
                copy_row(trial, out)
    return found


@njit(cache=True, nogil=True)
def ball_gap(bound, T, i, j):  # type: ignore[no-untyped-def]
    """A lower bound of the distance of two solids."""
    x, y, z = T[i, 0, 3] - T[j, 0, 3], T[i, 1, 3] - T[j, 1, 3], T[i, 2, 3] - T[j, 2, 3]
    return (x * x + y * y + z * z) ** 0.5 - bound[i] - bound[j]


@njit(cache=True, nogil=True)
def _turn(T, first, last, about, axis, angle, shift, turned):  # type: ignore[no-untyped-def]
    """Writes poses turned about a point, then shifted."""
    c, s = np.cos(angle), np.sin(angle)
    R = np.empty((3, 3))
    for r in range(3):
        for k in range(3):
            R[r, k] = (1.0 - c) * axis[r] * axis[k] + (c if r == k else 0.0)
    R[0, 1] -= s * axis[2]
    R[0, 2] += s * axis[1]
    R[1, 0] += s * axis[2]
    R[1, 2] -= s * axis[0]
    R[2, 0] -= s * axis[1]
    R[2, 1] += s * axis[0]
    for i in range(first, last):
        for r in range(3):
            turned[i, r, 3] = about[r] + shift[r]
            for k in range(3):
                turned[i, r, 3] += R[r, k] * (T[i, k, 3] - about[k])
            for col in range(3):
                turned[i, r, col] = R[r, 0] * T[i, 0, col] + R[r, 1] * T[i, 1, col] + R[r, 2] * T[i, 2, col]
    return R


@njit(cache=True, nogil=True)
def _distance(a, b):  # type: ignore[no-untyped-def]
    return np.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2)


@njit(cache=True, nogil=True)
def _tangents(n):  # type: ignore[no-untyped-def]
    """Two unit vectors across n."""
    tangents = np.zeros((2, 3))
    tangents[0, np.argmin(np.abs(n))] = 1.0
    tangents[0] -= n * dot(n, tangents[0])
    tangents[0] /= np.sqrt(dot(tangents[0], tangents[0]))
    tangents[1] = np.cross(n, tangents[0])
    return tangents


@njit(cache=True, nogil=True)
def _points_of_pair(solids, bound, T, turned, solid_range, reach, parts, start, end, influence, rows, memory):  # type: ignore[no-untyped-def]
    """Writes the nearest points of a pair, then those that are nearest after a turn; returns how many."""
    found = nearest(solids, bound, T, parts, start, end, influence, rows[0], memory)
    if found < 0:
        return 0
    if rows[0, 0] > TURNED_WITHIN:
        return 1
    count = 1
    n, about = rows[0, 1:4].copy(), rows[0, 4:7].copy()
    tangents = _tangents(n)
    # The turn may not make the two overlap: the body is moved back by more than it turns forward.
    back = 2.0 * TURN * reach + max(-rows[0, 0], 0.0)
    shift = -back * n
    first, last = solid_range
    turned[last:] = T[last:]
    turned[:first] = T[:first]
    for axis in range(2):
        for side in range(2):
            R = _turn(T, first, last, about, tangents[axis], TURN if side else -TURN, shift, turned)
            row = rows[count]
            other = nearest(solids, bound, turned, parts, start, end, influence + back, row, memory)
            if other < 0:
                continue
            if parts[other, 0] == parts[found, 0] and parts[other, 1] == parts[found, 1]:
                point = row[4:7] - about - shift
                for r in range(3):
                    row[4 + r] = about[r] + R[0, r] * point[0] + R[1, r] * point[1] + R[2, r] * point[2]
                row[1:4] = n
                row[0] = dot(n, row[7:10] - row[4:7])
            else:
                i, j = parts[other, 0], parts[other, 1]
                separation(solids, i, T[i], j, T[j], influence, row, memory)
            if row[0] < influence:
                count += 1
    return count


@njit(cache=True, nogil=True)
def _select(rows, count, most, chosen):  # type: ignore[no-untyped-def]
    """Chooses the nearest row, then those that a turn about the chosen ones brings into contact soonest."""
    kept = 0
    while kept < most:
        best, least = -1, np.inf
        for i in range(count):
            apart = np.inf
            for k in range(kept):
                apart = min(apart, _distance(rows[i, 4:7], rows[chosen[k], 4:7]))
            if kept > 0 and apart < SAME_POINT:
                continue
            score = rows[i, 0] if kept == 0 else (rows[i, 0] - rows[chosen[0], 0]) / apart
            if score < least:
                best, least = i, score
        if best < 0:
            break
        chosen[kept] = best
        kept += 1
    return kept


@njit(cache=True, nogil=True)
def _other_sides(solids, bound, T, parts, start, end, limit, out, begin, total, rows, memory):  # type: ignore[no-untyped-def]
    """Appends the nearest points of parts that meet the other body from another side than the rows from `begin` on.

    Parts that overlap are left out: meshes that do not touch may have such parts in their concave places.
    """
    count, sides = 0, total
    for p in range(start, end):
        i, j = parts[p, 0], parts[p, 1]
        if ball_gap(bound, T, i, j) < limit:
            separation(solids, i, T[i], j, T[j], limit, rows[count], memory)
            if 0.0 < rows[count, 0] < limit:
                count += 1
    for _ in range(OTHER_SIDES):
        best, least = -1, limit
        for c in range(count):
            other = rows[c, 0] < least
            for k in range(begin, sides):
                cosine = rows[c, 1] * out[k, 1] + rows[c, 2] * out[k, 2] + rows[c, 3] * out[k, 3]
                other = other and cosine < OTHER_SIDE
            if other:
                best, least = c, rows[c, 0]
        if best < 0:
            break
        out[sides] = rows[best]
        sides += 1
    return sides


@njit(cache=True, nogil=True)
def near_solids(  # type: ignore[no-untyped-def]
    solids, bound, T, first, centres, balls, pairs, parts, object_pairs, objects_at, influence, most, out, owner
):
    """Writes near points of links with links and of links with objects.

    Args:
        pairs: Groups and their part pairs, shape (pairs, 4).
        object_pairs: Groups and objects, shape (pairs, 2).
        objects_at: Number of the first object's solid.
        out: Rows of near points, shape (at least (most + OTHER_SIDES) · all pairs, ROW).
        owner: Pair of each row: its number among the pairs of groups, then among those with objects.

    Returns:
        Number of rows.
    """
    memory, turned = new_memory(), np.zeros_like(T)
    rows, chosen = np.empty((5, ROW)), np.zeros(most, np.int64)
    widest = 0
    for g in range(len(first) - 1):
        widest = max(widest, first[g + 1] - first[g])
    own = np.empty((widest, 2), np.int64)
    for p in range(len(pairs)):
        widest = max(widest, pairs[p, 3] - pairs[p, 2])
    sides = np.empty((widest, ROW))
    total = 0
    for p in range(len(pairs) + len(object_pairs)):
        if p < len(pairs):
            a, b = pairs[p, 0], pairs[p, 1]
            if _distance(centres[a], centres[b]) - balls[a, 3] - balls[b, 3] > influence:
                continue
            table, start, end = parts, pairs[p, 2], pairs[p, 3]
        else:
            a, solid = object_pairs[p - len(pairs), 0], objects_at + object_pairs[p - len(pairs), 1]
            if _distance(centres[a], T[solid, :3, 3]) - balls[a, 3] - bound[solid] > influence:
                continue
            table, start, end = own, 0, first[a + 1] - first[a]
            for k in range(end):
                own[k, 0], own[k, 1] = first[a] + k, solid
        count = _points_of_pair(
            solids, bound, T, turned, (first[a], first[a + 1]), balls[a, 3], table, start, end, influence, rows, memory
        )
        kept = _select(rows, count, most, chosen)
        begin = total
        for k in range(kept):
            out[total] = rows[chosen[k]]
            total += 1
        if kept > 0 and end - start > 1 and rows[chosen[0], 0] < TURNED_WITHIN:
            total = _other_sides(solids, bound, T, table, start, end, TURNED_WITHIN, out, begin, total, sides, memory)
        owner[begin:total] = p
    return total


@njit(cache=True, nogil=True)
def _nearest_cell(point, cells, near, R):  # type: ignore[no-untyped-def]
    """Number of the cell that is nearest to a point, among those given, and its distance."""
    best, least = -1, np.inf
    for k in range(len(near)):
        c = near[k]
        x, y, z = cells[c, 0] - point[0], cells[c, 1] - point[1], cells[c, 2] - point[2]
        half = cells[c, 3]
        if half > 0.0:
            u = max(abs(R[0, 0] * x + R[1, 0] * y + R[2, 0] * z) - half, 0.0)
            v = max(abs(R[0, 1] * x + R[1, 1] * y + R[2, 1] * z) - half, 0.0)
            w = max(abs(R[0, 2] * x + R[1, 2] * y + R[2, 2] * z) - half, 0.0)
            x, y, z = u, v, w
        square = x * x + y * y + z * z
        if square < least:
            best, least = c, square
    return best, least**0.5


@njit(cache=True, nogil=True)
def near_cells(  # type: ignore[no-untyped-def]
    solids, bound, T, first, centres, balls, group, spheres, cells, R, influence, most, out
):
    """Writes near points of one group and cells of a point cloud or octomap; returns how many.

    Args:
        spheres: Covering spheres of the group in the base frame, centre and radius, shape (spheres, 4).
        cells: Centre in the base frame and half edge [m], shape (cells, 4).
        R: Orientation of the cells, shape (3, 3).
    """
    near = np.empty(len(cells), np.int64)
    count = 0
    reach = influence + balls[group, 3]
    for c in range(len(cells)):
        x, y, z = cells[c, 0] - centres[group, 0], cells[c, 1] - centres[group, 1], cells[c, 2] - centres[group, 2]
        within = reach + 1.7320509 * cells[c, 3]
        if x * x + y * y + z * z < within * within:
            near[count] = c
            count += 1
    if count == 0:
        return 0
    gaps, winner = np.full(len(spheres), np.inf), np.zeros(len(spheres), np.int64)
    for s in range(len(spheres)):
        winner[s], gaps[s] = _nearest_cell(spheres[s], cells, near[:count], R)
        gaps[s] -= spheres[s, 3]
    memory, rows, chosen = new_memory(), np.empty((CANDIDATES, ROW)), np.zeros(most, np.int64)
    cell = len(T) - 1
    own = np.empty((first[group + 1] - first[group], 2), np.int64)
    for k in range(len(own)):
        own[k, 0], own[k, 1] = first[group] + k, cell
    T[cell, :3, :3] = R
    found = 0
    for _ in range(CANDIDATES):
        s = int(np.argmin(gaps))
        if gaps[s] > influence:
            break
        c = winner[s]
        gaps[winner == c] = np.inf
        for _ in range(DESCENTS):
            T[cell, :3, 3] = cells[c, :3]
            solids[3][cell, :] = cells[c, 3]
            bound[cell] = 1.7320509 * cells[c, 3]
            if nearest(solids, bound, T, own, 0, len(own), np.inf, rows[found], memory) < 0:
                break
            # Spheres are coarse: another cell may be nearer to the point of the link that was found.
            other, _ = _nearest_cell(rows[found, 4:7], cells, near[:count], R)
            if other == c:
                break
            c = other
        if rows[found, 0] <= influence:
            found += 1
    kept = _select(rows, found, most, chosen)
    for k in range(kept):
        out[k] = rows[chosen[k]]
    return kept
