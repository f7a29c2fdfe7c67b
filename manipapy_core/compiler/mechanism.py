"""The mechanism of a chain in the form the algorithms use: every joint axis is z of its body's frame.

With z as the axis a joint's motion touches two components only. The frames are chosen, and the inertias regrouped,
so that as many constants as possible are exactly zero or one; the tracer removes those.

Regrouping moves inertia from each body to its parent where it has no effect on joint motion. What is symmetric about a
revolute axis (and has no inertia about it) has the same energy on either side of the joint: the mass placed on the
axis, the first moment along it, and equal inertia about x and y. A prismatic joint does not turn its body, so the whole
rotational inertia may go. The equations of motion stay exactly the same, and a serial arm is left with seven numbers
per revolute body instead of ten (the base parameters of Gautier and Khalil). Only reaction forces inside the structure
change, and none of the algorithms here gives those.
"""

from __future__ import annotations

import functools
import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import lie
from ..model.chain import Chain
from ..typing import Array
from .frames import choose_frames
from .scalar import sincos
from .spatial import (
    Matrix,
    Symmetric,
    Vector,
    add,
    congruence,
    matmul,
    matvec,
    matvec_transposed,
    rotate_z,
    rotate_z_back,
    scale,
    transpose,
)

SNAP = 1e-12
"""Constants this close to 0 or ±1 are taken as exact: far below the accuracy of any robot description."""


@dataclass(frozen=True)
class JointPlacement:
    """A fixed pose in the frame of a body (or of the base, body -1)."""

    body: int
    rotation: Matrix
    translation: Vector


@dataclass(frozen=True)
class Body:
    """A rigid body that moves with one joint, in the frame whose z axis is the joint axis."""

    parent: int
    """Index of the body that carries the joint, -1 for the base."""
    rotation: Matrix
    translation: Vector
    """Pose of the joint frame in the parent's frame, before it turns or slides."""
    turn: float
    """About z, at q = 0 [rad]."""
    revolute: bool
    dof: int
    """Which element of q moves it."""
    ratio: float
    """Joint motion per unit of that element; not 1 for mimic joints and their like."""
    mass: float
    moment: Vector
    """Mass times centre of mass [kg m]."""
    inertia: Symmetric
    """About the frame's origin [kg m²]."""
    link: JointPlacement
    """Frame of the link that the joint leads to: where inertial parameters are counted."""


@dataclass(frozen=True)
class Mechanism:
    """A fixed-base tree of bodies, parents before children, with one tip."""

    n: int
    bodies: tuple[Body, ...]
    tip: JointPlacement
    links: tuple[JointPlacement, ...]

    @property
    def coupled(self) -> bool:
        """True if one element of q moves several joints."""
        return len(self.bodies) != self.n

    def digest(self) -> str:
        """Identifies the numbers, whatever robot they came from."""
        return self._digest

    @functools.cached_property
    def _digest(self) -> str:
        # repr of a float is exact
        return hashlib.sha256(repr((self.n, self.bodies, self.tip, self.links)).encode()).hexdigest()


def mechanism_of(chain: Chain) -> Mechanism:
    """The chain in well-chosen frames, with inertias regrouped towards the base; made once per chain."""
    kept: Mechanism | None = chain.__dict__.get("_mechanism")
    if kept is None:
        kept = chain.__dict__.setdefault("_mechanism", _mechanism_of(chain))
    return kept


def _mechanism_of(chain: Chain) -> Mechanism:
    frames = choose_frames(chain)

    def placement(body: int, T_body_frame: Array) -> JointPlacement:
        T = lie.inverse(frames[body]) @ T_body_frame if body >= 0 else T_body_frame
        return JointPlacement(body, _numbers(T[:3, :3]), _numbers(T[:3, 3]))

    bodies: list[Body] = []
    for body, frame, inertia in zip(chain.bodies, frames, regrouped_inertias(chain, frames)):
        joint = placement(body.parent, body.T_parent_body @ frame)
        rotation, turn = _split_turn(joint.rotation)
        bodies.append(
            Body(
                parent=body.parent,
                rotation=rotation,
                translation=joint.translation,
                turn=turn,
                revolute=body.revolute,
                dof=body.dof,
                ratio=float(body.ratio),
                mass=_snap(inertia.mass),
                moment=_numbers(inertia.moment),
                inertia=_numbers(inertia.inertia[np.triu_indices(3)]),
                link=placement(len(bodies), body.T_body_link),
            )
        )
    return Mechanism(
        n=chain.n,
        bodies=tuple(bodies),
        tip=placement(chain.tip_body, chain.T_body_tip),
        links=tuple(placement(body, T) for body, T in chain.link_placements),
    )


class JointMotion:
    """The pose of one body in its parent's frame at a joint position, applied rather than multiplied out."""

    def __init__(self, body: Body, q: Any):
        self.body = body
        position = q[body.dof] * body.ratio
        if body.revolute:
            self.sine, self.cosine = _turned(body.turn, position)
            self.translation: Vector = body.translation
        else:
            self.sine, self.cosine = _turned(body.turn, None)
            self.translation = add(body.translation, scale(position, body.rotation[2::3]))

    def to_parent(self, v: Vector) -> list[Any]:
        """Turns a vector from the body's axes to the parent's."""
        return matvec(self.body.rotation, rotate_z(v, self.sine, self.cosine))

    def to_child(self, v: Vector) -> list[Any]:
        """Turns a vector from the parent's axes to the body's."""
        return rotate_z_back(matvec_transposed(self.body.rotation, v), self.sine, self.cosine)

    @property
    def rotation(self) -> list[Any]:
        R, s, c = self.body.rotation, self.sine, self.cosine
        return [
            entry
            for row in (R[0:3], R[3:6], R[6:9])
            for entry in (row[0] * c + row[1] * s, row[1] * c - row[0] * s, row[2])
        ]

    def symmetric_to_parent(self, S: Symmetric) -> list[Any]:
        """R S R^T, with the turn about z done first in its cheap form."""
        s, c = self.sine, self.cosine
        xx, xy, xz, yy, yz, zz = S
        cc, ss, cs = c * c, s * s, c * s
        half = cs * xy
        twice = half + half
        turned = [
            cc * xx + ss * yy - twice,
            cs * (xx - yy) + (cc - ss) * xy,
            c * xz - s * yz,
            ss * xx + cc * yy + twice,
            s * xz + c * yz,
            zz,
        ]
        return congruence(self.body.rotation, turned)

    def matrix_to_parent(self, A: Matrix) -> list[Any]:
        """R A R^T."""
        R = self.rotation
        return matmul(matmul(R, A), transpose(R))


def joint_motions(mechanism: Mechanism, q: Any) -> list[JointMotion]:
    return [JointMotion(body, q) for body in mechanism.bodies]


def along_axis(body: Body, angular: Vector, linear: Vector) -> Any:
    """Component of a wrench (or twist) along the joint axis, per unit of its element of q."""
    return (angular[2] if body.revolute else linear[2]) * body.ratio


def _turned(turn: float, position: Any) -> tuple[Any, Any]:
    """Sine and cosine of turn + position; quarter turns only exchange and negate them."""
    quarters = round(turn / (0.5 * math.pi))
    if abs(turn - quarters * 0.5 * math.pi) > SNAP:
        return sincos(turn if position is None else position + turn)
    sine, cosine = (0.0, 1.0) if position is None else sincos(position)
    return ((sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine))[quarters % 4]


def _split_turn(rotation: Matrix) -> tuple[Matrix, float]:
    """R = R' Rz(turn) with R' about x alone, where R allows it; a turn of 0 otherwise."""
    if rotation[2] != 0.0:
        return rotation, 0.0
    turn = math.atan2(-rotation[1], rotation[0])
    back = np.array([[math.cos(turn), math.sin(turn), 0], [-math.sin(turn), math.cos(turn), 0], [0, 0, 1]])
    return _numbers(np.reshape(rotation, (3, 3)) @ back), turn


def _numbers(values: Array) -> tuple[float, ...]:
    """Plain floats with near-exact values snapped."""
    return tuple(_snap(float(value)) for value in np.ravel(values))


def _snap(value: float) -> float:
    for exact in (0.0, 1.0, -1.0):
        if abs(value - exact) < SNAP:
            return exact
    return value


@dataclass
class BodyInertia:
    """Inertia in a frame: mass, first moment (3,), inertia about its origin (3, 3)."""

    mass: float
    moment: Array
    inertia: Array

    def expressed_in(self, T: Array) -> BodyInertia:
        """In the frame in which this one's pose is T."""
        R, p = T[:3, :3], T[:3, 3]
        h, P = R @ self.moment, lie.hat(p)
        H = lie.hat(h)
        return BodyInertia(self.mass, h + self.mass * p, R @ self.inertia @ R.T - H @ P - P @ H - self.mass * P @ P)

    def add(self, other: BodyInertia) -> None:
        self.mass += other.mass
        self.moment = self.moment + other.moment
        self.inertia = self.inertia + other.inertia


def regrouped_inertias(chain: Chain, frames: list[Array]) -> list[BodyInertia]:
    """Inertia of every body in its chosen frame (z along the joint axis), regrouped from the tips to the base."""
    inertias = [
        BodyInertia(body.mass, body.moment, body.inertia).expressed_in(lie.inverse(frame))
        for body, frame in zip(chain.bodies, frames)
    ]
    for body, frame, inertia in reversed(list(zip(chain.bodies, frames, inertias))):
        moved = _movable_inertia(body.revolute, inertia)
        inertia.add(BodyInertia(-moved.mass, -moved.moment, -moved.inertia))
        if body.parent >= 0:
            T_parent_frame = lie.inverse(frames[body.parent]) @ body.T_parent_body @ frame
            inertias[body.parent].add(moved.expressed_in(T_parent_frame))
    return inertias


def _movable_inertia(revolute: bool, inertia: BodyInertia) -> BodyInertia:
    if not revolute:
        return BodyInertia(0.0, np.zeros(3), inertia.inertia.copy())
    iyy = inertia.inertia[1, 1]
    return BodyInertia(inertia.mass, np.array([0.0, 0.0, inertia.moment[2]]), np.diag([iyy, iyy, 0.0]))
