"""Feedforward of the joint friction that a description states, at the velocity of the reference."""

from __future__ import annotations

import numpy as np

from ...model.chain import Chain
from ...typing import Array

SMOOTHING = 0.001
"""Coulomb friction grows to its full size over about this velocity [rad/s or m/s]: at rest its sign is not known."""


class FrictionFeedforward:
    """tau = damping · qd_ref + friction · tanh(qd_ref / SMOOTHING), without allocation.

    The reference is free of noise, and friction that is overestimated cannot make the loop unstable, as it could with
    the measured velocity.
    """

    def __init__(self, chain: Chain):
        self._damping, self._friction = chain.damping, chain.friction
        self._share = np.zeros(chain.n)
        self.effort = np.zeros(chain.n)
        """What was added last [N m or N], shape (n,); a buffer."""

    @classmethod
    def of(cls, chain: Chain) -> FrictionFeedforward | None:
        """None for a chain whose description states no friction."""
        return cls(chain) if chain.damping.any() or chain.friction.any() else None

    def add(self, qd_ref: Array, tau: Array) -> None:
        """Add the friction at this velocity [rad/s or m/s] to the efforts [N m or N], shape (n,) each."""
        np.divide(qd_ref, SMOOTHING, self._share)
        np.tanh(self._share, self._share)
        np.multiply(self._friction, self._share, self._share)
        np.multiply(self._damping, qd_ref, self.effort)
        np.add(self.effort, self._share, self.effort)
        np.add(tau, self.effort, tau)
