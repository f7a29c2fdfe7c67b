"""Kalman filter of joint positions and velocities with ManipulaPy's names.

The state is (θ, θ̇); the arm's forward dynamics predict it, and all of it is measured. `control.StateFilter` is the one
that this library uses itself: it needs no model and no efforts.

Intended difference from ManipulaPy: the covariance is predicted with the transition θ' = θ + dt θ̇, not with the
identity.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, ShapeError
from ..typing import Array
from .inputs import shaped


class StateEstimate:
    """The filter, as methods of a controller."""

    dynamics: Any
    x_hat: Array | None
    """Estimated positions and velocities, shape (2 n,); None before the first prediction."""
    P: Array | None
    """Its covariance, shape (2 n, 2 n)."""

    def kalman_filter_predict(
        self,
        thetalist: ArrayLike,
        dthetalist: ArrayLike,
        taulist: ArrayLike,
        g: ArrayLike,
        Ftip: ArrayLike,
        dt: float,
        Q: ArrayLike,
    ) -> None:
        """Advances `x_hat` by the forward dynamics and `P` by the process noise.

        Args:
            thetalist: Positions that start the filter [rad or m], shape (n,); velocities likewise.
            taulist: Applied efforts [N m or N], shape (n,).
            g: Gravity in the base frame [m/s²], shape (3,).
            Ftip: Wrench that the end effector exerts, shape (6,).
            dt: Time step [s].
            Q: Covariance of the process noise, shape (2 n, 2 n).
        """
        start = np.concatenate([np.asarray(thetalist, dtype=np.float64), np.asarray(dthetalist, dtype=np.float64)])
        size, n = len(start), len(start) // 2
        noise = shaped(Q, (size, size), "Q")
        x = start if self.x_hat is None else shaped(self.x_hat, (size,), "x_hat")
        P = np.eye(size) if self.P is None else shaped(self.P, (size, size), "P")
        acceleration = self.dynamics.forward_dynamics(x[:n], x[n:], taulist, g, Ftip)
        F = np.eye(size)
        F[:n, n:] = dt * np.eye(n)
        self.x_hat = F @ x + np.concatenate([np.zeros(n), dt * np.asarray(acceleration, dtype=np.float64)])
        self.P = F @ P @ F.T + noise

    def kalman_filter_update(self, z: ArrayLike, R: ArrayLike) -> None:
        """Corrects the estimate by a measurement.

        Args:
            z: Measured positions and velocities, shape (2 n,).
            R: Covariance of their noise, shape (2 n, 2 n).
        """
        if self.x_hat is None:
            self.x_hat = np.array(z, dtype=np.float64)
        size = len(self.x_hat)
        measured, noise = shaped(z, (size,), "z"), shaped(R, (size, size), "R")
        if self.P is None:
            raise InputError("P must be initialized; call kalman_filter_predict first")
        P = np.asarray(self.P, dtype=np.float64)
        if P.shape != (size, size):
            raise ShapeError("P", f"({size}, {size})", P.shape)
        # K = P (P + R)⁻¹; both are symmetric.
        K = np.linalg.solve(P + noise, P).T
        self.x_hat = self.x_hat + K @ (measured - self.x_hat)
        # Joseph's form keeps the covariance symmetric and positive.
        rest = np.eye(size) - K
        self.P = rest @ P @ rest.T + K @ noise @ K.T

    def kalman_filter_control(
        self,
        thetalistd: ArrayLike,
        dthetalistd: ArrayLike,
        thetalist: ArrayLike,
        dthetalist: ArrayLike,
        taulist: ArrayLike,
        g: ArrayLike,
        Ftip: ArrayLike,
        dt: float,
        Q: ArrayLike,
        R: ArrayLike,
    ) -> tuple[Array, Array]:
        """Predicts, corrects by the measured positions and velocities, and returns the estimated ones, shape (n,) each.

        Args:
            thetalistd: Desired positions; like `dthetalistd` without effect on the estimate.
        """
        self.kalman_filter_predict(thetalist, dthetalist, taulist, g, Ftip, dt, Q)
        self.kalman_filter_update(np.concatenate([np.asarray(thetalist), np.asarray(dthetalist)]), R)
        assert self.x_hat is not None
        n = len(self.x_hat) // 2
        return self.x_hat[:n].copy(), self.x_hat[n:].copy()
