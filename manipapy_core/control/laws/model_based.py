"""Model-based laws: gravity compensation, PD with gravity, feedforward, computed torque, impedance, sliding mode."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...compiler import clamp
from ...model.chain import Chain
from ...typing import Array
from ..state import Reference, State
from .default_gains import typical_joint_inertia
from .friction import FrictionFeedforward
from .law import Gain, GainShape, Law
from .pid import BANDWIDTH, PD, feedback, feedback_kernel


class GravityCompensation(Law):
    """tau = g(q) − damping · qd: the arm can be guided by hand and stays where it is left. Ignores the reference."""

    name = "gravity_compensation"
    GAINS = (Gain("damping", GainShape.JOINTS, "N m s/rad or N s/m", "effort against velocity"),)
    follows = False
    stiff = False

    def _prepare(self) -> None:
        self._damping = self.gains["damping"]
        self._drag = np.zeros(self.chain.n)

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        # Light to guide: a joint that is released slows down within about a second.
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

    The model is evaluated at the reference, which is free of noise; the feedback corrects the rest. Joint friction that
    the description states is added.
    """

    name = "feedforward"

    def _prepare(self) -> None:
        super()._prepare()
        self._model_tau = np.zeros(self.chain.n)
        self._friction = FrictionFeedforward.of(self.chain)
        if self._friction is not None:
            self.friction_effort = self._friction.effort

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        tau = super().step(state, reference, dt)
        self.model.inverse_dynamics(reference.q, reference.qd, reference.qdd, self._model_tau)
        np.add(tau, self._model_tau, tau)
        if self._friction is not None:
            self._friction.add(reference.qd, tau)
        return tau


def desired_acceleration(q: Any, qd: Any, q_ref: Any, qd_ref: Any, qdd_ref: Any, kp: Any, kd: Any) -> Any:
    """Reference acceleration plus feedback, for one joint."""
    return qdd_ref + feedback(q, qd, q_ref, qd_ref, kp, kd)


class ComputedTorque(Law):
    """tau = ID(q, qd, qdd_ref + kp (q_ref − q) + kd (qd_ref − qd)): one pass of RNEA.

    Its gains are accelerations: with an exact model the error of a joint obeys s² + kd s + kp, whatever its inertia.
    Joint friction that the description states is added, at the velocity of the reference.
    """

    name = "computed_torque"
    GAINS = (
        Gain("kp", GainShape.JOINTS, "1/s²", "acceleration per position error"),
        Gain("kd", GainShape.JOINTS, "1/s", "acceleration per velocity error"),
    )

    def _prepare(self) -> None:
        self._kernel: Any = self.model.bind_law(self.name, desired_acceleration, ("kp", "kd"))
        self._constants = (self.gains["kp"], self.gains["kd"], *self.model.inputs)
        self._friction = FrictionFeedforward.of(self.chain)
        if self._friction is not None:
            self.friction_effort = self._friction.effort

    @property
    def has_friction(self) -> bool:
        """Whether the description states joint friction; the fused tick does without."""
        return self._friction is not None

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        return {"kp": BANDWIDTH**2, "kd": 2.0 * BANDWIDTH}

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        q, qd, tau = state.q, state.qd, self._tau
        if not self._kernel(q, qd, reference.q, reference.qd, reference.qdd, *self._constants, tau):
            tau.fill(math.nan)
        if self._friction is not None:
            self._friction.add(reference.qd, tau)
        return tau


IMPEDANCE_FREQUENCY = 10.0
"""Natural frequency of the default springs [rad/s]: half that of the tracking laws."""


class JointImpedance(Law):
    """tau = M qdd_ref + C(q, qd) qd_ref + g + stiffness (q_ref − q) + damping (qd_ref − qd).

    The arm keeps its own inertia, so the closed loop is passive: contact cannot extract more energy than the springs
    store.
    """

    name = "joint_impedance"
    GAINS = (
        Gain("stiffness", GainShape.JOINTS, "N m/rad or N/m", "of the spring to the reference"),
        Gain("damping", GainShape.JOINTS, "N m s/rad or N s/m", "of the motion relative to the reference"),
    )
    stiff = False

    def _prepare(self) -> None:
        self._stiffness, self._damping = self.gains["stiffness"], self.gains["damping"]
        self._feedback: Any = feedback_kernel(self.chain.n)
        self._model_tau = np.zeros(self.chain.n)

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        inertia = typical_joint_inertia(chain, 2.0 * IMPEDANCE_FREQUENCY)
        return {"stiffness": IMPEDANCE_FREQUENCY**2 * inertia, "damping": 2.0 * IMPEDANCE_FREQUENCY * inertia}

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        q, qd, tau = state.q, state.qd, self._tau
        self.model.passive_dynamics(q, qd, reference.qd, reference.qdd, self._model_tau)
        if self._feedback(q, qd, reference.q, reference.qd, self._stiffness, self._damping, tau):
            np.add(tau, self._model_tau, tau)
        else:
            tau.fill(math.nan)
        return tau


def robust_acceleration(
    q: Any,
    qd: Any,
    q_ref: Any,
    qd_ref: Any,
    qdd_ref: Any,
    slope: Any,
    reach: Any,
    robustness: Any,
    per_layer: Any,
) -> Any:
    """Acceleration that drives one joint to the sliding surface."""
    rate_error = qd_ref - qd
    surface = rate_error + slope * (q_ref - q)
    return qdd_ref + slope * rate_error + reach * surface + robustness * clamp(per_layer * surface, 1.0)


class SlidingMode(Law):
    """tau = ID(q, qd, qdd_ref + slope ė + reach s + robustness · sat(s / layer)), with s = ė + slope e.

    On the surface s = 0 the error decays as exp(−slope t), whatever the masses. `robustness` must exceed the
    acceleration caused by model errors. A pure sign function would chatter; the saturation is linear within the layer,
    which leaves an error of at most layer / slope (Slotine and Li, Applied Nonlinear Control, 7.2).
    """

    name = "robust"
    GAINS = (
        Gain("slope", GainShape.JOINTS, "1/s", "rate at which the error decays on the surface"),
        Gain("reach", GainShape.JOINTS, "1/s", "rate at which the surface is reached"),
        Gain("robustness", GainShape.JOINTS, "rad/s² or m/s²", "disturbing acceleration that is compensated"),
        Gain("layer", GainShape.JOINTS, "rad/s or m/s", "thickness of the boundary layer", above_zero=True),
    )

    def _prepare(self) -> None:
        slope, reach, robustness, layer = (self.gains[gain.name] for gain in self.GAINS)
        self._constants = (slope, reach, robustness, 1.0 / layer, *self.model.inputs)
        gains = ("slope", "reach", "robustness", "per_layer")
        self._kernel: Any = self.model.bind_law(self.name, robust_acceleration, gains)

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        return {"slope": BANDWIDTH, "reach": BANDWIDTH, "robustness": 50.0, "layer": 0.25}

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        q, qd, tau = state.q, state.qd, self._tau
        if not self._kernel(q, qd, reference.q, reference.qd, reference.qdd, *self._constants, tau):
            tau.fill(math.nan)
        return tau
