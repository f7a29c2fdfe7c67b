"""Adaptive control after Slotine and Li: inertial parameters are estimated while the arm moves."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ... import lie
from ...compiler import Input, bind, clamp, compile_formula, compile_per_joint
from ...dynamics import Payload
from ...errors import ShapeError
from ...model.chain import Chain
from ...typing import Array
from ..state import Reference, State
from .default_gains import typical_joint_inertia
from .law import Gain, GainShape, Law
from .pid import BANDWIDTH

PER_BODY = 10
"""Inertial parameters of a body."""


def reference_motion(
    q: Any, qd: Any, q_ref: Any, qd_ref: Any, qdd_ref: Any, slope: Any, kd: Any
) -> tuple[Any, Any, Any, Any]:
    """qd_r, qdd_r, s and kd s of one joint."""
    qd_r = qd_ref + slope * (q_ref - q)
    qdd_r = qdd_ref + slope * (qd_ref - qd)
    s = qd_r - qd
    return qd_r, qdd_r, s, kd * s


@functools.cache
def _kernel(n: int) -> Any:
    names = ("q", "qd", "q_ref", "qd_ref", "qdd_ref", "slope", "kd")
    return compile_per_joint("adaptive_reference", n, names, 4, reference_motion)


def adapt(
    parameter: Sequence[Any],
    slope: Sequence[Any],
    rate: Sequence[Any],
    middle: Sequence[Any],
    reach: Sequence[Any],
    dt: Sequence[Any],
) -> list[Any]:
    """One step of one parameter estimate, projected onto an interval; each argument is one number.

    The interval contains the true value, so the projection can only reduce the error.
    """
    grown = parameter[0] + dt[0] * rate[0] * slope[0]
    return [middle[0] + clamp(grown - middle[0], reach[0])]


@functools.cache
def _adaptation_kernel() -> Any:
    inputs = [Input(name, (1,)) for name in ("parameter", "slope", "rate", "middle", "reach")]
    return compile_formula("adaptive_update", [*inputs, Input("dt", (1,), shared=True)], (1,), adapt)


class Adaptive(Law):
    """tau = Y(q, qd, qd_r, qdd_r) π + kd s;  dπ/dt = Γ Yᵀ s, kept within bounds.

    With qd_r = qd_ref + slope e, qdd_r = qdd_ref + slope ė and s = qd_r − qd, the function
    ½ sᵀ M s + ½ (π − π*)ᵀ Γ⁻¹ (π − π*) never grows, whatever the true parameters π* within the bounds, so the error
    goes to zero (Slotine and Li 1987). π converges to π* only as far as the motion excites the parameters.
    """

    name = "adaptive"
    GAINS = (
        Gain("slope", GainShape.JOINTS, "1/s", "rate at which the error decays on s = 0"),
        Gain("kd", GainShape.JOINTS, "N m s/rad or N s/m", "effort per s"),
        Gain("adaptation", GainShape.SCALAR, "1/(N m s)", "adaptation rate; 0 switches adaptation off"),
        Gain(
            "freedom",
            GainShape.SCALAR,
            "1",
            "allowed change of parameters from the first estimate, relative to the body",
        ),
    )

    def _prepare(self) -> None:
        n, chain = self.chain.n, self.chain
        self._slope, self._kd = self.gains["slope"], self.gains["kd"]
        first = chain.inertial_parameters + _payload_parameters(chain, self.model.payload)
        self._scale = _parameter_scale(chain)
        self._rate = float(self.gains["adaptation"]) * self._scale**2
        freedom = float(self.gains["freedom"]) * self._scale
        self._lower, self._upper = first - freedom, first + freedom
        masses = slice(0, None, PER_BODY)
        self._lower[masses] = np.maximum(self._lower[masses], 0.0)
        self._middle, self._reach = 0.5 * (self._lower + self._upper), 0.5 * (self._upper - self._lower)
        self._first, self._parameters = first, first.copy()
        self._regressor: Any = bind(chain, "regressor")
        self._kernel: Any = _kernel(n)
        self._adapt: Any = _adaptation_kernel()
        self._Y, self._motion = np.zeros((n, first.size)), np.zeros((4, n))
        self._slopes, self._next, self._dt = np.zeros(first.size), np.zeros(first.size), np.zeros(1)

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        inertia = typical_joint_inertia(chain, BANDWIDTH)
        return {"slope": BANDWIDTH, "kd": BANDWIDTH * inertia, "adaptation": 1.0, "freedom": 1.0}

    @property
    def parameters(self) -> Array:
        """Present estimate, in the order of `chain.inertial_parameters`, shape (10 · bodies,)."""
        return self._parameters.copy()

    def set_parameters(self, parameters: ArrayLike) -> None:
        """Sets the estimate, clipped to its bounds.

        Args:
            parameters: In the order of `chain.inertial_parameters`, shape (10 · bodies,).
        """
        array = np.array(parameters, dtype=np.float64)
        if array.shape != self._parameters.shape or not np.isfinite(array).all():
            raise ShapeError("parameters", f"{self._parameters.shape}, all finite", array.shape)
        self._parameters[:] = np.clip(array, self._lower, self._upper)

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        q, qd, motion, Y, tau = state.q, state.qd, self._motion, self._Y, self._tau
        qd_r, qdd_r, surface, damping = motion
        fine = self._kernel(q, qd, reference.q, reference.qd, reference.qdd, self._slope, self._kd, motion)
        if not fine or not self._regressor(q, qd, qd_r, qdd_r, self.model.gravity, Y):
            tau.fill(math.nan)
            return tau
        np.dot(Y, self._parameters, tau)
        np.add(tau, damping, tau)
        np.dot(surface, Y, self._slopes)
        self._dt[0] = dt
        constants = (self._rate, self._middle, self._reach, self._dt)
        if self._adapt(self._parameters, self._slopes, *constants, self._next):
            self._parameters, self._next = self._next, self._parameters
        return tau

    def take_over(self, other: Law) -> None:
        """Takes over the change since the first estimate; the first estimate depends on the payload."""
        if isinstance(other, Adaptive):
            self.set_parameters(self._first + other._parameters - other._first)


def _parameter_scale(chain: Chain) -> Array:
    """Scale of each parameter: mass, mass times radius, mass times radius squared of its body."""
    scale = []
    heaviest = max(body.mass for body in chain.bodies)
    for body in chain.bodies:
        # Bodies that are described as nearly massless may carry a load.
        mass = max(body.mass, 0.05 * heaviest)
        radius = max(0.1, math.sqrt(float(np.trace(body.inertia)) / (2.0 * mass)))
        scale += [mass, *[mass * radius] * 3, *[mass * radius**2] * 6]
    return np.array(scale)


def _payload_parameters(chain: Chain, payload: Payload | None) -> Array:
    """Contribution of a payload to the parameters of the body that carries the tip."""
    added = np.zeros(PER_BODY * len(chain.bodies))
    if payload is None or chain.tip_body < 0:
        return added
    T = lie.inverse(chain.bodies[chain.tip_body].T_body_link) @ chain.T_body_tip
    com = T[:3, :3] @ np.asarray(payload.com) + T[:3, 3]
    inertia = T[:3, :3] @ np.asarray(payload.inertia) @ T[:3, :3].T - payload.mass * lie.hat(com) @ lie.hat(com)
    start = PER_BODY * chain.tip_body
    added[start : start + PER_BODY] = [payload.mass, *(payload.mass * com), *inertia[np.triu_indices(3)]]
    return added
