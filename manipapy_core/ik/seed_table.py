"""Seed table of a chain: a million sampled poses sorted into cells, kept on disk like compiled kernels.

The cell of a pose is what does not depend on the first and the last joint. With both of them revolute, T = A · Rz(q_1)
· C(q_2 … q_n−1) · Rz(q_n) · B. The first joint turns the whole about its axis and the last one only rolls the tip, so
distance r from the first axis, height z along it, and the direction of the last axis seen from the azimuth decide what
the joints between must do; two angles give the others.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import lie
from ..compiler import Mechanism, cache, kernels_of, mechanism_of
from ..jit import njit
from ..model.chain import Chain
from ..typing import Array
from .bounds import TURN, Bounds, search_bounds

GRID = (10, 20, 10)
"""Cells in r, in z, and along each side of the square that the directions are folded onto."""
CELLS = GRID[0] * GRID[1] * GRID[2] ** 2
FRAME = 28
"""Numbers of a frame: rows of A⁻¹ and of B⁻¹ (12 each), smallest r and z, one over the size of a cell in r and z."""


@njit(cache=True, nogil=True)
def sign(x):  # type: ignore[no-untyped-def]
    return -1.0 if x < 0.0 else 1.0


@njit(cache=True, nogil=True)
def fold(x, y, z):  # type: ignore[no-untyped-def]
    """A direction as a point of the square [−1, 1]²: an octahedron with its lower half unfolded."""
    size = 1.0 / (abs(x) + abs(y) + abs(z))
    u, v = x * size, y * size
    return ((1.0 - abs(v)) * sign(u), (1.0 - abs(u)) * sign(v)) if z < 0.0 else (u, v)


@njit(cache=True, nogil=True)
def arctangent(y, x):  # type: ignore[no-untyped-def]
    """atan2 to some 1e-6 rad, in a third of the time: it only makes a seed."""
    small, large = min(abs(x), abs(y)), max(abs(x), abs(y))
    t = small / (large + 1e-300)
    z = t * t
    angle = t * (
        0.99997726 + z * (-0.33262347 + z * (0.19354346 + z * (-0.11643287 + z * (0.05265332 - 0.0117212 * z))))
    )
    if abs(y) > abs(x):
        angle = 0.5 * math.pi - angle
    if x < 0.0:
        angle = math.pi - angle
    return -angle if y < 0.0 else angle


@njit(cache=True, nogil=True)
def clamp(index, count):  # type: ignore[no-untyped-def]
    return min(max(index, 0), count - 1)


@njit(cache=True, nogil=True)
def moved_row(T, i, frame, r):  # type: ignore[no-untyped-def]
    """Three numbers of a row of A⁻¹ T B⁻¹: of the x axis, of the z axis, of the place."""
    a, b, c = frame[r], frame[r + 1], frame[r + 2]
    x = a * T[i, 0, 0] + b * T[i, 1, 0] + c * T[i, 2, 0]
    y = a * T[i, 0, 1] + b * T[i, 1, 1] + c * T[i, 2, 1]
    z = a * T[i, 0, 2] + b * T[i, 1, 2] + c * T[i, 2, 2]
    p = a * T[i, 0, 3] + b * T[i, 1, 3] + c * T[i, 2, 3] + frame[r + 3]
    return (
        x * frame[12] + y * frame[16] + z * frame[20],
        x * frame[14] + y * frame[18] + z * frame[22],
        x * frame[15] + y * frame[19] + z * frame[23] + p,
    )


@njit(cache=True, nogil=True)
def locate(T, i, frame, places):  # type: ignore[no-untyped-def]
    """Cell of pose number i.

    Args:
        T: Poses T_base_tip, shape (N, 4, 4).
        frame: See `FRAME`.
        places: Row i is written: index of the cell; azimuth and roll [rad], which add to the first and the last joint;
            squared distance from the middle of the cell, in cells.
    """
    rows, columns, side = GRID
    # X = A⁻¹ T B⁻¹, of which the x and z axes and the place are needed
    xx, xz, px = moved_row(T, i, frame, 0)
    yx, yz, py = moved_row(T, i, frame, 4)
    zx, zz, pz = moved_row(T, i, frame, 8)
    radius = math.sqrt(px * px + py * py)
    cosine, sine = (px / radius, py / radius) if radius > 1e-9 else (1.0, 0.0)
    # the last axis a and the tip's x, seen from the azimuth
    a0, a1, a2 = cosine * xz + sine * yz, cosine * yz - sine * xz, zz
    x0, x1, x2 = cosine * xx + sine * yx, cosine * yx - sine * xx, zx
    u, v = fold(a0, a1, a2)
    fine_r, fine_z = (radius - frame[24]) * frame[26], (pz - frame[25]) * frame[27]
    fine_u, fine_v = (u + 1.0) * (0.5 * side), (v + 1.0) * (0.5 * side)
    ir, iz = clamp(math.floor(fine_r), rows), clamp(math.floor(fine_z), columns)
    iu, iv = clamp(math.floor(fine_u), side), clamp(math.floor(fine_v), side)

    # roll is counted from a coordinate axis far from a, the same one for the whole cell
    mu, mv = (iu + 0.5) * (2.0 / side) - 1.0, (iv + 0.5) * (2.0 / side) - 1.0
    mw = 1.0 - abs(mu) - abs(mv)
    if mw < 0.0:
        mu, mv = (1.0 - abs(mv)) * sign(mu), (1.0 - abs(mu)) * sign(mv)
    mu, mv, mw = abs(mu), abs(mv), abs(mw)
    b0, b1, b2 = 0.0, 0.0, 0.0
    if mu < mv and mu < mw:
        b0 = 1.0
    elif mv < mw:
        b1 = 1.0
    else:
        b2 = 1.0
    along = b0 * a0 + b1 * a1 + b2 * a2
    b0, b1, b2 = b0 - along * a0, b1 - along * a1, b2 - along * a2
    side_x = (a1 * b2 - a2 * b1) * x0 + (a2 * b0 - a0 * b2) * x1 + (a0 * b1 - a1 * b0) * x2
    places[i, 0] = ((ir * columns + iz) * side + iu) * side + iv
    places[i, 1] = arctangent(sine, cosine)
    places[i, 2] = arctangent(side_x, b0 * x0 + b1 * x1 + b2 * x2)
    dr, dz, du, dv = fine_r - ir - 0.5, fine_z - iz - 0.5, fine_u - iu - 0.5, fine_v - iv - 0.5
    places[i, 3] = dr * dr + dz * dz + du * du + dv * dv


@njit(cache=True, nogil=True)
def fill(T, q, lower, upper, frame, table, score):  # type: ignore[no-untyped-def]
    """Keeps, for every cell, samples near its middle, away from the limits and different from each other.

    Args:
        T: Poses of the samples, shape (N, 4, 4).
        q: Their joints, shape (N, n).
        table: Written: candidates per cell, shape (cells, candidates, n); first and last joint without the angles.
        score: Written: lower is better, inf where a candidate is missing, shape (cells, candidates).
    """
    penalty, spread, margin = 20.0, 0.5, 0.8
    count, n = table.shape[1], q.shape[1]
    places = np.empty((T.shape[0], 4))
    for i in range(q.shape[0]):
        locate(T, i, frame, places)
        cell, value = np.int64(places[i, 0]), places[i, 3]
        for j in range(1, n - 1):
            width = upper[j] - lower[j]
            off = abs(2.0 * q[i, j] - lower[j] - upper[j]) / width if width > 0.0 else 0.0
            if width < 2.0 * math.pi - 1e-9 and off > margin:
                value += penalty * (off - margin) ** 2
        chosen = 0
        for k in range(count):
            if score[cell, k] > score[cell, chosen]:
                chosen = k
        for k in range(count):
            if score[cell, k] < np.inf:
                apart = 0.0
                for j in range(1, n - 1):
                    apart = max(apart, abs(q[i, j] - table[cell, k, j]))
                if apart < spread:
                    chosen = k  # nearly the same: the better one stays
        if value < score[cell, chosen]:
            score[cell, chosen] = value
            for j in range(1, n - 1):
                table[cell, chosen, j] = q[i, j]
            table[cell, chosen, 0] = q[i, 0] - places[i, 1]
            table[cell, chosen, n - 1] = q[i, n - 1] - places[i, 2]


SAMPLES = 1_000_000
CANDIDATES = 8


@dataclass(frozen=True)
class SeedTable:
    """Candidates by cell (`locate`); without candidates where the chain does not allow a table."""

    frame: Array
    """Where the cells lie, shape (`FRAME`,)."""
    candidates: NDArray[np.float32]
    """Shape (cells, candidates, n)."""


def empty_table(n: int) -> SeedTable:

    return SeedTable(np.zeros(FRAME), np.zeros((1, 0, n), dtype=np.float32))


def suits(mechanism: Mechanism) -> bool:
    """A table needs one path of joints, of which the first and the last turn, and something between them."""
    bodies = mechanism.bodies
    serial = all(body.parent == index - 1 and body.dof == index for index, body in enumerate(bodies))
    if mechanism.coupled or not serial or mechanism.tip.body != len(bodies) - 1 or len(bodies) < 3:
        return False
    return all(body.revolute and body.ratio == 1.0 for body in (bodies[0], bodies[-1]))


@functools.lru_cache(maxsize=16)
def table_for(chain: Chain) -> SeedTable:
    """From the cache, or built, which takes about a second. Filled within the limits, it serves all tasks."""
    mechanism, bounds = mechanism_of(chain), search_bounds(chain, True)
    if not suits(mechanism):
        return empty_table(chain.n)
    limits = np.concatenate([bounds.lower, bounds.upper]).tobytes().hex()
    inputs = [mechanism.digest(), limits]

    def build() -> bytes:
        table = build_table(chain, mechanism, bounds)
        return table.frame.tobytes() + table.candidates.tobytes()

    kept = cache.load_data("ik_seeds", inputs, __name__, ("ik/",), build, cache.SEEDS)
    head = FRAME * 8
    # copies, because Numba compiles again for arrays that may not be written to
    candidates = np.frombuffer(kept, np.float32, offset=head).reshape(CELLS, CANDIDATES, chain.n).copy()
    return SeedTable(np.frombuffer(kept[:head]).copy(), candidates)


def build_table(chain: Chain, mechanism: Mechanism, bounds: Bounds) -> SeedTable:

    q = np.random.default_rng(1).uniform(bounds.lower, bounds.upper, (SAMPLES, chain.n))
    T = kernels_of(chain).forward.run(q)
    first, tip = mechanism.bodies[0], mechanism.tip
    A_inverse = lie.inverse(lie.pose(np.reshape(first.rotation, (3, 3)), first.translation))
    B_inverse = lie.inverse(lie.pose(np.reshape(tip.rotation, (3, 3)), tip.translation))
    places = (A_inverse @ T[::10] @ B_inverse)[:, :3, 3]
    radius, height = np.hypot(places[:, 0], places[:, 1]), places[:, 2]
    low = np.array([radius.min(), height.min()])
    size = np.maximum(np.array([np.ptp(radius), np.ptp(height)]) / GRID[:2], 1e-6)
    frame = np.concatenate([A_inverse[:3].ravel(), B_inverse[:3].ravel(), low, 1.0 / size])
    candidates = np.zeros((CELLS, CANDIDATES, chain.n), dtype=np.float32)
    score = np.full((CELLS, CANDIDATES), np.inf)
    fill(T, q, bounds.lower, bounds.upper, frame, candidates, score)
    return SeedTable(frame, _arranged(candidates, score, bounds))


def _arranged(candidates: NDArray[np.float32], score: Array, bounds: Bounds) -> NDArray[np.float32]:
    """Best candidates first; the outer joints within half a turn of their middle; NaN where there is none."""
    order = np.argsort(score, axis=1)
    ordered = np.take_along_axis(candidates, order[..., None], axis=1)
    for j in (0, -1):
        middle = 0.5 * (bounds.lower[j] + bounds.upper[j])
        ordered[..., j] -= TURN * np.round((ordered[..., j] - middle) / TURN)
    ordered[np.isinf(np.take_along_axis(score, order, axis=1)), 0] = np.nan
    return ordered
