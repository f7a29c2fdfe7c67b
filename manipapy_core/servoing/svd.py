"""Singular value decomposition of a Jacobian with six rows, compiled: rotations of its rows (Hestenes 1958).

LAPACK, called from Python, takes 12 to 20 µs for such a small matrix, this 3 to 5 µs.
"""

from __future__ import annotations

import math

from ..jit import njit

SWEEPS = 30
"""Rounds over all pairs of rows; 5 to 8 are needed."""
ORTHOGONAL = 1e-15
"""Cosine of two rows below which they count as orthogonal."""
ROUNDING = 1e-28
"""A row whose square is below this share of another's is rounding."""
ZERO = 1e-12
"""Singular values below this share of the largest have no direction of their own among the joints."""


@njit(cache=True, nogil=True)
def decompose(J, Ut, sigma, Vt):  # type: ignore[no-untyped-def]
    """Writes J = U Σ Vᵀ, largest singular values first.

    Args:
        J: Shape (6, n).
        Ut: Rows are directions of the tip, shape (6, 6).
        sigma: Shape (6,); with fewer than six joints the last ones are zero.
        Vt: The first min(6, n) rows are joint directions, shape (6, n).
    """
    m, n = J.shape
    for i in range(m):
        for k in range(n):
            Vt[i, k] = J[i, k]
        for k in range(m):
            Ut[i, k] = 1.0 if i == k else 0.0
    for _ in range(SWEEPS):
        turned = False
        for p in range(m - 1):
            for r in range(p + 1, m):
                turned |= _rotate(Vt, Ut, p, r)
        if not turned:
            break
    for i in range(m):
        square = 0.0
        for k in range(n):
            square += Vt[i, k] * Vt[i, k]
        sigma[i] = math.sqrt(square)
    for i in range(m):
        best = i
        for k in range(i + 1, m):
            if sigma[k] > sigma[best]:
                best = k
        if best != i:
            sigma[i], sigma[best] = sigma[best], sigma[i]
            for k in range(n):
                Vt[i, k], Vt[best, k] = Vt[best, k], Vt[i, k]
            for k in range(m):
                Ut[i, k], Ut[best, k] = Ut[best, k], Ut[i, k]
    for i in range(min(m, n)):
        if sigma[i] > ZERO * sigma[0]:
            for k in range(n):
                Vt[i, k] /= sigma[i]
        else:
            _complete(Vt, i)


@njit(cache=True, nogil=True)
def _rotate(rows, others, p, r):  # type: ignore[no-untyped-def]
    """Makes two rows orthogonal by a rotation in their plane; False if they are."""
    pp = rr = pr = 0.0
    for k in range(rows.shape[1]):
        pp += rows[p, k] * rows[p, k]
        rr += rows[r, k] * rows[r, k]
        pr += rows[p, k] * rows[r, k]
    if abs(pr) <= ORTHOGONAL * math.sqrt(pp * rr) or min(pp, rr) < ROUNDING * max(pp, rr):
        return False
    zeta = (rr - pp) / (2.0 * pr)
    t = math.copysign(1.0, zeta) / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
    c = 1.0 / math.sqrt(1.0 + t * t)
    s = c * t
    for k in range(rows.shape[1]):
        rows[p, k], rows[r, k] = c * rows[p, k] - s * rows[r, k], s * rows[p, k] + c * rows[r, k]
    for k in range(others.shape[1]):
        others[p, k], others[r, k] = c * others[p, k] - s * others[r, k], s * others[p, k] + c * others[r, k]
    return True


@njit(cache=True, nogil=True)
def _complete(rows, i):  # type: ignore[no-untyped-def]
    """Writes a unit vector orthogonal to the rows before it: of all joints, the one they leave most of."""
    n, best, most = rows.shape[1], 0, -1.0
    for k in range(n):
        left = 1.0
        for r in range(i):
            left -= rows[r, k] * rows[r, k]
        if left > most:
            best, most = k, left
    for k in range(n):
        rows[i, k] = 1.0 if k == best else 0.0
    for _ in range(2):  # once more against rounding
        for r in range(i):
            along = 0.0
            for k in range(n):
                along += rows[r, k] * rows[i, k]
            for k in range(n):
                rows[i, k] -= along * rows[r, k]
        size = 0.0
        for k in range(n):
            size += rows[i, k] * rows[i, k]
        for k in range(n):
            rows[i, k] /= math.sqrt(size)
