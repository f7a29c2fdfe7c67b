"""The hold: brakes the arm from whatever it does and keeps it there, even when it cannot be seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...dynamics import GRAVITY, Payload
from ...model.chain import Chain
from ...trajectory.bounds import BrakingLimits
from ...trajectory.stopping import StopProfile
from ...typing import Array
from ..laws.model_based import ComputedTorque
from ..state import Reference, State

BANDWIDTH = 25.0
"""Of the hold [rad/s]; critically damped."""


class Hold:
    """Gravity plus PD at the measured position, never zeros.

    The PD is weighted by the mass matrix, so that it is calm in every configuration: tau = ID(q, qd, qdd_stop + kp e +
    kd ė). An arm that moves is braked from the measured motion first; qdd_stop is zero once it is at rest.

    While there is no usable measurement, the arm is predicted by forward dynamics under the efforts that it gets: an
    arm that was moving when its sensors fell silent is braked, not left to coast.

    Args:
        chain: The arm.
        bounds: How hard it is braked.
        gravity: In the base frame [m/s²], shape (3,).
        payload: What the tip holds.
    """

    def __init__(
        self,
        chain: Chain,
        bounds: BrakingLimits,
        *,
        gravity: ArrayLike = GRAVITY,
        payload: Payload | None = None,
    ):
        self.bounds = bounds
        self._law = ComputedTorque(chain, {"kp": BANDWIDTH**2, "kd": 2.0 * BANDWIDTH}, gravity=gravity, payload=payload)
        self._block = np.zeros((3, chain.n))
        self.reference = Reference.of_block(self._block)
        """Where the arm is held; a buffer."""
        self._profile, self._time = StopProfile(chain.n), 0.0
        self._qdd = np.zeros(chain.n)
        self._predicted = State.at_rest(self._qdd)
        self._seen = self._predicted

    @property
    def state(self) -> State:
        """Where the arm is, or is thought to be while it cannot be seen; a buffer."""
        return self._seen

    def see(self, measured: State) -> None:
        """A measurement that can be used; nobody may write to it before the next one is seen."""
        self._seen = measured

    def predict(self, tau: Array, dt: float) -> None:
        """No new measurement: moves the last one on by the efforts that the arm got.

        Args:
            tau: [N m or N], shape (n,).
            dt: For how long [s].
        """
        seen = self._predicted
        if self._seen is not seen:
            seen.take(self._seen.q, self._seen.qd)
            self._seen = seen
        self._law.model.forward_dynamics(seen.q, seen.qd, tau, self._qdd)
        np.multiply(self._qdd, dt, self._qdd)
        np.add(seen.qd, self._qdd, seen.qd)
        np.multiply(seen.qd, dt, self._qdd)
        np.add(seen.q, self._qdd, seen.q)

    def take_over(self, other: Hold) -> None:
        """Goes on where another hold (made for another payload) is."""
        self._predicted.take(other.state.q, other.state.qd)
        self._seen = self._predicted
        self._block[:] = other._block
        self._profile, self._time = other._profile, other._time

    def capture(self) -> None:
        """Begins to brake from where the arm is now."""
        bounds, seen = self.bounds, self._seen
        self._profile.begin(seen.q, seen.qd, bounds.brake, bounds.lower, bounds.upper)
        self._time = 0.0

    def step(self, dt: float) -> Array:
        """Efforts that brake and hold [N m or N], shape (n,): a buffer."""
        self._time += dt
        self._profile.sample(self._time, self._block)
        return self._law.step(self._seen, self.reference, dt)
