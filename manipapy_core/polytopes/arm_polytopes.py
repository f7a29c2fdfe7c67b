"""Polytopes of an arm at one configuration: velocity, small motion, force, acceleration and reachable space.

Each is the exact image of a joint set at the tip, in one to three dimensions, of translation or of rotation, written in
base axes or tip axes. All of them refer to the tip, constrained or not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ..compiler import kernels_of
from ..dynamics import GRAVITY
from ..errors import InputError
from ..model.chain import Chain
from ..typing import Array
from .constraints import Avoidance, effort_set, motion_set, obstacle_rows, velocity_set, with_curvature
from .corner_check import ROUNDS, CornerCheck, cut_off
from .ellipsoids import Axes, Motion, tip_jacobian
from .joint_set import JointSet
from .near_points import NearPoints
from .operations import from_halfspaces
from .polytope import Polytope
from .projection import project

LARGEST_FORCE = 1e5
"""Bound of the polytope where a singular arm can hold any force [N or N m]."""


def tip_map(
    chain: Chain,
    q: ArrayLike,
    motion: Motion = Motion.TRANSLATION,
    axes: Axes = Axes.BASE,
    directions: ArrayLike | None = None,
) -> Array:
    """Rows of the Jacobian that a polytope is made of.

    Args:
        q: Joint positions [rad or m], shape (n,).
        directions: Rows to project on instead of x, y and z, in the chosen axes, shape (1 to 3, 3).

    Returns:
        Shape (d, n).
    """
    J = tip_jacobian(chain, q, motion, axes)
    if directions is None:
        return J
    rows = np.asarray(directions, dtype=np.float64)
    if rows.ndim != 2 or not 1 <= len(rows) <= 3 or rows.shape[1] != 3 or not np.isfinite(rows).all():
        raise InputError(f"directions has shape {rows.shape}; give one to three rows of three numbers")
    return rows @ J


def velocity_polytope(
    chain: Chain,
    q: ArrayLike,
    *,
    motion: Motion = Motion.TRANSLATION,
    axes: Axes = Axes.BASE,
    directions: ArrayLike | None = None,
    speed: ArrayLike | None = None,
    damping: bool = False,
    near: NearPoints | None = None,
    avoidance: Avoidance = Avoidance(),  # noqa: B008  (frozen)
) -> Polytope:
    """Velocities of the tip that the joints allow [m/s or rad/s]; the options are those of `velocity_set`."""
    joints = velocity_set(chain, q, speed=speed, damping=damping, near=near, avoidance=avoidance)
    return project(tip_map(chain, q, motion, axes, directions), joints)


def motion_polytope(
    chain: Chain,
    q: ArrayLike,
    *,
    motion: Motion = Motion.TRANSLATION,
    axes: Axes = Axes.BASE,
    directions: ArrayLike | None = None,
    linearisation: ArrayLike = 0.1,
    position_limits: bool = True,
    near: NearPoints | None = None,
    security: float = 0.0,
    curvature: bool = True,
) -> Polytope:
    """Small motions of the tip from where it is [m or rad]; the options are those of `motion_set`, and one more.

    Args:
        curvature: Count the second-order part of the motion of near points, and check the corners for contact, so that
            motions are free of collision up to the linearisation limit and not only near zero. Corners are checked with
            links, objects and planes; points and cells bound motions by their rows alone. False is the image of
            `motion_set`.
    """
    joints = motion_set(
        chain, q, linearisation=linearisation, position_limits=position_limits, near=near, security=security
    )
    J = tip_map(chain, q, motion, axes, directions)
    if not curvature or near is None:
        return project(J, joints)
    lifted = with_curvature(chain, q, joints, near)
    found = _forward_and_backward(J, joints, lifted)
    if near.origin is None:
        return found
    check = CornerCheck(near.origin, np.asarray(q, dtype=np.float64), security)
    for _ in range(ROUNDS):
        contacts = check.first_contacts(found.preimages)
        if contacts is None:
            break
        lifted = cut_off(chain, q, joints, lifted, security, contacts)
        found = _forward_and_backward(J, joints, lifted)
    return found


def _forward_and_backward(J: Array, joints: JointSet, lifted: JointSet) -> Polytope:
    """The image of a set of forward and backward motions; its preimages are their differences."""
    if not len(lifted.unit.kept):
        return project(J, JointSet.box(joints.lower, joints.upper))
    found = project(np.concatenate([J, -J], axis=1), lifted)
    n = J.shape[1]
    return replace(found, preimages=found.preimages[:, :n] - found.preimages[:, n:])


def force_polytope(
    chain: Chain,
    q: ArrayLike,
    *,
    motion: Motion = Motion.TRANSLATION,
    axes: Axes = Axes.BASE,
    directions: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    gravity: ArrayLike | None = GRAVITY,
    largest: float = LARGEST_FORCE,
) -> Polytope:
    """Pure forces (or moments) that the tip can exert at rest [N or N m].

    All f with |Jᵀ f + g(q)| within the effort limits. Where the arm is singular the set is unbounded and cut off at
    `largest` per axis; where the arm cannot carry its own weight the set is empty.

    Args:
        effort: Effort limits [N m or N], a number or (n,); the chain's if not given.
        gravity: In the base frame [m/s²]; None leaves the arm's weight out.
        largest: Of any component [N or N m].
    """
    q = np.asarray(q, dtype=np.float64)
    J = tip_map(chain, q, motion, axes, directions)
    if directions is not None and not np.allclose(np.asarray(directions) @ np.asarray(directions).T, np.eye(len(J))):
        raise InputError("directions of a force polytope must be orthonormal rows: the force lies along them")
    limits = effort_set(chain, effort=effort)
    load = np.zeros(chain.n) if gravity is None else kernels_of(chain).gravity_forces.run(q, np.asarray(gravity, float))
    rows, offsets = np.concatenate([J.T, -J.T]), np.concatenate([limits.upper - load, load - limits.lower])
    return from_halfspaces(rows, offsets, limit=largest, clip=True)


def acceleration_polytope(
    chain: Chain,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    *,
    motion: Motion = Motion.TRANSLATION,
    axes: Axes = Axes.BASE,
    directions: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    gravity: ArrayLike | None = GRAVITY,
    acceleration: ArrayLike | None = None,
) -> Polytope:
    """Accelerations of the tip that the efforts allow: J M⁻¹(τ − C q̇ − g) + J̇ q̇ [m/s² or rad/s²].

    Args:
        qd: Joint velocities [rad/s or m/s], shape (n,); at rest if not given.
        acceleration: Limits of the joints as well [rad/s² or m/s²], a number or (n,).
    """
    q = np.asarray(q, dtype=np.float64)
    rates = np.zeros(chain.n) if qd is None else np.asarray(qd, dtype=np.float64)
    joints, inverse, bias = _effort_dynamics(chain, q, rates, effort, gravity)
    if acceleration is not None:
        limit = np.broadcast_to(np.asarray(acceleration, dtype=np.float64), (chain.n,))
        joints = joints.with_rows(
            np.concatenate([inverse, -inverse]), np.concatenate([limit + inverse @ bias, limit - inverse @ bias])
        )
    J = tip_map(chain, q, motion, axes, directions)
    return project(J @ inverse, joints, _velocity_terms(chain, q, rates, motion, axes, directions) - J @ inverse @ bias)


def reachable_polytope(
    chain: Chain,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    *,
    horizon: float,
    motion: Motion = Motion.TRANSLATION,
    axes: Axes = Axes.BASE,
    directions: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    speed: ArrayLike | None = None,
    gravity: ArrayLike | None = GRAVITY,
    near: NearPoints | None = None,
) -> Polytope:
    """Where constant efforts can bring the tip within a short time, from where it is [m or rad].

    dq = q̇ T + q̈ T²/2 with q̈ = M⁻¹(τ − C q̇ − g), inside the limits of effort, of velocity at the end and of position.

    Args:
        qd: Joint velocities now [rad/s or m/s], shape (n,); at rest if not given.
        horizon: T [s], short enough for the Jacobian and the dynamics to stay constant.
        near: Points near obstacles.
    """
    if not horizon > 0.0:
        raise InputError(f"horizon is {horizon}; give a time above zero [s]")
    q = np.asarray(q, dtype=np.float64)
    rates = np.zeros(chain.n) if qd is None else np.asarray(qd, dtype=np.float64)
    joints, inverse, bias = _effort_dynamics(chain, q, rates, effort, gravity)
    drift = -inverse @ bias
    fastest = velocity_set(chain, q, speed=speed)
    coasting = rates + drift * horizon
    joints = joints.with_rows(*_rows_between(inverse * horizon, fastest.lower - coasting, fastest.upper - coasting))
    moved, start = 0.5 * horizon**2 * inverse, rates * horizon + 0.5 * horizon**2 * drift
    limited = np.isfinite(chain.limits.lower) & np.isfinite(chain.limits.upper)
    room = chain.limits.lower[limited] - q[limited], chain.limits.upper[limited] - q[limited]
    joints = joints.with_rows(*_rows_between(moved[limited], room[0] - start[limited], room[1] - start[limited]))
    if near is not None and len(near):
        rows = obstacle_rows(chain, q, near)
        joints = joints.with_rows(rows @ moved, np.maximum(near.distance, 0.0) - rows @ start)
    J = tip_map(chain, q, motion, axes, directions)
    return project(J @ moved, joints, J @ start)


def _effort_dynamics(
    chain: Chain, q: Array, qd: Array, effort: ArrayLike | None, gravity: ArrayLike | None
) -> tuple[JointSet, Array, Array]:
    """Allowed efforts, the inverse mass matrix, and the efforts that velocity and gravity take."""
    inverse = np.linalg.inv(kernels_of(chain).mass_matrix.run(q))
    bias = kernels_of(chain).coriolis_forces.run(q, qd)
    if gravity is not None:
        bias = bias + kernels_of(chain).gravity_forces.run(q, np.asarray(gravity, dtype=np.float64))
    return effort_set(chain, effort=effort), inverse, bias


def _rows_between(matrix: Array, lower: Array, upper: Array) -> tuple[Array, Array]:
    return np.concatenate([matrix, -matrix]), np.concatenate([upper, -lower])


def _velocity_terms(
    chain: Chain, q: Array, qd: Array, motion: Motion, axes: Axes, directions: ArrayLike | None
) -> Array:
    """J̇ q̇: the acceleration of the tip's origin (or of its rotation) when the joints do not accelerate."""
    rate = kernels_of(chain).body_jacobian_derivative.run(q, qd) @ qd
    twist = kernels_of(chain).body_jacobian.run(q) @ qd
    # Tip axes rotate: the derivative in them lacks ω × v.
    term = rate[:3] if motion is Motion.ROTATION else rate[3:] + np.cross(twist[:3], twist[3:])
    if axes is Axes.BASE:
        term = kernels_of(chain).forward.run(q)[:3, :3] @ term
    return term if directions is None else np.asarray(directions, dtype=np.float64) @ term
