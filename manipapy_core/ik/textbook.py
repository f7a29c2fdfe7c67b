"""The textbook's iterations by their names, plain and readable: for learning and comparing, not for speed.

All work on the error in the tip frame and the body Jacobian, from one start. `ik.solve` is what robots should use.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from .. import kinematics, lie
from ..errors import InputError
from ..model.chain import Chain
from ..typing import Array
from .inputs import checked_poses, checked_seed
from .numeric import IKTolerances
from .result import IKResult, IKStatus

DEFAULT = IKTolerances()
Step = Callable[[Array, Array], Array]


def jacobian_transpose(
    chain: Chain,
    T: ArrayLike,
    q_start: ArrayLike,
    *,
    alpha: float = 1.0,
    limits: bool = True,
    iterations: int = 2000,
    tolerances: IKTolerances = DEFAULT,
) -> IKResult:
    """dq = s Jᵀ α e with the factor s that is best along this direction; slow near the goal, never unstable.

    Args:
        T: T_base_tip, shape (4, 4).
        q_start: Where to begin [rad or m], shape (n,).
        alpha: Step length: the share of the error that a step is to remove, above 0 and at most 1.
        limits: Clamp to the joint limits after every step.
        iterations: At most so many.
        tolerances: When the pose counts as reached.
    """

    def step(J: Array, error: Array) -> Array:
        pull = J.T @ error
        moved = J @ pull
        # Buss (2004): s = ⟨e, J Jᵀ e⟩ / ⟨J Jᵀ e, J Jᵀ e⟩
        return pull * ((error @ moved) / max(moved @ moved, 1e-300))

    return _iterate(chain, T, q_start, step, alpha, limits, iterations, tolerances)


def pseudo_inverse(
    chain: Chain,
    T: ArrayLike,
    q_start: ArrayLike,
    *,
    alpha: float = 1.0,
    limits: bool = True,
    iterations: int = 200,
    tolerances: IKTolerances = DEFAULT,
) -> IKResult:
    """dq = J⁺ α e, Newton's iteration (Lynch & Park, section 6.2); fast near the goal, unstable near singular poses."""
    return _iterate(chain, T, q_start, lambda J, e: np.linalg.pinv(J) @ e, alpha, limits, iterations, tolerances)


def damped_least_squares(
    chain: Chain,
    T: ArrayLike,
    q_start: ArrayLike,
    *,
    damping: float = 0.05,
    alpha: float = 1.0,
    limits: bool = True,
    iterations: int = 500,
    tolerances: IKTolerances = DEFAULT,
) -> IKResult:
    """dq = Jᵀ (J Jᵀ + λ² 1)⁻¹ α e (Nakamura & Hanafusa 1986, Wampler 1986) with a constant λ = `damping`."""

    def step(J: Array, error: Array) -> Array:
        return J.T @ np.linalg.solve(J @ J.T + damping**2 * np.eye(6), error)

    return _iterate(chain, T, q_start, step, alpha, limits, iterations, tolerances)


def _iterate(
    chain: Chain,
    T: ArrayLike,
    q_start: ArrayLike,
    step: Step,
    alpha: float,
    limits: bool,
    iterations: int,
    tolerances: IKTolerances,
) -> IKResult:
    if not 0.0 < alpha <= 1.0:
        raise InputError(f"alpha is {alpha!r}; give the share of the error per step, above 0 and at most 1")
    target = checked_poses(T, "T", batch=False)
    q = checked_seed(q_start, chain)
    assert q is not None
    best, closest = np.inf, (q, np.inf, np.inf, 0)
    for count in range(iterations + 1):
        pose = kinematics.forward(chain, q)
        error = lie.log_se3(lie.inverse(pose) @ target)
        rotation, position = float(np.linalg.norm(error[:3])), float(np.linalg.norm(target[:3, 3] - pose[:3, 3]))
        if rotation <= tolerances.orientation and position <= tolerances.position:
            return IKResult(q, IKStatus.SOLVED, position, rotation, count, 1)
        if rotation**2 + position**2 < best:
            best, closest = rotation**2 + position**2, (q, position, rotation, count)
        q = q + step(kinematics.body_jacobian(chain, q), alpha * error)
        q = np.clip(q, chain.limits.lower, chain.limits.upper) if limits else q
    return IKResult(closest[0], IKStatus.LEAST_SQUARES, *closest[1:], 1)
