"""Small strictly convex quadratic programs, compiled by Numba: min ½ xᵀ G x − gᵀ x for C x ≤ d.

The dual active-set method of Goldfarb and Idnani (1983): it starts at the unconstrained minimum and takes in violated
rows one by one, so it needs no feasible start and tells when there is none. For a dozen variables the small systems of
the active rows are solved anew at every step.
"""

from __future__ import annotations

import numpy as np

from ..jit import njit

SOLVED, INFEASIBLE, STUCK = 0, 1, 2
VIOLATED = 1e-10
"""By which a row of unit length must be broken to be taken in."""
MOST_STEPS = 500


@njit(cache=True, nogil=True)
def factor(S, n):  # type: ignore[no-untyped-def]
    """Cholesky factor in place, lower triangle of the first n rows; False if not positive definite."""
    for i in range(n):
        for j in range(i + 1):
            total = S[i, j]
            for k in range(j):
                total -= S[i, k] * S[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                S[i, i] = np.sqrt(total)
            else:
                S[i, j] = total / S[j, j]
    return True


@njit(cache=True, nogil=True)
def substitute(S, n, x):  # type: ignore[no-untyped-def]
    """Solves with a Cholesky factor, in place."""
    for i in range(n):
        for k in range(i):
            x[i] -= S[i, k] * x[k]
        x[i] /= S[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= S[k, i] * x[k]
        x[i] /= S[i, i]


@njit(cache=True, nogil=True)
def directions(C, HC, active, count, new, z, r, S):  # type: ignore[no-untyped-def]
    """How x moves (z) and the multipliers of the active rows (r) when the multiplier of a new row grows.

    Args:
        HC: G⁻¹ Cᵀ, shape (n, rows).
    """
    n = z.shape[0]
    for i in range(count):
        total = 0.0
        for k in range(n):
            total += C[active[i], k] * HC[k, new]
        r[i] = total
        for j in range(i + 1):
            total = 0.0
            for k in range(n):
                total += C[active[i], k] * HC[k, active[j]]
            S[i, j] = total
    if count and not factor(S, count):
        return False
    substitute(S, count, r)
    for k in range(n):
        z[k] = HC[k, new]
        for i in range(count):
            z[k] -= HC[k, active[i]] * r[i]
    return True


@njit(cache=True, nogil=True)
def most_violated(C, d, x, active, count):  # type: ignore[no-untyped-def]
    row, worst = -1, VIOLATED
    for i in range(C.shape[0]):
        excess = -d[i]
        for k in range(C.shape[1]):
            excess += C[i, k] * x[k]
        if excess > worst:
            taken = False
            for j in range(count):
                taken |= active[j] == i
            if not taken:
                row, worst = i, excess
    return row


@njit(cache=True, nogil=True)
def drop(active, u, count, index):  # type: ignore[no-untyped-def]
    """Takes one row out of the active ones; the multiplier of the new row, at the end, moves up too."""
    for j in range(index, count - 1):
        active[j] = active[j + 1]
    for j in range(index, count):
        u[j] = u[j + 1]


@njit(cache=True, nogil=True)
def minimise(G, g, C, d, x, multipliers):  # type: ignore[no-untyped-def]
    """Fills x with the minimum and the rows' multipliers; rows of C have unit length.

    Returns:
        SOLVED, INFEASIBLE (x is then worthless) or STUCK.
    """
    n, rows = G.shape[0], C.shape[0]
    L = G.copy()
    if not factor(L, n):
        return STUCK
    x[:] = g
    substitute(L, n, x)
    HC, column = np.empty((n, rows)), np.empty(n)
    for i in range(rows):
        column[:] = C[i]
        substitute(L, n, column)
        HC[:, i] = column
    active, count = np.empty(n + 1, np.int64), 0
    u, r, z, S = np.zeros(n + 2), np.zeros(n + 1), np.empty(n), np.empty((n + 1, n + 1))
    multipliers[:] = 0.0
    new = -1
    for _ in range(MOST_STEPS):
        if new < 0:
            new = most_violated(C, d, x, active, count)
            if new < 0:
                for j in range(count):
                    multipliers[active[j]] = u[j]
                return SOLVED
            u[count] = 0.0
        if not directions(C, HC, active, count, new, z, r, S):
            return STUCK
        slope, excess = 0.0, -d[new]
        for k in range(n):
            slope += z[k] * C[new, k]
            excess += C[new, k] * x[k]
        full = excess / slope if slope > 1e-12 * own_slope(HC, C, new) and count < n else np.inf
        part, blocking = np.inf, -1
        for j in range(count):
            if r[j] > 1e-14 and u[j] / r[j] < part:
                part, blocking = u[j] / r[j], j
        step = min(full, part)
        if step == np.inf:
            return INFEASIBLE
        for j in range(count):
            u[j] -= step * r[j]
        u[count] += step
        if full < np.inf:
            for k in range(n):
                x[k] -= step * z[k]
        if full <= part:
            active[count] = new
            count, new = count + 1, -1
        else:
            drop(active, u, count, blocking)
            count -= 1
    return STUCK


@njit(cache=True, nogil=True)
def own_slope(HC, C, row):  # type: ignore[no-untyped-def]
    """cᵀ G⁻¹ c of a row, to compare slopes with."""
    total = 0.0
    for k in range(HC.shape[0]):
        total += HC[k, row] * C[row, k]
    return total
