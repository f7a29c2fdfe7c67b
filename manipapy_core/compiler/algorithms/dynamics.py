"""Recursive Newton–Euler, composite rigid bodies and the Coriolis matrix, on trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..mechanism import JointMotion, JointPlacement, Mechanism, along_axis, joint_motions
from ..spatial import (
    ZERO,
    Symmetric,
    Vector,
    add,
    congruence,
    cross,
    full,
    matmul,
    matvec,
    scale,
    shift_inertia,
    skew,
    subtract,
    symmetric_matvec,
)


@dataclass(frozen=True)
class RigidInertia:
    """Mass, first moment and inertia about the origin of some frame."""

    mass: Any
    moment: Vector
    inertia: Symmetric

    def __add__(self, other: RigidInertia) -> RigidInertia:
        return RigidInertia(self.mass + other.mass, add(self.moment, other.moment), add(self.inertia, other.inertia))

    def carried(self, rotated_moment: Vector, rotated_inertia: Symmetric, p: Vector) -> RigidInertia:
        """The same body after its frame was turned (numbers given) and moved to p."""
        return RigidInertia(self.mass, *shift_inertia(self.mass, rotated_moment, rotated_inertia, p))


def inverse_dynamics(
    mechanism: Mechanism, q: Any, qd: Any, qdd: Any, gravity: Vector, wrench_tip: Any = None, payload: Any = None
) -> list[Any]:
    """Joint efforts for a motion: M qdd + C qd + g + J_body^T wrench_tip. Lynch & Park (8.50–8.53)."""
    motions = joint_motions(mechanism, q)
    inertias = loaded_inertias(mechanism, payload)
    rest = _Motion(ZERO, ZERO, scale(-1.0, gravity))
    moving: list[_Motion] = []
    wrenches = []
    for body, motion, inertia in zip(mechanism.bodies, motions, inertias):
        parent = moving[body.parent] if body.parent >= 0 else rest
        moving.append(parent.carried(motion, qd[body.dof] * body.ratio, qdd[body.dof] * body.ratio))
        wrenches.append(moving[-1].inertial_wrench(inertia))
    if wrench_tip is not None and mechanism.tip.body >= 0:
        at_tip = wrench_in_body(mechanism.tip, wrench_tip)
        moment, force = wrenches[mechanism.tip.body]
        wrenches[mechanism.tip.body] = (add(moment, at_tip[0]), add(force, at_tip[1]))
    return collect_efforts(mechanism, motions, wrenches)


def gravity_forces(mechanism: Mechanism, q: Any, gravity: Vector) -> list[Any]:
    """Joint efforts that hold the arm still."""
    zeros = [0.0] * mechanism.n
    return inverse_dynamics(mechanism, q, zeros, zeros, gravity)


def coriolis_forces(mechanism: Mechanism, q: Any, qd: Any) -> list[Any]:
    """Joint efforts from velocity alone: C qd."""
    return inverse_dynamics(mechanism, q, qd, [0.0] * mechanism.n, ZERO)


def mass_matrix(mechanism: Mechanism, q: Any) -> list[Any]:
    """Joint-space inertia by composite rigid bodies: n×n, row by row."""
    M = mass_matrix_rows(mechanism, joint_motions(mechanism, q), loaded_inertias(mechanism, None))
    return [entry for row in M for entry in row]


def mass_matrix_rows(mechanism: Mechanism, motions: list[JointMotion], inertias: list[RigidInertia]) -> list[list[Any]]:
    """Joint-space inertia as rows, from joint motions that the caller has already."""
    n, bodies = mechanism.n, mechanism.bodies
    M: list[list[Any]] = [[0.0] * n for _ in range(n)]
    composite = list(inertias)
    for index in reversed(range(len(bodies))):
        body, motion, inertia = bodies[index], motions[index], composite[index]
        moment, force = _axis_momentum(body.revolute, inertia)
        moment, force = scale(body.ratio, moment), scale(body.ratio, force)
        j = index
        while j >= 0:
            other = bodies[j]
            entry = along_axis(other, moment, force)
            M[body.dof][other.dof] = M[body.dof][other.dof] + entry
            if j != index:
                M[other.dof][body.dof] = M[other.dof][body.dof] + entry
            if other.parent >= 0:
                moment, force = wrench_to_parent(motions[j], moment, force)
            j = other.parent
        if body.parent >= 0:
            composite[body.parent] = composite[body.parent] + inertia_to_parent(motion, inertia)
    return M


def coriolis_matrix(mechanism: Mechanism, q: Any, qd: Any, payload: Any = None) -> list[Any]:
    """C(q, qd) of the Christoffel symbols, so that dM/dt − 2 C is skew: n×n, row by row.

    Echeandia & Wensing (2021): each body adds I dS/dt + B S, where B is the body-level factor of its velocity
    force. For a rigid body B acts on the angular part only: moments by a 3×3 matrix, forces by −[momentum]×.
    """
    n, bodies = mechanism.n, mechanism.bodies
    motions = joint_motions(mechanism, q)
    C: list[list[Any]] = [[0.0] * n for _ in range(n)]
    twists: list[tuple[Vector, Vector]] = []
    factors, momenta = [], []
    composite = loaded_inertias(mechanism, payload)
    for body, motion, inertia in zip(bodies, motions, composite):
        w, v = twists[body.parent] if body.parent >= 0 else (ZERO, ZERO)
        v = motion.to_child(add(v, cross(w, motion.translation)))
        w = motion.to_child(w)
        rate = qd[body.dof] * body.ratio
        w, v = (add(w, [0.0, 0.0, rate]), v) if body.revolute else (w, add(v, [0.0, 0.0, rate]))
        twists.append((w, v))
        factor, momentum = velocity_factor(inertia, w, v)
        factors.append(factor)
        momenta.append(momentum)

    for index in reversed(range(len(bodies))):
        body, motion, inertia = bodies[index], motions[index], composite[index]
        dw, dv = _axis_derivative(body.revolute, twists[index])
        # F1 = I dS/dt + B S, F2 = I S, F3 = B^T S: the three forces that reach the joints below
        f1 = momentum_of(inertia, dw, dv)
        f2 = _axis_momentum(body.revolute, inertia)
        if body.revolute:
            factor, momentum = factors[index], momenta[index]
            f1 = (add(f1[0], factor[2::3]), add(f1[1], [-momentum[1], momentum[0], 0.0]))  # [h]× z = (h_y, −h_x, 0)
            f3 = list(factor[6:9])
        else:
            f3 = cross(momenta[index], [0.0, 0.0, 1.0])
        f1 = (scale(body.ratio, f1[0]), scale(body.ratio, f1[1]))
        f2 = (scale(body.ratio, f2[0]), scale(body.ratio, f2[1]))
        f3 = scale(body.ratio, f3)  # B has no linear columns, so B^T S has no force part
        j = index
        while j >= 0:
            other = bodies[j]
            row, col = body.dof, other.dof
            C[col][row] = C[col][row] + along_axis(other, *f1)
            if j != index:
                dw, dv = _axis_derivative(other.revolute, twists[j])
                pulled = sum((a * b for a, b in zip([*dw, *dv], [*f2[0], *f2[1]])), 0.0) * other.ratio
                C[row][col] = C[row][col] + pulled + (f3[2] * other.ratio if other.revolute else 0.0)
            if other.parent >= 0:
                f1, f2 = wrench_to_parent(motions[j], *f1), wrench_to_parent(motions[j], *f2)
                f3 = motions[j].to_parent(f3)
            j = other.parent
        if body.parent >= 0:
            parent = body.parent
            composite[parent] = composite[parent] + inertia_to_parent(motion, inertia)
            momentum = motion.to_parent(momenta[index])
            turned = motion.matrix_to_parent(factors[index])
            shifted = subtract(turned, matmul(skew(motion.translation), skew(momentum)))
            factors[parent] = add(factors[parent], shifted)
            momenta[parent] = add(momenta[parent], momentum)
    return [entry for row in C for entry in row]


def velocity_factor(inertia: RigidInertia, w: Vector, v: Vector) -> tuple[list[Any], list[Any]]:
    """B of one body as (3×3 matrix on the angular velocity giving a moment, linear momentum)."""
    moment, force = momentum_of(inertia, w, v)
    W, V, H, I = skew(w), skew(v), skew(inertia.moment), full(inertia.inertia)
    product = subtract(subtract(matmul(W, I), matmul(I, W)), add(matmul(V, H), matmul(H, V)))
    return scale(0.5, subtract(product, skew(moment))), list(force)


class _Motion:
    """Angular velocity, angular acceleration and acceleration of a body's origin, in its own axes."""

    def __init__(self, w: Vector, dw: Vector, a: Vector):
        self.w, self.a = w, a
        wx, wy, wz = w
        xx, yy, zz = wx * wx, wy * wy, wz * wz
        xy, xz, yz = wx * wy, wx * wz, wy * wz
        self.dw, self.yz, self.xz, self.xy = dw, yz, xz, xy
        # U = [dw]× + [w]×²: U r is the acceleration that turning adds at r
        self.U = [
            -(yy + zz), xy - dw[2], xz + dw[1],
            xy + dw[2], -(xx + zz), yz - dw[0],
            xz - dw[1], yz + dw[0], -(xx + yy),
        ]  # fmt: skip
        self.differences = (zz - yy, xx - zz, yy - xx)

    def carried(self, motion: JointMotion, rate: Any, acceleration: Any) -> _Motion:
        """The motion of the next body, moved by its joint."""
        a = motion.to_child(add(self.a, matvec(self.U, motion.translation)))
        w, dw = motion.to_child(self.w), motion.to_child(self.dw)
        if motion.body.revolute:
            dw = [dw[0] + w[1] * rate, dw[1] - w[0] * rate, dw[2] + acceleration]
            w = [w[0], w[1], w[2] + rate]
        else:
            double = rate + rate
            a = [a[0] + w[1] * double, a[1] - w[0] * double, a[2] + acceleration]
        return _Motion(w, dw, a)

    def inertial_wrench(self, inertia: RigidInertia) -> tuple[list[Any], list[Any]]:
        """Moment and force that give the body this motion: I dw + w × I w + h × a and m a + U h."""
        force = add(scale(inertia.mass, self.a), matvec(self.U, inertia.moment))
        Ixx, Ixy, Ixz, Iyy, Iyz, Izz = inertia.inertia
        U, (dx, dy, dz) = self.U, self.differences
        # I dw + w × I w written with the entries of U, which are at hand
        turning = [
            Ixx * self.dw[0] + (Izz - Iyy) * self.yz - Ixy * U[6] + Ixz * U[3] - Iyz * dx,
            Iyy * self.dw[1] + (Ixx - Izz) * self.xz - Iyz * U[1] + Ixy * U[7] - Ixz * dy,
            Izz * self.dw[2] + (Iyy - Ixx) * self.xy - Ixz * U[5] + Iyz * U[2] - Ixy * dz,
        ]
        return add(turning, cross(inertia.moment, self.a)), force


def collect_efforts(mechanism: Mechanism, motions: list[JointMotion], wrenches: list[Any]) -> list[Any]:
    """Sums body wrenches from the tips to the base and reads what each joint carries."""
    efforts: list[Any] = [0.0] * mechanism.n
    totals = list(wrenches)
    for index in reversed(range(len(mechanism.bodies))):
        body = mechanism.bodies[index]
        moment, force = totals[index]
        efforts[body.dof] = efforts[body.dof] + along_axis(body, moment, force)
        if body.parent >= 0:
            moment, force = wrench_to_parent(motions[index], moment, force)
            below = totals[body.parent]
            totals[body.parent] = (add(below[0], moment), add(below[1], force))
    return efforts


def loaded_inertias(mechanism: Mechanism, payload: Any) -> list[RigidInertia]:
    """Inertia of every body; the payload (mass, moment 3, inertia 6, in the tip frame) is added to the tip's."""
    inertias = [RigidInertia(body.mass, body.moment, body.inertia) for body in mechanism.bodies]
    tip = mechanism.tip
    if payload is not None and tip.body >= 0:
        held = RigidInertia(payload[0], payload[1:4], payload[4:10])
        held = held.carried(matvec(tip.rotation, held.moment), congruence(tip.rotation, held.inertia), tip.translation)
        inertias[tip.body] = inertias[tip.body] + held
    return inertias


def wrench_in_body(placement: JointPlacement, wrench: Any) -> tuple[list[Any], list[Any]]:
    """A wrench given at a frame on a body, as moment and force at the body's origin."""
    force = matvec(placement.rotation, wrench[3:6])
    return add(matvec(placement.rotation, wrench[0:3]), cross(placement.translation, force)), force


def wrench_to_parent(motion: JointMotion, moment: Vector, force: Vector) -> tuple[list[Any], list[Any]]:
    force = motion.to_parent(force)
    return add(motion.to_parent(moment), cross(motion.translation, force)), force


def inertia_to_parent(motion: JointMotion, inertia: RigidInertia) -> RigidInertia:
    return inertia.carried(
        motion.to_parent(inertia.moment), motion.symmetric_to_parent(inertia.inertia), motion.translation
    )


def momentum_of(inertia: RigidInertia, w: Vector, v: Vector) -> tuple[list[Any], list[Any]]:
    """Spatial inertia times a twist: I w + h × v and m v − h × w."""
    moment = add(symmetric_matvec(inertia.inertia, w), cross(inertia.moment, v))
    return moment, subtract(scale(inertia.mass, v), cross(inertia.moment, w))


def _axis_momentum(revolute: bool, inertia: RigidInertia) -> tuple[list[Any], list[Any]]:
    """Spatial inertia times the joint's screw axis."""
    hx, hy, _ = inertia.moment
    if revolute:
        return [inertia.inertia[2], inertia.inertia[4], inertia.inertia[5]], [-hy, hx, 0.0]
    return [hy, -hx, 0.0], [0.0, 0.0, inertia.mass]


def _axis_derivative(revolute: bool, twist: tuple[Vector, Vector]) -> tuple[list[Any], list[Any]]:
    """Rate of the joint's screw axis seen from the base: twist × axis."""
    w, v = twist
    turned = [w[1], -w[0], 0.0]
    return (turned, [v[1], -v[0], 0.0]) if revolute else (list(ZERO), turned)
