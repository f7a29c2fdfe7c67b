"""The arm as a differential equation: try a law without a simulator, or predict an arm that cannot be seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics import GRAVITY, Payload
from ..model.chain import Chain
from .arm_model import ArmModel
from .state import Array, State, joint_vector


class SimulatedArm:
    """A rigid arm driven by efforts, integrated by semi-implicit Euler.

    The velocity is stepped first and moves the position: of the methods with one evaluation per step, this is the
    one that does not gain energy. Viscous damping is that of the description; there is no Coulomb friction, no joint
    stop and no contact.

    Args:
        chain: The arm.
        q: Where it starts [rad or m], shape (n,).
        qd: How fast [rad/s or m/s], shape (n,); at rest if not given.
        gravity: In the base frame [m/s²], shape (3,).
        payload: What the tip really holds, whatever a law may believe.
    """

    def __init__(
        self,
        chain: Chain,
        q: ArrayLike,
        qd: ArrayLike | None = None,
        *,
        gravity: ArrayLike = GRAVITY,
        payload: Payload | None = None,
    ):
        self.chain = chain
        self.model = ArmModel(chain, gravity=gravity, payload=payload)
        velocity = np.zeros(chain.n) if qd is None else joint_vector(qd, chain, "qd")
        self.state = State(joint_vector(q, chain, "q"), velocity)
        self.time = 0.0
        """Simulated so far [s]."""
        self._qdd, self._effort = np.zeros(chain.n), np.zeros(chain.n)
        self._damped = bool(chain.damping.any())

    @property
    def q(self) -> Array:
        """Joint positions [rad or m], shape (n,); changes with every step."""
        return self.state.q

    @property
    def qd(self) -> Array:
        """Joint velocities [rad/s or m/s], shape (n,); changes with every step."""
        return self.state.qd

    def step(self, tau: Array, dt: float) -> None:
        """Applies constant efforts for a time.

        Args:
            tau: Joint efforts [N m or N], shape (n,).
            dt: How long [s].
        """
        state = self.state
        self._effort[:] = tau
        if self._damped:
            self._effort -= self.chain.damping * state.qd
        self.model.forward_dynamics(state.q, state.qd, self._effort, self._qdd)
        state.qd[:] += dt * self._qdd
        state.q[:] += dt * state.qd
        self.time += dt
