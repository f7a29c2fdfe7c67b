"""Joint positions that bring several links of an arm, or of several arms, to their poses at once.

Links that move together are one body, whose pose follows exactly from that of any of them. What is left, one pose per
body, is solved by damped least squares (Levenberg and Marquardt) on all errors together, from many starts side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kinematics, lie
from ..errors import InputError, UnknownLink
from ..ik.inputs import checked_poses
from ..model.chain import Chain
from ..typing import Array

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


def solve_targets(chain: Chain, targets: tuple[Target, ...], seeds: Array) -> Reached:
    """Solutions from many starts.

    Args:
        seeds: Where each search begins, within the limits [rad or m], shape (starts, n).
    """
    lower, upper = chain.limits.lower, chain.limits.upper
    q = np.clip(seeds, lower, upper)
    errors, jacobians = _errors_and_jacobians(chain, targets, q)
    cost, damping = (errors**2).sum(axis=1), np.full(len(q), 1e-2)
    for _ in range(ROUNDS):
        active = np.flatnonzero((cost > (0.1 * REACHED) ** 2) & (damping < 1e6))
        if not len(active):
            break
        J, e = jacobians[active], errors[active]
        # A joint at its limit that the error pushes farther is left out of the step.
        gradient = np.einsum("kij,ki->kj", J, e)
        stuck = ((q[active] <= lower) & (gradient < 0.0)) | ((q[active] >= upper) & (gradient > 0.0))
        J = np.where(stuck[:, None, :], 0.0, J)
        normal = np.einsum("kij,kil->kjl", J, J)
        # Smaller near the solution, where the plain step is the best one.
        diagonal = damping[active] * np.minimum(1.0, cost[active]) + 1e-12
        normal += diagonal[:, None, None] * np.eye(chain.n)
        step = np.linalg.solve(normal, np.einsum("kij,ki->kj", J, e)[..., None])[..., 0]
        tried = np.clip(q[active] + np.clip(step, -1.0, 1.0), lower, upper)
        new_errors, new_jacobians = _errors_and_jacobians(chain, targets, tried)
        new_cost = (new_errors**2).sum(axis=1)
        better = new_cost < cost[active]
        chosen = active[better]
        q[chosen], cost[chosen] = tried[better], new_cost[better]
        errors[chosen], jacobians[chosen] = new_errors[better], new_jacobians[better]
        damping[active] *= np.where(better, 0.3, 8.0)
    apart = errors.reshape(len(q), len(targets), 2, 3) / np.array([[1.0], [POSITION_WEIGHT]])
    turns, distances = np.linalg.norm(apart, axis=3).max(axis=1).T
    best = int(np.argmin(cost))
    return Reached(q[(turns < REACHED) & (distances < REACHED)], (float(distances[best]), float(turns[best])))


def moved_joints(chain: Chain, targets: tuple[Target, ...]) -> NDArray[np.bool_]:
    """Which elements of q move at least one of the targets, shape (n,)."""
    moved = np.zeros(chain.n, dtype=np.bool_)
    for target in targets:
        moved[[chain.bodies[index].dof for index in _bodies_to_base(chain, target.body)]] = True
    return moved


def _errors_and_jacobians(chain: Chain, targets: tuple[Target, ...], q: Array) -> tuple[Array, Array]:
    """Rotation vectors and offsets to the targets, shape (N, 6 · targets), and how joints reduce them, (N, ..., n)."""
    poses = kinematics.link_poses(chain, q)
    bodies: dict[int, Array] = {}
    errors, jacobians = np.empty((len(q), 0)), np.empty((len(q), 0, chain.n))
    for target in targets:
        branch = _bodies_to_base(chain, target.body)
        for index in branch:
            if index not in bodies:
                body = chain.bodies[index]
                bodies[index] = poses[:, chain.link_names.index(body.link)] @ lie.inverse(body.T_body_link)
        T = bodies[target.body]
        turn = lie.log_so3(target.T_base_body[:3, :3] @ np.swapaxes(T[:, :3, :3], 1, 2))
        error = np.concatenate([turn, POSITION_WEIGHT * (target.T_base_body[:3, 3] - T[:, :3, 3])], axis=1)
        J = np.zeros((len(q), 6, chain.n))
        for index in branch:
            body = chain.bodies[index]
            axis = body.ratio * (bodies[index][:, :3, :3] @ body.axis)
            if body.revolute:
                J[:, :3, body.dof] += axis
                J[:, 3:, body.dof] += POSITION_WEIGHT * np.cross(axis, T[:, :3, 3] - bodies[index][:, :3, 3])
            else:
                J[:, 3:, body.dof] += POSITION_WEIGHT * axis
        errors, jacobians = np.concatenate([errors, error], axis=1), np.concatenate([jacobians, J], axis=1)
    return errors, jacobians


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
