"""Reference generator and stable PD servo of the simulated drives.

The reference accelerates, cruises and decelerates to a position command and ramps to a velocity command. A braking
joint has its reference at its measured position until it stops. The distance between reference and joint is limited: a
reference far ahead of a blocked joint would accelerate it on release, and the servo is at full effort at that distance
anyway.

A stiff PD law as plain torques would be unstable for a light wrist at 1 kHz. Here it acts on the state at the END of
the step, which the dynamics predicts (Tan, Liu, Turk: "Stable Proportional-Derivative Controllers", 2011):

    tau = M rdd + c + g + Kp (r − q − h qd − h² qdd) + Kd (rd − qd − h qdd)   on joints that follow a reference
    qdd = −qd / T                                                             on joints that brake
    tau = given                                                               on joints in EFFORT mode
    M qdd + c + g = tau

One linear solve gives qdd and with it the efforts. A joint on its reference stays on it exactly, and the motion of
joints in EFFORT mode is included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import dynamics
from ..model.chain import Chain, JointLimits
from ..typing import Array

STOPPED_VELOCITY = 0.01
"""A joint slower than this [rad/s or m/s] has stopped."""
UNLIMITED = 1e6
"""In place of a missing acceleration limit [rad/s² or m/s²]."""


@dataclass(eq=False)
class ServoReference:
    """Reference positions, velocities and which joints brake; arrays of shape (n,)."""

    r: Array
    """[rad or m]"""
    rd: Array
    """[rad/s or m/s]"""
    braking: np.ndarray
    limits: JointLimits
    max_lead: Array
    """Maximum distance of the reference from the joint [rad or m]."""

    @classmethod
    def at(cls, q: Array, limits: JointLimits, max_lead: Array) -> ServoReference:
        """At rest at a position."""
        return cls(q.copy(), np.zeros_like(q), np.zeros(len(q), dtype=bool), limits, max_lead)

    def copy(self) -> ServoReference:
        """A deep copy."""
        return ServoReference(self.r.copy(), self.rd.copy(), self.braking.copy(), self.limits, self.max_lead)

    def start(self, which: np.ndarray, q: Array, qd: Array) -> None:
        """Start at the measured positions and velocities of these joints."""
        self.r[which], self.rd[which], self.braking[which] = q[which], qd[which], False

    def brake(self, which: np.ndarray) -> None:
        """Brake these joints."""
        self.rd[which], self.braking[which] = 0.0, True

    def advance(
        self, q: Array, qd: Array, command: Array, to_position: np.ndarray, at_velocity: np.ndarray, h: float
    ) -> tuple[Array, Array, Array]:
        """Advance by one step.

        Args:
            q: Measured positions [rad or m], shape (n,).
            qd: Measured velocities [rad/s or m/s], shape (n,).
            command: Commanded positions or velocities [rad or m, rad/s or m/s], shape (n,).
            to_position: Joints whose command is a position, shape (n,).
            at_velocity: Joints whose command is a velocity, shape (n,).
            h: Length of the step [s].

        Returns:
            Positions and velocities at the end of the step, and the acceleration in the step, each of shape (n,).
        """
        if self.braking.any():
            self.r[self.braking] = q[self.braking]
            self.braking &= np.abs(qd) > STOPPED_VELOCITY
        moving = to_position | at_velocity
        before = self.rd.copy()
        if moving.any():
            self._move(q, command, to_position, moving, h)
        return self.r, self.rd, (self.rd - before) / h

    def _move(self, q: Array, command: Array, to_position: np.ndarray, moving: np.ndarray, h: float) -> None:
        limits = self.limits
        change = h * np.minimum(limits.acceleration, UNLIMITED)
        distance = np.where(to_position, command - self.r, 0.0)
        # The fastest velocity from which steps of this change still stop within the distance.
        stoppable = np.sqrt(0.25 * change**2 + 2.0 * (change / h) * np.abs(distance)) - 0.5 * change
        fastest = np.minimum(np.minimum(stoppable, np.abs(distance) / h), limits.velocity)
        wanted = np.where(to_position, np.copysign(fastest, distance), command)
        rd = np.minimum(np.maximum(wanted, self.rd - change), self.rd + change)
        r = np.minimum(np.maximum(self.r + h * rd, q - self.max_lead), q + self.max_lead)
        r = np.minimum(np.maximum(r, limits.lower), limits.upper)
        # The actual change of the reference: less than wanted at a limit or at the maximum lead.
        self.rd[moving] = ((r - self.r) / h)[moving]
        self.r[moving] = r[moving]


FULL_EFFORT_DEFLECTION = {True: 0.02, False: 0.002}
"""Deflection at which a revolute [rad] or prismatic [m] joint applies its full effort."""
UNLIMITED_FREQUENCY = 60.0
"""Natural frequency of a joint whose effort has no limit [rad/s]."""
BRAKE_TIME = 0.003
"""Time constant of a braking joint [s], within its effort limit."""


class Servo:
    """Efforts that brake joints of one robot or move them to their references."""

    def __init__(self, chain: Chain, gravity_base: Array, time_step: float):
        """Prepare for a chain.

        Args:
            gravity_base: In the base frame [m/s²], shape (3,).
            time_step: Length of a physics step [s].
        """
        self._chain, self._gravity, self._h = chain, gravity_base, time_step
        self._effort_limit = chain.limits.effort
        limited = np.isfinite(chain.limits.effort)
        deflection = np.empty(chain.n)
        for body in chain.bodies:
            if body.joint == chain.joint_names[body.dof]:
                deflection[body.dof] = FULL_EFFORT_DEFLECTION[body.revolute]
        self.max_lead = deflection
        """Maximum distance of a reference from its joint [rad or m], shape (n,)."""
        self._stiffness = np.where(limited, chain.limits.effort, 0.0) / deflection
        self._stiffness_per_inertia = np.where(limited, 0.0, UNLIMITED_FREQUENCY**2)
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
            rdd: Reference accelerations in the step [rad/s² or m/s²], shape (n,).
            servo: Which joints the servo drives, shape (n,).
            braking: Which of them brake, shape (n,).
            given: Efforts on the others [N m or N], shape (n,).

        Returns:
            Efforts on all joints [N m or N], shape (n,); those of the servo are not limited yet.
        """
        h = self._h
        M = dynamics.mass_matrix(self._chain, q)
        bias = dynamics.inverse_dynamics(self._chain, q, qd, self._zeros, gravity=self._gravity)
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
        wanted = self._limited_stop(M @ qdd + bias, M @ slower, braking)
        return np.where(servo, wanted, given)

    def _limited_stop(self, steady: Array, stop: Array, braking: np.ndarray) -> Array:
        """Adds the stopping efforts, all scaled by the same factor if one exceeds its limit.

        Clipping a single effort would change the direction of the deceleration: a wrist that brakes against a
        shoulder that does not can reach ten times its speed.
        """
        available = np.where(stop > 0.0, self._effort_limit - steady, self._effort_limit + steady)
        needed = np.abs(stop)
        active = braking & (needed > 1e-12)
        scale = np.min(available[active] / needed[active], initial=1.0)
        return steady + max(scale, 0.0) * stop
