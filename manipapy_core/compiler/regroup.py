"""Moves inertia from each body to its parent where the arm cannot feel the difference.

What is symmetric about a revolute axis (and has no inertia about it) has the same energy on either side of the joint:
the mass placed on the axis, the first moment along it, and equal inertia about x and y. A prismatic joint does not
turn its body, so the whole rotational inertia may go. The equations of motion stay exactly the same, and a serial arm
is left with seven numbers per revolute body instead of ten (the base parameters of Gautier and Khalil). Only reaction
forces inside the structure change, and none of the algorithms here gives those.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import lie
from ..model.chain import Chain
from ..model.elements import Array


@dataclass
class BodyInertia:
    """Inertia in a frame: mass, first moment (3,), inertia about its origin (3, 3)."""

    mass: float
    moment: Array
    inertia: Array

    def seen_from(self, T: Array) -> BodyInertia:
        """In the frame in which this one's pose is T."""
        R, p = T[:3, :3], T[:3, 3]
        h, P = R @ self.moment, lie.hat(p)
        H = lie.hat(h)
        return BodyInertia(
            self.mass, h + self.mass * p, R @ self.inertia @ R.T - H @ P - P @ H - self.mass * P @ P
        )

    def add(self, other: BodyInertia) -> None:
        self.mass += other.mass
        self.moment = self.moment + other.moment
        self.inertia = self.inertia + other.inertia


def regrouped_inertias(chain: Chain, frames: list[Array]) -> list[BodyInertia]:
    """Inertia of every body in its chosen frame (z along the joint axis), regrouped from the tips to the base."""
    inertias = [
        BodyInertia(body.mass, body.moment, body.inertia).seen_from(lie.inverse(frame))
        for body, frame in zip(chain.bodies, frames)
    ]
    for body, frame, inertia in reversed(list(zip(chain.bodies, frames, inertias))):
        moved = _unfelt(body.revolute, inertia)
        inertia.add(BodyInertia(-moved.mass, -moved.moment, -moved.inertia))
        if body.parent >= 0:
            T_parent_frame = lie.inverse(frames[body.parent]) @ body.T_parent_body @ frame
            inertias[body.parent].add(moved.seen_from(T_parent_frame))
    return inertias


def _unfelt(revolute: bool, inertia: BodyInertia) -> BodyInertia:
    if not revolute:
        return BodyInertia(0.0, np.zeros(3), inertia.inertia.copy())
    iyy = inertia.inertia[1, 1]
    return BodyInertia(inertia.mass, np.array([0.0, 0.0, inertia.moment[2]]), np.diag([iyy, iyy, 0.0]))
