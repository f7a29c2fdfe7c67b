"""Linear programs over a box with a few cuts, compiled by Numba: max c·y for −1 ≤ y ≤ 1, A y ≤ b.

A dual simplex for bounded variables on a condensed tableau. The slack b − A y of a cut is bounded too: by 0, and by
b + 1 because rows are scaled to |A y| ≤ 1. With two finite bounds everywhere, any basis meets the optimality conditions
of any c once each nonbasic variable sits at the right bound. So there is no first phase, the origin need not be
feasible, and a program begins where the one before it ended, which for a similar c is a few pivots away.
"""

from __future__ import annotations

import numpy as np

from ..jit import njit

OPTIMAL, EMPTY, STUCK, FULL, BROKEN = range(5)
"""How a computation ends; the last two are of hulls: more points or facets than there is room for, and a hull that
fails its check."""
FEASIBLE = 1e-12
"""Violation of a bound that is let pass."""
PIVOT = 1e-10
"""Smaller numbers are not divided by."""
TIE = 1e-13
TRUSTED = 1e-10
"""Violation of a cut by the answer itself after which it is computed afresh."""
FRESH_AFTER = 60
"""Pivots after which the tableau is written anew, before rounding adds up."""
CAREFUL_AFTER, MOST_PIVOTS = 150, 600


@njit(cache=True, nogil=True)
def memory(n, k):  # type: ignore[no-untyped-def]
    """Scratch for `maximise` with n variables and k cuts; a fresh one, or one of the same A and b.

    Tableau and right-hand side (k, n + 1); variables in the basis (k,); those outside it (n,); 1 where they sit at
    their upper bound (n,); values of the basic ones (k,); reduced costs (n,); pivots since the tableau was written.
    """
    pivots = np.full(1, FRESH_AFTER, np.int64)
    return (
        np.empty((k, n + 1)),
        np.empty(k, np.int64),
        np.empty(n, np.int64),
        np.zeros(n, np.int64),
        np.empty(k),
        np.empty(n),
        pivots,
    )


@njit(cache=True, nogil=True)
def begin(A, b, table, basis, outside):  # type: ignore[no-untyped-def]
    """All slacks in the basis."""
    k, n = A.shape
    for j in range(n):
        outside[j] = j
    for i in range(k):
        basis[i] = n + i
        for j in range(n):
            table[i, j] = A[i, j]
        table[i, n] = b[i]


@njit(cache=True, nogil=True)
def aim(c, b, table, basis, outside, at_upper, basic, cost):  # type: ignore[no-untyped-def]
    """Reduced costs of c in the present basis, nonbasic variables at the bound that suits them, basic values."""
    k, n = basis.shape[0], c.shape[0]
    for j in range(n):
        cost[j] = c[outside[j]] if outside[j] < n else 0.0
    for i in range(k):
        if basis[i] < n and c[basis[i]] != 0.0:
            for j in range(n):
                cost[j] -= c[basis[i]] * table[i, j]
    for i in range(k):
        basic[i] = table[i, n]
    for j in range(n):
        at_upper[j] = cost[j] > 0.0
        value = bound(outside[j], at_upper[j], n, b)
        if value != 0.0:
            for i in range(k):
                basic[i] -= table[i, j] * value


@njit(cache=True, nogil=True)
def bound(variable, upper, n, b):  # type: ignore[no-untyped-def]
    """Upper or lower bound of a variable."""
    if variable < n:
        return 1.0 if upper else -1.0
    return b[variable - n] + 1.0 if upper else 0.0


@njit(cache=True, nogil=True)
def leaving(n, b, basis, basic, careful):  # type: ignore[no-untyped-def]
    """The basic variable most out of its bounds (the first such one if careful), and whether it is below them."""
    row, worst, below = -1, FEASIBLE, True
    for i in range(basis.shape[0]):
        low = bound(basis[i], False, n, b) - basic[i]
        high = basic[i] - bound(basis[i], True, n, b)
        if low > worst:
            row, worst, below = i, low, True
        if high > worst:
            row, worst, below = i, high, False
        if careful and row >= 0:
            break
    return row, below


@njit(cache=True, nogil=True)
def entering(row, below, table, at_upper, cost, careful):  # type: ignore[no-untyped-def]
    """The column whose entry keeps every reduced cost on its side; −1 if none can: there is no feasible point."""
    best, column, size = np.inf, -1, 0.0
    for j in range(cost.shape[0]):
        a = table[row, j]
        if abs(a) < PIVOT or ((a < 0.0) == below) == (at_upper[j] == 1):
            continue
        ratio = abs(cost[j] / a)
        if ratio < best - TIE or (not careful and ratio <= best + TIE and abs(a) > size):
            best, column, size = ratio, j, abs(a)
    return column


@njit(cache=True, nogil=True)
def exchange(row, column, below, b, table, basis, outside, at_upper, basic, cost):  # type: ignore[no-untyped-def]
    """Brings a column into the basis; the row's variable leaves it at the bound that it violates."""
    k, n = basis.shape[0], cost.shape[0]
    inverse = 1.0 / table[row, column]
    step = (basic[row] - bound(basis[row], not below, n, b)) * inverse
    entered = bound(outside[column], at_upper[column] == 1, n, b) + step
    for i in range(k):
        basic[i] -= table[i, column] * step
    basic[row] = entered
    for j in range(n + 1):
        table[row, j] *= inverse
    table[row, column] = inverse
    for i in range(k):
        factor = table[i, column]
        if i != row and factor != 0.0:
            table[i, column] = 0.0
            for j in range(n + 1):
                table[i, j] -= factor * table[row, j]
    factor = cost[column]
    cost[column] = 0.0
    for j in range(n):
        cost[j] -= factor * table[row, j]
    basis[row], outside[column] = outside[column], basis[row]
    at_upper[column] = not below


@njit(cache=True, nogil=True)
def pivot_to_optimum(c, b, table, basis, outside, at_upper, basic, cost, pivots):  # type: ignore[no-untyped-def]
    n = c.shape[0]
    aim(c, b, table, basis, outside, at_upper, basic, cost)
    for count in range(MOST_PIVOTS):
        careful = count > CAREFUL_AFTER
        row, below = leaving(n, b, basis, basic, careful)
        if row < 0:
            return OPTIMAL
        column = entering(row, below, table, at_upper, cost, careful)
        if column < 0:
            return EMPTY
        exchange(row, column, below, b, table, basis, outside, at_upper, basic, cost)
        pivots[0] += 1
    return STUCK


@njit(cache=True, nogil=True)
def maximise(c, A, b, y, table, basis, outside, at_upper, basic, cost, pivots):  # type: ignore[no-untyped-def]
    """Fills y with a maximiser and returns OPTIMAL, EMPTY or STUCK.

    On return `cost` holds the reduced costs of the variables `outside`: a multiplier of the upper bound where positive,
    minus that of the lower one where negative; of a cut (variables n and on), minus its multiplier.
    """
    k, n = A.shape
    status = STUCK
    for _ in range(2):
        fresh = pivots[0] >= FRESH_AFTER
        if fresh:
            begin(A, b, table, basis, outside)
            pivots[0] = 0
        status = pivot_to_optimum(c, b, table, basis, outside, at_upper, basic, cost, pivots)
        for j in range(n):
            if outside[j] < n:
                y[outside[j]] = 1.0 if at_upper[j] else -1.0
        for i in range(k):
            if basis[i] < n:
                y[basis[i]] = min(max(basic[i], -1.0), 1.0)
        if fresh or (status == OPTIMAL and violation(A, b, y) <= TRUSTED):
            break
        pivots[0] = FRESH_AFTER
    return status


@njit(cache=True, nogil=True)
def violation(A, b, y):  # type: ignore[no-untyped-def]
    """By how much y breaks its worst cut."""
    worst = 0.0
    for i in range(A.shape[0]):
        excess = -b[i]
        for j in range(A.shape[1]):
            excess += A[i, j] * y[j]
        worst = max(worst, excess)
    return worst


@njit(cache=True, nogil=True)
def support(direction, N, A, b, Y, X, at, c, scratch):  # type: ignore[no-untyped-def]
    """Puts the point of N·set that lies farthest along a direction into X[at], and its preimage into Y[at]."""
    rows, n = N.shape
    for j in range(n):
        total = 0.0
        for a in range(rows):
            total += direction[a] * N[a, j]
        c[j] = total if abs(total) > 1e-13 else 0.0
    status = maximise(
        c, A, b, Y[at], scratch[0], scratch[1], scratch[2], scratch[3], scratch[4], scratch[5], scratch[6]
    )
    for a in range(rows):
        total = 0.0
        for j in range(n):
            total += N[a, j] * Y[at, j]
        X[at, a] = total
    return status


@njit(cache=True, nogil=True)
def multipliers(directions, N, A, b):  # type: ignore[no-untyped-def]
    """Reduced costs of all variables, cuts last, at the optimum along each direction (count, rows).

    Returns:
        Worst status; (count, n + cuts), with the signs that `maximise` describes.
    """
    count, n, k = directions.shape[0], N.shape[1], A.shape[0]
    out = np.zeros((count, n + k))
    scratch = memory(n, k)
    c, Y, X = np.empty(n), np.empty((1, n)), np.empty((1, N.shape[0]))
    worst = OPTIMAL
    for f in range(count):
        status = support(directions[f], N, A, b, Y, X, 0, c, scratch)
        worst = max(worst, status)
        for j in range(n):
            out[f, scratch[2][j]] = scratch[5][j]
    return worst, out
