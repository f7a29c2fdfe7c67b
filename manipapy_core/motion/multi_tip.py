"""Joint positions that bring several links of an arm, or of several arms, to their poses at once.

Links that move together are one body, whose pose follows exactly from that of any of them. What is left, one pose per
body, is solved by damped least squares (Levenberg and Marquardt) on all errors together, from many starts, compiled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import lie
from ..errors import InputError, UnknownLink
from ..ik.inputs import checked_poses
from ..jit import njit
from ..model.chain import Chain
from ..typing import Array
from .constraints.errors import add_columns, body_poses, place, rotation_vector, times_transpose
from .constraints.tables import body_tables, link_placement

CONTRADICTION = 1e-5
"""How far poses of links that move together may disagree [m or rad]."""
REACHED = 1e-6
"""Error below which a link is where it should be [m and rad]."""
ROUNDS = 80
POSITION_WEIGHT = 2.0
"""Of an error in position [1/m] against one in orientation [1/rad]: an arm turns about some tenths of a metre."""


@dataclass(frozen=True, eq=False)
class Target:
    """Goal pose of one body."""

    body: int
    """Index in `chain.bodies`."""
    T_base_body: Array
    """Shape (4, 4)."""
    links: tuple[str, ...]
    """Names by which it was given."""


@dataclass(frozen=True, eq=False)
class Reached:
    """Solutions for all targets together."""

    q: Array
    """Solutions [rad or m], shape (solutions, n)."""
    nearest: tuple[float, float]
    """Largest errors of position [m] and orientation [rad] over the targets, at the best try."""


def targets_of(chain: Chain, poses: Mapping[str, ArrayLike]) -> tuple[Target, ...]:
    """One target per body that a link of `poses` (T_base_link, shape (4, 4) each) moves with.

    Raises:
        InputError: No link, an unknown one, one that stands still, or poses that contradict each other.
    """
    if not poses:
        raise InputError("the goal names no link; give at least one, with its pose")
    found: dict[int, Target] = {}
    for link, pose in poses.items():
        if link not in chain.link_names:
            raise UnknownLink(link, chain.link_names)
        body, T_body_link = chain.link_placements[chain.link_names.index(link)]
        if body < 0:
            moving = ", ".join(n for n, (b, _) in zip(chain.link_names, chain.link_placements) if b >= 0)
            raise InputError(f"{link!r} is not moved by any joint; links that move: {moving}")
        T = checked_poses(pose, f"pose of {link}", batch=False) @ lie.inverse(T_body_link)
        known = found.get(body)
        if known is not None:
            _check_agreement(known, T, T_body_link, link)
        links = (link,) if known is None else (*known.links, link)
        found[body] = Target(body, T if known is None else known.T_base_body, links)
    return tuple(found.values())


def solve_targets(
    chain: Chain, targets: tuple[Target, ...], seeds: Array, moved: NDArray[np.bool_] | None = None
) -> Reached:
    """Solutions from many starts.

    Args:
        seeds: Where each search begins, within the limits [rad or m], shape (starts, n).
        moved: Which elements of q may move, shape (n,); all if not given.
    """
    lower, upper = chain.limits.lower, chain.limits.upper
    still = np.zeros(chain.n, dtype=np.bool_) if moved is None else ~moved
    q = np.where(still, seeds, np.clip(seeds, lower, upper))
    errors = np.empty((len(q), 6 * len(targets)))
    search_all(*body_tables(chain), *_target_tables(chain, targets), q, lower, upper, still, errors)
    apart = errors.reshape(len(q), len(targets), 2, 3) / np.array([[1.0], [POSITION_WEIGHT]])
    turns, distances = np.linalg.norm(apart, axis=3).max(axis=1).T
    best = int(np.argmin((errors**2).sum(axis=1)))
    return Reached(q[(turns < REACHED) & (distances < REACHED)], (float(distances[best]), float(turns[best])))


def moved_joints(chain: Chain, targets: tuple[Target, ...]) -> NDArray[np.bool_]:
    """Which elements of q move at least one of the targets, shape (n,)."""
    moved = np.zeros(chain.n, dtype=np.bool_)
    for target in targets:
        moved[[chain.bodies[index].dof for index in _bodies_to_base(chain, target.body)]] = True
    return moved


def errors_and_jacobians(chain: Chain, targets: tuple[Target, ...], q: Array) -> tuple[Array, Array]:
    """Rotation vectors and offsets to the targets, shape (N, 6 · targets), and how joints reduce them, (N, ..., n)."""
    errors = np.empty((len(q), 6 * len(targets)))
    jacobians = np.empty((len(q), 6 * len(targets), chain.n))
    for row, error, J in zip(np.ascontiguousarray(q), errors, jacobians):
        linearise(*body_tables(chain), *_target_tables(chain, targets), row, error, J)
    return errors, jacobians


def _target_tables(chain: Chain, targets: tuple[Target, ...]) -> tuple[NDArray[np.int64], Array]:
    """Body of each target in the compiled tables; placement on it, then target in the base frame, as 3 × 4 each."""
    bodies, rows = [], []
    for target in targets:
        index = chain.link_names.index(target.links[0])
        body, T_body_link = link_placement(chain, target.links[0])
        T_base_link = target.T_base_body @ chain.link_placements[index][1]
        bodies.append(body)
        rows.append(
            [*T_body_link[:3, :3].ravel(), *T_body_link[:3, 3], *T_base_link[:3, :3].ravel(), *T_base_link[:3, 3]]
        )
    return np.array(bodies, dtype=np.int64), np.array(rows)


@njit(cache=True, nogil=True)
def linearise(whole, numbers, bodies, rows, q, error, J):  # type: ignore[no-untyped-def]
    """Errors to all targets at q and how joints reduce them; returns the sum of their squares."""
    n = q.shape[0]
    R, p = np.empty((whole.shape[0], 9)), np.empty((whole.shape[0], 3))
    R_link, p_link, D, turn = np.empty(9), np.empty(3), np.empty(9), np.empty(3)
    Jw, Jv = np.empty((3, n)), np.empty((3, n))
    body_poses(whole, numbers, q, R, p)
    cost = 0.0
    for k in range(bodies.shape[0]):
        place(R, p, bodies[k], rows[k], 0, 9, R_link, p_link)
        times_transpose(rows[k, 12:21], R_link, D)
        rotation_vector(D, turn)
        Jw[:, :] = 0.0
        Jv[:, :] = 0.0
        add_columns(whole, numbers, R, p, bodies[k], p_link, 1.0, Jw, Jv)
        for r in range(3):
            error[6 * k + r] = turn[r]
            error[6 * k + 3 + r] = POSITION_WEIGHT * (rows[k, 21 + r] - p_link[r])
            cost += error[6 * k + r] ** 2 + error[6 * k + 3 + r] ** 2
            for j in range(n):
                J[6 * k + r, j] = Jw[r, j]
                J[6 * k + 3 + r, j] = POSITION_WEIGHT * Jv[r, j]
    return cost


@njit(cache=True, nogil=True)
def damped_step(J, error, still, damping, A, step):  # type: ignore[no-untyped-def]
    """Solves (Jᵀ J + damping) step = Jᵀ error by Cholesky's factors; joints that stand still do not move."""
    n = J.shape[1]
    for a in range(n):
        total = 0.0
        if not still[a]:
            for r in range(J.shape[0]):
                total += J[r, a] * error[r]
        step[a] = total
        for b in range(a + 1):
            total = damping if a == b else 0.0
            if not still[a] and not still[b]:
                for r in range(J.shape[0]):
                    total += J[r, a] * J[r, b]
            A[a, b] = total
    for a in range(n):
        for b in range(a + 1):
            total = A[a, b]
            for m in range(b):
                total -= A[a, m] * A[b, m]
            A[a, b] = math.sqrt(max(total, 1e-14)) if a == b else total / A[b, b]
    for a in range(n):
        for m in range(a):
            step[a] -= A[a, m] * step[m]
        step[a] /= A[a, a]
    for a in range(n - 1, -1, -1):
        for m in range(a + 1, n):
            step[a] -= A[m, a] * step[m]
        step[a] /= A[a, a]


@njit(cache=True, nogil=True)
def search_all(whole, numbers, bodies, rows, q, lower, upper, held, errors):  # type: ignore[no-untyped-def]
    """Levenberg and Marquardt's method from every row of q (starts, n), in place; the errors at the end besides."""
    n, m = q.shape[1], errors.shape[1]
    J, ahead_J, ahead_error = np.empty((m, n)), np.empty((m, n)), np.empty(m)
    A, step, ahead, still = np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n, np.bool_)
    for i in range(q.shape[0]):
        cost, damping = linearise(whole, numbers, bodies, rows, q[i], errors[i], J), 1e-2
        for _ in range(ROUNDS):
            if cost <= (0.1 * REACHED) ** 2 or damping >= 1e6:
                break
            for j in range(n):
                # A joint at its limit that the error pushes farther is left out of the step.
                gradient = 0.0
                for r in range(m):
                    gradient += J[r, j] * errors[i, r]
                beyond = (q[i, j] <= lower[j] and gradient < 0.0) or (q[i, j] >= upper[j] and gradient > 0.0)
                still[j] = held[j] or beyond
            # Smaller near the solution, where the plain step is the best one.
            damped_step(J, errors[i], still, damping * min(1.0, cost) + 1e-12, A, step)
            for j in range(n):
                ahead[j] = q[i, j]
                if not still[j]:
                    ahead[j] = min(max(q[i, j] + min(max(step[j], -1.0), 1.0), lower[j]), upper[j])
            ahead_cost = linearise(whole, numbers, bodies, rows, ahead, ahead_error, ahead_J)
            if ahead_cost < cost:
                cost, damping = ahead_cost, 0.3 * damping
                for j in range(n):
                    q[i, j] = ahead[j]
                for r in range(m):
                    errors[i, r] = ahead_error[r]
                    for j in range(n):
                        J[r, j] = ahead_J[r, j]
            else:
                damping *= 8.0


def _bodies_to_base(chain: Chain, body: int) -> list[int]:
    """Bodies from one to the base, itself included."""
    bodies = []
    while body >= 0:
        bodies.append(body)
        body = chain.bodies[body].parent
    return bodies


def _check_agreement(known: Target, T_base_body: Array, T_body_link: Array, link: str) -> None:
    off = lie.inverse(known.T_base_body @ T_body_link) @ T_base_body @ T_body_link
    distance, turn = float(np.linalg.norm(off[:3, 3])), float(np.linalg.norm(lie.log_so3(off[:3, :3])))
    if max(distance, turn) > CONTRADICTION:
        raise InputError(
            f"{link!r} and {known.links[0]!r} move together, but their poses differ by {1e3 * distance:.3g} mm and "
            f"{np.rad2deg(turn):.3g}°; give the pose of one of them, or poses that agree"
        )
