"""SO(3) and SE(3): hat, exp, log, adjoint, and rotations from and to quaternions and roll, pitch, yaw.

Twists and wrenches are angular first, everywhere. All functions take any batch shape in front.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .errors import InputError, ShapeError
from .typing import Array

SMALL_ANGLE = 1e-4
"""Below this [rad] the closed forms lose digits and their series are used; the series error is under 1e-17."""


def hat(w: ArrayLike) -> Array:
    """Skew matrix of a vector, so that hat(w) @ x = w × x. Shape (..., 3) to (..., 3, 3)."""
    w = _vector(w, 3, "w")
    K = np.zeros((*w.shape[:-1], 3, 3))
    K[..., 0, 1], K[..., 0, 2], K[..., 1, 2] = -w[..., 2], w[..., 1], -w[..., 0]
    K[..., 1, 0], K[..., 2, 0], K[..., 2, 1] = w[..., 2], -w[..., 1], w[..., 0]
    return K


def vee(K: ArrayLike) -> Array:
    """Vector of a skew matrix: the inverse of `hat`, taken from the skew part of K."""
    K = _matrix(K, 3, "K")
    return 0.5 * np.stack([K[..., 2, 1] - K[..., 1, 2], K[..., 0, 2] - K[..., 2, 0], K[..., 1, 0] - K[..., 0, 1]], -1)


def exp_so3(w: ArrayLike) -> Array:
    """Rotation by the vector w [rad] (axis times angle), shape (..., 3, 3)."""
    w = _vector(w, 3, "w")
    K = hat(w)
    a, b, _ = _exp_coefficients(np.linalg.norm(w, axis=-1))
    return np.eye(3) + a * K + b * (K @ K)


def log_so3(R: ArrayLike) -> Array:
    """Rotation vector [rad] of R with angle in [0, π], shape (..., 3).

    Goes through the unit quaternion, which is well conditioned for every angle, 0 and π included.
    """
    return _rotation_vector(rotation_to_quaternion(R))


def exp_se3(twist: ArrayLike) -> Array:
    """Pose reached by following a twist (angular [rad], linear [m]) for unit time, shape (..., 4, 4)."""
    twist = _vector(twist, 6, "twist")
    w, v = twist[..., :3], twist[..., 3:]
    K = hat(w)
    a, b, c = _exp_coefficients(np.linalg.norm(w, axis=-1))
    KK = K @ K
    T = _identity(twist.shape[:-1])
    T[..., :3, :3] = np.eye(3) + a * K + b * KK
    T[..., :3, 3] = np.einsum("...ij,...j->...i", np.eye(3) + b * K + c * KK, v)
    return T


def log_se3(T_ab: ArrayLike) -> Array:
    """Twist that carries a to b in unit time, in frame a: [rad, rad, rad, m, m, m]."""
    T = _matrix(T_ab, 4, "T_ab")
    w = log_so3(T[..., :3, :3])
    angle = np.linalg.norm(w, axis=-1)
    K = hat(w)
    half = 0.5 * angle
    small = angle < SMALL_ANGLE
    safe = np.where(small, 1.0, angle)
    # Lynch & Park (3.92), written for w = axis times angle
    c = np.where(small, 1 / 12 + angle**2 / 720, (1 - half / np.tan(np.where(small, 1.0, half))) / safe**2)
    inverse = np.eye(3) - 0.5 * K + c[..., None, None] * (K @ K)
    return np.concatenate([w, np.einsum("...ij,...j->...i", inverse, T[..., :3, 3])], axis=-1)


def inverse(T: ArrayLike) -> Array:
    """Inverse of a pose, without a matrix inversion."""
    T = _matrix(T, 4, "T")
    R_t = np.swapaxes(T[..., :3, :3], -1, -2)
    result = _identity(T.shape[:-2])
    result[..., :3, :3] = R_t
    result[..., :3, 3] = -np.einsum("...ij,...j->...i", R_t, T[..., :3, 3])
    return result


def pose(rotation: ArrayLike | None = None, translation: ArrayLike | None = None) -> Array:
    """Homogeneous matrix from a rotation (3, 3) and a translation (3,) [m]."""
    T = np.eye(4)
    if rotation is not None:
        T[:3, :3] = _matrix(rotation, 3, "rotation")
    if translation is not None:
        T[:3, 3] = _vector(translation, 3, "translation")
    return T


def adjoint(T_ab: ArrayLike) -> Array:
    """The matrix that takes twists in b to twists in a: V_a = adjoint(T_ab) @ V_b, shape (..., 6, 6)."""
    T = _matrix(T_ab, 4, "T_ab")
    R = T[..., :3, :3]
    Ad = np.zeros((*T.shape[:-2], 6, 6))
    Ad[..., :3, :3] = Ad[..., 3:, 3:] = R
    Ad[..., 3:, :3] = hat(T[..., :3, 3]) @ R
    return Ad


def small_adjoint(twist: ArrayLike) -> Array:
    """ad_V, the Lie bracket as a matrix: ad_V W = [V, W], shape (..., 6, 6)."""
    twist = _vector(twist, 6, "twist")
    ad = np.zeros((*twist.shape[:-1], 6, 6))
    ad[..., :3, :3] = ad[..., 3:, 3:] = hat(twist[..., :3])
    ad[..., 3:, :3] = hat(twist[..., 3:])
    return ad


def rotation_from_quaternion(q_xyzw: ArrayLike) -> Array:
    """Rotation of a quaternion in ROS order x, y, z, w; any length but zero is accepted and normalised."""
    q = _vector(q_xyzw, 4, "q_xyzw")
    norm = np.linalg.norm(q, axis=-1, keepdims=True)
    if not np.all(np.isfinite(norm)) or np.any(norm < 1e-12):
        raise InputError("q_xyzw has zero or non-finite length; give a unit quaternion in the order x, y, z, w")
    q = q / norm
    K = hat(q[..., :3])
    return np.eye(3) + 2 * q[..., 3, None, None] * K + 2 * (K @ K)


def rotation_to_quaternion(R: ArrayLike) -> Array:
    """Unit quaternion x, y, z, w with w ≥ 0, shape (..., 4).

    Each row of the symmetric matrix Q is the quaternion times one of its own components; the row of the largest
    component is the best conditioned one.
    """
    R = _matrix(R, 3, "R")
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    x, y, z = np.moveaxis(2 * vee(R), -1, 0)
    xy, xz, yz = R[..., 0, 1] + R[..., 1, 0], R[..., 0, 2] + R[..., 2, 0], R[..., 1, 2] + R[..., 2, 1]
    Q = np.stack(
        [
            np.stack([1 + xx - yy - zz, xy, xz, x], -1),
            np.stack([xy, 1 - xx + yy - zz, yz, y], -1),
            np.stack([xz, yz, 1 - xx - yy + zz, z], -1),
            np.stack([x, y, z, 1 + xx + yy + zz], -1),
        ],
        -2,
    )
    best = np.argmax(np.diagonal(Q, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(Q, best[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return np.where(q[..., 3:] < 0, -q, q)


def rotation_from_rpy(rpy: ArrayLike) -> Array:
    """Rotation about the fixed axes x, then y, then z: R = Rz(yaw) Ry(pitch) Rx(roll), as in URDF and ROS.

    Args:
        rpy: Roll, pitch, yaw [rad], shape (..., 3).

    Returns:
        Shape (..., 3, 3).
    """
    angles = _vector(rpy, 3, "rpy")
    cr, cp, cy = np.moveaxis(np.cos(angles), -1, 0)
    sr, sp, sy = np.moveaxis(np.sin(angles), -1, 0)
    rows = (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )
    return np.stack([np.stack(row, -1) for row in rows], -2)


def rotation_to_rpy(R: ArrayLike) -> Array:
    """Roll, pitch, yaw [rad] with R = Rz(yaw) Ry(pitch) Rx(roll), shape (..., 3); pitch is in [−π/2, π/2].

    Each rotation is removed before the next angle is read, so the three give R back at any pitch. At a pitch of ±π/2,
    where only a sum or difference of roll and yaw is determined, yaw is what the rounding of R makes it.
    """
    R = _matrix(R, 3, "R")
    yaw = np.arctan2(R[..., 1, 0], R[..., 0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    pitch = np.arctan2(-R[..., 2, 0], c * R[..., 0, 0] + s * R[..., 1, 0])
    y_axis = c[..., None] * R[..., 1, :] - s[..., None] * R[..., 0, :]
    return np.stack([np.arctan2(-y_axis[..., 2], y_axis[..., 1]), pitch, yaw], -1)


def _rotation_vector(q: Array) -> Array:
    v, w = q[..., :3], q[..., 3]
    length = np.linalg.norm(v, axis=-1)
    small = length < SMALL_ANGLE
    angle_per_length = np.where(small, 2 + length**2 / 3, 2 * np.arctan2(length, w) / np.where(small, 1.0, length))
    return angle_per_length[..., None] * v


def _exp_coefficients(angle: Array) -> tuple[Array, Array, Array]:
    """sin θ/θ, (1 − cos θ)/θ², (θ − sin θ)/θ³, shaped to multiply 3×3 matrices."""
    square = angle**2
    small = angle < SMALL_ANGLE
    safe = np.where(small, 1.0, angle)
    a = np.where(small, 1 - square / 6, np.sin(safe) / safe)
    b = np.where(small, 0.5 - square / 24, 2 * (np.sin(0.5 * safe) / safe) ** 2)
    # θ − sin θ cancels long before the other two do
    series = 1 / 6 - square / 120 * (1 - square / 42 * (1 - square / 72 * (1 - square / 110)))
    c = np.where(angle < 0.1, series, (safe - np.sin(safe)) / safe**3)
    return a[..., None, None], b[..., None, None], c[..., None, None]


def _identity(batch: tuple[int, ...]) -> Array:
    T = np.zeros((*batch, 4, 4))
    T[..., range(4), range(4)] = 1.0
    return T


def _vector(values: ArrayLike, length: int, name: str) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim < 1 or array.shape[-1] != length:
        raise ShapeError(name, f"(..., {length})", array.shape)
    return array


def _matrix(values: ArrayLike, size: int, name: str) -> Array:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim < 2 or array.shape[-2:] != (size, size):
        raise ShapeError(name, f"(..., {size}, {size})", array.shape)
    return array
