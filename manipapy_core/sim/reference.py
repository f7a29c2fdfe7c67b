"""The moving point that the servo follows: within the joint's limits, and never far from the joint.

A position command is reached by speeding up, cruising and slowing down; a velocity command is ramped to; a braking
joint has its reference where it is until it stands, and keeps it there. A reference that runs ahead of a blocked joint
would let it shoot off later, so a leash keeps the two together; at its end the servo pushes with all its effort anyway.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.chain import JointLimits
from ..model.elements import Array

STILL = 0.01
"""A joint slower than this [rad/s or m/s] has stopped."""
UNLIMITED = 1e6
"""Stands for a missing acceleration limit [rad/s² or m/s²]."""


@dataclass(eq=False)
class Reference:
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
    def at(cls, q: Array, limits: JointLimits, leash: Array) -> Reference:
        """Standing at a position."""
        return cls(q.copy(), np.zeros_like(q), np.zeros(len(q), dtype=bool), limits, leash)

    def copy(self) -> Reference:
        """The same in arrays of its own."""
        return Reference(self.r.copy(), self.rd.copy(), self.braking.copy(), self.limits, self.leash)

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
