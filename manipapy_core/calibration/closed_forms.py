"""Closed forms of hand-eye calibration: where the refinement starts, and what its result is compared with.

Of poses A_i of the robot and B_i = T_camera_board, all solve B_i = X⁻¹ A_i Y. OpenCV's methods are used where this
version of it has them (5.0 has none); three are here, so that there is always more than one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from .. import lie
from ..perception.stereo.images import opencv
from ..typing import Array

HAND_EYE = ("TSAI", "PARK", "HORAUD", "ANDREFF", "DANIILIDIS")
ROBOT_WORLD = ("SHAH", "LI")
PAIRS = 400
"""Most pairs of views; of larger sets every n-th is taken."""


def start_values(A: Sequence[Array], B: Sequence[Array]) -> Iterator[tuple[str, Array, Array]]:
    """Name of the method, X and Y, each of shape (4, 4), for every method that gives a finite result.

    Args:
        A: Inverse of the hand's pose (camera on the hand), or the hand's pose (camera beside the robot), in the base.
        B: T_camera_board.
    """
    methods: list[tuple[str, Callable[[Sequence[Array], Sequence[Array]], tuple[Array, Array]]]] = [
        ("park_martin", _park_martin),
        ("dual_quaternions", _dual_quaternions),
        ("kronecker", _kronecker),
    ]
    for name, method in methods:
        X, Y = method(A, B)
        if np.all(np.isfinite(X)) and np.all(np.isfinite(Y)):
            yield name, X, Y
    yield from _of_opencv(A, B)


def other_unknown(A: Sequence[Array], B: Sequence[Array], X: Array) -> Array:
    """Y for a known X: the mean over all views, shape (4, 4)."""
    each = np.array([lie.inverse(a) @ X @ b for a, b in zip(A, B)])
    return lie.pose(nearest_rotation(each[:, :3, :3].sum(axis=0)), each[:, :3, 3].mean(axis=0))


def nearest_rotation(M: Array) -> Array:
    """The rotation nearest to a matrix, shape (3, 3)."""
    U, _, V = np.linalg.svd(M)
    return U @ np.diag([1.0, 1.0, np.linalg.det(U @ V)]) @ V


def _motions(A: Sequence[Array], B: Sequence[Array]) -> list[tuple[Array, Array]]:
    """Relative motions of hand and camera for pairs of views: P X = X Q."""
    pairs = list(itertools.combinations(range(len(A)), 2))
    pairs = pairs[:: max(1, len(pairs) // PAIRS)]
    return [(A[i] @ lie.inverse(A[j]), B[i] @ lie.inverse(B[j])) for i, j in pairs]


def _park_martin(A: Sequence[Array], B: Sequence[Array]) -> tuple[Array, Array]:
    # Park & Martin 1994: the rotation maps the rotation vectors of the camera to those of the hand.
    motions = [(P, Q) for P, Q in _motions(A, B) if _turn(P) > 0.02]
    M = sum((np.outer(lie.log_so3(P[:3, :3]), lie.log_so3(Q[:3, :3])) for P, Q in motions), np.zeros((3, 3)))
    R = nearest_rotation(M)
    left = np.concatenate([P[:3, :3] - np.eye(3) for P, _ in motions])
    right = np.concatenate([R @ Q[:3, 3] - P[:3, 3] for P, Q in motions])
    X = lie.pose(R, np.linalg.lstsq(left, right, rcond=None)[0])
    return X, other_unknown(A, B, X)


def _dual_quaternions(A: Sequence[Array], B: Sequence[Array]) -> tuple[Array, Array]:
    # Daniilidis 1999, (31): two singular vectors of the stacked screws span the solution.
    rows = []
    for P, Q in _motions(A, B):
        if not 0.05 < _turn(P) < np.pi - 0.1:
            continue
        a, a1 = _screw(P)
        b, b1 = _screw(Q)
        top = np.column_stack([a - b, lie.hat(a + b), np.zeros((3, 4))])
        rows += [top, np.column_stack([a1 - b1, lie.hat(a1 + b1), a - b, lie.hat(a + b)])]
    if len(rows) < 4:
        return np.full((4, 4), np.nan), np.full((4, 4), np.nan)
    V = np.linalg.svd(np.concatenate(rows))[2]
    (u1, v1), (u2, v2) = (np.split(vector, 2) for vector in V[-2:])
    # q = λ₁ u₁ + λ₂ u₂ with unit length, whose dual part is orthogonal to it.
    c = np.array([u1 @ v1, u1 @ v2 + u2 @ v1, u2 @ v2])
    roots = np.roots(c) if abs(c[0]) > 1e-12 else np.array([-c[2] / c[1] if c[1] else np.nan])
    best = max((s.real for s in np.atleast_1d(roots)), key=lambda s: s * s * (u1 @ u1) + 2 * s * (u1 @ u2) + u2 @ u2)
    length = np.sqrt(best * best * (u1 @ u1) + 2 * best * (u1 @ u2) + u2 @ u2)
    q, dual = (best * u1 + u2) / length, (best * v1 + v2) / length
    R = lie.rotation_from_quaternion(np.roll(q, -1) / np.linalg.norm(q))
    # t = 2 q' q*, quaternions with the scalar first.
    t = 2.0 * (q[0] * dual[1:] - dual[0] * q[1:] - np.cross(dual[1:], q[1:]))
    X = lie.pose(R, t)
    return X, other_unknown(A, B, X)


def _kronecker(A: Sequence[Array], B: Sequence[Array]) -> tuple[Array, Array]:
    # Shah 2013: R_A R_Y = R_X R_B is linear in both rotations.
    K = sum((np.kron(b[:3, :3], a[:3, :3]) for a, b in zip(A, B)), np.zeros((9, 9)))
    U, _, V = np.linalg.svd(K)
    R = [np.reshape(vector, (3, 3), order="F") for vector in (V[0], U[:, 0])]
    R_Y, R_X = (nearest_rotation(np.sign(np.linalg.det(matrix)) * matrix) for matrix in R)
    left = np.concatenate([np.column_stack([a[:3, :3], -np.eye(3)]) for a in A])
    right = np.concatenate([R_X @ b[:3, 3] - a[:3, 3] for a, b in zip(A, B)])
    t = np.linalg.lstsq(left, right, rcond=None)[0]
    return lie.pose(R_X, t[3:]), lie.pose(R_Y, t[:3])


def _of_opencv(A: Sequence[Array], B: Sequence[Array]) -> Iterator[tuple[str, Array, Array]]:
    cv2 = opencv()
    R_B, t_B = [b[:3, :3] for b in B], [b[:3, 3] for b in B]
    if hasattr(cv2, "calibrateHandEye"):
        inverse = [lie.inverse(a) for a in A]
        arguments = [a[:3, :3] for a in inverse], [a[:3, 3] for a in inverse], R_B, t_B
        for name in HAND_EYE:
            R, t = cv2.calibrateHandEye(*arguments, method=getattr(cv2, f"CALIB_HAND_EYE_{name}"))
            if np.all(np.isfinite(R)) and np.all(np.isfinite(t)):
                X = lie.pose(nearest_rotation(R), np.ravel(t))
                yield f"opencv_{name.lower()}", X, other_unknown(A, B, X)
    if hasattr(cv2, "calibrateRobotWorldHandEye"):
        arguments = R_B, t_B, [a[:3, :3] for a in A], [a[:3, 3] for a in A]
        for name in ROBOT_WORLD:
            method = getattr(cv2, f"CALIB_ROBOT_WORLD_HAND_EYE_{name}")
            R_y, t_y, R_x, t_x = cv2.calibrateRobotWorldHandEye(*arguments, method=method)
            if all(np.all(np.isfinite(part)) for part in (R_y, t_y, R_x, t_x)):
                X, Y = (lie.inverse(lie.pose(nearest_rotation(R), np.ravel(t))) for R, t in ((R_x, t_x), (R_y, t_y)))
                yield f"opencv_{name.lower()}", X, Y


def _turn(T: Array) -> float:
    return float(np.linalg.norm(lie.log_so3(T[:3, :3])))


def _screw(T: Array) -> tuple[Array, Array]:
    """Vector parts of the unit dual quaternion of a motion, with a positive scalar part."""
    q = np.roll(lie.rotation_to_quaternion(T[:3, :3]), 1)
    q = -q if q[0] < 0.0 else q
    t = T[:3, 3]
    return q[1:], 0.5 * (q[0] * t + np.cross(t, q[1:]))
