"""Analytical derivatives of inverse and forward dynamics, on trees.

Singh, Russell and Wensing (2022), "Efficient analytical derivatives of rigid-body dynamics using spatial vector
algebra": with composite inertias I, Coriolis factors B and forces f of the subtree of joint i, and j on the way to it,

    ∂τ_i/∂q_j  = S_iᵀ (2 B Ψ̇_j + I Ψ̈_j)      ∂τ_j/∂q_i  = S_jᵀ (2 B Ψ̇_i + I Ψ̈_i + S_i ×* f)
    ∂τ_i/∂q̇_j = S_iᵀ (2 B S_j + 2 I Ψ̇_j)     ∂τ_j/∂q̇_i = S_jᵀ (2 B S_i + 2 I Ψ̇_i)

where Ψ̇ and Ψ̈ are the first and second rate of a screw axis S that moves with the link before it. The rows and columns
of a joint are forces that travel towards the base, as in `dynamics.coriolis_matrix`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..mechanism import Body, JointMotion, Mechanism, along_axis, joint_motions
from ..spatial import ZERO, Vector, add, cross, dot, matmul, matvec, matvec_transposed, scale, skew, subtract
from . import kinematics, ldl
from .dynamics import (
    RigidInertia,
    inertia_to_parent,
    loaded_inertias,
    momentum_of,
    velocity_factor,
    wrench_in_body,
    wrench_to_parent,
)
from .forward_dynamics import forward_dynamics

Twist = tuple[Vector, Vector]
"""Angular and linear part of a motion, or moment and force."""
_AXIS: Vector = [0.0, 0.0, 1.0]


def inverse_dynamics_derivatives(
    mechanism: Mechanism, q: Any, qd: Any, qdd: Any, gravity: Vector, wrench_tip: Any = None, payload: Any = None
) -> list[Any]:
    """Derivatives of the joint efforts by q, by qd and by qdd: three matrices n×n, row by row."""
    matrices = _matrices(mechanism, q, qd, qdd, gravity, wrench_tip, payload)
    return [entry for matrix in matrices for row in matrix for entry in row]


def forward_dynamics_derivatives(
    mechanism: Mechanism, q: Any, qd: Any, tau: Any, gravity: Vector, wrench_tip: Any = None, payload: Any = None
) -> list[Any]:
    """Derivatives of the joint accelerations by q, by qd and by tau: three matrices n×n, row by row."""
    n = mechanism.n
    qdd = forward_dynamics(mechanism, q, qd, tau, gravity, wrench_tip, payload)
    by_q, by_qd, M = _matrices(mechanism, q, qd, qdd, gravity, wrench_tip, payload)
    columns = [[-row[c] for row in matrix] for matrix in (by_q, by_qd) for c in range(n)]
    columns += [[1.0 if r == c else 0.0 for r in range(n)] for c in range(n)]
    solved = ldl.solve_columns(M, columns)
    return [solved[block * n + c][r] for block in range(3) for r in range(n) for c in range(n)]


def space_jacobian_partials(mechanism: Mechanism, q: Any) -> list[Any]:
    """Derivatives of the space Jacobian by each joint: entries [row][column][joint], in this order."""
    return _partials(kinematics.space_jacobian_derivative, mechanism, q)


def body_jacobian_partials(mechanism: Mechanism, q: Any) -> list[Any]:
    """Derivatives of the body Jacobian by each joint: entries [row][column][joint], in this order."""
    return _partials(kinematics.body_jacobian_derivative, mechanism, q)


def _partials(rate_of_change: Callable[..., list[Any]], mechanism: Mechanism, q: Any) -> list[Any]:
    """The rate of change is linear in the joint velocities: one joint moves at a time."""
    n = mechanism.n
    by_joint = [rate_of_change(mechanism, q, [1.0 if j == k else 0.0 for j in range(n)]) for k in range(n)]
    return [by_joint[k][entry] for entry in range(6 * n) for k in range(n)]


def _matrices(
    mechanism: Mechanism, q: Any, qd: Any, qdd: Any, gravity: Vector, wrench_tip: Any, payload: Any
) -> list[list[list[Any]]]:
    """∂τ/∂q, ∂τ/∂qd and the mass matrix, as rows."""
    n, bodies = mechanism.n, mechanism.bodies
    motions = joint_motions(mechanism, q)
    composite = loaded_inertias(mechanism, payload)
    twists: list[Twist] = []
    accelerations: list[Twist] = []
    first_rates: list[Twist] = []
    second_rates: list[Twist] = []
    factors, momenta, wrenches = [], [], []
    for body, motion, inertia in zip(bodies, motions, composite):
        rest: tuple[Twist, Twist] = ((ZERO, ZERO), (ZERO, scale(-1.0, gravity)))
        parent = (twists[body.parent], accelerations[body.parent]) if body.parent >= 0 else rest
        before, pushed = (_to_child(motion, part) for part in parent)
        first_rates.append(_motion_cross(before, _axis(body)))
        second_rates.append(_sum(_motion_cross(pushed, _axis(body)), _motion_cross(before, first_rates[-1])))
        rate, acceleration = qd[body.dof] * body.ratio, qdd[body.dof] * body.ratio
        twist = _sum(before, _axis(body, rate))
        twists.append(twist)
        accelerations.append(_sum(_sum(pushed, _axis(body, acceleration)), _scaled(rate, first_rates[-1])))
        factor, momentum = velocity_factor(inertia, *twist)
        factors.append(factor)
        momenta.append(momentum)
        inertial = momentum_of(inertia, *accelerations[-1])
        wrenches.append(_sum(inertial, _force_cross(twist, momentum_of(inertia, *twist))))
    if wrench_tip is not None and mechanism.tip.body >= 0:
        wrenches[mechanism.tip.body] = _sum(wrenches[mechanism.tip.body], wrench_in_body(mechanism.tip, wrench_tip))

    by_q, by_qd, M = ([[0.0] * n for _ in range(n)] for _ in range(3))
    for index in reversed(range(len(bodies))):
        body, motion = bodies[index], motions[index]
        inertia, factor, momentum, wrench = composite[index], factors[index], momenta[index], wrenches[index]
        axis = _axis(body, body.ratio)
        rate, change = _scaled(body.ratio, first_rates[index]), _scaled(body.ratio, second_rates[index])
        inertial = momentum_of(inertia, *axis)
        column_q = _sum(
            _sum(_twice(_coriolis(factor, momentum, rate)), momentum_of(inertia, *change)), _force_cross(axis, wrench)
        )
        column_qd = _sum(_twice(_coriolis(factor, momentum, axis)), _twice(momentum_of(inertia, *rate)))
        row = scale(2.0, add(matvec_transposed(factor, axis[0]), cross(momentum, axis[1])))
        j = index
        while j >= 0:
            other = bodies[j]
            a, b = body.dof, other.dof
            by_q[b][a] = by_q[b][a] + along_axis(other, *column_q)
            by_qd[b][a] = by_qd[b][a] + along_axis(other, *column_qd)
            mass = along_axis(other, *inertial)
            M[b][a] = M[b][a] + mass
            if j != index:
                M[a][b] = M[a][b] + mass
                first, second = _scaled(other.ratio, first_rates[j]), _scaled(other.ratio, second_rates[j])
                by_q[a][b] = by_q[a][b] + dot(row, first[0]) + _power(inertial, second)
                turning = row[2] * other.ratio if other.revolute else 0.0
                by_qd[a][b] = by_qd[a][b] + turning + 2.0 * _power(inertial, first)
            if other.parent >= 0:
                column_q = wrench_to_parent(motions[j], *column_q)
                column_qd = wrench_to_parent(motions[j], *column_qd)
                inertial = wrench_to_parent(motions[j], *inertial)
                row = motions[j].to_parent(row)
            j = other.parent
        if body.parent >= 0:
            _add_to_parent(motion, index, composite, factors, momenta, wrenches)
    return [by_q, by_qd, M]


def _add_to_parent(
    motion: JointMotion,
    index: int,
    composite: list[RigidInertia],
    factors: list[Any],
    momenta: list[Any],
    wrenches: list[Any],
) -> None:
    parent = motion.body.parent
    momentum = motion.to_parent(momenta[index])
    turned = motion.matrix_to_parent(factors[index])
    shifted = subtract(turned, matmul(skew(motion.translation), skew(momentum)))
    composite[parent] = composite[parent] + inertia_to_parent(motion, composite[index])
    factors[parent] = add(factors[parent], shifted)
    momenta[parent] = add(momenta[parent], momentum)
    wrenches[parent] = _sum(wrenches[parent], wrench_to_parent(motion, *wrenches[index]))


def _axis(body: Body, factor: Any = 1.0) -> Twist:
    """The joint's screw axis in the frame of its body, times a factor."""
    turned = scale(factor, _AXIS)
    return (turned, ZERO) if body.revolute else (ZERO, turned)


def _to_child(motion: JointMotion, twist: Twist) -> Twist:
    w, v = twist
    return motion.to_child(w), motion.to_child(add(v, cross(w, motion.translation)))


def _motion_cross(a: Twist, b: Twist) -> Twist:
    return cross(a[0], b[0]), add(cross(a[0], b[1]), cross(a[1], b[0]))


def _force_cross(twist: Twist, wrench: Twist) -> Twist:
    return add(cross(twist[0], wrench[0]), cross(twist[1], wrench[1])), cross(twist[0], wrench[1])


def _coriolis(factor: Any, momentum: Vector, twist: Twist) -> Twist:
    """B times a twist; B has no linear columns."""
    return matvec(factor, twist[0]), cross(twist[0], momentum)


def _power(wrench: Twist, twist: Twist) -> Any:
    return dot(wrench[0], twist[0]) + dot(wrench[1], twist[1])


def _sum(a: Twist, b: Twist) -> Twist:
    return add(a[0], b[0]), add(a[1], b[1])


def _scaled(factor: Any, a: Twist) -> Twist:
    return scale(factor, a[0]), scale(factor, a[1])


def _twice(a: Twist) -> Twist:
    return add(a[0], a[0]), add(a[1], a[1])
