"""Poses, Jacobians and their time derivatives. Twists are angular first."""

from __future__ import annotations

from typing import Any

from ..mechanism import Body, JointMotion, JointPlacement, Mechanism, joint_motions
from ..spatial import ZERO, Matrix, Vector, add, column, cross, matmul, matvec, matvec_transposed, scale, subtract

Twist = tuple[list[Any], list[Any]]


def forward(mechanism: Mechanism, q: Any) -> list[Any]:
    """Pose of the tip in the base frame: 4×4, row by row."""
    return _homogeneous(*_place(_body_poses(mechanism, joint_motions(mechanism, q)), mechanism.tip))


def link_poses(mechanism: Mechanism, q: Any) -> list[Any]:
    """Poses of all links in the base frame: links × 4×4, row by row."""
    poses = _body_poses(mechanism, joint_motions(mechanism, q))
    return [number for link in mechanism.links for number in _homogeneous(*_place(poses, link))]


def space_jacobian(mechanism: Mechanism, q: Any) -> list[Any]:
    """Spatial twist of the tip per joint rate, in the base frame: 6×n, row by row."""
    return _columns(mechanism, _space_screws(mechanism, joint_motions(mechanism, q)))


def body_jacobian(mechanism: Mechanism, q: Any) -> list[Any]:
    """Twist of the tip per joint rate, in the tip frame: 6×n, row by row."""
    return _columns(mechanism, _body_screws(mechanism, joint_motions(mechanism, q)))


def space_jacobian_derivative(mechanism: Mechanism, q: Any, qd: Any) -> list[Any]:
    """Time derivative of the space Jacobian: 6×n, row by row."""
    screws = _space_screws(mechanism, joint_motions(mechanism, q))
    twist: Twist = (list(ZERO), list(ZERO))
    rates = {}
    for index in _path(mechanism):
        # A screw is carried along by the joints before it: its rate is the bracket with their twist.
        rates[index] = _bracket(twist, screws[index])
        twist = _add_twists(twist, _scale_twist(_rate(mechanism.bodies[index], qd), screws[index]))
    return _columns(mechanism, rates)


def body_jacobian_derivative(mechanism: Mechanism, q: Any, qd: Any) -> list[Any]:
    """Time derivative of the body Jacobian: 6×n, row by row."""
    screws = _body_screws(mechanism, joint_motions(mechanism, q))
    twist: Twist = (list(ZERO), list(ZERO))
    rates = {}
    for index in reversed(_path(mechanism)):
        # Seen from the tip, a screw is carried backwards by the joints after it.
        rates[index] = _bracket(screws[index], twist)
        twist = _add_twists(twist, _scale_twist(_rate(mechanism.bodies[index], qd), screws[index]))
    return _columns(mechanism, rates)


def _body_poses(mechanism: Mechanism, motions: list[JointMotion]) -> list[tuple[list[Any], list[Any]]]:
    """Rotation and translation of every body in the base frame."""
    poses: list[tuple[list[Any], list[Any]]] = []
    for body, motion in zip(mechanism.bodies, motions):
        if body.parent < 0:
            poses.append((motion.rotation, list(motion.translation)))
        else:
            R, p = poses[body.parent]
            poses.append((matmul(R, motion.rotation), add(p, matvec(R, motion.translation))))
    return poses


def _place(poses: list[tuple[list[Any], list[Any]]], placement: JointPlacement) -> tuple[Matrix, Vector]:
    if placement.body < 0:
        return placement.rotation, placement.translation
    R, p = poses[placement.body]
    return matmul(R, placement.rotation), add(p, matvec(R, placement.translation))


def _homogeneous(R: Matrix, p: Vector) -> list[Any]:
    return [R[0], R[1], R[2], p[0], R[3], R[4], R[5], p[1], R[6], R[7], R[8], p[2], 0.0, 0.0, 0.0, 1.0]


def _path(mechanism: Mechanism) -> list[int]:
    """Bodies from the base to the tip."""
    path = []
    index = mechanism.tip.body
    while index >= 0:
        path.append(index)
        index = mechanism.bodies[index].parent
    return path[::-1]


def _space_screws(mechanism: Mechanism, motions: list[JointMotion]) -> dict[int, Twist]:
    screws = {}
    R: Matrix = ()
    p: Vector = ()
    for index in _path(mechanism):
        body, motion = mechanism.bodies[index], motions[index]
        if body.parent < 0:
            R, p = motion.rotation, motion.translation
        else:
            p = add(p, matvec(R, motion.translation))
            R = matmul(R, motion.rotation)
        z = column(R, 2)
        screws[index] = (z, cross(p, z)) if body.revolute else (list(ZERO), z)
    return screws


def _body_screws(mechanism: Mechanism, motions: list[JointMotion]) -> dict[int, Twist]:
    screws = {}
    R, p = mechanism.tip.rotation, mechanism.tip.translation  # pose of the tip in the current body
    for index in reversed(_path(mechanism)):
        body, motion = mechanism.bodies[index], motions[index]
        z = list(R[6:9])  # R^T z
        turning = [-p[1], p[0], 0.0]  # z × p: how the tip moves when the body turns
        screws[index] = (z, matvec_transposed(R, turning)) if body.revolute else (list(ZERO), z)
        if body.parent >= 0:
            p = add(motion.translation, motion.to_parent(p))
            R = matmul(motion.rotation, R)
    return screws


def _columns(mechanism: Mechanism, screws: dict[int, Twist]) -> list[Any]:
    """Screws of the bodies gathered by element of q."""
    columns: list[list[Any]] = [[0.0] * 6 for _ in range(mechanism.n)]
    for index, (angular, linear) in screws.items():
        body = mechanism.bodies[index]
        columns[body.dof] = add(columns[body.dof], scale(body.ratio, [*angular, *linear]))
    return [columns[dof][row] for row in range(6) for dof in range(mechanism.n)]


def _rate(body: Body, qd: Any) -> Any:
    return qd[body.dof] * body.ratio


def _bracket(a: Twist, b: Twist) -> Twist:
    """Lie bracket [a, b]."""
    return cross(a[0], b[0]), subtract(cross(a[0], b[1]), cross(b[0], a[1]))


def _add_twists(a: Twist, b: Twist) -> Twist:
    return add(a[0], b[0]), add(a[1], b[1])


def _scale_twist(factor: Any, a: Twist) -> Twist:
    return scale(factor, a[0]), scale(factor, a[1])
