"""Implicit joint damping and friction, for joints whose damping PyBullet cannot integrate.

PyBullet applies damping to the velocity at the start of a step: d h / m above 2 makes it oscillate and grow.
Descriptions state such values (10 N m s/rad on a wrist of 0.001 kg m²). Here damping and Coulomb friction f act on the
velocity at the end of the step:

    (M + h D) qd_next = M qd + h (tau − c − g − f),   |f| ≤ friction, and qd_next = 0 where |f| < friction

The friction is found by projected Gauss-Seidel, and −D qd_next − f is added to the efforts.
"""

from __future__ import annotations

import numpy as np

from ... import dynamics
from ...model.chain import Chain
from ...typing import Array

STIFF = 0.2
"""Share of a joint's velocity that damping takes in one step, from which on it is integrated implicitly."""
SAMPLES = 64
SWEEPS = 10
"""Of Gauss-Seidel over the joints with friction."""


class ImplicitDamping:
    """Efforts of the joint damping and friction of one robot."""

    def __init__(self, chain: Chain, gravity_base: Array, time_step: float):
        self._chain, self._gravity, self._h = chain, gravity_base, time_step
        self._matrix, self._zeros = time_step * np.diag(chain.damping), np.zeros(chain.n)
        self._rough = np.flatnonzero(chain.friction)

    @classmethod
    def of(cls, chain: Chain, gravity_base: Array, time_step: float) -> ImplicitDamping | None:
        """None for a robot whose damping PyBullet integrates well."""
        if not chain.damping.any():
            return None
        lower, upper = (np.clip(bound, -np.pi, np.pi) for bound in (chain.limits.lower, chain.limits.upper))
        q = np.random.default_rng(0).uniform(lower, upper, (SAMPLES, chain.n))
        mobility = np.einsum("bii->bi", np.linalg.inv(dynamics.mass_matrix(chain, q))).max(axis=0)
        stiff = time_step * chain.damping * mobility > STIFF
        return cls(chain, gravity_base, time_step) if stiff.any() else None

    def add(self, q: Array, qd: Array, efforts: Array) -> Array:
        """The efforts [N m or N] with those of damping and friction, shape (n,)."""
        M = dynamics.mass_matrix(self._chain, q)
        bias = dynamics.inverse_dynamics(self._chain, q, qd, self._zeros, gravity=self._gravity)
        mobility = self._h * np.linalg.inv(M + self._matrix)
        qd_next = mobility @ (M @ qd / self._h + efforts - bias)
        friction = np.zeros(len(q))
        for _ in range(SWEEPS if self._rough.size else 0):
            for i in self._rough:
                most = self._chain.friction[i]
                change = min(max(friction[i] + qd_next[i] / mobility[i, i], -most), most) - friction[i]
                friction[i] += change
                qd_next -= change * mobility[:, i]
        damped: Array = efforts - self._chain.damping * qd_next - friction
        return damped
