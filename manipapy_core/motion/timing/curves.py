"""Compiled passes over rounded polylines and their time laws; `paths` and `time_laws` describe what they compute."""

from __future__ import annotations

import math

import numpy as np

from ...jit import njit


@njit(cache=True, nogil=True)
def measured(corners):  # type: ignore[no-untyped-def]
    """Unit vectors of the pieces of a polyline, shape (points - 1, n), and the length at each corner, (points,)."""
    pieces, n = corners.shape[0] - 1, corners.shape[1]
    directions, marks = np.empty((pieces, n)), np.zeros(pieces + 1)
    for i in range(pieces):
        square = 0.0
        for j in range(n):
            directions[i, j] = corners[i + 1, j] - corners[i, j]
            square += directions[i, j] ** 2
        length = math.sqrt(square)
        marks[i + 1] = marks[i] + length
        for j in range(n):
            directions[i, j] /= length
    return directions, marks


@njit(cache=True, nogil=True)
def piece_of(marks, s):  # type: ignore[no-untyped-def]
    """Number of the piece between marks that holds a length; the first or last one beyond them."""
    first, last = 0, marks.shape[0] - 2
    while first < last:
        middle = (first + last + 1) // 2
        if marks[middle] <= s:
            first = middle
        else:
            last = middle - 1
    return first


@njit(cache=True, nogil=True)
def write_point(corners, directions, marks, radii, s, q, slope, bend):  # type: ignore[no-untyped-def]
    """Position of a rounded polyline at a length, and its first and second derivative by the length."""
    n, piece, pieces = corners.shape[1], piece_of(marks, s), directions.shape[0]
    for j in range(n):
        slope[j] = directions[piece, j]
        q[j] = corners[piece, j] + (s - marks[piece]) * directions[piece, j]
        bend[j] = 0.0
    corner = piece  # behind the piece, or in front of it
    if piece == pieces - 1 or (piece > 0 and s - marks[piece] < marks[piece + 1] - s):
        corner = piece - 1
    if corner < 0 or corner >= radii.shape[0]:
        return
    radius, away = radii[corner], s - marks[corner + 1]
    if abs(away) >= radius:
        return
    x = away / radius
    ramp = radius * (3.0 / 16.0 + x * (0.5 + x * (0.375 - x * x / 16.0)))
    turned = 0.5 + x * (0.75 - 0.25 * x * x)
    if corner < piece:
        ramp, turned = ramp - away, turned - 1.0
    curvature = 0.75 * (1.0 - x * x) / radius
    for j in range(n):
        turn = directions[corner + 1, j] - directions[corner, j]
        q[j] += turn * ramp
        slope[j] += turn * turned
        bend[j] = turn * curvature


@njit(cache=True, nogil=True)
def points_at(corners, directions, marks, radii, s):  # type: ignore[no-untyped-def]
    """Positions and derivatives at many lengths, shape (N, n) each."""
    q = np.empty((s.shape[0], corners.shape[1]))
    slope, bend = np.empty_like(q), np.empty_like(q)
    for i in range(s.shape[0]):
        write_point(corners, directions, marks, radii, s[i], q[i], slope[i], bend[i])
    return q, slope, bend


@njit(cache=True, nogil=True)
def resolving_grid(marks, radii, per_piece, per_corner):  # type: ignore[no-untyped-def]
    """Lengths that resolve every straight and every curved piece, both ends included."""
    grid = np.empty(per_piece * (radii.shape[0] + 1) + per_corner * radii.shape[0] + 1)
    count, begin = 0, 0.0
    for piece in range(2 * radii.shape[0] + 1):
        corner, curved = piece // 2, piece % 2 == 1
        if curved:
            end = marks[corner + 1] + radii[corner]
        elif corner < radii.shape[0]:
            end = marks[corner + 1] - radii[corner]
        else:
            end = marks[-1]
        if end - begin < 1e-12:
            continue
        parts = per_corner if curved else per_piece
        for part in range(parts):
            grid[count] = begin + (end - begin) * (part / parts)
            count += 1
        begin = end
    grid[count] = marks[-1]
    return grid[: count + 1].copy()


@njit(cache=True, nogil=True)
def speed_ceilings(slope, velocity):  # type: ignore[no-untyped-def]
    """Largest squared speed along a path that keeps joint velocities, at every point of a grid, shape (N,)."""
    ceilings = np.empty(slope.shape[0])
    for i in range(slope.shape[0]):
        least = np.inf
        for j in range(slope.shape[1]):
            if slope[i, j] != 0.0:
                least = min(least, abs(velocity[j] / slope[i, j]))
        ceilings[i] = least * least
    return ceilings


@njit(cache=True, nogil=True)
def averaged_law(grid, squared_speeds, window, stretch, times):  # type: ignore[no-untyped-def]
    """Length along a path, its rate and the rate of that: moving average of pieces of constant acceleration.

    Args:
        grid: Lengths, shape (N,).
        squared_speeds: At these, shape (N,).
        window: Of the average, before stretching [s].
        stretch: Factor on all times.
        times: [s], shape (M,).

    Returns:
        Shape (3, M).
    """
    N = grid.shape[0]
    marks, integrals, accelerations = np.zeros(N), np.zeros(N), np.empty(N - 1)
    for i in range(N - 1):
        v, ahead = math.sqrt(squared_speeds[i]), math.sqrt(squared_speeds[i + 1])
        width = grid[i + 1] - grid[i]
        h = 2.0 * width / max(v + ahead, 1e-150)
        u = (squared_speeds[i + 1] - squared_speeds[i]) / (2.0 * width)
        accelerations[i] = u
        marks[i + 1] = marks[i] + h
        integrals[i + 1] = integrals[i] + h * (grid[i] + h * (v / 2.0 + h * u / 6.0))
    out = np.empty((3, times.shape[0]))
    for k in range(times.shape[0]):
        for side in range(2):
            t = times[k] / stretch - side * window
            inside = min(max(t, 0.0), marks[-1])
            i = piece_of(marks, inside)
            h, s, v, u = inside - marks[i], grid[i], math.sqrt(squared_speeds[i]), accelerations[i]
            integral = integrals[i] + h * (s + h * (v / 2.0 + h * u / 6.0))
            # At rest before and after it.
            integral += max(t - marks[-1], 0.0) * grid[-1]
            if side == 0:
                out[0, k], out[1, k], out[2, k] = integral, s + h * (v + h * u / 2.0), v + h * u
            else:
                out[0, k] -= integral
                out[1, k] -= s + h * (v + h * u / 2.0)
                out[2, k] -= v + h * u
        out[0, k] = min(max(out[0, k] / window, 0.0), grid[-1])
        out[1, k] /= window * stretch
        out[2, k] /= window * stretch * stretch
    return out


@njit(cache=True, nogil=True)
def law_duration(grid, squared_speeds):  # type: ignore[no-untyped-def]
    """Time of a law before averaging and stretching [s]."""
    total = 0.0
    for i in range(grid.shape[0] - 1):
        speeds = math.sqrt(squared_speeds[i]) + math.sqrt(squared_speeds[i + 1])
        total += 2.0 * (grid[i + 1] - grid[i]) / max(speeds, 1e-150)
    return total


@njit(cache=True, nogil=True)
def joint_motion(q, slope, bend, law):  # type: ignore[no-untyped-def]
    """Velocities and accelerations from derivatives by the length (N, n) and the law along it (3, N)."""
    velocities, accelerations = np.empty_like(q), np.empty_like(q)
    for i in range(q.shape[0]):
        rate, change = law[1, i], law[2, i]
        for j in range(q.shape[1]):
            velocities[i, j] = slope[i, j] * rate
            accelerations[i, j] = slope[i, j] * change + bend[i, j] * rate * rate
    return velocities, accelerations
