"""Compiled search for the solids on a plane whose rendered depths agree best with a depth image.

All in a frame on the plane: z up, y horizontal and away from the camera, the object near its origin. Parameters:

- box: rotation about z [rad], lower and upper end along its first side, along its second side, height
- cylinder: centre along x, near end along y, radius, height
- ball: centre along x, near end along y, radius
- lying cylinder: rotation of its axis about z [rad], its two ends along the axis, centre across the axis, radius

The near end is a parameter because it is visible; what is behind it moves as the radius grows.
"""

from __future__ import annotations

import math

import numpy as np

from ...jit import njit

BOX, CYLINDER, BALL, LYING = 0, 1, 2, 3
KINDS = 4
PARAMETER_COUNTS = np.array([6, 4, 3, 5])
"""Parameters of each kind."""
TRUNCATED = 9.0
"""Upper limit of a squared deviation: larger ones are smear or another object."""
UNMEASURED = 2.0
"""Cost of a pixel of the solid that was not measured: objects are measured more often than a plain table."""
FIRST_STEP, LAST_STEP = 0.012, 0.0025
"""First and last step size of the search [m]; it is halved in between."""
ROUNDS = 4
"""Sweeps over all parameters with one step size."""
LEVER = 0.05
"""Lever arm [m] that converts a step to a rotation."""
MIN_SIDE = 0.01
"""Shortest side [m]."""
TAIL = 0.04
"""Share of points that may lie outside each side of the initial guess."""
ROTATIONS = 6
"""Rotations of a box tried for the initial guess."""
INITIAL_POINTS = 100
"""Points used for the initial guess."""
ABANDON_SCORE = 15.0
"""A solid whose score is worse than the best by more than this is abandoned."""


@njit(cache=True, nogil=True)
def best_solids(points, height, viewpoint, pixels, sharpness, per_pixel):  # type: ignore[no-untyped-def]
    """The best solid of each kind.

    Args:
        points: Points of the object [m], shape (points, 3).
        height: Height of the object [m].
        viewpoint: Camera position [m], shape (3,).
        pixels: Per pixel its ray, scaled to unit depth, its depth (NaN: not measured), and that of the plane [m], shape
            (pixels, 5).
        sharpness: One over the standard deviation of a depth [1/m].
        per_pixel: Weight of a pixel: neighbours share their noise.

    Returns:
        Parameters of each kind, shape (4, 6), and the score of each, lower is better: −2 log likelihood plus two per
        parameter (AIC); infinite if abandoned.
    """
    parameters = np.zeros((KINDS, 6))
    _begin(points, height, viewpoint, pixels, sharpness, parameters)
    costs, scores = np.empty(KINDS), np.full(KINDS, np.inf)
    for kind in range(KINDS):
        costs[kind] = misfit(kind, parameters[kind], viewpoint, pixels, sharpness, np.inf)
        scores[kind] = 0.0
    step = FIRST_STEP
    while step >= LAST_STEP:
        for kind in range(KINDS):
            if scores[kind] < np.inf:
                costs[kind] = _improve(kind, parameters[kind], step, costs[kind], viewpoint, pixels, sharpness)
                scores[kind] = per_pixel * costs[kind] + 2.0 * PARAMETER_COUNTS[kind]
        best = scores.min()
        if step < FIRST_STEP:
            for kind in range(KINDS):
                if scores[kind] > best + ABANDON_SCORE:
                    scores[kind] = np.inf
        step *= 0.5
    return parameters, scores


@njit(cache=True, nogil=True)
def _begin(points, height, viewpoint, pixels, sharpness, parameters):  # type: ignore[no-untyped-def]
    """Initial guess: solids about most of the points, boxes and axes with the best rotation."""
    points = points[:: 1 + points.shape[0] // INITIAL_POINTS]
    n = points.shape[0]
    x, y = np.sort(points[:, 0]), np.sort(points[:, 1])
    low, high = int(TAIL * n), n - 1 - int(TAIL * n)
    side, wide, near = 0.5 * (x[low] + x[high]), max(0.5 * (x[high] - x[low]), MIN_SIDE), y[low]
    parameters[CYLINDER, :4] = side, near, wide, height
    parameters[BALL, :3] = side, near, 0.5 * (wide + 0.5 * height)
    apart = 0.5 * math.pi / ROTATIONS
    for kind in (BOX, LYING):
        best = np.inf
        # A quarter turn gives the same box, but not the same axis.
        for turn in range(ROTATIONS if kind == BOX else 2 * ROTATIONS):
            best = _try_rotation(
                kind, turn * apart, points, height, viewpoint, pixels, sharpness, best, parameters[kind]
            )
        for closer in (0.5, 0.25):
            middle = parameters[kind, 0]
            for sign in (1.0, -1.0):
                angle = middle + sign * closer * apart
                best = _try_rotation(kind, angle, points, height, viewpoint, pixels, sharpness, best, parameters[kind])


@njit(cache=True, nogil=True)
def _try_rotation(kind, angle, points, height, viewpoint, pixels, sharpness, best, parameters):  # type: ignore[no-untyped-def]
    """A box or lying cylinder about most of the points; its parameters are kept if it is the best so far."""
    n = points.shape[0]
    low, high = int(TAIL * n), n - 1 - int(TAIL * n)
    c, s = math.cos(angle), math.sin(angle)
    u = np.sort(c * points[:, 0] + s * points[:, 1])
    v = np.sort(c * points[:, 1] - s * points[:, 0])
    trial = np.zeros(6)
    if kind == BOX:
        trial[:] = angle, u[low], u[high], v[low], v[high], height
    else:
        radius = 0.5 * height
        trial[:5] = angle, u[low], u[high], v[low] + radius if c > 0.0 else v[high] - radius, radius
    cost = misfit(kind, trial, viewpoint, pixels, sharpness, best)
    if cost < best:
        parameters[:] = trial
    return min(cost, best)


@njit(cache=True, nogil=True)
def _improve(kind, p, step, best, viewpoint, pixels, sharpness):  # type: ignore[no-untyped-def]
    """Coordinate descent with one step size, as long as it improves; returns the cost."""
    turns = kind in (BOX, LYING)
    for _ in range(ROUNDS):
        before = best
        for k in range(PARAMETER_COUNTS[kind]):
            change = step / LEVER if turns and k == 0 else step
            old = p[k]
            for sign in (1.0, -1.0):
                p[k] = old + sign * change
                cost = misfit(kind, p, viewpoint, pixels, sharpness, best)
                if cost < best:
                    best = cost
                    break
                p[k] = old
        if best == before:
            break
    return best


@njit(cache=True, nogil=True)
def misfit(kind, p, viewpoint, pixels, sharpness, limit):  # type: ignore[no-untyped-def]
    """Sum of the truncated squared deviations of the pixels; stops when it exceeds `limit`."""
    if _is_too_thin(kind, p):
        return np.inf
    c, s = 1.0, 0.0
    if kind in (BOX, LYING):
        c, s = math.cos(p[0]), math.sin(p[0])
    ex, ey, ez = c * viewpoint[0] + s * viewpoint[1], c * viewpoint[1] - s * viewpoint[0], viewpoint[2]
    total = 0.0
    for i in range(pixels.shape[0]):
        gx, gy, gz = c * pixels[i, 0] + s * pixels[i, 1], c * pixels[i, 1] - s * pixels[i, 0], pixels[i, 2]
        depth, table = pixels[i, 3], pixels[i, 4]
        if kind == BOX:
            hit = _box(p, ex, ey, ez, gx, gy, gz, table)
        elif kind == CYLINDER:
            hit = _cylinder(p, ex, ey, ez, gx, gy, gz, table)
        elif kind == BALL:
            hit = _ball(p, ex, ey, ez, gx, gy, gz)
        else:
            hit = _lying(p, ex, ey, ez, gx, gy, gz)
        if np.isnan(depth):
            total += UNMEASURED if hit < table else 0.0
            continue
        # Pixels beside the solid show the plane, or something behind it.
        off = depth - hit if hit < table else min(depth - table, 0.0)
        off *= sharpness
        total += min(off * off, TRUNCATED)
        if total >= limit:
            break
    return total


@njit(cache=True, nogil=True)
def _is_too_thin(kind, p):  # type: ignore[no-untyped-def]
    if kind == BOX:
        return min(p[2] - p[1], p[4] - p[3], p[5]) < MIN_SIDE
    if kind == CYLINDER:
        return min(2.0 * p[2], p[3]) < MIN_SIDE
    if kind == BALL:
        return 2.0 * p[2] < MIN_SIDE
    return min(p[2] - p[1], 2.0 * p[4]) < MIN_SIDE


@njit(cache=True, nogil=True)
def _between(enter, leave, low, high, e, g):  # type: ignore[no-untyped-def]
    """The part of a ray between two planes across an axis (slab method)."""
    if abs(g) < 1e-12:
        return (enter, leave) if low <= e <= high else (enter, -np.inf)
    a, b = (low - e) / g, (high - e) / g
    return max(enter, min(a, b)), min(leave, max(a, b))


@njit(cache=True, nogil=True)
def _box(p, ex, ey, ez, gx, gy, gz, table):  # type: ignore[no-untyped-def]
    """Depth at which a ray enters; infinite if it misses."""
    enter, leave = _between((p[5] - ez) / gz, table, p[1], p[2], ex, gx)
    enter, leave = _between(enter, leave, p[3], p[4], ey, gy)
    return enter if enter <= leave else np.inf


@njit(cache=True, nogil=True)
def _cylinder(p, ex, ey, ez, gx, gy, gz, table):  # type: ignore[no-untyped-def]
    dx, dy = ex - p[0], ey - p[1] - p[2]
    a, b = gx * gx + gy * gy, dx * gx + dy * gy
    outside = dx * dx + dy * dy - p[2] * p[2]
    if a < 1e-12:
        return (p[3] - ez) / gz if outside < 0.0 else np.inf
    square = b * b - a * outside
    if square <= 0.0:
        return np.inf
    root = math.sqrt(square)
    enter, leave = max((-b - root) / a, (p[3] - ez) / gz), min((-b + root) / a, table)
    return enter if enter <= leave else np.inf


@njit(cache=True, nogil=True)
def _ball(p, ex, ey, ez, gx, gy, gz):  # type: ignore[no-untyped-def]
    dx, dy, dz = ex - p[0], ey - p[1] - p[2], ez - p[2]
    a, b = gx * gx + gy * gy + gz * gz, dx * gx + dy * gy + dz * gz
    square = b * b - a * (dx * dx + dy * dy + dz * dz - p[2] * p[2])
    return (-b - math.sqrt(square)) / a if square > 0.0 else np.inf


@njit(cache=True, nogil=True)
def _lying(p, ex, ey, ez, gx, gy, gz):  # type: ignore[no-untyped-def]
    dy, dz = ey - p[3], ez - p[4]
    a, b = gy * gy + gz * gz, dy * gy + dz * gz
    square = b * b - a * (dy * dy + dz * dz - p[4] * p[4])
    if square <= 0.0:
        return np.inf
    root = math.sqrt(square)
    enter, leave = _between((-b - root) / a, (-b + root) / a, p[1], p[2], ex, gx)
    return enter if enter <= leave else np.inf
