"""Implicit joint damping and friction: the velocity after a step, however stiff they are.

Damping that acts on the velocity at the start of a step oscillates and grows where d h / m is above 2. Descriptions
state such values (10 N m s/rad on a wrist of 0.001 kg m²). Here damping and Coulomb friction f act on the velocity at
the end of the step:

    (M + h D) qd_next = M qd + h (tau − c − g − f),   |f| ≤ friction, and qd_next = 0 where |f| < friction

The friction is found by projected Gauss-Seidel. Contacts and joint stops are not included: a joint that presses against
one is taken to move, and loses effort to its damping.
"""

from __future__ import annotations

import numpy as np

from .. import dynamics
from ..model.chain import Chain
from ..typing import Array

STIFF = 0.2
"""Share of a joint's velocity that damping takes in one step, from which on explicit integration does not follow."""
SAMPLES = 64
SWEEPS = 30
"""Most sweeps of Gauss-Seidel over the joints with friction."""
CONVERGED = 1e-9
"""Largest change of a velocity in the last sweep [rad/s or m/s]."""


class ImplicitFriction:
    """Joint damping and friction of one robot in one step.

    Args:
        chain: The robot.
        gravity_base: In the base frame [m/s²], shape (3,).
        time_step: [s]
    """

    def __init__(self, chain: Chain, gravity_base: Array, time_step: float):
        self._chain, self._gravity, self._h = chain, gravity_base, time_step
        self._matrix, self._zeros = time_step * np.diag(chain.damping), np.zeros(chain.n)
        self._rough = np.flatnonzero(chain.friction)

    @classmethod
    def of(cls, chain: Chain, gravity_base: Array, time_step: float) -> ImplicitFriction | None:
        """None for a robot whose description states neither damping nor friction."""
        stated = chain.damping.any() or chain.friction.any()
        return cls(chain, gravity_base, time_step) if stated else None

    @property
    def stiff(self) -> bool:
        """Whether explicit integration does not follow the damping."""
        chain = self._chain
        lower, upper = (np.clip(bound, -np.pi, np.pi) for bound in (chain.limits.lower, chain.limits.upper))
        q = np.random.default_rng(0).uniform(lower, upper, (SAMPLES, chain.n))
        mobility = np.einsum("bii->bi", np.linalg.inv(dynamics.mass_matrix(chain, q))).max(axis=0)
        return bool((self._h * chain.damping * mobility > STIFF).any())

    def efforts(self, q: Array, qd: Array, efforts: Array) -> Array:
        """The efforts [N m or N] with those of damping and friction, shape (n,)."""
        qd_next, friction = self._step(q, qd, efforts)
        damped: Array = efforts - self._chain.damping * qd_next - friction
        return damped

    def velocity_after(self, q: Array, qd: Array, efforts: Array) -> Array:
        """Velocities after a step with these efforts [rad/s or m/s], shape (n,)."""
        return self._step(q, qd, efforts)[0]

    def _step(self, q: Array, qd: Array, efforts: Array) -> tuple[Array, Array]:
        """Velocities after the step [rad/s or m/s] and Coulomb friction in it [N m or N], shape (n,) each."""
        M = dynamics.mass_matrix(self._chain, q)
        bias = dynamics.inverse_dynamics(self._chain, q, qd, self._zeros, gravity=self._gravity)
        mobility = self._h * np.linalg.inv(M + self._matrix)
        qd_next = mobility @ (M @ qd / self._h + efforts - bias)
        friction = np.zeros(len(q))
        for _ in range(SWEEPS if self._rough.size else 0):
            largest = 0.0
            for i in self._rough:
                most = self._chain.friction[i]
                change = min(max(friction[i] + qd_next[i] / mobility[i, i], -most), most) - friction[i]
                friction[i] += change
                qd_next -= change * mobility[:, i]
                largest = max(largest, abs(change) * mobility[i, i])
            if largest < CONVERGED:
                break
        return qd_next, friction
