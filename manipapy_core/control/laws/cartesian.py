"""Cartesian impedance: the tip on springs and dampers along its own axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...compiler.kernels import bind
from ...model.chain import Chain
from ..state import Array, Reference, State
from .gains import Gain, GainShape
from .law import Law
from .null_space import null_damping_kernel
from .pose_error import spring_wrench
from .typical import typical_joint_inertia, typical_tip_inertia

BANDWIDTH = 20.0
"""Natural frequency of the default springs [rad/s]."""
STIFFEST = np.array([100.0] * 3 + [2000.0] * 3)
"""Default springs are at most this stiff [N m/rad, N/m]."""


class CartesianImpedance(Law):
    """tau = M qdd_ref + C qd_ref + g + J_bodyᵀ (springs + dampers) − null damping.

    The springs pull the tip to where the reference would have it; stiffness and damping are along and about the axes
    of the tip, angular first. Motion that leaves the tip where it is (a seventh joint) is damped alone. Passive, as
    is the joint impedance.
    """

    name = "cartesian_impedance"
    GAINS = (
        Gain("stiffness", GainShape.TWIST, "N m/rad, N/m", "of the springs along the axes of the tip"),
        Gain("damping", GainShape.TWIST, "N m s/rad, N s/m", "of the motion of the tip"),
        Gain("null_damping", GainShape.SCALAR, "1/s", "rate at which motion that the tip does not feel dies out"),
    )
    stiff = False
    cartesian = True

    def _prepare(self) -> None:
        n, chain = self.chain.n, self.chain
        self._stiffness: list[float] = self.gains["stiffness"].tolist()
        self._damping: list[float] = self.gains["damping"].tolist()
        self._null_rate = float(self.gains["null_damping"])
        self._root = np.sqrt(typical_joint_inertia(chain, self._null_rate))
        self._forward: Any = bind(chain, "forward")
        self._body_jacobian: Any = bind(chain, "body_jacobian")
        self._null: Any = null_damping_kernel(n)
        self._T, self._T_goal = np.zeros((4, 4)), np.zeros((4, 4))
        self._J, self._J_goal = np.zeros((6, n)), np.zeros((6, n))
        self._twist, self._twist_goal, self._wrench = np.zeros(6), np.zeros(6), np.zeros(6)
        self._scratch, self._slip = np.zeros(n), np.zeros(n)

    @classmethod
    def default_gains(cls, chain: Chain) -> dict[str, ArrayLike]:
        inertia = typical_tip_inertia(chain, 2.0 * BANDWIDTH)
        stiffness = np.minimum(BANDWIDTH**2 * inertia, STIFFEST)
        return {"stiffness": stiffness, "damping": 2.0 * np.sqrt(stiffness * inertia), "null_damping": 5.0}

    def step(self, state: State, reference: Reference, dt: float) -> Array:
        tau = self._tau
        self.model.passive_dynamics(state.q, state.qd, reference.qd, reference.qdd, tau)
        if tau[0] != tau[0] or not self._forward(reference.q, self._T_goal):
            tau.fill(np.nan)
            return tau
        self._forward(state.q, self._T)
        self._body_jacobian(state.q, self._J)
        self._body_jacobian(reference.q, self._J_goal)
        np.dot(self._J, state.qd, self._twist)
        np.dot(self._J_goal, reference.qd, self._twist_goal)

        wrench, R = spring_wrench(self._T.ravel().tolist(), self._T_goal.ravel().tolist(), self._stiffness)
        v, g, damping = self._twist.tolist(), self._twist_goal.tolist(), self._damping
        for i in (0, 1, 2):
            # Both parts of the goal's twist, turned into the frame of the tip.
            angular = R[3 * i] * g[0] + R[3 * i + 1] * g[1] + R[3 * i + 2] * g[2]
            linear = R[3 * i] * g[3] + R[3 * i + 1] * g[4] + R[3 * i + 2] * g[5]
            wrench[i] += damping[i] * (angular - v[i])
            wrench[i + 3] += damping[i + 3] * (linear - v[i + 3])
        self._wrench[:] = wrench
        np.dot(self._wrench, self._J, self._scratch)
        np.add(tau, self._scratch, tau)

        np.subtract(reference.qd, state.qd, self._slip)
        self._null(self._J, self._slip, self._root, self._scratch)
        np.multiply(self._scratch, self._null_rate, self._scratch)
        np.add(tau, self._scratch, tau)
        return tau
