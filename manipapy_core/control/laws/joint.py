"""Laws that see each joint by itself and know nothing of masses: PD and PID."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...model.chain import Chain
from ..state import Array, Reference, State
from .gains import Gain, GainShape
from .law import Law
from .typical import typical_joint_inertia

BANDWIDTH = 20.0
"""Natural frequency that default gains aim at [rad/s]; critically damped."""

KP = Gain("kp", GainShape.JOINTS, "N m/rad or N/m", "effort per position error")
KD = Gain("kd", GainShape.JOINTS, "N m s/rad or N s/m", "effort per velocity error")


def joint_gains(chain: Chain, bandwidth: float = BANDWIDTH) -> dict[str, ArrayLike]:
    """Position and velocity gains of a critically damped joint.

    Args:
        bandwidth: Natural frequency [rad/s].
    """
    inertia = typical_joint_inertia(chain, 2.0 * bandwidth)
    return {"kp": bandwidth**2 * inertia, "kd": 2.0 * bandwidth * inertia}


class PD(Law):
    """tau = kp (q_ref − q) + kd (qd_ref − qd). Sags under gravity; here as the measure of the others."""

    name = "pd"
    GAINS = (KP, KD)

    def _prepare(self) -> None:
        self._kp, self._kd = self.gains["kp"], self.gains["kd"]
        self._scratch = np.zeros(self.chain.n)

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        return joint_gains(chain)

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        self._feedback(state, reference, self._tau)
        return self._tau

    def _feedback(self, state: State, reference: Reference, out: Array) -> None:
        scratch = self._scratch
        np.subtract(reference.q, state.q, out)
        np.multiply(out, self._kp, out)
        np.subtract(reference.qd, state.qd, scratch)
        np.multiply(scratch, self._kd, scratch)
        np.add(out, scratch, out)


class PID(Law):
    """tau = kp e + ∫ ki e dt − kd qd, with e = q_ref − q.

    The derivative is that of the measurement, so a step of the reference does not kick. The integral is kept as an
    effort, clamped, and stands still for a joint whose effort is at its limit while the error pushes further.
    """

    name = "pid"
    GAINS = (
        KP,
        Gain("ki", GainShape.JOINTS, "N m/(rad s) or N/(m s)", "effort per second of position error"),
        Gain("kd", GainShape.JOINTS, "N m s/rad or N s/m", "effort against velocity"),
        Gain("integral_limit", GainShape.JOINTS, "N m or N", "largest effort of the integral"),
    )

    def _prepare(self) -> None:
        self._kp, self._ki, self._kd = (self.gains[name] for name in ("kp", "ki", "kd"))
        self._most = self.gains["integral_limit"]
        self._least = -self._most
        n = self.chain.n
        self._integral, self._error, self._growth, self._scratch = (np.zeros(n) for _ in range(4))
        self._pushes, self._saturated = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        self._effort = self.chain.limits.effort

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        gains = joint_gains(chain)
        # Routh asks for ki < kp kd / inertia = 2 ω kp; a tenth of that keeps the damping.
        gains["ki"] = 0.2 * BANDWIDTH * np.asarray(gains["kp"])
        gains["integral_limit"] = np.where(np.isfinite(chain.limits.effort), 0.7 * chain.limits.effort, 100.0)
        return gains

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        tau, error, growth, scratch = self._tau, self._error, self._growth, self._scratch
        np.subtract(reference.q, state.q, error)
        np.multiply(error, self._kp, tau)
        np.multiply(state.qd, self._kd, scratch)
        np.subtract(tau, scratch, tau)
        np.add(tau, self._integral, tau)

        np.multiply(error, self._ki, growth)
        np.multiply(growth, dt, growth)
        # A joint at its effort limit integrates only what leads it back.
        np.absolute(tau, scratch)
        np.greater_equal(scratch, self._effort, self._saturated)
        np.multiply(tau, error, scratch)
        np.greater(scratch, 0.0, self._pushes)
        np.logical_and(self._saturated, self._pushes, self._saturated)
        # Nor may NaN stay in the memory of the law; the effort of this tick keeps it, for the guard to see.
        np.isnan(growth, self._pushes)
        np.logical_or(self._saturated, self._pushes, self._saturated)
        np.copyto(growth, 0.0, where=self._saturated)
        np.add(tau, growth, tau)
        np.add(self._integral, growth, self._integral)
        np.maximum(self._integral, self._least, self._integral)
        np.minimum(self._integral, self._most, self._integral)
        return tau

    def start(self, state: State, reference: Reference, tau: Array) -> None:
        """The integral takes what the other terms lack of `tau`, as far as it may."""
        proportional = self._kp * (reference.q - state.q) - self._kd * state.qd
        self._integral[:] = np.clip(tau - proportional, self._least, self._most)

    @property
    def integral(self) -> Array:
        """Effort of the integral now [N m or N], shape (n,)."""
        return self._integral.copy()

    def remember(self, other: Law) -> None:
        if isinstance(other, PID):
            self._integral[:] = np.clip(other._integral, self._least, self._most)
