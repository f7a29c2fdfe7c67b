"""Typical inertia of joints and tip, from which default gains are computed.

A diagonal gain acts on an arm whose inertia is neither diagonal nor constant. Its fastest closed-loop mode is set by
the smallest inertia that the gain acts on, and a sampled loop is stable only up to a certain damping per tick. The
scale is therefore chosen between the average inertia (stiff) and the smallest one (safe), as near to the average as the
fastest mode over sampled configurations allows.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from ... import dynamics, kinematics
from ...model.chain import Chain
from ...typing import Array

SAMPLES = 256
MIN_FREQUENCY, MAX_FREQUENCY = 20.0, 40.0
"""Natural frequencies of joint springs [rad/s]."""
MAX_SAG = 0.05
"""Deflection under gravity that default springs allow [rad or m]."""
MAX_FEEDBACK = 500.0
"""Allowed velocity feedback over inertia in the fastest mode [1/s]: half of the inertia per tick of 1 ms.

A loop that acts on velocities one tick old is stable up to 1000, two ticks old up to 618.
"""


@functools.lru_cache(maxsize=16)
def typical_joint_inertia(chain: Chain, rate: float) -> Array:
    """Inertia per joint [kg m² or kg], shape (n,).

    Args:
        rate: Velocity gain over inertia of the law [1/s].
    """
    return _joint_inertia(chain, np.full(chain.n, rate))


@functools.lru_cache(maxsize=16)
def joint_springs(chain: Chain) -> tuple[Array, Array]:
    """Natural frequency [rad/s] and inertia [kg m² or kg] for the gains of laws without a model, shape (n,) each.

    A joint is stiff enough not to sag by more than `MAX_SAG` under gravity, within the bounds on the frequency.
    """
    q, _ = _samples(chain)
    weight = np.abs(dynamics.gravity_forces(chain, q)).max(axis=0)
    inertia = typical_joint_inertia(chain, 2.0 * MIN_FREQUENCY)
    bandwidth = np.clip(np.sqrt(weight / (MAX_SAG * inertia)), MIN_FREQUENCY, MAX_FREQUENCY)
    bandwidth.setflags(write=False)
    return bandwidth, _joint_inertia(chain, 2.0 * bandwidth)


@functools.lru_cache(maxsize=16)
def largest_joint_inertia(chain: Chain) -> Array:
    """Largest inertia about each joint with all others at rest [kg m² or kg], shape (n,)."""
    _, M = _samples(chain)
    return np.einsum("bii->bi", M).max(axis=0)


@functools.lru_cache(maxsize=16)
def typical_tip_inertia(chain: Chain, angular_rate: float, linear_rate: float) -> Array:
    """Effective inertia of the tip about and along its own axes [kg m² three times, kg three times], shape (6,).

    Args:
        angular_rate: Damping over inertia of the law about the axes [1/s].
        linear_rate: The same along the axes.
    """
    q, M = _samples(chain)
    J = kinematics.body_jacobian(chain, q)
    mobility = J @ np.linalg.solve(M, np.swapaxes(J, -1, -2))
    # With fewer than six joints the inertia along some axes is infinite; any finite value will do.
    diagonal = np.maximum(np.einsum("bii->bi", mobility), 1e-9)
    mobility += 1e-9 * np.eye(6)
    rates = np.repeat([angular_rate, linear_rate], 3)
    return _scale(mobility, np.median(1.0 / diagonal, axis=0).clip(max=100.0), rates)


def _joint_inertia(chain: Chain, rates: Array) -> Array:
    _, M = _samples(chain)
    mobility: Array = np.linalg.inv(M).astype(np.float64)
    return _scale(mobility, np.einsum("bii->bi", M).mean(axis=0), rates)


def _samples(chain: Chain) -> tuple[Array, Array]:
    """Configurations within the limits and their mass matrices; the same in every call."""
    lower, upper = (np.clip(bound, -math.pi, math.pi) for bound in (chain.limits.lower, chain.limits.upper))
    q = np.random.default_rng(0).uniform(lower, upper, (SAMPLES, chain.n))
    M = dynamics.mass_matrix(chain, q)
    # Massless last links would have zero inertia, and no gain would be small enough.
    floor = 1e-6 * np.einsum("bii->bi", M).max()
    return q, M + floor * np.eye(chain.n)


def _scale(mobility: Array, average: Array, rates: Array) -> Array:
    smallest = 1.0 / np.einsum("bii->bi", mobility).max(axis=0)
    smallest = np.minimum(smallest, average)
    scale = smallest
    for weight in np.linspace(0.0, 1.0, 21):
        scale = average ** (1.0 - weight) * smallest**weight
        root = np.sqrt(rates * scale)
        modes = np.linalg.eigvalsh(root[:, None] * mobility * root)
        if modes.max() <= MAX_FEEDBACK:
            break
    scale.setflags(write=False)
    return scale
