"""How far an arm is from losing directions of motion: measures for any number of joints, and their gradients.

All of them are taken from the Jacobian at the tip, whose singular values do not depend on the axes it is written in.
An arm of n joints has min(6, n) singular values, or min(3, n) for translation or rotation alone. Rotation and
translation have different units: where both count, rotations are multiplied by a characteristic length.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .compiler import kernels_of
from .errors import InputError
from .model.chain import Chain
from .typing import Array

NEAR = 30.0
"""Condition number from which a configuration counts as near a singularity; servo controllers commonly halt there."""
LOST = 1e-6
"""A singular value below this share of the largest is a direction that is lost."""


class JacobianPart(enum.Enum):
    """Which rows of the Jacobian count."""

    WHOLE = "whole"
    TRANSLATION = "translation"
    ROTATION = "rotation"


class SingularityKind(enum.Enum):
    """How a configuration is to be taken."""

    REGULAR = "regular"
    NEAR = "near singular"
    SINGULAR = "singular"


@dataclass(frozen=True, eq=False)
class SingularityMeasures:
    """What is known about one configuration."""

    kind: SingularityKind
    rank: int
    """Independent directions that are left."""
    smallest: float
    """Singular value: with a whole or translational Jacobian [m], with a rotational one without unit."""
    condition: float
    """Largest by smallest singular value; inf if singular."""
    lost: Array
    """Unit twists in the tip frame that no joint motion makes, angular first, shape (count, 6)."""
    joint_distance: float
    """Joint motion to the nearest singularity, to first order [rad or m]; inf if no joint moves it."""


def singular_values(
    chain: Chain, q: ArrayLike, *, part: JacobianPart = JacobianPart.WHOLE, length: float = 1.0
) -> Array:
    """Singular values of the Jacobian at the tip, largest first.

    Args:
        q: Joint positions [rad or m], shape (..., n).
        part: The rows that count.
        length: Multiplies rotations where both kinds count [m]; 1 leaves the numbers as they are.

    Returns:
        Shape (..., min(rows, n)).
    """
    values: Any = np.linalg.svd(_jacobian(chain, q, part, length), compute_uv=False)
    return values


def manipulability(
    chain: Chain, q: ArrayLike, *, part: JacobianPart = JacobianPart.WHOLE, length: float = 1.0
) -> Array:
    """Product of the singular values, √det(J Jᵀ) (Yoshikawa) or √det(Jᵀ J) for few joints, shape (...,)."""
    return np.prod(singular_values(chain, q, part=part, length=length), axis=-1)


def smallest_singular_value(
    chain: Chain, q: ArrayLike, *, part: JacobianPart = JacobianPart.WHOLE, length: float = 1.0
) -> Array:
    """How slowly the tip moves in its worst direction for a unit joint velocity, shape (...,)."""
    return singular_values(chain, q, part=part, length=length)[..., -1]


def condition_number(
    chain: Chain, q: ArrayLike, *, part: JacobianPart = JacobianPart.WHOLE, length: float = 1.0
) -> Array:
    """Largest by smallest singular value, 1 where all directions are alike, inf where one is lost, shape (...,)."""
    values = singular_values(chain, q, part=part, length=length)
    lost = values[..., -1] <= 1e-14 * values[..., 0]
    return np.where(lost, np.inf, values[..., 0] / np.where(lost, 1.0, values[..., -1]))


def limit_weights(chain: Chain, q: ArrayLike) -> Array:
    """How much of each joint is left by its limits: 1 in the middle, 0 at a limit.

    w = 1/√(1 + |∂H/∂q|) with H = Σ (u − l)² / (4 (u − q)(q − l)), the weights of Chan and Dubey (1995). Joints
    without limits weigh 1.

    Args:
        q: Joint positions [rad or m], shape (..., n).

    Returns:
        Shape (..., n).
    """
    slope, _ = _limit_slope(chain, np.asarray(q, dtype=np.float64))
    return 1.0 / np.sqrt(1.0 + np.abs(slope))


def penalised_manipulability(
    chain: Chain, q: ArrayLike, *, part: JacobianPart = JacobianPart.WHOLE, length: float = 1.0
) -> Array:
    """Manipulability with every joint scaled by what its limits leave of it, shape (...,)."""
    J = _jacobian(chain, q, part, length) * limit_weights(chain, q)[..., None, :]
    return np.prod(np.linalg.svd(J, compute_uv=False), axis=-1)


def manipulability_gradient(
    chain: Chain, q: ArrayLike, *, part: JacobianPart = JacobianPart.WHOLE, length: float = 1.0, penalised: bool = False
) -> Array:
    """Exact gradient of the manipulability, or of the penalised one.

    Args:
        q: Joint positions [rad or m], shape (n,).

    Returns:
        Per joint, shape (n,). At a singularity, where the measure has a kink, it is zero.
    """
    q = np.asarray(q, dtype=np.float64)
    J, rates = _jacobian(chain, q, part, length), _jacobian_rates(chain, q, part, length)
    if penalised:
        slope, curvature = _limit_slope(chain, q)
        weights = 1.0 / np.sqrt(1.0 + np.abs(slope))
        weight_rates = -0.5 * weights**3 * np.sign(slope) * curvature
        rates = rates * weights
        for joint in range(chain.n):
            rates[joint, :, joint] += J[:, joint] * weight_rates[joint]
        J = J * weights
    values = np.linalg.svd(J, compute_uv=False)
    if values[-1] <= 1e-12 * values[0]:
        return np.zeros(chain.n)
    # d√det(J Jᵀ) = √det(J Jᵀ) tr(J⁺ dJ), and the same for Jᵀ J.
    return np.prod(values) * np.einsum("ij,kji->k", np.linalg.pinv(J), rates)


def smallest_singular_value_gradient(
    chain: Chain, q: ArrayLike, *, part: JacobianPart = JacobianPart.WHOLE, length: float = 1.0
) -> Array:
    """Exact gradient of the smallest singular value where it is simple: u₋ᵀ (∂J/∂q) v₋, shape (n,)."""
    q = np.asarray(q, dtype=np.float64)
    u, values, vt = np.linalg.svd(_jacobian(chain, q, part, length), full_matrices=False)
    last = len(values) - 1
    return np.einsum("i,kij,j->k", u[:, last], _jacobian_rates(chain, q, part, length), vt[last])


def classify(
    chain: Chain, q: ArrayLike, *, part: JacobianPart = JacobianPart.WHOLE, length: float = 1.0, near: float = NEAR
) -> SingularityMeasures:
    """What one configuration has lost, or is about to lose.

    Args:
        q: Joint positions [rad or m], shape (n,).
        near: Condition number from which it counts as near a singularity.
    """
    if not near > 1.0:
        raise InputError(f"near is {near}; give a condition number above 1, such as {NEAR:g}")
    q = np.asarray(q, dtype=np.float64)
    u, values, _ = np.linalg.svd(_jacobian(chain, q, part, length))
    count = len(values)
    rank = int((values > LOST * values[0]).sum())
    condition = float(values[0] / values[-1]) if rank == count else np.inf
    lost = np.zeros((count - rank, 6))
    rows = _rows(part)
    lost[:, rows] = u[:, rank:count].T
    slope = np.linalg.norm(smallest_singular_value_gradient(chain, q, part=part, length=length))
    distance = 0.0 if rank < count else float(values[-1] / slope) if slope > 1e-12 else np.inf
    if rank < count:
        kind = SingularityKind.SINGULAR
    else:
        kind = SingularityKind.NEAR if condition > near else SingularityKind.REGULAR
    return SingularityMeasures(kind, rank, float(values[-1]), condition, lost, distance)


def _rows(part: JacobianPart) -> slice:
    return {JacobianPart.WHOLE: slice(0, 6), JacobianPart.ROTATION: slice(0, 3), JacobianPart.TRANSLATION: slice(3, 6)}[
        part
    ]


def _scaled(J: Array, part: JacobianPart, length: float) -> Array:
    if not length > 0.0:
        raise InputError(f"length is {length}; give a characteristic length above zero [m]")
    if part is not JacobianPart.WHOLE or length == 1.0:
        return J[..., _rows(part), :]
    scale = np.array([length] * 3 + [1.0] * 3)
    return J * scale[:, None]


def _jacobian(chain: Chain, q: ArrayLike, part: JacobianPart, length: float) -> Array:
    J: Any = kernels_of(chain).body_jacobian.run(np.asarray(q, dtype=np.float64))
    return _scaled(J, part, length)


def _jacobian_rates(chain: Chain, q: Array, part: JacobianPart, length: float) -> Array:
    """∂J/∂q_k for every joint k, shape (n, rows, n)."""
    rates = np.moveaxis(kernels_of(chain).body_jacobian_partials.run(q), -1, 0)
    return np.ascontiguousarray(_scaled(rates, part, length))


def _limit_slope(chain: Chain, q: Array) -> tuple[Array, Array]:
    """First and second derivative of H per joint; zero for joints without limits, huge at a limit."""
    lower, upper = chain.limits.lower, chain.limits.upper
    limited = np.isfinite(upper - lower) & (upper > lower)
    low, high = np.where(limited, lower, q - 1.0), np.where(limited, upper, q + 1.0)
    above = np.maximum(high - q, 1e-9 * (high - low))
    below = np.maximum(q - low, 1e-9 * (high - low))
    # (u − l)² / (4 a b) = (u − l)/4 · (1/a + 1/b), with a = u − q and b = q − l
    quarter = 0.25 * (high - low)
    slope = quarter * (1.0 / above**2 - 1.0 / below**2)
    curvature = quarter * (2.0 / above**3 + 2.0 / below**3)
    return np.where(limited, slope, 0.0), np.where(limited, curvature, 0.0)
