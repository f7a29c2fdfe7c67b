"""Laws that know the masses: gravity compensation, PD with gravity, computed torque, feedforward."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...model.chain import Chain
from ..state import Array, Reference, State
from .gains import Gain, GainShape
from .joint import BANDWIDTH, KD, KP, PD, joint_gains
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
        self._scratch = np.zeros(self.chain.n)

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        # Light to the hand: a joint that is let go slows down within about a second.
        return {"damping": 2.0 * typical_joint_inertia(chain, 2.0)}

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        self.model.gravity_forces(state.q, self._tau)
        np.multiply(state.qd, self._damping, self._scratch)
        np.subtract(self._tau, self._scratch, self._tau)
        return self._tau


class PDGravity(PD):
    """tau = g(q) + kp (q_ref − q) + kd (qd_ref − qd): no sag, and the law of every hold."""

    name = "pd_gravity"
    GAINS = (KP, KD)

    def _prepare(self) -> None:
        super()._prepare()
        self._feed = np.zeros(self.chain.n)

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        self.model.gravity_forces(state.q, self._tau)
        self._feedback(state, reference, self._feed)
        np.add(self._tau, self._feed, self._tau)
        return self._tau


class Feedforward(PDGravity):
    """tau = ID(q_ref, qd_ref, qdd_ref) + kp (q_ref − q) + kd (qd_ref − qd).

    The model runs on the reference, which is free of noise; the gains only mend what it misses.
    """

    name = "feedforward"

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        return joint_gains(chain)

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        self.model.inverse_dynamics(reference.q, reference.qd, reference.qdd, self._tau)
        self._feedback(state, reference, self._feed)
        np.add(self._tau, self._feed, self._tau)
        return self._tau


class ComputedTorque(PD):
    """tau = ID(q, qd, qdd_ref + kp (q_ref − q) + kd (qd_ref − qd)): one pass of RNEA.

    Its gains are accelerations: with an exact model every joint answers as s² + kd s + kp, whatever it carries.
    """

    name = "computed_torque"
    GAINS = (
        Gain("kp", GainShape.JOINTS, "1/s²", "acceleration per position error"),
        Gain("kd", GainShape.JOINTS, "1/s", "acceleration per velocity error"),
    )

    def _prepare(self) -> None:
        super()._prepare()
        self._acceleration = np.zeros(self.chain.n)

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        return {"kp": BANDWIDTH**2, "kd": 2.0 * BANDWIDTH}

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        acceleration = self._acceleration
        self._feedback(state, reference, acceleration)
        np.add(acceleration, reference.qdd, acceleration)
        self.model.inverse_dynamics(state.q, state.qd, acceleration, self._tau)
        return self._tau
