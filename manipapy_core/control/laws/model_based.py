"""Laws that know the masses: gravity compensation, PD with gravity, computed torque, feedforward."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...model.chain import Chain
from ..state import Array, Reference, State
from .gains import Gain, GainShape
from .joint import BANDWIDTH, PD, feedback
from .law import Law
from .typical import typical_joint_inertia


class GravityCompensation(Law):
    """tau = g(q) − damping · qd: the arm stays where a hand leaves it. Ignores the reference."""

    name = "gravity_compensation"
    GAINS = (Gain("damping", GainShape.JOINTS, "N m s/rad or N s/m", "effort against velocity"),)
    follows = False
    stiff = False

    def _prepare(self) -> None:
        self._damping = self.gains["damping"]
        self._drag = np.zeros(self.chain.n)

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        # Light to the hand: a joint that is let go slows down within about a second.
        return {"damping": 2.0 * typical_joint_inertia(chain, 2.0)}

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        self.model.gravity_forces(state.q, self._tau)
        np.multiply(state.qd, self._damping, self._drag)
        np.subtract(self._tau, self._drag, self._tau)
        return self._tau


class PDGravity(PD):
    """tau = g(q) + kp (q_ref − q) + kd (qd_ref − qd): no sag at rest."""

    name = "pd_gravity"

    def _prepare(self) -> None:
        super()._prepare()
        self._model_tau = np.zeros(self.chain.n)

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        tau = super().step(state, reference, dt)
        self.model.gravity_forces(state.q, self._model_tau)
        np.add(tau, self._model_tau, tau)
        return tau


class Feedforward(PD):
    """tau = ID(q_ref, qd_ref, qdd_ref) + kp (q_ref − q) + kd (qd_ref − qd).

    The model runs on the reference, which is free of noise; the gains only mend what it misses.
    """

    name = "feedforward"

    def _prepare(self) -> None:
        super()._prepare()
        self._model_tau = np.zeros(self.chain.n)

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        tau = super().step(state, reference, dt)
        self.model.inverse_dynamics(reference.q, reference.qd, reference.qdd, self._model_tau)
        np.add(tau, self._model_tau, tau)
        return tau


def wanted_acceleration(q: Any, qd: Any, q_ref: Any, qd_ref: Any, qdd_ref: Any, kp: Any, kd: Any) -> Any:
    """That of the reference, and what leads back to it, for one joint."""
    return qdd_ref + feedback(q, qd, q_ref, qd_ref, kp, kd)


class ComputedTorque(Law):
    """tau = ID(q, qd, qdd_ref + kp (q_ref − q) + kd (qd_ref − qd)): one pass of RNEA.

    Its gains are accelerations: with an exact model every joint answers as s² + kd s + kp, whatever it carries.
    """

    name = "computed_torque"
    GAINS = (
        Gain("kp", GainShape.JOINTS, "1/s²", "acceleration per position error"),
        Gain("kd", GainShape.JOINTS, "1/s", "acceleration per velocity error"),
    )

    def _prepare(self) -> None:
        self._kernel: Any = self.model.bind_law(self.name, wanted_acceleration, ("kp", "kd"))
        self._constants = (self.gains["kp"], self.gains["kd"], *self.model.inputs)

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        return {"kp": BANDWIDTH**2, "kd": 2.0 * BANDWIDTH}

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        q, qd, tau = state.q, state.qd, self._tau
        if not self._kernel(q, qd, reference.q, reference.qd, reference.qdd, *self._constants, tau):
            tau.fill(math.nan)
        return tau
