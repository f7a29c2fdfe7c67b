"""Joint sets of allowed velocities, small motions and efforts, under limits and obstacles.

velocities     damped limits: q̇ ≤ (1 − ((q − m)/(u − m))²) q̇max above the middle m, the same below
small motions  lower − q ≤ dq ≤ upper − q, and not beyond the linearisation limit
obstacles      n · J dq ≤ d for motions, n · J q̇ ≤ bound(d) for velocities; n points from the link to the object

No bound of a pair is below zero unless a retreat is requested: standing still is always allowed.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..model.chain import Chain
from ..typing import Array
from .joint_set import JointSet
from .near_points import JointAxes, NearPoints

SLOPE = 0.05
"""How much nearer an object may be beside a near point, per distance from it, where motions are not linear."""

UNLIMITED = 1e6
"""Speed of approach where none is too high [m/s]."""


class ObstacleLaw(enum.Enum):
    """Highest speed at which a point may approach an object at a distance d."""

    DAMPER = "velocity damper"
    """speed · (d − security)/(influence − security) [m/s] (Faverjon and Tournassoud 1987)."""
    PAPER = "danger field"
    """k d² − d, as printed for constrained manipulability polytopes, k in 1/m. The result is taken as m/s. Below
    1/k it requires a retreat. Pairs of links keep the damper: some are that near by construction."""


@dataclass(frozen=True)
class Avoidance:
    """How obstacles bound velocities."""

    law: ObstacleLaw = ObstacleLaw.DAMPER
    influence: float = 0.3
    """Distance beyond which obstacles do not limit velocities [m]."""
    security: float = 0.01
    """Distance at which the speed of approach is zero [m]."""
    speed: float = 1.0
    """Highest speed of approach at the influence distance [m/s]."""
    retreat: bool = False
    """Whether the damper requires a retreat below the security distance; if not, approach is zero there."""
    danger: float = 10.0
    """k of the danger field [1/m]."""
    self_influence: float = 0.1
    """As `influence`, between two links of the arm [m]."""
    self_security: float = 0.0
    """As `security`, between two links of the arm [m]; some links are a few millimetres apart wherever they move."""

    def __post_init__(self) -> None:
        for prefix in ("", "self_"):
            security, influence = getattr(self, prefix + "security"), getattr(self, prefix + "influence")
            if not 0.0 <= security < influence:
                raise InputError(
                    f"{prefix}security is {security} and {prefix}influence {influence} [m]; "
                    "give 0 ≤ security < influence"
                )
        if not self.speed > 0.0 or not self.danger > 0.0:
            raise InputError(f"speed {self.speed} and danger {self.danger} must be above zero")

    def approach(self, distance: ArrayLike, self_pair: ArrayLike = False) -> Array:
        """Greatest speed of approach at distances, to objects or between two links [m/s]."""
        d, own = np.asarray(distance, dtype=np.float64), np.asarray(self_pair, dtype=np.bool_)
        security = np.where(own, self.self_security, self.security)
        bound: Array = self.speed * (d - security) / (np.where(own, self.self_influence, self.influence) - security)
        bound = np.where(own | (not self.retreat), np.maximum(bound, 0.0), bound)
        bound = np.where(own & (d > self.self_influence), UNLIMITED, bound)
        return np.where(own, bound, self.danger * d**2 - d) if self.law is ObstacleLaw.PAPER else bound

    def approach_slope(self, distance: ArrayLike, self_pair: ArrayLike = False) -> Array:
        """Derivative of `approach` [1/s]."""
        d, own = np.asarray(distance, dtype=np.float64), np.asarray(self_pair, dtype=np.bool_)
        security = np.where(own, self.self_security, self.security)
        slope: Array = self.speed / (np.where(own, self.self_influence, self.influence) - security)
        slope = np.where(own & (d > self.self_influence), 0.0, slope)
        slope = np.where((d > security) | (~own & self.retreat), slope, 0.0)
        return np.where(own, slope, 2.0 * self.danger * d - 1.0) if self.law is ObstacleLaw.PAPER else slope


def obstacle_rows(chain: Chain, q: ArrayLike, near: NearPoints) -> Array:
    """Speed of approach of every near pair per joint rate, shape (count, n)."""
    axes = JointAxes(chain, q)
    relative = axes.jacobians(near.centre, near.body) - axes.jacobians(near.other, near.other_body)
    # A sphere's nearest point lies on the normal through its centre: turning about the centre does not move it along.
    return np.einsum("mx,mxn->mn", near.normal, relative)


def damped_velocities(chain: Chain, q: ArrayLike, speed: Array, damping: bool) -> tuple[Array, Array]:
    """Lowest and highest velocity of every joint [rad/s or m/s], each of shape (n,)."""
    above, below = limit_shares(chain, q) if damping else (np.zeros(chain.n), np.zeros(chain.n))
    return -(1.0 - below**2) * speed, (1.0 - above**2) * speed


def limit_shares(chain: Chain, q: ArrayLike) -> tuple[Array, Array]:
    """How far each joint is from the middle to its upper and to its lower limit, 0 to 1."""
    lower, upper = chain.limits.lower, chain.limits.upper
    limited = np.isfinite(upper - lower) & (upper > lower)
    middle, half = 0.5 * (lower[limited] + upper[limited]), 0.5 * (upper[limited] - lower[limited])
    share = np.zeros(chain.n)
    share[limited] = np.clip((np.asarray(q, dtype=np.float64)[limited] - middle) / half, -1.0, 1.0)
    return np.maximum(share, 0.0), np.maximum(-share, 0.0)


def velocity_set(
    chain: Chain,
    q: ArrayLike,
    *,
    speed: ArrayLike | None = None,
    damping: bool = False,
    near: NearPoints | None = None,
    avoidance: Avoidance = Avoidance(),
) -> JointSet:
    """Allowed joint velocities [rad/s or m/s].

    Args:
        q: Joint positions [rad or m], shape (n,).
        speed: Velocity limits [rad/s or m/s], a number or shape (n,); the chain's if not given.
        damping: Slow down towards position limits.
        near: Points near obstacles.
        avoidance: How they bound velocities.
    """
    limits = chain.limits.velocity if speed is None else np.broadcast_to(np.asarray(speed, dtype=np.float64), chain.n)
    _require_finite(limits, "velocity limits", "speed")
    lower, upper = damped_velocities(chain, q, limits, damping)
    joints = JointSet.box(lower, upper)
    if near is None or not len(near):
        return joints
    return joints.with_rows(obstacle_rows(chain, q, near), avoidance.approach(near.distance, near.self_pair))


def motion_set(
    chain: Chain,
    q: ArrayLike,
    *,
    linearisation: ArrayLike = 0.1,
    position_limits: bool = True,
    near: NearPoints | None = None,
    security: float = 0.0,
) -> JointSet:
    """Allowed small joint motions from q [rad or m].

    Args:
        q: Joint positions [rad or m], shape (n,).
        linearisation: Largest joint motion for which the Jacobian is taken as constant [rad or m], a number or (n,).
        position_limits: Stay inside the joint limits.
        near: Points near obstacles; none moves farther than its distance, and none of an overlap goes deeper.
        security: Distance to keep [m].
    """
    q = np.asarray(q, dtype=np.float64)
    reach = np.broadcast_to(np.asarray(linearisation, dtype=np.float64), (chain.n,))
    if not ((reach > 0.0) & np.isfinite(reach)).all():
        raise InputError("linearisation must be above zero and finite, a number or one per joint")
    lower, upper = -reach, reach
    if position_limits:
        # A joint outside its limits must move back, as far as the linearisation allows.
        lower, upper = np.maximum(lower, chain.limits.lower - q), np.minimum(upper, chain.limits.upper - q)
        lower, upper = np.minimum(lower, reach), np.maximum(upper, -reach)
    joints = JointSet.box(lower, upper)
    if near is None or not len(near):
        return joints
    return joints.with_rows(*motion_rows(chain, q, near, security))


def motion_rows(chain: Chain, q: ArrayLike, near: NearPoints, security: float) -> tuple[Array, Array]:
    """A and b of A dq ≤ b: no near point moves farther than its distance, less the security distance."""
    return obstacle_rows(chain, q, near), np.maximum(near.distance - security, 0.0)


def with_curvature(chain: Chain, q: ArrayLike, joints: JointSet, near: NearPoints) -> JointSet:
    """A set of small motions whose rows count the second-order part of the motion of near points.

    n · J dq + ½ dqᵀ H dq ≤ d, where H is the second derivative along n. With |dq| ≤ r the quadratic part is at most
    Σ kᵢ |dqᵢ|, kᵢ = ½ Σⱼ |Hᵢⱼ| rⱼ. To that comes a slope: points beside those that are known may lie higher. The sum is
    linear in the forward and the backward part of the motion, u and w.

    Args:
        joints: From `motion_set`, with a row per near point.

    Returns:
        Set of (u, w), both at least zero, with dq = u − w; n · 2 variables.
    """
    axes = JointAxes(chain, q)
    rates = axes.jacobian_rates(near.centre, near.body) - axes.jacobian_rates(near.other, near.other_body)
    H = np.abs(np.einsum("mx,mxnk->mnk", near.normal, rates))
    reach = np.maximum(np.abs(joints.lower), np.abs(joints.upper))
    relative = axes.jacobians(near.centre, near.body) - axes.jacobians(near.other, near.other_body)
    k = 0.5 * H @ reach + SLOPE * np.linalg.norm(relative, axis=1)
    lower = np.concatenate([np.maximum(joints.lower, 0.0), np.maximum(-joints.upper, 0.0)])
    upper = np.concatenate([np.maximum(joints.upper, 0.0), np.maximum(-joints.lower, 0.0)])
    return JointSet(lower, upper, np.concatenate([joints.A + k, k - joints.A], axis=1), joints.b)


def effort_set(chain: Chain, *, effort: ArrayLike | None = None) -> JointSet:
    """Joint efforts inside their limits [N m or N], the chain's if not given."""
    limits = chain.limits.effort if effort is None else np.broadcast_to(np.asarray(effort, dtype=np.float64), chain.n)
    _require_finite(limits, "effort limits", "effort")
    return JointSet.box(-limits, limits)


def _require_finite(limits: Array, what: str, option: str) -> None:
    if not (np.isfinite(limits) & (limits >= 0.0)).all():
        raise InputError(f"the {what} of this chain are not all known; give them as `{option}`")
