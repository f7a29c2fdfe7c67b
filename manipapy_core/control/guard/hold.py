"""The hold: brakes the arm from any motion and keeps it at rest, by prediction when measurements are missing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...dynamics import GRAVITY, Payload
from ...model.chain import Chain
from ...trajectory.bounds import BrakingLimits
from ...trajectory.stopping import StopProfile
from ...typing import Array
from ..arm_model import ArmModel
from ..laws.model_based import ComputedTorque
from ..state import Reference, State

BANDWIDTH = 25.0
"""Natural frequency of the hold [rad/s]; critically damped."""
STILL, STILL_TIME, BRAKING = 0.02, 0.03, 1.5
"""After a contact an arm that is slower than this [rad/s or m/s] for so long [s] is at rest, and any arm after this
multiple of its braking time."""


class Hold:
    """Gravity compensation plus PD around a stop profile; its efforts are never just zeros.

    The PD terms are weighted by the mass matrix, so that they are well damped in every configuration: tau = ID(q, qd,
    qdd_stop + kp e + kd ė). A moving arm is first braked from the measured motion; qdd_stop is zero once it is at rest.

    Without a usable measurement the state is predicted by forward dynamics under the efforts sent, so that an arm that
    moved when its measurements stopped is braked instead of left to coast.

    Args:
        chain: The arm.
        bounds: Decelerations.
        gravity: In the base frame [m/s²], shape (3,).
        payload: Held by the tip.
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
        """Stop profile, then rest; a buffer."""
        self._profile, self._time = StopProfile(chain.n), 0.0
        self._qdd, self._here = np.zeros(chain.n), np.zeros(chain.n)
        self._touched, self._still, self._longest = False, 0.0, 0.0
        """Whether the arm is held where it was at `capture_here`, how long it rests, and when it surely does [s]."""
        self._predicted = State.at_rest(self._qdd)
        self._state = self._predicted

    @property
    def state(self) -> State:
        """Measured state, or the predicted one while there is no measurement; a buffer."""
        return self._state

    @property
    def model(self) -> ArmModel:
        """Dynamics with gravity and payload."""
        return self._law.model

    @property
    def friction_effort(self) -> Array:
        """Part of the last efforts that balances joint friction [N m or N], shape (n,): a buffer."""
        return self._law.friction_effort

    @property
    def resting(self) -> bool:
        """Whether the stop profile has ended."""
        return self._time > self._profile.duration

    @property
    def rests_here(self) -> bool:
        """Whether the arm has come to rest after `capture_here`, so that its drives can hold it."""
        return self._touched and (self._still > STILL_TIME or self._time > self._longest)

    def update(self, measured: State) -> None:
        """Sets a valid measurement; its buffer must not change until the next update."""
        self._state = measured

    def predict(self, tau: Array, dt: float) -> None:
        """Without a new measurement: predicts the state from the last one and the efforts sent.

        Args:
            tau: Without what joint friction takes [N m or N], shape (n,).
            dt: Time step [s].
        """
        state = self._predicted
        if self._state is not state:
            state.take(self._state.q, self._state.qd)
            self._state = state
        self._law.model.forward_dynamics(state.q, state.qd, tau, self._qdd)
        np.multiply(self._qdd, dt, self._qdd)
        np.add(state.qd, self._qdd, state.qd)
        np.multiply(state.qd, dt, self._qdd)
        np.add(state.q, self._qdd, state.q)

    def take_over(self, other: Hold) -> None:
        """Continues from the state of another hold, made for another payload."""
        self._predicted.take(other.state.q, other.state.qd)
        self._state = self._predicted
        self._block[:] = other._block
        self._profile, self._time = other._profile, other._time
        self._here, self._touched = other._here, other._touched
        self._still, self._longest = other._still, other._longest

    def capture(self) -> None:
        """Starts to brake from the present state."""
        bounds, state = self.bounds, self._state
        self._profile.begin(state.q, state.qd, bounds.brake, bounds.lower, bounds.upper)
        self._time, self._touched = 0.0, False

    def capture_here(self) -> None:
        """Starts to brake, and holds the arm where it is now: it must not go further into what it has touched.

        There is no stop profile, which would push a blocked arm on. The acceleration towards rest at the present
        position is that of the PD terms, within the decelerations of a hold: an arm that still moves is braked, and
        one that is blocked is not driven.
        """
        self.capture()
        self._here[:] = self._state.q
        self._touched, self._still = True, 0.0
        self._longest = STILL_TIME + BRAKING * float((np.abs(self._state.qd) / self.bounds.brake).max())

    def step(self, dt: float) -> Array:
        """Efforts that brake and hold [N m or N], shape (n,): a buffer."""
        self._time += dt
        if self._touched:
            self._refer_to_here()
            self._still = self._still + dt if (np.abs(self._state.qd) < STILL).all() else 0.0
        else:
            self._profile.sample(self._time, self._block)
        return self._law.step(self._state, self.reference, dt)

    def _refer_to_here(self) -> None:
        """Sets the reference to the measured motion and a bounded acceleration towards rest."""
        state, (q, qd, qdd), brake = self._state, self._block, self.bounds.brake
        np.subtract(self._here, state.q, q)
        np.multiply(q, BANDWIDTH**2, q)
        np.multiply(state.qd, 2.0 * BANDWIDTH, qd)
        np.subtract(q, qd, qdd)
        np.clip(qdd, -brake, brake, qdd)
        q[:], qd[:] = state.q, state.qd
