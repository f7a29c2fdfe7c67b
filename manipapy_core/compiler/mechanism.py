"""The numbers of a chain in the form the algorithms want: every joint axis is z of its body's frame.

With z as the axis a joint's motion touches two components only, and an axis-aligned robot turns most constants into
exact zeros and ones, which the tracer then removes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.chain import Chain
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
class Placement:
    """A fixed pose in the frame of a body (or of the base, body -1)."""

    body: int
    rotation: Matrix
    translation: Vector


@dataclass(frozen=True)
class Body:
    """What moves with one joint, all in the frame whose z axis is the joint axis."""

    parent: int
    """Index of the body that carries the joint, -1 for the base."""
    rotation: Matrix
    translation: Vector
    """Pose of the joint frame in the parent's frame at q = 0."""
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
    link: Placement
    """Frame of the link that the joint leads to: where inertial parameters are counted."""


@dataclass(frozen=True)
class Mechanism:
    """A fixed-base tree of bodies, parents before children, with one tip."""

    n: int
    bodies: tuple[Body, ...]
    tip: Placement
    links: tuple[Placement, ...]

    @property
    def coupled(self) -> bool:
        """True if one element of q moves several joints."""
        return len(self.bodies) != self.n

    def digest(self) -> str:
        """Identifies the numbers, whatever robot they came from. repr of a float is exact."""
        return hashlib.sha256(repr((self.n, self.bodies, self.tip, self.links)).encode()).hexdigest()


def from_chain(chain: Chain) -> Mechanism:
    """Turns every frame of the chain so that its joint axis is z."""
    turns = [_turn_z_onto(body.axis) for body in chain.bodies]

    def placement(body: int, T_body_frame: NDArray[np.float64]) -> Placement:
        turn = turns[body] if body >= 0 else np.eye(3)
        return Placement(body, _numbers(turn.T @ T_body_frame[:3, :3]), _numbers(turn.T @ T_body_frame[:3, 3]))

    bodies = []
    for body, turn in zip(chain.bodies, turns):
        joint = placement(body.parent, body.T_parent_body)
        bodies.append(
            Body(
                parent=body.parent,
                rotation=_numbers(np.reshape(joint.rotation, (3, 3)) @ turn),
                translation=joint.translation,
                revolute=body.revolute,
                dof=body.dof,
                ratio=float(body.ratio),
                mass=float(body.mass),
                moment=_numbers(turn.T @ body.moment),
                inertia=_symmetric(turn.T @ body.inertia @ turn),
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
        angle_or_distance = q[body.dof] * body.ratio
        if body.revolute:
            self.sine, self.cosine = sincos(angle_or_distance)
            self.translation: Vector = body.translation
        else:
            self.translation = add(body.translation, scale(angle_or_distance, body.rotation[2::3]))

    def to_parent(self, v: Vector) -> list[Any]:
        """Turns a vector from the body's axes to the parent's."""
        return matvec(self.body.rotation, rotate_z(v, self.sine, self.cosine) if self.body.revolute else v)

    def to_child(self, v: Vector) -> list[Any]:
        """Turns a vector from the parent's axes to the body's."""
        turned = matvec_transposed(self.body.rotation, v)
        return rotate_z_back(turned, self.sine, self.cosine) if self.body.revolute else turned

    @property
    def rotation(self) -> list[Any]:
        R = self.body.rotation
        if not self.body.revolute:
            return list(R)
        s, c = self.sine, self.cosine
        return [
            entry
            for row in (R[0:3], R[3:6], R[6:9])
            for entry in (row[0] * c + row[1] * s, row[1] * c - row[0] * s, row[2])
        ]

    def symmetric_to_parent(self, S: Symmetric) -> list[Any]:
        """R S R^T, with the turn about z done first in its cheap form."""
        if self.body.revolute:
            s, c = self.sine, self.cosine
            xx, xy, xz, yy, yz, zz = S
            cc, ss, cs = c * c, s * s, c * s
            half = cs * xy
            twice = half + half
            S = [
                cc * xx + ss * yy - twice,
                cs * (xx - yy) + (cc - ss) * xy,
                c * xz - s * yz,
                ss * xx + cc * yy + twice,
                s * xz + c * yz,
                zz,
            ]
        return congruence(self.body.rotation, S)

    def matrix_to_parent(self, A: Matrix) -> list[Any]:
        """R A R^T."""
        R = self.rotation
        return matmul(matmul(R, A), transpose(R))


def joint_motions(mechanism: Mechanism, q: Any) -> list[JointMotion]:
    return [JointMotion(body, q) for body in mechanism.bodies]


def along_axis(body: Body, angular: Vector, linear: Vector) -> Any:
    """The part of a wrench (or twist) that the joint feels, per unit of its element of q."""
    return (angular[2] if body.revolute else linear[2]) * body.ratio


def _turn_z_onto(axis: NDArray[np.float64]) -> NDArray[np.float64]:
    """A rotation that carries z to the axis; a signed permutation where the axis is along a coordinate."""
    for k in range(3):
        if abs(abs(axis[k]) - 1.0) < SNAP:
            turn = np.roll(np.eye(3), k + 1, axis=0)  # cyclic: z -> x, y or z
            return turn if axis[k] > 0 else turn @ np.diag([1.0, -1.0, -1.0])
    if axis[2] < 0.0:  # 1 + axis[2] would cancel
        return _turn_z_onto(-axis) @ np.diag([1.0, -1.0, -1.0])
    v = np.array([-axis[1], axis[0], 0.0])  # z × axis
    K = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    return np.eye(3) + K + K @ K / (1.0 + axis[2])


def _numbers(values: NDArray[np.float64]) -> tuple[float, ...]:
    """Plain floats with near-exact values snapped."""
    return tuple(_snap(float(value)) for value in np.ravel(values))


def _symmetric(A: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(float(A[r, c]) for r, c in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))


def _snap(value: float) -> float:
    for exact in (0.0, 1.0, -1.0):
        if abs(value - exact) < SNAP:
            return exact
    return value
