"""Projection of configurations onto path constraints, and the check of straight motions, compiled."""

from __future__ import annotations

import math

import numpy as np

from ...jit import njit
from .errors import (
    CYLINDER,
    EULER,
    FRAME_BODY,
    KIND,
    LINK_BODY,
    ROTATION_VECTOR,
    SPHERE,
    TOLERANCE,
    UNION,
    add_columns,
    error_of,
    worst_ratio,
)

ROUNDS = 24
DAMPING = 1e-8
LONGEST = 0.4
"""Largest step of a projection over the joints [rad or m]."""


@njit(cache=True, nogil=True)
def rate_of(kind, w, error, vector, D):  # type: ignore[no-untyped-def]
    """Rate of an error from the relative angular or linear velocity in the error's axes, in place."""
    if kind == EULER:
        sa, ca = math.sin(error[0]), math.cos(error[0])
        sb, cb = math.sin(error[1]), math.cos(error[1])
        cb = max(cb, 1e-3)
        third = (ca * vector[2] - sa * vector[1]) / cb
        second = ca * vector[1] + sa * vector[2]
        vector[0] -= sb * third
        vector[1], vector[2] = second, third
    elif kind == ROTATION_VECTOR:
        # Inverse of the left Jacobian of SO(3): 1 - [e]/2 + (1/θ² - cot(θ/2)/(2θ)) [e]².
        x, y, z = error[0], error[1], error[2]
        angle = math.sqrt(x * x + y * y + z * z)
        factor = 1.0 / 12.0
        if angle > 1e-3:
            factor = 1.0 / (angle * angle) - 0.5 / (angle * math.tan(0.5 * angle))
        a, b, c = vector[0], vector[1], vector[2]
        u, v, s = y * c - z * b, z * a - x * c, x * b - y * a
        vector[0] = a - 0.5 * u + factor * (y * s - z * v)
        vector[1] = b - 0.5 * v + factor * (z * u - x * s)
        vector[2] = c - 0.5 * s + factor * (x * v - y * u)


@njit(cache=True, nogil=True)
def violated_rows(whole, numbers, kinds, row, R, p, w, error, aim, Jw, Jv, J, residual, count):  # type: ignore[no-untyped-def]
    """Appends how far each component of one constraint is beyond its aim, with its Jacobian row; returns the count."""
    error_of(R, p, kinds, row, w, error)
    n, kind = J.shape[1], kinds[KIND]
    Jw[:, :] = 0.0
    Jv[:, :] = 0.0
    add_columns(whole, numbers, R, p, kinds[LINK_BODY], w[1], 1.0, Jw, Jv)
    # A frame that moves carries the point along.
    add_columns(whole, numbers, R, p, kinds[FRAME_BODY], w[1], -1.0, Jw, Jv)
    directions, beyond, pieces = np.zeros((3, 3)), np.zeros(3), 0
    if kind in (SPHERE, CYLINDER):
        square = error[0] ** 2 + error[1] ** 2 + (error[2] ** 2 if kind == SPHERE else 0.0)
        radius = math.sqrt(square)
        if radius > aim * row[TOLERANCE]:
            for k in range(3 if kind == SPHERE else 2):
                directions[0, k] = error[k] / radius
            beyond[0], pieces = radius - aim * row[TOLERANCE], 1
    for k in range(3):
        straight = kind != SPHERE and not (kind == CYLINDER and k < 2)
        limit = aim * row[TOLERANCE + k]
        if straight and abs(error[k]) > limit:
            directions[pieces, k] = 1.0
            beyond[pieces] = error[k] - math.copysign(limit, error[k])
            pieces += 1
    vector = np.empty(3)
    for j in range(n):
        for r in range(3):
            total = 0.0
            for m in range(3):
                total += w[2, 3 * m + r] * (Jw[m, j] if kind <= ROTATION_VECTOR else Jv[m, j])
            vector[r] = total
        rate_of(kind, w, error, vector, w[4])
        for k in range(pieces):
            J[count + k, j] = directions[k, 0] * vector[0] + directions[k, 1] * vector[1] + directions[k, 2] * vector[2]
    for k in range(pieces):
        residual[count + k] = beyond[k]
    return count + pieces


@njit(cache=True, nogil=True)
def least_step(J, residual, count, still, step):  # type: ignore[no-untyped-def]
    """Shortest joint step that removes the residual, by Cholesky's factors of J Jᵀ; joints that stand still do not."""
    n = J.shape[1]
    A, y = np.zeros((count, count)), np.empty(count)
    for r in range(count):
        for s in range(r + 1):
            total = 0.0
            for j in range(n):
                if not still[j]:
                    total += J[r, j] * J[s, j]
            A[r, s] = total
        A[r, r] += DAMPING + 1e-6 * A[r, r]
    for r in range(count):
        for s in range(r + 1):
            total = A[r, s]
            for m in range(s):
                total -= A[r, m] * A[s, m]
            A[r, s] = math.sqrt(max(total, 1e-12)) if r == s else total / A[s, s]
    for r in range(count):
        total = residual[r]
        for m in range(r):
            total -= A[r, m] * y[m]
        y[r] = total / A[r, r]
    for r in range(count - 1, -1, -1):
        total = y[r]
        for m in range(r + 1, count):
            total -= A[m, r] * y[m]
        y[r] = total / A[r, r]
    for j in range(n):
        total = 0.0
        if not still[j]:
            for r in range(count):
                total -= J[r, j] * y[r]
        step[j] = total


@njit(cache=True, nogil=True)
def project(whole, numbers, kinds, rows, q, lower, upper, accept, aim):  # type: ignore[no-untyped-def]
    """Moves q to the nearby configurations that keep all constraints; False if it does not get there.

    Newton's method on the components that are violated, least in joint motion; what is inside is not moved.

    Args:
        q: Changed in place [rad or m], shape (n,).
        accept: Largest ratio to the tolerance of the result.
        aim: Ratio that components beyond it are led back to.
    """
    n, bodies = q.shape[0], whole.shape[0]
    R, p, w, e = np.empty((bodies, 9)), np.empty((bodies, 3)), np.empty((7, 9)), np.empty(3)
    J, residual = np.empty((3 * kinds.shape[0], n)), np.empty(3 * kinds.shape[0])
    Jw, Jv, step, still = np.empty((3, n)), np.empty((3, n)), np.empty(n), np.zeros(n, np.bool_)
    for _ in range(ROUNDS):
        worst = worst_ratio(whole, numbers, kinds, rows, q, R, p, w, e)
        if worst <= accept:
            return True
        count, k = 0, 0
        while k < kinds.shape[0]:
            best, chosen, union = math.inf, k, kinds[k, UNION]
            while k < kinds.shape[0] and kinds[k, UNION] == union:
                ratio = error_of(R, p, kinds[k], rows[k], w, e)
                if ratio < best:
                    best, chosen = ratio, k
                k += 1
            count = violated_rows(
                whole, numbers, kinds[chosen], rows[chosen], R, p, w, e, aim, Jw, Jv, J, residual, count
            )
        for j in range(n):
            still[j] = upper[j] - lower[j] <= 0.0
        for _ in range(2):
            least_step(J, residual, count, still, step)
            stopped = False
            for j in range(n):
                outward = (q[j] <= lower[j] and step[j] < 0.0) or (q[j] >= upper[j] and step[j] > 0.0)
                if outward and not still[j]:
                    still[j] = stopped = True
            if not stopped:
                break
        square = 0.0
        for j in range(n):
            square += step[j] * step[j]
        if not square > 1e-24:
            return False
        scale = min(1.0, LONGEST / math.sqrt(square))
        for j in range(n):
            q[j] = min(max(q[j] + scale * step[j], lower[j]), upper[j])
    return worst_ratio(whole, numbers, kinds, rows, q, R, p, w, e) <= accept


@njit(cache=True, nogil=True)
def holds(whole, numbers, kinds, rows, a, b, spacing, limit):  # type: ignore[no-untyped-def]
    """Whether the straight motion from a to b keeps the constraints at samples of a spacing.

    An end that is nearer to its tolerance than the limit, such as a given start, is allowed with a line that leads
    away from it.
    """
    bodies, n = whole.shape[0], a.shape[0]
    R, p, w, e, q = np.empty((bodies, 9)), np.empty((bodies, 3)), np.empty((7, 9)), np.empty(3), np.empty(n)
    first = worst_ratio(whole, numbers, kinds, rows, a, R, p, w, e)
    last = worst_ratio(whole, numbers, kinds, rows, b, R, p, w, e)
    if max(first, last) > 1.0:
        return False
    square = 0.0
    for j in range(n):
        square += (b[j] - a[j]) ** 2
    count = max(2, math.ceil(math.sqrt(square) / spacing))
    for i in range(1, count):
        share = i / count
        for j in range(n):
            q[j] = a[j] + share * (b[j] - a[j])
        ratio = worst_ratio(whole, numbers, kinds, rows, q, R, p, w, e)
        if ratio > max(limit, first + share * (last - first)):
            return False
    return True
