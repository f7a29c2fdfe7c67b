"""The servo that brakes joints, holds them or moves them to a reference, and is stable however stiff it is.

A stiff spring and damper as plain torques would shake a light wrist at 1 kHz. Here they act on the state at the END of
the step, which the dynamics predicts (Tan, Liu, Turk: "Stable Proportional-Derivative Controllers", 2011):

    tau = M rdd + c + g + Kp (r − q − h qd − h² qdd) + Kd (rd − qd − h qdd)   on joints that follow a reference
    qdd = −qd / T                                                             on joints that brake
    tau = given                                                               on joints that somebody else drives
    M qdd + c + g = tau

One linear solve gives qdd, and with it the efforts. A joint that is on its reference stays on it exactly, and joints
that others drive are reckoned with.
"""

from __future__ import annotations

import numpy as np

from ..model.chain import Chain
from ..model.elements import Array

FULL_EFFORT_AT = {True: 0.02, False: 0.002}
"""Deflection at which a rotating [rad] or sliding [m] joint pushes with all its effort."""
STIFF_WITHOUT_LIMIT = 60.0
"""Natural frequency of a joint whose effort has no limit [rad/s]."""
BRAKE_TIME = 0.003
"""A braking joint loses its speed with this time constant [s] if its effort suffices."""


class Servo:
    """Efforts of one robot that bring some of its joints to a stop or to their references."""

    def __init__(self, chain: Chain, gravity_base: Array, time_step: float):
        """Prepare for a chain.

        Args:
            gravity_base: In the base frame [m/s²], shape (3,).
            time_step: Length of a physics step [s].
        """
        self._kernels, self._gravity, self._h = chain.kernels, gravity_base, time_step
        self._effort_limit = chain.limits.effort
        limited = np.isfinite(chain.limits.effort)
        deflection = np.empty(chain.n)
        for body in chain.bodies:
            if body.joint == chain.joint_names[body.dof]:
                deflection[body.dof] = FULL_EFFORT_AT[body.revolute]
        self.leash = deflection
        """How far a reference may run ahead of the joint [rad or m], shape (n,)."""
        self._stiffness = np.where(limited, chain.limits.effort, 0.0) / deflection
        self._stiffness_per_inertia = np.where(limited, 0.0, STIFF_WITHOUT_LIMIT**2)
        self._brake_rate = 1.0 / max(BRAKE_TIME, 2.0 * time_step)
        self._zeros = np.zeros(chain.n)

    def efforts(
        self,
        q: Array,
        qd: Array,
        r: Array,
        rd: Array,
        rdd: Array,
        servo: np.ndarray,
        braking: np.ndarray,
        given: Array,
    ) -> Array:
        """Efforts for the next step.

        Args:
            q: Joint positions [rad or m], shape (n,).
            qd: Joint velocities [rad/s or m/s], shape (n,).
            r: Reference positions at the end of the step, shape (n,).
            rd: Reference velocities at the end of the step, shape (n,).
            rdd: How they change in the step [rad/s² or m/s²], shape (n,).
            servo: Which joints the servo drives, shape (n,).
            braking: Which of them are to be stopped, shape (n,).
            given: Efforts on the others [N m or N], shape (n,).

        Returns:
            Efforts on all joints [N m or N], shape (n,); those of the servo are not limited yet.
        """
        h = self._h
        M = self._kernels.mass_matrix.run(q)
        bias = self._kernels.inverse_dynamics.run(q, qd, self._zeros, self._gravity)
        inertia = M.diagonal()
        stiffness = self._stiffness + self._stiffness_per_inertia * inertia
        damping = 2.0 * np.sqrt(stiffness * inertia)
        pull = stiffness * (r - q - h * qd) + damping * (rd - qd)
        A = M.copy()
        A.flat[:: len(q) + 1] += servo * (h * damping + h * h * stiffness)
        b = np.where(servo, pull + M @ rdd, given - bias)
        if not braking.any():
            wanted = M @ np.linalg.solve(A, b) + bias
            return np.where(servo, wanted, given)
        A[braking] = np.eye(len(q))[braking]
        b[braking] = 0.0
        stop = np.where(braking, -self._brake_rate * qd, 0.0)
        qdd, slower = np.linalg.solve(A, np.stack([b, stop], axis=1)).T
        wanted = self._as_hard_as_possible(M @ qdd + bias, M @ slower, braking)
        return np.where(servo, wanted, given)

    def _as_hard_as_possible(self, steady: Array, stop: Array, braking: np.ndarray) -> Array:
        """Adds the stopping efforts, all weakened by the same factor if one of them is beyond its limit.

        Cutting only the one that is too large would turn the deceleration: a wrist that brakes against a shoulder
        that does not would spin up to ten times its speed.
        """
        room = np.where(stop > 0.0, self._effort_limit - steady, self._effort_limit + steady)
        needs = np.abs(stop)
        asking = braking & (needs > 1e-12)
        share = np.min(room[asking] / needs[asking], initial=1.0)
        return steady + max(share, 0.0) * stop
