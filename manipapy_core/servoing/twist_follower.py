"""Twist servoing: joint velocities that follow a desired twist, as from a joystick, without collisions."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..compiler import kernels_of
from ..errors import InputError, ShapeError
from ..geometry import Checker
from ..polytopes.constraints import Avoidance, velocity_set
from ..polytopes.ellipsoids import Axes
from ..polytopes.joint_set import JointSet
from ..polytopes.near_points import near_points
from ..typing import Array
from .constrained_step import constrained_step

EDGE_STEP = 0.01
"""Joint distance of the configurations that are checked between now and the next step [rad or m]."""
STEP_SCALES = (1.0, 0.5, 0.25, 0.1)
"""Factors by which a step is shortened, longest first, until it is free of collisions."""


class Following(enum.Enum):
    """How well the desired twist is followed."""

    EXACT = "exact"
    CONSTRAINED = "constrained"
    """Limits or obstacles allow only a twist near it."""
    HELD = "held"
    """No allowed velocity moves the tip: the arm stands still."""


@dataclass(frozen=True, eq=False)
class FollowStep:
    """One control step."""

    qd: Array
    """Joint velocities [rad/s or m/s], shape (n,)."""
    q: Array
    """Joint positions after the step [rad or m], shape (n,)."""
    twist: Array
    """Achieved twist of the tip, in the axes of the desired one, angular first [rad/s, m/s], shape (6,)."""
    status: Following
    nearest: float
    """Distance of the nearest pair before the step [m]; inf if none is within influence."""


class TwistFollower:
    """Follows desired twists with joint velocities inside all limits and clear of obstacles and of the arm itself.

    Args:
        checker: The arm's body in its world; every step is checked by it before it is returned.
        avoidance: How obstacles bound velocities.
        axes: Axes in which twists of the tip are given.
        length: Characteristic length that weights rotation against translation [m].
        per_pair: Most near points per link and object.
        damping: Cost of joint velocity; see `constrained_step`.
    """

    def __init__(
        self,
        checker: Checker,
        *,
        avoidance: Avoidance = Avoidance(speed=0.5),  # noqa: B008  (frozen)
        axes: Axes = Axes.BASE,
        length: float = 0.3,
        per_pair: int = 2,
        damping: float = 1e-5,
    ):
        if not length > 0.0:
            raise InputError(f"length is {length}; give a characteristic length above zero [m]")
        self.checker, self.chain = checker, checker.body.chain
        self.avoidance, self.axes, self.length = avoidance, axes, length
        self.per_pair, self.damping = per_pair, damping

    def step(self, q: ArrayLike, twist: ArrayLike, dt: float) -> FollowStep:
        """The joint velocity for the next `dt` seconds.

        Args:
            q: Joint positions [rad or m], shape (n,).
            twist: Desired twist of the tip about its origin, angular first [rad/s, m/s], shape (6,).
        """
        here, desired = np.asarray(q, dtype=np.float64), np.asarray(twist, dtype=np.float64)
        if desired.shape != (6,) or not np.isfinite(desired).all():
            raise ShapeError("twist", "(6,), finite", desired.shape)
        if not dt > 0.0:
            raise InputError(f"dt is {dt}; give a time above zero [s]")
        near = near_points(
            self.checker.body,
            self.checker.world,
            here,
            influence=self.avoidance.influence,
            per_pair=self.per_pair,
        )
        joints = velocity_set(self.chain, here, damping=False, near=near, avoidance=self.avoidance)
        limits = self.chain.limits
        joints = JointSet(
            np.maximum(joints.lower, np.minimum((limits.lower - here) / dt, 0.0)),
            np.minimum(joints.upper, np.maximum((limits.upper - here) / dt, 0.0)),
            joints.A,
            joints.b,
        )
        J = kernels_of(self.chain).body_jacobian.run(here)
        if self.axes is Axes.BASE:
            R = kernels_of(self.chain).forward.run(here)[:3, :3]
            J = np.concatenate([R @ J[:3], R @ J[3:]])
        weights = np.r_[self.length * np.ones(3), np.ones(3)]
        best = constrained_step(weights[:, None] * J, weights * desired, joints, damping=self.damping)
        qd = self._clear(here, best.dq, dt)
        achieved = J @ qd
        error = float(np.linalg.norm(weights * (achieved - desired)))
        size = float(np.linalg.norm(weights * desired))
        if error <= 1e-3 * size + 1e-9:
            status = Following.EXACT
        else:
            status = Following.CONSTRAINED if np.linalg.norm(achieved) > 1e-6 else Following.HELD
        nearest = float(near.distance[0]) if len(near) else np.inf
        return FollowStep(qd, here + qd * dt, achieved, status, nearest)

    def _clear(self, q: Array, qd: Array, dt: float) -> Array:
        """The velocity, scaled down until the step is free of collisions; zero if no scale is."""
        if not qd.any():
            return qd
        ends = q + np.outer(STEP_SCALES, qd) * dt
        hits = self.checker.check_edges(np.broadcast_to(q, ends.shape), ends, EDGE_STEP)
        free = np.flatnonzero(~hits)
        return qd * STEP_SCALES[free[0]] if len(free) else np.zeros_like(qd)
