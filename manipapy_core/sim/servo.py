"""The moving point that the servo follows: within the joint's limits, and never far from the joint.

A position command is reached by speeding up, cruising and slowing down; a velocity command is ramped to; a braking
joint has its reference where it is until it stands, and keeps it there. A reference that runs ahead of a blocked joint
would let it shoot off later, so a leash keeps the two together; at its end the servo pushes with all its effort anyway.

The servo that brakes joints, holds them or moves them to a reference, and is stable however stiff it is.

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

from dataclasses import dataclass

import numpy as np

from ..compiler import kernels_of
from ..model.chain import Chain, JointLimits
from ..typing import Array

STILL = 0.01
"""A joint slower than this [rad/s or m/s] has stopped."""
UNLIMITED = 1e6
"""Stands for a missing acceleration limit [rad/s² or m/s²]."""


@dataclass(eq=False)
class ServoReference:
    """Reference positions, velocities and which joints still brake; arrays of shape (n,)."""

    r: Array
    """[rad or m]"""
    rd: Array
    """[rad/s or m/s]"""
    braking: np.ndarray
    limits: JointLimits
    leash: Array
    """[rad or m]"""

    @classmethod
    def at(cls, q: Array, limits: JointLimits, leash: Array) -> ServoReference:
        """Standing at a position."""
        return cls(q.copy(), np.zeros_like(q), np.zeros(len(q), dtype=bool), limits, leash)

    def copy(self) -> ServoReference:
        """The same in arrays of its own."""
        return ServoReference(self.r.copy(), self.rd.copy(), self.braking.copy(), self.limits, self.leash)

    def start(self, which: np.ndarray, q: Array, qd: Array) -> None:
        """Begin where these joints are, with the velocity they have."""
        self.r[which], self.rd[which], self.braking[which] = q[which], qd[which], False

    def brake(self, which: np.ndarray) -> None:
        """Bring these joints to a stop and remember where."""
        self.rd[which], self.braking[which] = 0.0, True

    def advance(
        self, q: Array, qd: Array, command: Array, to_position: np.ndarray, at_velocity: np.ndarray, h: float
    ) -> tuple[Array, Array, Array]:
        """Move on by one step.

        Args:
            q: Measured positions [rad or m], shape (n,).
            qd: Measured velocities [rad/s or m/s], shape (n,).
            command: What the joints were told [rad or m, rad/s or m/s], shape (n,).
            to_position: Joints whose command is a position, shape (n,).
            at_velocity: Joints whose command is a velocity, shape (n,).
            h: Length of the step [s].

        Returns:
            Positions and velocities at the end of the step, and the acceleration on the way, each of shape (n,).
        """
        if self.braking.any():
            self.r[self.braking] = q[self.braking]
            self.braking &= np.abs(qd) > STILL
        moving = to_position | at_velocity
        before = self.rd.copy()
        if moving.any():
            self._move(q, command, to_position, moving, h)
        return self.r, self.rd, (self.rd - before) / h

    def _move(self, q: Array, command: Array, to_position: np.ndarray, moving: np.ndarray, h: float) -> None:
        limits = self.limits
        change = h * np.minimum(limits.acceleration, UNLIMITED)
        distance = np.where(to_position, command - self.r, 0.0)
        # The fastest from which steps of this change still stop within the distance.
        stoppable = np.sqrt(0.25 * change**2 + 2.0 * (change / h) * np.abs(distance)) - 0.5 * change
        fastest = np.minimum(np.minimum(stoppable, np.abs(distance) / h), limits.velocity)
        wanted = np.where(to_position, np.copysign(fastest, distance), command)
        rd = np.minimum(np.maximum(wanted, self.rd - change), self.rd + change)
        r = np.minimum(np.maximum(self.r + h * rd, q - self.leash), q + self.leash)
        r = np.minimum(np.maximum(r, limits.lower), limits.upper)
        # What the reference really did: at a limit or at the end of the leash that is less than wanted.
        self.rd[moving] = ((r - self.r) / h)[moving]
        self.r[moving] = r[moving]


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
        self._kernels, self._gravity, self._h = kernels_of(chain), gravity_base, time_step
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
