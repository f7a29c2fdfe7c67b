"""Joint-space laws without a model: PD and PID."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...compiler import UNLIMITED, absolute, clamp, compile_per_joint, switch
from ...model.chain import Chain
from ...typing import Array
from ..state import Reference, State
from .default_gains import joint_springs, largest_joint_inertia
from .law import Gain, GainShape, Law

BANDWIDTH = 20.0
"""Natural frequency of model-based laws by default [rad/s]; critically damped."""

KP = Gain("kp", GainShape.JOINTS, "N m/rad or N/m", "effort per position error")
KD = Gain("kd", GainShape.JOINTS, "N m s/rad or N s/m", "effort per velocity error")


def joint_gains(chain: Chain) -> dict[str, ArrayLike]:
    """Position and velocity gains of critically damped joints."""
    bandwidth, inertia = joint_springs(chain)
    return {"kp": bandwidth**2 * inertia, "kd": 2.0 * bandwidth * inertia}


def feedback(q: Any, qd: Any, q_ref: Any, qd_ref: Any, kp: Any, kd: Any) -> Any:
    """Spring and damper to the reference, for one joint."""
    return kp * (q_ref - q) + kd * (qd_ref - qd)


@functools.cache
def feedback_kernel(n: int) -> Any:
    """Compiled `feedback`: kernel(q, qd, q_ref, qd_ref, kp, kd, out)."""
    return compile_per_joint("feedback", n, ("q", "qd", "q_ref", "qd_ref", "kp", "kd"), 1, feedback)


class PD(Law):
    """tau = kp (q_ref − q) + kd (qd_ref − qd). Sags under gravity; the baseline for the other laws."""

    name = "pd"
    GAINS = (KP, KD)

    def _prepare(self) -> None:
        self._kp, self._kd = self.gains["kp"], self.gains["kd"]
        self._feedback: Any = feedback_kernel(self.chain.n)

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        return joint_gains(chain)

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        tau = self._tau
        if not self._feedback(state.q, state.qd, reference.q, reference.qd, self._kp, self._kd, tau):
            tau.fill(math.nan)
        return tau


def pid(
    q: Any, qd: Any, q_ref: Any, integral: Any, kp: Any, ki: Any, kd: Any, most: Any, effort: Any, dt: Any
) -> tuple[Any, Any]:
    """Effort and next integral of one joint."""
    error = q_ref - q
    others = kp * error - kd * qd
    before = others + integral
    # Anti-windup: a joint at its effort limit integrates only errors that reduce its effort.
    saturated = switch(absolute(before) - effort) * switch(before * error)
    total = clamp(integral + ki * error * dt * (1.0 - saturated), most)
    return others + total, total


class PID(Law):
    """tau = kp e + ∫ ki e dt − kd qd, with e = q_ref − q.

    The derivative acts on the measurement, so a step of the reference causes no kick. The integral is kept as an
    effort, clamped, and paused for a joint at its effort limit while the error would increase the effort.
    """

    name = "pid"
    GAINS = (
        KP,
        Gain("ki", GainShape.JOINTS, "N m/(rad s) or N/(m s)", "effort per second of position error"),
        Gain("kd", GainShape.JOINTS, "N m s/rad or N s/m", "effort against velocity"),
        Gain("integral_limit", GainShape.JOINTS, "N m or N", "largest effort of the integral"),
    )

    def _prepare(self) -> None:
        n = self.chain.n
        self._most = self.gains["integral_limit"]
        effort = np.minimum(self.chain.limits.effort, UNLIMITED)
        self._constants = (*(self.gains[name] for name in ("kp", "ki", "kd")), self._most, effort)
        names = ("q", "qd", "q_ref", "integral", "kp", "ki", "kd", "most", "effort")
        self._kernel: Any = compile_per_joint("pid", n, names, 2, pid, scalars=("dt",))
        self._integral, self._dt, self._result = np.zeros(n), np.zeros(1), np.zeros((2, n))

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        gains = joint_gains(chain)
        # Routh: stable for ki < kp kd / inertia; a fifth of that keeps the damping.
        gains["ki"] = 0.2 * np.asarray(gains["kp"]) * np.asarray(gains["kd"]) / largest_joint_inertia(chain)
        gains["integral_limit"] = np.where(np.isfinite(chain.limits.effort), 0.7 * chain.limits.effort, 100.0)
        return gains

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        result = self._result
        self._dt[0] = dt
        if not self._kernel(state.q, state.qd, reference.q, self._integral, *self._constants, self._dt, result):
            # The integral stays unchanged: NaN must not enter the state of the law.
            self._tau.fill(math.nan)
            return self._tau
        np.copyto(self._integral, result[1])
        return result[0]

    def start(self, state: State, reference: Reference, tau: Array) -> None:
        """Sets the integral so that the law continues from `tau`, within the limit of the integral."""
        kp, _, kd = self._constants[:3]
        others = kp * (reference.q - state.q) - kd * state.qd
        self._integral[:] = np.clip(tau - others, -self._most, self._most)

    @property
    def integral(self) -> Array:
        """Effort of the integral [N m or N], shape (n,)."""
        return self._integral.copy()

    def take_over(self, other: Law) -> None:
        if isinstance(other, PID):
            self._integral[:] = np.clip(other._integral, -self._most, self._most)
