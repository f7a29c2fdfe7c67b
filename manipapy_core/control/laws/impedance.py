"""Joint impedance: each joint a spring and a damper around the reference, and passive towards the world."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...model.chain import Chain
from ..state import Array, Reference, State
from .gains import Gain, GainShape
from .joint import feedback_kernel
from .law import Law
from .typical import typical_joint_inertia

SOFTNESS = 10.0
"""Natural frequency of the default springs [rad/s]: half that of the tracking laws."""


class JointImpedance(Law):
    """tau = M qdd_ref + C(q, qd) qd_ref + g + stiffness (q_ref − q) + damping (qd_ref − qd).

    The arm keeps its own inertia, so nothing can pump energy out of it: pushed by the world, it gives back no more
    than the springs store.
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
        inertia = typical_joint_inertia(chain, 2.0 * SOFTNESS)
        return {"stiffness": SOFTNESS**2 * inertia, "damping": 2.0 * SOFTNESS * inertia}

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        q, qd, tau = state.q, state.qd, self._tau
        self.model.passive_dynamics(q, qd, reference.qd, reference.qdd, self._model_tau)
        if self._feedback(q, qd, reference.q, reference.qd, self._stiffness, self._damping, tau):
            np.add(tau, self._model_tau, tau)
        else:
            tau.fill(math.nan)
        return tau
