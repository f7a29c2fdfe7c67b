"""Kalman filter of joint states: positions and velocities from noisy or missing measurements.

Each joint is modelled on its own, with constant acceleration and white jerk. The formulas of one joint are compiled for
all joints into one call.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import joint_vector, positive
from ..compiler import Input, compile_formula
from ..model.chain import Chain
from ..typing import Array
from .state import State

BELIEF_SIZE = 9
"""Numbers per joint: position, velocity, acceleration, and their covariance as 00, 01, 02, 11, 12, 22."""


@dataclass(frozen=True, eq=False)
class FilterSettings:
    """Process and measurement noise; each may be given per joint."""

    position_noise: ArrayLike = 1e-4
    """Standard deviation of a measured position [rad or m]."""
    velocity_noise: ArrayLike | None = 1e-2
    """Standard deviation of a measured velocity [rad/s or m/s]; None: velocities are not measured."""
    jerk_density: ArrayLike = 50.0
    """Process noise: density of the white jerk [rad/s³/√Hz or m/s³/√Hz]."""


class StateFilter:
    """Filtered position, velocity and acceleration of every joint.

    Args:
        chain: The arm.
        settings: Noise levels.
    """

    def __init__(self, chain: Chain, settings: FilterSettings | None = None):
        settings = settings or FilterSettings()
        n = chain.n
        self._noise = np.empty((3, n))
        for row, (name, value) in enumerate(
            (
                ("position_noise", settings.position_noise),
                ("velocity_noise", settings.velocity_noise if settings.velocity_noise is not None else 1.0),
                ("jerk_density", settings.jerk_density),
            )
        ):
            levels = joint_vector(np.broadcast_to(np.asarray(value, dtype=np.float64), (n,)), chain, name)
            for level in levels:
                positive(float(level), name, "standard deviation or density")
            self._noise[row] = levels**2
        self._predict: Any = prediction_kernel(n)
        self._update: Any = update_kernel(n, settings.velocity_noise is not None)
        # Kernels read one belief and write the other; their first two rows are the state.
        self._belief, self._next = np.zeros((BELIEF_SIZE, n)), np.zeros((BELIEF_SIZE, n))
        self.state, self._next_state = State.of_block(self._belief), State.of_block(self._next)
        """Filtered state; a buffer."""
        self._dt = np.zeros(1)
        self.started = False
        """False: the next measurement initialises the filter."""

    @property
    def acceleration(self) -> Array:
        """Filtered acceleration [rad/s² or m/s²], shape (n,)."""
        return self._belief[2].copy()

    @property
    def covariance(self) -> Array:
        """Covariance of position, velocity and acceleration of each joint, shape (n, 3, 3)."""
        full = self._belief[3:][[0, 1, 2, 1, 3, 4, 2, 4, 5]]
        return full.T.reshape(-1, 3, 3)

    def start(self, q: Array, qd: Array) -> None:
        """Initialises the filter with a measurement and zero acceleration."""
        belief, noise = self._belief, self._noise
        belief.fill(0.0)
        belief[0], belief[1] = q, qd
        belief[3], belief[6] = noise[0], noise[1]
        belief[8] = 10.0 * noise[2]
        self.started = True

    def update(self, q: Array, qd: Array, dt: float) -> State:
        """Prediction and measurement update.

        Args:
            q: Measured positions [rad or m], shape (n,).
            qd: Measured velocities [rad/s or m/s], shape (n,); ignored if velocities are not measured.
            dt: Since the last step [s].
        """
        if not self.started:
            self.start(q, qd)
            return self.state
        self._dt[0] = dt
        if self._update(self._belief, q, qd, self._noise, self._dt, self._next):
            return self._swap()
        return self.predict(dt)

    def predict(self, dt: float) -> State:
        """Prediction without a measurement over a time [s]."""
        self._dt[0] = dt
        if self._predict(self._belief, self._noise, self._dt, self._next):
            self._swap()
        return self.state

    def _swap(self) -> State:
        self._belief, self._next = self._next, self._belief
        self.state, self._next_state = self._next_state, self.state
        return self.state


def predicted(belief: Sequence[Any], noise: Sequence[Any], dt: Sequence[Any]) -> list[Any]:
    """Prediction of one joint: x' = F x, P' = F P Fᵀ + Q, with Q of white jerk (Bar-Shalom et al. 2001, 6.2.3)."""
    p, v, a, P00, P01, P02, P11, P12, P22 = belief
    d, jerk = dt[0], noise[2]
    half, d2 = 0.5 * d * d, d * d
    d3 = d2 * d
    A00, A01, A02 = P00 + d * P01 + half * P02, P01 + d * P11 + half * P12, P02 + d * P12 + half * P22
    A11, A12 = P11 + d * P12, P12 + d * P22
    return [
        p + d * v + half * a,
        v + d * a,
        a,
        A00 + d * A01 + half * A02 + jerk * d3 * d2 * (1.0 / 20.0),
        A01 + d * A02 + jerk * d2 * d2 * (1.0 / 8.0),
        A02 + jerk * d3 * (1.0 / 6.0),
        A11 + d * A12 + jerk * d3 * (1.0 / 3.0),
        A12 + jerk * d2 * 0.5,
        P22 + jerk * d,
    ]


def measured(belief: Sequence[Any], which: int, value: Any, variance: Any) -> list[Any]:
    """Update of one joint by a measurement of its position (which = 0) or velocity (which = 1)."""
    p, v, a, P00, P01, P02, P11, P12, P22 = belief
    column = (P00, P01, P02) if which == 0 else (P01, P11, P12)
    per_innovation = 1.0 / (column[which] + variance)
    k0, k1, k2 = (entry * per_innovation for entry in column)
    innovation = value - (p, v)[which]
    c0, c1, c2 = column
    return [
        p + k0 * innovation,
        v + k1 * innovation,
        a + k2 * innovation,
        P00 - k0 * c0,
        P01 - k0 * c1,
        P02 - k0 * c2,
        P11 - k1 * c1,
        P12 - k1 * c2,
        P22 - k2 * c2,
    ]


@functools.cache
def prediction_kernel(n: int) -> Any:
    """Compiled `predicted` for n joints: kernel(belief, noise, dt, out)."""

    def all_joints(belief: Any, noise: Any, dt: Any) -> list[Any]:
        return _interleave([predicted(belief[j::n], noise[j::n], dt) for j in range(n)])

    inputs = [Input("belief", (BELIEF_SIZE, n)), Input("noise", (3, n)), Input("dt", (1,))]
    return compile_formula(f"kalman_prediction_{n}", inputs, (BELIEF_SIZE, n), all_joints)


@functools.cache
def update_kernel(n: int, with_velocity: bool) -> Any:
    """Compiled prediction and measurement for n joints: kernel(belief, q, qd, noise, dt, out)."""

    def one_joint(belief: Any, q: Any, qd: Any, noise: Any, dt: Any) -> list[Any]:
        after = measured(predicted(belief, noise, dt), 0, q, noise[0])
        return measured(after, 1, qd, noise[1]) if with_velocity else after

    def all_joints(belief: Any, q: Any, qd: Any, noise: Any, dt: Any) -> list[Any]:
        return _interleave([one_joint(belief[j::n], q[j], qd[j], noise[j::n], dt) for j in range(n)])

    inputs = [
        Input("belief", (BELIEF_SIZE, n)),
        Input("q", (n,)),
        Input("qd", (n,)),
        Input("noise", (3, n)),
        Input("dt", (1,)),
    ]
    return compile_formula(f"kalman_update_{int(with_velocity)}_{n}", inputs, (BELIEF_SIZE, n), all_joints)


def _interleave(joints: list[list[Any]]) -> list[Any]:
    """Transposes: from one list per joint to one row per number."""
    return [joint[row] for row in range(BELIEF_SIZE) for joint in joints]
