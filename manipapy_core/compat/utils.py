"""Lie-group functions with the names of "Modern Robotics" (Lynch, Park) and ManipulaPy, over `lie`.

so(3) and se(3) elements are matrices here, as in the book: `MatrixExp6(VecTose3(V))`. Twists are angular first.
Logarithms are accurate for all angles, near 0 and near π included; `extract_r_list` gives the points r with
v = −ω × r, where ManipulaPy has the opposite sign.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import lie
from ..errors import ShapeError
from ..typing import Array

__all__ = [
    "CubicTimeScaling",
    "MatrixExp3",
    "MatrixExp6",
    "MatrixLog3",
    "MatrixLog6",
    "NearZero",
    "QuinticTimeScaling",
    "RpToTrans",
    "TransInv",
    "TransToRp",
    "VecTose3",
    "VecToso3",
    "adjoint_transform",
    "euler_to_rotation_matrix",
    "extract_omega_list",
    "extract_r_list",
    "extract_screw_list",
    "logm",
    "logm_to_twist",
    "rotation_logm",
    "rotation_matrix_to_euler_angles",
    "se3ToVec",
    "skew_symmetric",
    "skew_symmetric_to_vector",
    "so3ToVec",
    "transform_from_twist",
]


_NEAR_ZERO = 1e-6


def NearZero(z: float) -> bool:
    """Whether a number is within 1e-6 of zero."""
    return abs(z) < _NEAR_ZERO


def skew_symmetric(v: ArrayLike) -> Array:
    """The matrix [v] with [v] x = v × x, shape (3, 3)."""
    return lie.hat(v)


def skew_symmetric_to_vector(skew: ArrayLike) -> Array:
    """The vector of a skew-symmetric matrix, shape (3,)."""
    return lie.vee(skew)


VecToso3 = skew_symmetric
so3ToVec = skew_symmetric_to_vector


def VecTose3(V: ArrayLike) -> Array:
    """The matrix of a twist, [[ω] v; 0 0], shape (4, 4)."""
    V = np.asarray(V, dtype=np.float64)
    if V.shape[-1:] != (6,):
        raise ShapeError("V", "(..., 6)", V.shape)
    matrix = np.zeros((*V.shape[:-1], 4, 4))
    matrix[..., :3, :3], matrix[..., :3, 3] = lie.hat(V[..., :3]), V[..., 3:]
    return matrix


def se3ToVec(se3mat: ArrayLike) -> Array:
    """The twist of its matrix, shape (6,)."""
    matrix = _square(se3mat, 4, "se3mat")
    return np.concatenate([lie.vee(matrix[..., :3, :3]), matrix[..., :3, 3]], axis=-1)


def MatrixExp3(so3mat: ArrayLike) -> Array:
    """Rotation of a skew-symmetric matrix, shape (3, 3)."""
    return lie.exp_so3(so3ToVec(so3mat))


def MatrixLog3(R: ArrayLike) -> Array:
    """Skew-symmetric matrix of a rotation, shape (3, 3)."""
    return lie.hat(lie.log_so3(R))


def MatrixExp6(se3mat: ArrayLike) -> Array:
    """Pose of the matrix of a twist, shape (4, 4)."""
    return lie.exp_se3(se3ToVec(se3mat))


def MatrixLog6(T: ArrayLike) -> Array:
    """Matrix of the twist that reaches a pose in unit time, shape (4, 4)."""
    return VecTose3(lie.log_se3(T))


def transform_from_twist(S: ArrayLike, theta: float) -> Array:
    """Pose after following the screw S by theta [rad, or m for a prismatic one], shape (4, 4)."""
    return lie.exp_se3(np.asarray(S, dtype=np.float64) * np.asarray(theta, dtype=np.float64)[..., None])


def adjoint_transform(T: ArrayLike) -> Array:
    """Adjoint of a pose: maps twists from the child frame of T to its parent frame, shape (6, 6)."""
    return lie.adjoint(T)


def TransInv(T: ArrayLike) -> Array:
    """Inverse of a pose, shape (4, 4)."""
    return lie.inverse(T)


def TransToRp(T: ArrayLike) -> tuple[Array, Array]:
    """Rotation (3, 3) and position (3,) [m] of a pose."""
    T = _square(T, 4, "T")
    return T[..., :3, :3].copy(), T[..., :3, 3].copy()


def RpToTrans(R: ArrayLike, p: ArrayLike) -> Array:
    """Pose of a rotation (3, 3) and a position (3,) [m], shape (4, 4)."""
    return lie.pose(R, p)


def rotation_logm(R: ArrayLike) -> tuple[Array, float]:
    """Unit axis, shape (3,), and angle [rad] of a rotation; a zero axis without rotation."""
    w = lie.log_so3(_square(R, 3, "R"))
    angle = float(np.linalg.norm(w))
    return (w / angle if angle > 0.0 else np.zeros(3)), angle


def logm(T: ArrayLike) -> Array:
    """Twist that reaches a pose in unit time, angular first, shape (6,)."""
    return lie.log_se3(T)


def logm_to_twist(logm: ArrayLike) -> Array:
    """The twist of its matrix, shape (6,)."""
    return se3ToVec(logm)


def rotation_matrix_to_euler_angles(R: ArrayLike) -> Array:
    """Roll, pitch, yaw [rad] of a rotation Rz(yaw) Ry(pitch) Rx(roll), shape (3,)."""
    return lie.rotation_to_rpy(R)


def euler_to_rotation_matrix(euler_deg: ArrayLike) -> Array:
    """Rotation Rz(yaw) Ry(pitch) Rx(roll) of roll, pitch, yaw [degrees], shape (3, 3)."""
    return lie.rotation_from_rpy(np.radians(np.asarray(euler_deg, dtype=np.float64)))


def CubicTimeScaling(Tf: float, t: float) -> float:
    """Path fraction 3 u² − 2 u³ at u = t / Tf: at rest at both ends."""
    u = t / Tf
    return u**2 * (3.0 - 2.0 * u)


def QuinticTimeScaling(Tf: float, t: float) -> float:
    """Path fraction 10 u³ − 15 u⁴ + 6 u⁵ at u = t / Tf: at rest and without acceleration at both ends."""
    u = t / Tf
    return u**3 * (10.0 + u * (6.0 * u - 15.0))


def extract_screw_list(omega_list: ArrayLike | None, r_list: ArrayLike | None) -> Array | None:
    """Screw axes (ω; -ω × r) of revolute joints.

    Args:
        omega_list: Axis directions, shape (3, n), or (3 n,) one after the other.
        r_list: A point on each axis [m], likewise; an empty one stands for the origin. One column of either serves all
            columns of the other.

    Returns:
        Shape (6, n); None if either list is None.
    """
    if omega_list is None or r_list is None:
        return None
    omega, r = _triples(omega_list, "omega_list"), _triples(r_list, "r_list")
    if r.shape[1] == 0:
        r = np.zeros_like(omega)
    if omega.shape != r.shape and 1 not in (omega.shape[1], r.shape[1]):
        raise ShapeError("r_list", f"{omega.shape}, the shape of omega_list", r.shape)
    omega, r = np.broadcast_arrays(omega, r)
    return np.concatenate([omega, -np.cross(omega, r, axis=0)])


def extract_omega_list(Slist: ArrayLike) -> Array:
    """Rotation axes of screws (6, n), or (n, 6) as older programs have them; zero for prismatic ones; shape (3, n)."""
    S = np.asarray(Slist, dtype=np.float64)
    return _columns(S.T if S.ndim == 2 and S.shape[0] != 6 and S.shape[1] == 6 else S, 6, "Slist")[:3].copy()


def extract_r_list(Slist: ArrayLike | None) -> Array:
    """The point of each screw axis (6, n) closest to the origin [m]; zero for prismatic ones; shape (n, 3)."""
    if Slist is None:
        return np.zeros((0, 3))
    S = _columns(Slist, 6, "Slist")
    square = np.sum(S[:3] ** 2, axis=0)
    return (np.cross(S[:3], S[3:], axis=0) / np.where(square > 0.0, square, 1.0)).T


def _triples(values: ArrayLike, name: str) -> Array:
    """Columns of three numbers; a flat list is cut into them."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 1 and array.size % 3 == 0:
        array = array.reshape(-1, 3).T
    return _columns(array, 3, name)


def _columns(values: ArrayLike, rows: int, name: str) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] != rows:
        raise ShapeError(name, f"({rows}, n)", array.shape)
    return array


def _square(values: ArrayLike, size: int, name: str) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.shape[-2:] != (size, size):
        raise ShapeError(name, f"(..., {size}, {size})", array.shape)
    return array
