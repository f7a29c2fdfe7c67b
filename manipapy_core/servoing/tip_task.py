"""The joint velocity that a command of the tip prefers, near singularities as well; compiled.

The singular values σ of the weighted Jacobian tell how fast the tip moves per joint rate. Below a threshold the part of
the twist along the direction u is damped by σ²/(σ² + λ²), which bounds joint rates (Nakamura and Hanafusa 1986). At
σ = 0 the direction is lost to first order. To second order a joint motion along n, with J n = σ u, gives the tip an
acceleration κ ḣ² along u: where κ has the sign of the twist, moving along n goes on in its direction; where not, the
direction is impossible. Where κ is zero, as at a wrist singularity, the arm first moves where σ grows.

All of it is written in tip axes: weights are the same in all directions, so singular values are those in base axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compiler import kernels_of
from ..jit import njit
from ..model.chain import Chain
from ..typing import Array
from .servo_types import ServoSettings

PROBE = 1e-3
"""Joint step of the differences that give the derivative of a singular value [rad or m]."""
SHARE_LOST = 0.1
"""A twist has lost its direction if a larger share of it than this is damped away."""
ESCAPE_SPEED = 0.15
"""Joint speed with which a singular configuration is left, as a share of the velocity limits."""
FLAT = 0.02
"""Second derivatives below this count as zero [m]."""
BRAKE_BELOW = 0.25
"""Singular value below which the arm can be about to run into a singularity that it cannot pass [m]."""
BRAKE_SHARE = 0.6
"""Share of the speed from which the arm could still stop in front of it."""
SLOWEST_ESCAPE = 0.02
"""Share of the commanded speed while a singularity is left."""
SLOWEST = 0.1
"""Share of the commanded speed that is kept however far the tip is from its path."""
DAMPING = 1e-5
"""Cost of a velocity other than the preferred one, beside that of a twist other than the target."""


@dataclass(frozen=True, eq=False)
class TipTask:
    """min ‖J v − target‖² + ρ ‖v − preferred‖², and what is known of it."""

    H: Array
    """½ vᵀ H v + fᵀ v, shape (n, n)."""
    f: Array
    """Shape (n,)."""
    J: Array
    """Weighted Jacobian in tip axes, shape (6, n)."""
    fit: float
    """Share of the twist that velocity limits leave."""
    is_lost: bool
    """Whether a singularity takes more than `SHARE_LOST` of the twist."""
    lost: Array
    """That part of the twist, in base axes, angular first [rad/s, m/s], shape (6,)."""


class TipTasks:
    """Makes the task of every cycle of one arm.

    Args:
        chain: The arm.
        settings: Weights, thresholds and gains.
        speed: Velocity limits [rad/s or m/s], shape (n,).
        acceleration: Acceleration limits [rad/s² or m/s²], shape (n,).
    """

    def __init__(self, chain: Chain, settings: ServoSettings, speed: Array, acceleration: Array):
        self._acceleration = acceleration
        self._speed, self._threshold, self._length = speed, settings.singular_threshold, settings.length
        self._kernel = kernels_of(chain).body_jacobian
        s = settings
        self._gains = np.array([s.length, s.singular_threshold, s.path_gain, s.path_tolerance, s.path_leash])

    def task(self, q: Array, qd: Array, pose: Array, twist: Array, reference: Array, pull: Array) -> TipTask:
        """The task of one cycle.

        Args:
            q: Joint positions [rad or m], shape (n,).
            qd: Joint velocities, which decide on the side of a singularity.
            pose: T_base_tip at q.
            twist: Desired, in base axes, angular first [rad/s, m/s], shape (6,).
            reference: T_base_path: where the path of the commands leads; the pose itself for none.
            pull: Joint velocity for joints that the tip leaves free, shape (n,).
        """
        J, H, f, lost, u, n, numbers = self._solve(q, pose, twist, reference, pull)
        fit, is_lost, sigma, along, size = numbers
        if sigma < BRAKE_BELOW and abs(along) > SHARE_LOST * size:
            gradient = self._gradient(q, sigma, u, n)
            leaves, escape, kept = self._near_singularity(
                gradient, sigma, n, along, abs(along) / size, qd, bool(is_lost)
            )
            part = (1.0 - kept) * along * _in_base(pose, u, self._length)
            if leaves:
                # On its way out the arm keeps the direction: what is not lost waits for what is.
                twist = kept * twist + part
            elif kept < 1.0:
                twist, lost, is_lost = twist - part, lost + part, 1.0
            if leaves or kept < 1.0:
                J, H, f, _, _, _, _ = self._solve(q, pose, twist, reference, pull)
                f -= DAMPING * escape
        return TipTask(H, f, J, float(fit), bool(is_lost), lost)

    def _solve(self, q: Array, pose: Array, twist: Array, reference: Array, pull: Array) -> tuple[Any, ...]:
        return _task(self._kernel.run(q), pose, twist, reference, pull, self._speed, self._gains)

    def _gradient(self, q: Array, sigma: float, u: Array, n: Array) -> Array:
        """Derivative of the smallest singular value by q, shape (n,)."""
        beside = self._kernel.run(q + PROBE * np.eye(len(q)))
        beside[:, :3] *= self._length
        return (u @ (beside @ n).T - sigma) / PROBE

    def _near_singularity(
        self, gradient: Array, sigma: float, n: Array, along: float, share: float, qd: Array, is_lost: bool
    ) -> tuple[bool, Array, float]:
        """Whether the arm leaves a singularity, its joint velocity for that, and the share of the twist along the lost
        direction that is kept.
        """
        curvature, none = float(gradient @ n), np.zeros_like(n)
        if curvature * along < 0.0 and abs(curvature) > FLAT:
            # Beyond the singularity the direction is impossible: the arm must be able to stop in front of it.
            room = sigma / abs(curvature)
            allowed = (
                BRAKE_SHARE * (2.0 * room * float(np.min(self._acceleration / np.maximum(np.abs(n), 1e-6)))) ** 0.5
            )
            wanted = abs(along) / max(sigma, 1e-6)
            return False, none, min(1.0, allowed / wanted)
        if not is_lost or sigma >= self._threshold:
            return False, none, 1.0
        if abs(curvature) > FLAT:
            side = np.sign(along) if sigma > 1e-6 or abs(qd @ n) < 1e-6 else np.sign(qd @ n)
            direction, speed = side * n, min(1.0, (abs(along) / abs(curvature)) ** 0.5)
        elif np.abs(gradient).max() > FLAT and sigma < 0.5 * self._threshold:
            direction, speed = gradient / np.linalg.norm(gradient), 0.5 * share
            if qd @ direction < -1e-3:
                direction = -direction  # it comes from the other side
        else:
            return False, none, 1.0
        fastest = float(np.max(np.abs(direction) / self._speed))
        escape = direction * (1.0 - sigma / self._threshold) * min(speed, ESCAPE_SPEED / fastest)
        kept = max(sigma**2 / (sigma**2 + (0.5 * self._threshold) ** 2), SLOWEST_ESCAPE)
        return True, escape, kept


def _in_base(pose: Array, weighted: Array, length: float) -> Array:
    """A weighted twist in tip axes, in base axes without weights."""
    R = pose[:3, :3]
    return np.concatenate([R @ weighted[:3] / length, R @ weighted[3:]])


@njit(cache=True, nogil=True)
def rotation_log(R, out):  # type: ignore[no-untyped-def]
    """Writes the rotation vector of a rotation matrix."""
    x, y, z = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    w = R[0, 0] + R[1, 1] + R[2, 2]
    # The largest component of the quaternion (w, x, y, z), squared times four, is the safe one to divide by.
    squares = np.array([1.0 + w, 1.0 + 2.0 * R[0, 0] - w, 1.0 + 2.0 * R[1, 1] - w, 1.0 + 2.0 * R[2, 2] - w])
    k = np.argmax(squares)
    if k == 0:
        q0, q1, q2, q3 = squares[0], x, y, z
    elif k == 1:
        q0, q1, q2, q3 = x, squares[1], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]
    elif k == 2:
        q0, q1, q2, q3 = y, R[0, 1] + R[1, 0], squares[2], R[1, 2] + R[2, 1]
    else:
        q0, q1, q2, q3 = z, R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], squares[3]
    if q0 < 0.0:
        q0, q1, q2, q3 = -q0, -q1, -q2, -q3
    length = (q1 * q1 + q2 * q2 + q3 * q3) ** 0.5
    factor = 2.0 / q0 if length < 1e-9 * q0 else 2.0 * np.arctan2(length, q0) / length
    out[0], out[1], out[2] = factor * q1, factor * q2, factor * q3


@njit(cache=True, nogil=True)
def rotation_exp(w):  # type: ignore[no-untyped-def]
    """Rotation matrix of a rotation vector."""
    angle = (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]) ** 0.5
    R = np.eye(3)
    if angle < 1e-12:
        return R
    x, y, z = w[0] / angle, w[1] / angle, w[2] / angle
    s, c = np.sin(angle), 1.0 - np.cos(angle)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return R + s * K + c * (K @ K)


@njit(cache=True, nogil=True)
def path_error(pose, reference, length, leash):  # type: ignore[no-untyped-def]
    """Rotation vector and offset from the tip to its path, in base axes, no longer than the leash; shape (6,)."""
    error = np.empty(6)
    rotation_log(np.ascontiguousarray(reference[:3, :3]) @ np.ascontiguousarray(pose[:3, :3]).T, error[:3])
    error[3:] = reference[:3, 3] - pose[:3, 3]
    longest = max(np.linalg.norm(error[:3]) * length, np.linalg.norm(error[3:])) / leash
    return error / max(longest, 1.0)


@njit(cache=True, nogil=True)
def move_path(pose, reference, twist, achieved, length, leash, dt):  # type: ignore[no-untyped-def]
    """Moves the path on by the part of the twist that is achieved, all in base axes."""
    progress, size = 0.0, 1e-12
    for i in range(6):
        weight = length * length if i < 3 else 1.0
        progress += weight * achieved[i] * twist[i]
        size += weight * twist[i] * twist[i]
    moved = min(max(progress / size, 0.0), 1.0) * dt * twist
    error = path_error(pose, reference, length, leash)
    R = rotation_exp(moved[:3]) @ (rotation_exp(error[:3]) @ np.ascontiguousarray(pose[:3, :3]))
    for r in range(3):
        reference[r, 3] = pose[r, 3] + error[3 + r] + moved[3 + r]
        for c in range(3):
            reference[r, c] = R[r, c]


@njit(cache=True, nogil=True)
def _task(J, pose, twist, reference, pull, speed, gains):  # type: ignore[no-untyped-def]
    length, threshold, gain, tolerance, leash = gains
    n = J.shape[1]
    Rt = np.ascontiguousarray(pose[:3, :3].T)
    weights = np.array([length, length, length, 1.0, 1.0, 1.0])
    for r in range(6):
        J[r] *= weights[r]
    wanted, error = np.empty(6), path_error(pose, reference, length, leash)
    wanted[:3], wanted[3:] = Rt @ twist[:3], Rt @ twist[3:]
    correction = np.empty(6)
    correction[:3], correction[3:] = Rt @ error[:3], Rt @ error[3:]
    wanted *= weights
    correction *= gain * weights
    U, sigma, Vt = np.linalg.svd(J)
    rank = len(sigma)
    along, back = U.T @ wanted, U.T @ correction
    followed, returned, damped_along = np.zeros(6), np.zeros(6), np.zeros(rank)
    for i in range(rank):
        near = max(1.0 - (sigma[i] / threshold) ** 2, 0.0)
        inverse = sigma[i] / (sigma[i] ** 2 + near * (0.5 * threshold) ** 2 + 1e-12)
        followed += U[:, i] * (sigma[i] * inverse * along[i])
        returned += U[:, i] * (sigma[i] * inverse * back[i])
        damped_along[i] = inverse
    missing, size = wanted - followed, np.linalg.norm(wanted)
    lag = np.linalg.norm(returned) / gain
    slow = max(1.0 / (1.0 + (lag / tolerance) ** 2), SLOWEST)
    preferred = np.zeros(n)
    for i in range(rank):
        preferred += Vt[i] * (damped_along[i] * (slow * along[i] + back[i]))
    fastest = 0.0
    for j in range(n):
        fastest = max(fastest, abs(preferred[j]) / speed[j])
    fit = 1.0 / fastest if fastest > 1.0 else 1.0
    preferred *= fit
    for i in range(6, n):
        preferred += Vt[i] * np.sum(Vt[i] * pull)
    target = fit * (slow * followed + returned)
    H, f = J.T @ J, -(J.T @ target) - DAMPING * preferred
    for j in range(n):
        H[j, j] += DAMPING
    lost = np.empty(6)
    lost[:3], lost[3:] = Rt.T @ missing[:3] / length, Rt.T @ missing[3:]
    is_lost = 1.0 if np.linalg.norm(missing) > SHARE_LOST * size else 0.0
    numbers = (fit, is_lost, sigma[rank - 1], along[rank - 1], size)
    return J, H, f, lost, U[:, rank - 1].copy(), Vt[rank - 1].copy(), numbers
