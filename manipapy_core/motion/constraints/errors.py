"""Errors of path constraints at configurations, compiled.

A constraint is a row of numbers and a chain is a table of bodies, so that the code is compiled once for all robots and
constraints. Errors are relative to their tolerances: a configuration is inside while no ratio exceeds 1.
"""

from __future__ import annotations

import math

import numpy as np

from ...jit import njit

EULER, ROTATION_VECTOR, BOX, SPHERE, CYLINDER = range(5)
PARENT, DOF, REVOLUTE = range(3)
"""Columns of the whole numbers of a body."""
B_ROTATION, B_TRANSLATION, B_TURN, B_RATIO, B_WIDTH = 0, 9, 12, 13, 14
"""Columns of its other numbers."""
KIND, LINK_BODY, FRAME_BODY, UNION, I_WIDTH = range(5)
"""Columns of the whole numbers of a constraint; rows of one union are neighbours, and one of them has to hold."""
R_LINK, P_LINK, R_FRAME, P_FRAME, R_TARGET, TOLERANCE, C_WIDTH = 0, 9, 12, 21, 24, 33, 36
"""Columns of its other numbers: rotation and point in the body of the link; error frame in the body of the frame;
target orientation in that frame (rotation vectors only); three tolerances."""

FREE = 1e3
"""Tolerance of a component that is not constrained."""


@njit(cache=True, nogil=True)
def body_poses(whole, numbers, q, R, p):  # type: ignore[no-untyped-def]
    """Rotation (bodies, 9) and origin (bodies, 3) of every body in the base frame; joints turn about z."""
    for i in range(whole.shape[0]):
        parent, ratio = whole[i, PARENT], numbers[i, B_RATIO]
        way = ratio * q[whole[i, DOF]]
        turn = numbers[i, B_TURN] + (way if whole[i, REVOLUTE] else 0.0)
        slide = 0.0 if whole[i, REVOLUTE] else way
        s, c = math.sin(turn), math.cos(turn)
        for r in range(3):
            a, b, z = numbers[i, 3 * r], numbers[i, 3 * r + 1], numbers[i, 3 * r + 2]
            t = numbers[i, B_TRANSLATION + r] + slide * z
            if parent < 0:
                R[i, 3 * r], R[i, 3 * r + 1], R[i, 3 * r + 2] = a * c + b * s, b * c - a * s, z
                p[i, r] = t
        if parent >= 0:
            for r in range(3):
                x, y, w = R[parent, 3 * r], R[parent, 3 * r + 1], R[parent, 3 * r + 2]
                a = x * numbers[i, 0] + y * numbers[i, 3] + w * numbers[i, 6]
                b = x * numbers[i, 1] + y * numbers[i, 4] + w * numbers[i, 7]
                z = x * numbers[i, 2] + y * numbers[i, 5] + w * numbers[i, 8]
                R[i, 3 * r], R[i, 3 * r + 1], R[i, 3 * r + 2] = a * c + b * s, b * c - a * s, z
                p[i, r] = (
                    p[parent, r]
                    + x * numbers[i, B_TRANSLATION]
                    + y * numbers[i, B_TRANSLATION + 1]
                    + w * numbers[i, B_TRANSLATION + 2]
                    + slide * z
                )


@njit(cache=True, nogil=True)
def place(R, p, body, row, at_rotation, at_point, R_out, p_out):  # type: ignore[no-untyped-def]
    """A frame given in that of a body (base for -1), in the base frame."""
    for r in range(3):
        for k in range(3):
            if body < 0:
                R_out[3 * r + k] = row[at_rotation + 3 * r + k]
            else:
                total = 0.0
                for m in range(3):
                    total += R[body, 3 * r + m] * row[at_rotation + 3 * m + k]
                R_out[3 * r + k] = total
        if body < 0:
            p_out[r] = row[at_point + r]
        else:
            total = p[body, r]
            for m in range(3):
                total += R[body, 3 * r + m] * row[at_point + m]
            p_out[r] = total


@njit(cache=True, nogil=True)
def add_columns(whole, numbers, R, p, body, point, sign, Jw, Jv):  # type: ignore[no-untyped-def]
    """Adds how a point of a body turns and moves per joint motion, in the base frame, times a sign."""
    while body >= 0:
        dof, ratio = whole[body, DOF], sign * numbers[body, B_RATIO]
        x, y, z = ratio * R[body, 2], ratio * R[body, 5], ratio * R[body, 8]
        if whole[body, REVOLUTE]:
            a, b, c = point[0] - p[body, 0], point[1] - p[body, 1], point[2] - p[body, 2]
            Jw[0, dof] += x
            Jw[1, dof] += y
            Jw[2, dof] += z
            Jv[0, dof] += y * c - z * b
            Jv[1, dof] += z * a - x * c
            Jv[2, dof] += x * b - y * a
        else:
            Jv[0, dof] += x
            Jv[1, dof] += y
            Jv[2, dof] += z
        body = whole[body, PARENT]


@njit(cache=True, nogil=True)
def euler_angles(D, tolerance_x, out):  # type: ignore[no-untyped-def]
    """Angles (a, b, c) of D = Rx(a) Ry(b) Rz(c); at b = ±90° all of the turn is given to a, or to c if a exceeds."""
    sine = min(1.0, max(-1.0, D[2]))
    out[1] = math.asin(sine)
    if D[0] * D[0] + D[1] * D[1] < 1e-18:
        out[0], out[2] = math.atan2(D[7], D[4]), 0.0
        if abs(out[0]) > tolerance_x:
            out[2], out[0] = (out[0] if sine > 0.0 else -out[0]), 0.0
    else:
        out[0] = math.atan2(-D[5], D[8])
        out[2] = math.atan2(-D[1], D[0])


@njit(cache=True, nogil=True)
def rotation_vector(D, out):  # type: ignore[no-untyped-def]
    """Axis times angle of a rotation, angle 0 to π."""
    x, y, z = D[7] - D[5], D[2] - D[6], D[3] - D[1]
    sine, cosine = 0.5 * math.sqrt(x * x + y * y + z * z), 0.5 * (D[0] + D[4] + D[8] - 1.0)
    angle = math.atan2(sine, cosine)
    if cosine > -0.99:
        factor = 0.5 * angle / sine if sine > 1e-9 else 0.5
        out[0], out[1], out[2] = factor * x, factor * y, factor * z
        return
    # Near half a turn the axis is the largest column of the symmetric part.
    best = 0
    for k in range(1, 3):
        if D[4 * k] > D[4 * best]:
            best = k
    square = 0.0
    for k in range(3):
        out[k] = 0.5 * (D[3 * k + best] + D[3 * best + k]) - (cosine if k == best else 0.0)
        square += out[k] * out[k]
    sign = 1.0 if out[0] * x + out[1] * y + out[2] * z >= 0.0 else -1.0
    factor = sign * angle / math.sqrt(square)
    for k in range(3):
        out[k] *= factor


@njit(cache=True, nogil=True)
def transpose_times(A, B, out):  # type: ignore[no-untyped-def]
    for r in range(3):
        for k in range(3):
            out[3 * r + k] = A[r] * B[k] + A[3 + r] * B[3 + k] + A[6 + r] * B[6 + k]


@njit(cache=True, nogil=True)
def times_transpose(A, B, out):  # type: ignore[no-untyped-def]
    for r in range(3):
        for k in range(3):
            out[3 * r + k] = A[3 * r] * B[3 * k] + A[3 * r + 1] * B[3 * k + 1] + A[3 * r + 2] * B[3 * k + 2]


@njit(cache=True, nogil=True)
def error_of(R, p, kinds, row, w, error):  # type: ignore[no-untyped-def]
    """Error of one constraint into `error` (3,); returns its largest ratio to the tolerance.

    Leaves in the scratch `w` (rows of 9 numbers) the link, the frame, their points, and the relative rotation.
    """
    place(R, p, kinds[LINK_BODY], row, R_LINK, P_LINK, w[0], w[1])
    place(R, p, kinds[FRAME_BODY], row, R_FRAME, P_FRAME, w[2], w[3])
    kind = kinds[KIND]
    if kind == EULER:
        transpose_times(w[2], w[0], w[4])
        euler_angles(w[4], row[TOLERANCE], error)
    elif kind == ROTATION_VECTOR:
        transpose_times(w[2], w[0], w[5])
        for k in range(9):
            w[6, k] = row[R_TARGET + k]
        times_transpose(w[5], w[6], w[4])
        rotation_vector(w[4], error)
    else:
        for r in range(3):
            total = 0.0
            for m in range(3):
                total += w[2, 3 * m + r] * (w[1, m] - w[3, m])
            error[r] = total
    if kind == SPHERE:
        return math.sqrt(error[0] ** 2 + error[1] ** 2 + error[2] ** 2) / row[TOLERANCE]
    if kind == CYLINDER:
        return max(math.sqrt(error[0] ** 2 + error[1] ** 2) / row[TOLERANCE], abs(error[2]) / row[TOLERANCE + 2])
    worst = 0.0
    for k in range(3):
        worst = max(worst, abs(error[k]) / row[TOLERANCE + k])
    return worst


@njit(cache=True, nogil=True)
def worst_ratio(whole, numbers, kinds, rows, q, R, p, w, e):  # type: ignore[no-untyped-def]
    """Largest ratio of all constraints; of a union, its best part counts."""
    body_poses(whole, numbers, q, R, p)
    worst, k = 0.0, 0
    while k < kinds.shape[0]:
        best, union = math.inf, kinds[k, UNION]
        while k < kinds.shape[0] and kinds[k, UNION] == union:
            best = min(best, error_of(R, p, kinds[k], rows[k], w, e))
            k += 1
        worst = max(worst, best)
    return worst


@njit(cache=True, nogil=True)
def ratios(whole, numbers, kinds, rows, q, out, last):  # type: ignore[no-untyped-def]
    """Largest ratio of every row of constraints, for configurations (N, n), shape (N, rows); errors of the last
    configuration besides, shape (rows, 3).
    """
    R, p, w = np.empty((whole.shape[0], 9)), np.empty((whole.shape[0], 3)), np.empty((7, 9))
    for i in range(q.shape[0]):
        body_poses(whole, numbers, q[i], R, p)
        for k in range(kinds.shape[0]):
            out[i, k] = error_of(R, p, kinds[k], rows[k], w, last[k])
