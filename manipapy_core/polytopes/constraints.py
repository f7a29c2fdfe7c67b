"""Joint sets of allowed velocities, small motions and efforts, under limits and obstacles.

velocities     damped limits: q̇ ≤ (1 − ((q − m)/(u − m))²) q̇max above the middle m, the same below
small motions  lower − q ≤ dq ≤ upper − q, and not beyond the linearisation limit
obstacles      n · J dq ≤ d for motions, n · J q̇ ≤ bound(d) for velocities; n points from the link to the object
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


class ObstacleLaw(enum.Enum):
    """Highest speed at which a point may approach an object at a distance d."""

    DAMPER = "velocity damper"
    """speed · (d − security)/(influence − security) [m/s] (Faverjon and Tournassoud 1987)."""
    PAPER = "danger field"
    """k d² − d, as printed for constrained manipulability polytopes, k in 1/m. The result is taken as m/s. Below
    1/k it requires a retreat."""


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

    def __post_init__(self) -> None:
        if not 0.0 <= self.security < self.influence or not self.speed > 0.0 or not self.danger > 0.0:
            raise InputError(
                f"security {self.security} and influence {self.influence} must be 0 ≤ security < influence [m]; speed "
                f"{self.speed} and danger {self.danger} above zero"
            )

    def approach(self, distance: ArrayLike) -> Array:
        """Greatest speed of approach at distances [m/s]."""
        d = np.asarray(distance, dtype=np.float64)
        if self.law is ObstacleLaw.PAPER:
            return self.danger * d**2 - d
        bound = self.speed * (d - self.security) / (self.influence - self.security)
        return bound if self.retreat else np.maximum(bound, 0.0)

    def approach_slope(self, distance: ArrayLike) -> Array:
        """Derivative of `approach` [1/s]."""
        d = np.asarray(distance, dtype=np.float64)
        if self.law is ObstacleLaw.PAPER:
            return 2.0 * self.danger * d - 1.0
        slope = np.full_like(d, self.speed / (self.influence - self.security))
        return slope if self.retreat else np.where(d > self.security, slope, 0.0)


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
    return joints.with_rows(obstacle_rows(chain, q, near), avoidance.approach(near.distance))


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
        near: Points near obstacles; none moves farther than its distance.
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
    return joints.with_rows(obstacle_rows(chain, q, near), near.distance - security)


def effort_set(chain: Chain, *, effort: ArrayLike | None = None) -> JointSet:
    """Joint efforts inside their limits [N m or N], the chain's if not given."""
    limits = chain.limits.effort if effort is None else np.broadcast_to(np.asarray(effort, dtype=np.float64), chain.n)
    _require_finite(limits, "effort limits", "effort")
    return JointSet.box(-limits, limits)


def _require_finite(limits: Array, what: str, option: str) -> None:
    if not (np.isfinite(limits) & (limits >= 0.0)).all():
        raise InputError(f"the {what} of this chain are not all known; give them as `{option}`")
