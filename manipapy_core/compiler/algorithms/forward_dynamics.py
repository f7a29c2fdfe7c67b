"""Joint accelerations from efforts: articulated bodies, or a factorisation where joints are coupled by mimic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..mechanism import JointMotion, Mechanism, joint_motions
from ..spatial import (
    ZERO,
    Matrix,
    Symmetric,
    Vector,
    add,
    cross,
    dot,
    full,
    matmul,
    matvec,
    matvec_transposed,
    scale,
    skew,
    subtract,
    symmetric_matvec,
)
from . import ldl
from .dynamics import RigidInertia, inverse_dynamics, loaded_inertias, mass_matrix_rows, momentum_of, wrench_in_body

FACTORISE_UP_TO = 9
"""Joints up to which factoring the mass matrix takes fewer operations than the articulated-body recursion."""


def forward_dynamics(
    mechanism: Mechanism, q: Any, qd: Any, tau: Any, gravity: Vector, wrench_tip: Any = None, payload: Any = None
) -> list[Any]:
    """Accelerations M⁻¹ (tau − C qd − g − J_body^T wrench_tip)."""
    small = mechanism.n <= FACTORISE_UP_TO
    solve = _by_factorisation if mechanism.coupled or small else _by_articulated_bodies
    return solve(mechanism, q, qd, tau, gravity, wrench_tip, payload)


def _by_factorisation(
    mechanism: Mechanism, q: Any, qd: Any, tau: Any, gravity: Vector, wrench_tip: Any, payload: Any
) -> list[Any]:
    """Several joints on one element of q break the articulated-body recursion, so M is factored instead."""
    n = mechanism.n
    motions = joint_motions(mechanism, q)
    M = mass_matrix_rows(mechanism, motions, loaded_inertias(mechanism, payload))
    bias = inverse_dynamics(mechanism, q, qd, [0.0] * n, gravity, wrench_tip, payload)
    return ldl.solve(M, subtract(tau, bias))


@dataclass
class _Articulated:
    """Inertia of a body with everything behind it free to move, and the force it needs at zero acceleration.

    The 6×6 inertia is kept in blocks: angular A, coupling B (force of acceleration to moment), linear D.
    """

    A: Symmetric
    B: Matrix
    D: Symmetric
    moment: Vector
    force: Vector

    def add(self, other: _Articulated) -> None:
        self.A, self.B, self.D = add(self.A, other.A), add(self.B, other.B), add(self.D, other.D)
        self.moment, self.force = add(self.moment, other.moment), add(self.force, other.force)


@dataclass(frozen=True)
class _JointSolve:
    """What the last sweep needs of one joint: inertia along its axis, one over its own inertia, leftover effort."""

    moment: Vector
    force: Vector
    inverse: Any
    effort: Any


def _by_articulated_bodies(
    mechanism: Mechanism, q: Any, qd: Any, tau: Any, gravity: Vector, wrench_tip: Any, payload: Any
) -> list[Any]:
    """Featherstone's articulated-body algorithm: velocities out, inertias in, accelerations out."""
    bodies, motions = mechanism.bodies, joint_motions(mechanism, q)
    inertias = loaded_inertias(mechanism, payload)
    biases: list[tuple[list[Any], list[Any]]] = []
    twists: list[tuple[list[Any], list[Any]]] = []
    articulated: list[_Articulated] = []
    for body, motion, inertia in zip(bodies, motions, inertias):
        w, v = twists[body.parent] if body.parent >= 0 else (ZERO, ZERO)
        v = motion.to_child(add(v, cross(w, motion.translation)))
        w = motion.to_child(w)
        rate = qd[body.dof] * body.ratio
        turned = [w[1] * rate, -(w[0] * rate), 0.0]
        if body.revolute:
            biases.append((turned, [v[1] * rate, -(v[0] * rate), 0.0]))
            w = [w[0], w[1], w[2] + rate]
        else:
            biases.append((list(ZERO), turned))
            v = [v[0], v[1], v[2] + rate]
        twists.append((w, v))
        articulated.append(_rigid(inertia, w, v))
    if wrench_tip is not None and mechanism.tip.body >= 0:
        moment, force = wrench_in_body(mechanism.tip, wrench_tip)
        held = articulated[mechanism.tip.body]
        held.moment, held.force = add(held.moment, moment), add(held.force, force)

    solved: list[Any] = [None] * len(bodies)
    for index in reversed(range(len(bodies))):
        body, held = bodies[index], articulated[index]
        solved[index] = joint = _solve_joint(body.revolute, held, tau[body.dof] * (1.0 / body.ratio))
        if body.parent >= 0:
            _free_joint(body.revolute, held, joint, biases[index])
            articulated[body.parent].add(_to_parent(motions[index], held))

    accelerations: list[tuple[list[Any], list[Any]]] = []
    qdd: list[Any] = [0.0] * mechanism.n
    for index, (body, motion) in enumerate(zip(bodies, motions)):
        dw, a = accelerations[body.parent] if body.parent >= 0 else (ZERO, scale(-1.0, gravity))
        a = add(motion.to_child(add(a, cross(dw, motion.translation))), biases[index][1])
        dw = add(motion.to_child(dw), biases[index][0])
        joint = solved[index]
        rate = (joint.effort - dot(joint.moment, dw) - dot(joint.force, a)) * joint.inverse
        qdd[body.dof] = rate * (1.0 / body.ratio)
        if body.revolute:
            dw = [dw[0], dw[1], dw[2] + rate]
        else:
            a = [a[0], a[1], a[2] + rate]
        accelerations.append((dw, a))
    return qdd


def _rigid(inertia: RigidInertia, w: Vector, v: Vector) -> _Articulated:
    """A body on its own: its rigid inertia and the force that its velocity needs, twist ×* momentum."""
    moment, force = momentum_of(inertia, w, v)
    m = inertia.mass
    return _Articulated(
        A=list(inertia.inertia),
        B=skew(inertia.moment),
        D=[m, 0.0, 0.0, m, 0.0, m],
        moment=add(cross(w, moment), cross(v, force)),
        force=cross(w, force),
    )


def _solve_joint(revolute: bool, inertia: _Articulated, effort: Any) -> _JointSolve:
    A, B, D = inertia.A, inertia.B, inertia.D
    if revolute:
        return _JointSolve([A[2], A[4], A[5]], list(B[6:9]), 1.0 / A[5], effort - inertia.moment[2])
    return _JointSolve([B[2], B[5], B[8]], [D[2], D[4], D[5]], 1.0 / D[5], effort - inertia.force[2])


def _free_joint(revolute: bool, inertia: _Articulated, joint: _JointSolve, bias: tuple[Vector, Vector]) -> None:
    """Takes out what the joint yields, so that only the rest acts on the parent."""
    n, f = scale(joint.inverse, joint.moment), scale(joint.inverse, joint.force)
    N, F = joint.moment, joint.force
    A = subtract(inertia.A, [n[0] * N[0], n[0] * N[1], n[0] * N[2], n[1] * N[1], n[1] * N[2], n[2] * N[2]])
    D = subtract(inertia.D, [f[0] * F[0], f[0] * F[1], f[0] * F[2], f[1] * F[1], f[1] * F[2], f[2] * F[2]])
    B = [inertia.B[3 * r + c] - n[r] * F[c] for r in range(3) for c in range(3)]
    # Along the axis nothing is left; exact zeros keep the parent's program short.
    if revolute:
        A[2] = A[4] = A[5] = B[6] = B[7] = B[8] = 0.0
    else:
        D[2] = D[4] = D[5] = B[2] = B[5] = B[8] = 0.0
    dw, a = bias
    inertia.moment = add(inertia.moment, add(symmetric_matvec(A, dw), matvec(B, a)), scale(joint.effort, n))
    inertia.force = add(inertia.force, add(matvec_transposed(B, dw), symmetric_matvec(D, a)), scale(joint.effort, f))
    inertia.A, inertia.B, inertia.D = A, B, D


def _to_parent(motion: JointMotion, inertia: _Articulated) -> _Articulated:
    """Turns to the parent's axes and moves to its origin: A − B P + (B P)^T … − P D P and B + P D, P = [p]×."""
    A, D = motion.symmetric_to_parent(inertia.A), motion.symmetric_to_parent(inertia.D)
    B = motion.matrix_to_parent(inertia.B)
    force = motion.to_parent(inertia.force)
    moment = add(motion.to_parent(inertia.moment), cross(motion.translation, force))
    P = skew(motion.translation)
    PD = matmul(P, full(D))
    BP, PDP = matmul(B, P), matmul(PD, P)
    pairs = ((0, 0), (1, 3), (2, 6), (4, 4), (5, 7), (8, 8))
    moved = [A[k] - BP[ij] - BP[ji] - PDP[ij] for k, (ij, ji) in enumerate(pairs)]
    return _Articulated(moved, add(B, PD), D, moment, force)
