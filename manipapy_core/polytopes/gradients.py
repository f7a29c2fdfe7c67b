"""Exact gradient of a polytope's volume by the configuration, including the faces that cuts make.

    dV = ∫ (normal speed of the surface) dA

On a face with unit normal n the surface moves by n·dM y + λ·(db − dA y) + μ⁺·du − μ⁻·dl: the multipliers of the linear
program that proves the face are the same all over it, and y is any joint point above the surface point. The integrand
is linear on a triangle, so its mean over the corners is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..compiler import kernels_of
from ..errors import InputError
from ..model.chain import Chain
from ..typing import Array
from .arm_polytopes import tip_map
from .constraints import Avoidance, limit_shares, velocity_set
from .ellipsoids import Motion
from .joint_set import NotSolved
from .near_points import JointAxes, NearPoints
from .polytope import Polytope
from .projection import project
from .simplex import OPTIMAL, multipliers


@dataclass(frozen=True, eq=False)
class SetRates:
    """Derivatives of a source by p parameters; None for what does not change."""

    matrix: Array | None = None
    """Shape (p, d, n)."""
    lower: Array | None = None
    """Shape (p, n)."""
    upper: Array | None = None
    """Shape (p, n)."""
    A: Array | None = None
    """Shape (p, k, n)."""
    b: Array | None = None
    """Shape (p, k)."""


def volume_gradient(polytope: Polytope, rates: SetRates) -> Array:
    """Derivatives of the volume of a solid polytope in three dimensions.

    Where the set of faces changes the volume has a kink, and the answer is one of its one-sided slopes.

    Returns:
        Shape (p,).
    """
    if polytope.dimension != 3:
        raise InputError("only a solid polytope in three dimensions has a volume gradient; this one is flat or empty")
    joints, unit = polytope.source.joints, polytope.source.joints.unit
    corners = polytope.vertices[polytope.triangles]
    across = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(across, axis=1)
    solid = area > 1e-13 * area.max()
    area, normal = area[solid], across[solid] / area[solid, None]
    # The face's own normal: that of a thin triangle is less exact.
    face = np.argmax(normal @ polytope.normals.T, axis=1)
    y = polytope.preimages[polytope.triangles[solid]].mean(axis=1)
    status, costs = multipliers(polytope.normals, polytope.source.matrix * unit.half, unit.A, unit.b)
    if status != OPTIMAL:
        raise NotSolved("the linear program of a face did not converge", "compute the polytope again")
    n = joints.n
    with np.errstate(divide="ignore", invalid="ignore"):
        bounds = np.where(unit.half > 0.0, costs[:, :n] / unit.half, 0.0)
    cuts = np.zeros((len(costs), len(joints.b)))
    cuts[:, unit.kept] = -costs[:, n:] / unit.scale
    upper, lower, cut = np.maximum(bounds, 0.0)[face], np.minimum(bounds, 0.0)[face], cuts[face]
    total: Array = np.zeros(1)
    if rates.matrix is not None:
        total = total + np.einsum("t,td,pdn,tn->p", area, polytope.normals[face], rates.matrix, y, optimize=True)
    if rates.upper is not None:
        total = total + rates.upper @ (area @ upper)
    if rates.lower is not None:
        total = total + rates.lower @ (area @ lower)
    if rates.b is not None:
        total = total + rates.b @ (area @ cut)
    if rates.A is not None:
        total = total - np.einsum("t,tk,pkn,tn->p", area, cut, rates.A, y, optimize=True)
    return total


def velocity_volume_gradient(
    chain: Chain,
    q: ArrayLike,
    *,
    motion: Motion = Motion.TRANSLATION,
    speed: ArrayLike | None = None,
    damping: bool = False,
    near: NearPoints | None = None,
    avoidance: Avoidance = Avoidance(),  # noqa: B008  (frozen)
) -> tuple[Polytope, Array]:
    """The velocity polytope and the derivatives of its volume by q.

    Near points are taken as fixed to their link and to what they are near: exact for points, and to first order where
    the nearest point of an object does not slide along it.

    Returns:
        The polytope; the gradient, shape (n,).
    """
    q = np.asarray(q, dtype=np.float64)
    joints = velocity_set(chain, q, speed=speed, damping=damping, near=near, avoidance=avoidance)
    polytope = project(tip_map(chain, q, motion), joints)
    rates = SetRates(
        jacobian_rates(chain, q, motion),
        *(_bound_rates(chain, q, speed) if damping else (None, None)),
        *(near_rates(chain, q, near, avoidance) if near is not None and len(near) else (None, None)),
    )
    return polytope, volume_gradient(polytope, rates)


def jacobian_rates(chain: Chain, q: Array, motion: Motion = Motion.TRANSLATION) -> Array:
    """∂/∂q_k of the tip's Jacobian in base axes, shape (n, 3, n)."""
    n = chain.n
    R, J = kernels_of(chain).forward.run(q)[:3, :3], kernels_of(chain).body_jacobian.run(q)
    body = kernels_of(chain).body_jacobian_derivative.run(np.broadcast_to(q, (n, n)), np.eye(n))
    rows = slice(0, 3) if motion is Motion.ROTATION else slice(3, 6)
    # R turns too: Ṙ = R [ω]
    turned = np.cross(J[:3].T[:, None, :], J[rows].T[None, :, :])
    return R @ (body[:, rows] + np.swapaxes(turned, 1, 2))


def near_rates(chain: Chain, q: Array, near: NearPoints, avoidance: Avoidance) -> tuple[Array, Array]:
    """Derivatives of the rows and bounds of near points: (n, count, n) and (n, count)."""
    axes = JointAxes(chain, q)
    relative = axes.jacobians(near.centre, near.body) - axes.jacobians(near.other, near.other_body)
    rates = axes.jacobian_rates(near.centre, near.body) - axes.jacobian_rates(near.other, near.other_body)
    between = np.linalg.norm(near.other - near.centre, axis=1)
    closing = np.einsum("mx,mxk->mk", near.normal, relative)
    turning = -(relative - near.normal[:, :, None] * closing[:, None, :]) / between[:, None, None]
    A = np.einsum("mxk,mxn->kmn", turning, relative) + np.einsum("mx,mxnk->kmn", near.normal, rates)
    return A, -closing.T * avoidance.approach_slope(near.distance, near.self_pair)


def _bound_rates(chain: Chain, q: Array, speed: ArrayLike | None) -> tuple[Array, Array]:
    """Derivatives of the damped velocity limits, diagonal: lower and upper, each (n, n)."""
    limits = chain.limits.velocity if speed is None else np.broadcast_to(np.asarray(speed, dtype=np.float64), chain.n)
    above, below = limit_shares(chain, q)
    width = chain.limits.upper - chain.limits.lower
    half = np.where(np.isfinite(width), 0.5 * width, np.inf)
    return np.diag(-2.0 * below / half * limits), np.diag(-2.0 * above / half * limits)
