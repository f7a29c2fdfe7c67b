"""Adaptive control after Slotine and Li: the law learns the masses while it follows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ... import lie
from ...compiler.kernels import bind
from ...dynamics import Payload
from ...errors import ShapeError
from ...model.chain import Chain
from ..state import Array, Reference, State
from .gains import Gain, GainShape
from .joint import BANDWIDTH
from .law import Law
from .typical import typical_joint_inertia

PER_BODY = 10


class Adaptive(Law):
    """tau = Y(q, qd, qd_r, qdd_r) π + kd s;  dπ/dt = Γ Yᵀ s, kept within bounds.

    With qd_r = qd_ref + slope e, qdd_r = qdd_ref + slope ė and s = qd_r − qd, the function
    ½ sᵀ M s + ½ (π − π*)ᵀ Γ⁻¹ (π − π*) never grows, whatever the true parameters π* within the bounds, so the error
    goes to zero (Slotine and Li 1987). π converges to π* only as far as the motion tells them apart.
    """

    name = "adaptive"
    GAINS = (
        Gain("slope", GainShape.JOINTS, "1/s", "rate at which the error dies out on s = 0"),
        Gain("kd", GainShape.JOINTS, "N m s/rad or N s/m", "effort per s"),
        Gain("adaptation", GainShape.SCALAR, "1/(N m s)", "speed of learning; 0 learns nothing"),
        Gain("freedom", GainShape.SCALAR, "1", "how far parameters may go from the guess, relative to the body"),
    )

    def _prepare(self) -> None:
        n, chain = self.chain.n, self.chain
        self._slope, self._kd = self.gains["slope"], self.gains["kd"]
        guess = chain.inertial_parameters + _payload_parameters(chain, self.model.payload)
        self._scale = _parameter_scale(chain)
        self._rate = float(self.gains["adaptation"]) * self._scale**2
        reach = float(self.gains["freedom"]) * self._scale
        self._lower, self._upper = guess - reach, guess + reach
        masses = slice(0, None, PER_BODY)
        self._lower[masses] = np.maximum(self._lower[masses], 0.0)
        self._parameters = guess
        self._regressor: Any = bind(chain, "regressor")
        self._Y = np.zeros((n, guess.size))
        self._growth = np.zeros(guess.size)
        self._qd_r, self._qdd_r, self._s, self._scratch = (np.zeros(n) for _ in range(4))

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        inertia = typical_joint_inertia(chain, BANDWIDTH)
        return {"slope": BANDWIDTH, "kd": BANDWIDTH * inertia, "adaptation": 0.05, "freedom": 1.0}

    @property
    def parameters(self) -> Array:
        """What the law believes now, in the order of `chain.inertial_parameters`, shape (10 · bodies,)."""
        return self._parameters.copy()

    def believe(self, parameters: ArrayLike) -> None:
        """Goes on from another guess, within the bounds.

        Args:
            parameters: In the order of `chain.inertial_parameters`, shape (10 · bodies,).
        """
        array = np.array(parameters, dtype=np.float64)
        if array.shape != self._parameters.shape or not np.isfinite(array).all():
            raise ShapeError("parameters", f"{self._parameters.shape}, all finite", array.shape)
        self._parameters[:] = np.clip(array, self._lower, self._upper)

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        tau, s, scratch, qd_r, qdd_r = self._tau, self._s, self._scratch, self._qd_r, self._qdd_r
        np.subtract(reference.q, state.q, scratch)
        np.multiply(scratch, self._slope, scratch)
        np.add(reference.qd, scratch, qd_r)
        np.subtract(reference.qd, state.qd, scratch)
        np.multiply(scratch, self._slope, scratch)
        np.add(reference.qdd, scratch, qdd_r)
        np.subtract(qd_r, state.qd, s)
        if not self._regressor(state.q, state.qd, qd_r, qdd_r, self.model.gravity, self._Y):
            tau.fill(math.nan)
            return tau
        np.dot(self._Y, self._parameters, tau)
        np.multiply(s, self._kd, scratch)
        np.add(tau, scratch, tau)

        growth = self._growth
        np.dot(s, self._Y, growth)
        np.multiply(growth, self._rate, growth)
        np.multiply(growth, dt, growth)
        np.add(self._parameters, growth, self._parameters)
        # Projection onto a box that holds the truth: it can only bring the estimate nearer.
        np.maximum(self._parameters, self._lower, self._parameters)
        np.minimum(self._parameters, self._upper, self._parameters)
        return tau

    def remember(self, other: Law) -> None:
        if isinstance(other, Adaptive):
            self.believe(other._parameters)


def _parameter_scale(chain: Chain) -> Array:
    """Size of each parameter: mass, mass times radius, mass times radius squared of its body."""
    scale = []
    heaviest = max(body.mass for body in chain.bodies)
    for body in chain.bodies:
        # Nearly massless bodies may still turn out to carry something.
        mass = max(body.mass, 0.05 * heaviest)
        radius = max(0.1, math.sqrt(float(np.trace(body.inertia)) / (2.0 * mass)))
        scale += [mass, *[mass * radius] * 3, *[mass * radius**2] * 6]
    return np.array(scale)


def _payload_parameters(chain: Chain, payload: Payload | None) -> Array:
    """What a payload adds to the parameters of the body that carries the tip."""
    added = np.zeros(PER_BODY * len(chain.bodies))
    if payload is None or chain.tip_body < 0:
        return added
    T = lie.inverse(chain.bodies[chain.tip_body].T_body_link) @ chain.T_body_tip
    com = T[:3, :3] @ np.asarray(payload.com) + T[:3, 3]
    inertia = T[:3, :3] @ np.asarray(payload.inertia) @ T[:3, :3].T - payload.mass * lie.hat(com) @ lie.hat(com)
    start = PER_BODY * chain.tip_body
    added[start : start + PER_BODY] = [payload.mass, *(payload.mass * com), *inertia[np.triu_indices(3)]]
    return added
