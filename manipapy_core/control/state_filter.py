"""Kalman filter of joint states: smooth positions and velocities from noisy or missing ones.

Each joint is a point with an acceleration that changes by white jerk. Joints do not know of each other, so the
filter runs on one row of numbers per joint, all rows in one compiled call.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..model.chain import Chain
from .kernels import Input, compile_formula
from .state import Array, State, joint_vector, positive

BELIEF = 9
"""Numbers per joint: position, velocity, acceleration, and their covariance as 00, 01, 02, 11, 12, 22."""


@dataclass(frozen=True, eq=False)
class FilterSettings:
    """Noise of a joint and of its sensors; each number may be given per joint."""

    position_noise: ArrayLike = 1e-4
    """Standard deviation of a measured position [rad or m]."""
    velocity_noise: ArrayLike | None = 1e-2
    """Standard deviation of a measured velocity [rad/s or m/s]; None: velocities are not measured."""
    jerk_density: ArrayLike = 50.0
    """How lively the joint is: white jerk [rad/s³/√Hz or m/s³/√Hz]."""


class StateFilter:
    """Filtered position, velocity and acceleration of every joint.

    Args:
        chain: The arm.
        settings: Noise levels.
    """

    def __init__(self, chain: Chain, settings: FilterSettings | None = None):
        settings = settings or FilterSettings()
        self._measures_velocity = settings.velocity_noise is not None
        n = chain.n
        self._noise = np.empty((n, 3))
        for column, (name, value) in enumerate(
            (
                ("position_noise", settings.position_noise),
                ("velocity_noise", settings.velocity_noise if settings.velocity_noise is not None else 1.0),
                ("jerk_density", settings.jerk_density),
            )
        ):
            levels = joint_vector(np.broadcast_to(np.asarray(value, dtype=np.float64), (n,)), chain, name)
            for level in levels:
                positive(float(level), name, "standard deviation or density")
            self._noise[:, column] = levels**2
        self._predict, self._update = prediction_kernel(), update_kernel(self._measures_velocity)
        self._belief, self._next = np.zeros((n, BELIEF)), np.zeros((n, BELIEF))
        self._measurement, self._dt = np.zeros((n, 2)), np.zeros(1)
        self.state = State(np.zeros(n), np.zeros(n))
        """Filtered state; a buffer."""
        self.started = False
        """False: the next measurement is taken as it is."""

    @property
    def acceleration(self) -> Array:
        """Filtered acceleration [rad/s² or m/s²], shape (n,)."""
        return self._belief[:, 2].copy()

    @property
    def covariance(self) -> Array:
        """Of position, velocity and acceleration of each joint, shape (n, 3, 3)."""
        full = self._belief[:, 3:][:, [0, 1, 2, 1, 3, 4, 2, 4, 5]]
        return full.reshape(-1, 3, 3)

    def start(self, q: Array, qd: Array) -> None:
        """Believes a measurement, and that the acceleration is about zero."""
        belief, noise = self._belief, self._noise
        belief.fill(0.0)
        belief[:, 0], belief[:, 1] = q, qd
        belief[:, 3], belief[:, 6] = noise[:, 0], noise[:, 1]
        belief[:, 8] = 10.0 * noise[:, 2]
        self._publish()
        self.started = True

    def update(self, q: Array, qd: Array, dt: float) -> State:
        """Takes a measurement.

        Args:
            q: Measured positions [rad or m], shape (n,).
            qd: Measured velocities [rad/s or m/s], shape (n,); not looked at if velocities are not measured.
            dt: Since the last step [s].
        """
        if not self.started:
            self.start(q, qd)
            return self.state
        self._measurement[:, 0], self._measurement[:, 1] = q, qd if self._measures_velocity else 0.0
        self._dt[0] = dt
        if self._update(self._belief, self._measurement, self._noise, self._dt, self._next):
            self._belief, self._next = self._next, self._belief
            self._publish()
        else:
            self.predict(dt)
        return self.state

    def predict(self, dt: float) -> State:
        """Goes on without a measurement for a time [s]."""
        self._dt[0] = dt
        if self._predict(self._belief, self._noise, self._dt, self._next):
            self._belief, self._next = self._next, self._belief
            self._publish()
        return self.state

    def _publish(self) -> None:
        np.copyto(self.state.q, self._belief[:, 0])
        np.copyto(self.state.qd, self._belief[:, 1])


def predicted(belief: Sequence[Any], noise: Sequence[Any], dt: Sequence[Any]) -> list[Any]:
    """One joint a time later: x' = F x, P' = F P Fᵀ + Q, with Q of white jerk (Bar-Shalom et al. 2001, 6.2.3)."""
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
    """One joint after a measurement of its position (which = 0) or velocity (which = 1)."""
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
def prediction_kernel() -> Any:
    """Compiled `predicted`, one row per joint: kernel(belief, noise, dt, out)."""
    inputs = [Input("belief", (BELIEF,)), Input("noise", (3,)), Input("dt", (1,), shared=True)]
    return compile_formula("kalman_prediction", inputs, (BELIEF,), predicted)


@functools.cache
def update_kernel(with_velocity: bool) -> Any:
    """Compiled prediction and measurement: kernel(belief, measurement, noise, dt, out)."""

    def step(belief: Any, measurement: Any, noise: Any, dt: Any) -> list[Any]:
        after = measured(predicted(belief, noise, dt), 0, measurement[0], noise[0])
        return measured(after, 1, measurement[1], noise[1]) if with_velocity else after

    inputs = [
        Input("belief", (BELIEF,)),
        Input("measurement", (2,)),
        Input("noise", (3,)),
        Input("dt", (1,), shared=True),
    ]
    return compile_formula(f"kalman_update_{int(with_velocity)}", inputs, (BELIEF,), step)
