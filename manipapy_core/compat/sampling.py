"""Joint motions at equally spaced times by ManipulaPy's `method`: 1 linear, 3 cubic, 5 quintic."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike

from .. import trajectory
from ..errors import InputError, ShapeError
from ..typing import Array

LINEAR = 1
States = tuple[Array, Array, Array]


def sampled(start: ArrayLike, end: ArrayLike, Tf: float, N: int, method: int) -> States:
    """Positions, velocities and accelerations, shape (N, n) each, or (batch, N, n) for starts of shape (batch, n).

    Args:
        start: [rad or m], shape (n,) or (batch, n).
        end: [rad or m], likewise.
        Tf: Duration [s].
        N: Number of samples; a single one is the start at rest.
        method: 1 for linear, 3 for cubic, 5 for quintic time scaling.
    """
    first, last = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    if method != LINEAR and N != 1:
        scaling = time_scaling(method)
        if first.ndim == 2:
            return trajectory.joint_trajectories(first, last, Tf, N, scaling=scaling).states()
        return trajectory.joint_trajectory(first, last, Tf, N, scaling=scaling).states()
    if first.shape != last.shape or first.ndim not in (1, 2):
        raise ShapeError("thetaend", f"{first.shape}, the shape of thetastart", last.shape)
    if not Tf > 0.0 or N < 1:
        raise InputError(f"Tf is {Tf!r} s and N {N}; both must be positive")
    time_scaling(method if method != LINEAR else 3)
    fractions = np.linspace(0.0, 1.0, N)[:, None] if N > 1 else np.zeros((1, 1))
    way = (last - first)[..., None, :]
    positions = first[..., None, :] + fractions * way
    rate = way / Tf if N > 1 else np.zeros_like(way)
    return positions, np.broadcast_to(rate, positions.shape).copy(), np.zeros_like(positions)


def time_scaling(method: int) -> trajectory.TimeScaling:
    """ManipulaPy's `method`: 3 is cubic, 5 is quintic time scaling."""
    if method not in (3, 5):
        raise InputError(f"method is {method!r}; 1 is linear, 3 is cubic, 5 is quintic time scaling")
    return trajectory.TimeScaling(method)


Acceleration = Callable[[Array, Array, Array, Array], ArrayLike]


def integrated(
    acceleration: Acceleration, theta: Array, dtheta: Array, taus: Array, wrenches: Array, dt: float, intRes: int
) -> Iterator[States]:
    """State and acceleration after every step of `dt`, by semi-implicit Euler steps of dt / intRes [s].

    Args:
        acceleration: From positions, velocities, efforts and the wrench at the tip.
        taus: Efforts for every step [N m or N], shape (N, n).
        wrenches: Wrench at the tip for every step, shape (N, 6).
    """
    if intRes < 1 or not dt > 0.0:
        raise InputError(f"dt is {dt!r} and intRes {intRes!r}; both must be positive")
    h = dt / intRes
    for tau, wrench in zip(taus, wrenches):
        for _ in range(intRes):
            ddtheta = np.asarray(acceleration(theta, dtheta, tau, wrench), dtype=np.float64)
            dtheta = dtheta + h * ddtheta
            theta = theta + h * dtheta
        yield theta, dtheta, ddtheta
