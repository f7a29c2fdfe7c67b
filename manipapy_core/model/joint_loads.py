"""Inertia and weight that act on each joint of a chain, at most, over sampled configurations.

Plain NumPy: limits are derived from them before anything is compiled for a robot. The compiled mass matrix and gravity
forces are the second route of the tests.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from ..typing import Array
from .chain import Chain

SAMPLES = 256
"""Random configurations within the limits; endless joints within ±π."""
WEIGHT = np.array([0.0, 0.0, -9.81])
"""Gravity in the base frame [m/s²]."""


@dataclass(frozen=True, eq=False)
class JointLoads:
    """The largest loads of each element of q, shape (n,) each."""

    inertia: Array
    """Diagonal of the mass matrix [kg m² or kg]."""
    gravity: Array
    """Effort that holds the arm at rest [N m or N]."""


@functools.lru_cache(maxsize=16)
def joint_loads(chain: Chain) -> JointLoads:
    """Largest inertia and gravity effort per joint over sampled configurations; always the same for one chain."""
    lower, upper = (np.clip(bound, -math.pi, math.pi) for bound in (chain.limits.lower, chain.limits.upper))
    q = np.random.default_rng(0).uniform(lower, upper, (SAMPLES, chain.n))
    screws, inertias = _screws_and_inertias(chain, q)
    # Lynch & Park (8.57): a joint moves all bodies beyond it as one; here everything is expressed in the base frame.
    for i in reversed(range(len(chain.bodies))):
        parent = chain.bodies[i].parent
        if parent >= 0:
            inertias[parent] = [sum_ + part for sum_, part in zip(inertias[parent], inertias[i])]
    inertia, gravity = np.zeros((SAMPLES, chain.n)), np.zeros((SAMPLES, chain.n))
    for i, body in enumerate(chain.bodies):
        angular, linear, dof = *screws[i], body.dof
        mass, moment, about_origin = inertias[i]
        momentum = mass[:, None] * linear + np.cross(angular, moment)
        spin = np.einsum("bij,bj->bi", about_origin, angular) + np.cross(moment, linear)
        gravity[:, dof] -= momentum @ WEIGHT
        j, weight = i, 1.0
        while j >= 0:
            # A mimic joint further in that moves with the same element of q carries this body as well.
            if chain.bodies[j].dof == dof:
                inertia[:, dof] += weight * np.einsum("bi,bi->b", screws[j][0], spin)
                inertia[:, dof] += weight * np.einsum("bi,bi->b", screws[j][1], momentum)
            j, weight = chain.bodies[j].parent, 2.0
    return JointLoads(np.maximum(inertia, 0.0).max(axis=0), np.abs(gravity).max(axis=0))


def _screws_and_inertias(chain: Chain, q: Array) -> tuple[list[tuple[Array, Array]], list[list[Array]]]:
    """Per body, in the base frame: twist per unit of q, and mass, first moment and inertia about the origin."""
    poses: list[tuple[Array, Array]] = []
    screws, inertias = [], []
    for body in chain.bodies:
        R, p = poses[body.parent] if body.parent >= 0 else (np.broadcast_to(np.eye(3), (len(q), 3, 3)), np.zeros(3))
        p = p + R @ body.T_parent_body[:3, 3]
        R = R @ body.T_parent_body[:3, :3]
        axis, motion = R @ body.axis, body.ratio * q[:, body.dof]
        if body.revolute:
            R = R @ _rotations(body.axis, motion)
            screws.append((body.ratio * axis, body.ratio * np.cross(p, axis)))
        else:
            p = p + motion[:, None] * axis
            screws.append((np.zeros_like(axis), body.ratio * axis))
        poses.append((R, p))
        moment = R @ body.moment
        shift = _cross_matrices(p) @ _cross_matrices(moment)
        about_origin = R @ body.inertia @ np.swapaxes(R, 1, 2) - shift - np.swapaxes(shift, 1, 2)
        about_origin -= body.mass * _cross_matrices(p) @ _cross_matrices(p)
        inertias.append([np.full(len(q), body.mass), moment + body.mass * p, about_origin])
    return screws, inertias


def _rotations(axis: Array, angles: Array) -> Array:
    """Rodrigues' formula for many angles, shape (b, 3, 3)."""
    K = _cross_matrices(axis[None])[0]
    sine, cosine = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    rotations: Array = np.eye(3) + sine * K + (1.0 - cosine) * (K @ K)
    return rotations


def _cross_matrices(vectors: Array) -> Array:
    """Matrices [v] with [v] w = v × w, shape (b, 3, 3)."""
    matrices = np.zeros((len(vectors), 3, 3))
    for row, column, entry, sign in ((0, 1, 2, -1), (0, 2, 1, 1), (1, 2, 0, -1)):
        matrices[:, row, column], matrices[:, column, row] = sign * vectors[:, entry], -sign * vectors[:, entry]
    return matrices
