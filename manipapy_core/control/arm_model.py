"""The dynamics of one arm for a loop: bound kernels, gravity and payload in one place.

Every method writes into `out`. An input that is not finite makes the whole result NaN, which the guard turns into a
stop; a stale but plausible torque would be worse.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..compiler.kernels import bind
from ..dynamics import GRAVITY, Payload
from ..errors import InputError
from ..model.chain import Chain
from .state import Array


class ArmModel:
    """Compiled dynamics of a chain with a fixed gravity vector and payload.

    Args:
        chain: The arm.
        gravity: In the base frame [m/s²], shape (3,).
        payload: What the tip holds.
    """

    def __init__(self, chain: Chain, *, gravity: ArrayLike = GRAVITY, payload: Payload | None = None):
        vector = np.array(gravity, dtype=np.float64)
        if vector.shape != (3,) or not np.isfinite(vector).all():
            raise InputError(f"gravity is {gravity!r}; give three finite numbers in the base frame [m/s²]")
        self.chain, self.gravity, self.payload = chain, vector, payload
        suffix = "" if payload is None else "_payload"
        extras: tuple[Array, ...] = () if payload is None else (np.array(payload.parameters),)
        self._inverse: Any = bind(chain, f"inverse_dynamics{suffix}")
        self._forward: Any = bind(chain, f"forward_dynamics{suffix}")
        self._inputs = (vector, *extras)
        self._weightless = (np.zeros(3), *extras)
        n = chain.n
        self._zero = np.zeros(n)
        self._sum, self._difference, self._twice = np.empty(n), np.empty(n), np.empty(n)
        self._half = np.empty(n)

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array, out: Array) -> None:
        """Efforts for a motion: M qdd + C qd + g [N m or N], shape (n,)."""
        if not self._inverse(q, qd, qdd, *self._inputs, out):
            out.fill(math.nan)

    def gravity_forces(self, q: Array, out: Array) -> None:
        """Efforts that hold the arm against gravity [N m or N], shape (n,)."""
        self.inverse_dynamics(q, self._zero, self._zero, out)

    def forward_dynamics(self, q: Array, qd: Array, tau: Array, out: Array) -> None:
        """Accelerations from efforts [rad/s² or m/s²], shape (n,)."""
        if not self._forward(q, qd, tau, *self._inputs, out):
            out.fill(math.nan)

    def passive_dynamics(self, q: Array, qd: Array, qd_ref: Array, qdd_ref: Array, out: Array) -> None:
        """M(q) qdd_ref + C(q, qd) qd_ref + g(q), with the Christoffel C: shape (n,).

        A law built on it leaves the arm's own C(q, qd) in the error dynamics, where its power cancels that of a
        changing M: the closed loop is passive (Paden and Panja 1988), which full cancellation of C qd is not.
        Velocity forces c are quadratic, c(u + w) − c(u − w) = 4 C(u) w, so three passes of RNEA give it without
        a matrix.
        """
        np.add(qd, qd_ref, self._sum)
        np.subtract(qd, qd_ref, self._difference)
        np.add(qdd_ref, qdd_ref, self._twice)
        fine = self._inverse(q, self._sum, self._twice, *self._weightless, out)
        np.negative(self._twice, self._twice)
        fine = fine and self._inverse(q, self._difference, self._twice, *self._weightless, self._half)
        if not fine:
            out.fill(math.nan)
            return
        np.subtract(out, self._half, out)
        np.multiply(out, 0.25, out)
        self.gravity_forces(q, self._half)
        np.add(out, self._half, out)
