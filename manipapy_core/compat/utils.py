"""Lie-group functions with the names of "Modern Robotics" (Lynch, Park) and ManipulaPy, over `lie`.

so(3) and se(3) elements are matrices here, as in the book: `MatrixExp6(VecTose3(V))`. Twists are angular first.
Logarithms are accurate for all angles, near 0 and near π included.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import lie
from ..errors import ShapeError
from ..typing import Array

__all__ = [
    "MatrixExp3",
    "MatrixExp6",
    "MatrixLog3",
    "MatrixLog6",
    "RpToTrans",
    "TransInv",
    "TransToRp",
    "VecTose3",
    "VecToso3",
    "adjoint_transform",
    "extract_omega_list",
    "extract_r_list",
    "extract_screw_list",
    "se3ToVec",
    "skew_symmetric",
    "skew_symmetric_to_vector",
    "so3ToVec",
    "transform_from_twist",
]


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


def extract_screw_list(omega_list: ArrayLike, r_list: ArrayLike) -> Array:
    """Screw axes (ω; -ω × r) of revolute joints.

    Args:
        omega_list: Axis directions, shape (3, n).
        r_list: A point on each axis [m], shape (3, n).

    Returns:
        Shape (6, n).
    """
    omega, r = _columns(omega_list, 3, "omega_list"), _columns(r_list, 3, "r_list")
    if omega.shape != r.shape:
        raise ShapeError("r_list", f"{omega.shape}, the shape of omega_list", r.shape)
    return np.concatenate([omega, -np.cross(omega, r, axis=0)])


def extract_omega_list(Slist: ArrayLike) -> Array:
    """Rotation axes of screws (6, n), zero for prismatic ones, shape (3, n)."""
    return _columns(Slist, 6, "Slist")[:3].copy()


def extract_r_list(Slist: ArrayLike) -> Array:
    """The point of each screw axis (6, n) closest to the origin [m]; zero for prismatic ones; shape (3, n)."""
    S = _columns(Slist, 6, "Slist")
    square = np.sum(S[:3] ** 2, axis=0)
    return np.cross(S[:3], S[3:], axis=0) / np.where(square > 0.0, square, 1.0)


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
