"""The joint velocity that a command of the tip prefers, near singularities as well; compiled.

The singular values σ of the weighted Jacobian tell how fast the tip moves per joint rate. Below a threshold the part of
the twist along the direction u is damped by σ²/(σ² + λ²), which bounds joint rates (Nakamura and Hanafusa 1986). At
σ = 0 the direction is lost to first order. To second order a joint motion along n, with J n = σ u, gives the tip an
acceleration κ ḣ² along u: where κ has the sign of the twist, moving along n continues in its direction; where not, the
direction is impossible. Where κ is zero, as at a wrist singularity, the arm first moves where σ grows.

All of it is written in tip axes: weights are the same in all directions, so singular values are those in base axes.
"""

from __future__ import annotations

import math

import numpy as np

from ..jit import njit
from .svd import decompose

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


@njit(cache=True, nogil=True)
def tip_task(jacobians, pose, twist, reference, pull, qd, speed, acceleration, gains, H, f, lost):  # type: ignore[no-untyped-def]
    """Writes the task min ‖J v − target‖² + ρ ‖v − preferred‖² of one cycle as ½ vᵀ H v + fᵀ v.

    Args:
        jacobians: In tip axes, at the configuration and `PROBE` beside it for every joint, shape (n + 1, 6, n); they
            are weighted here.
        pose: T_base_tip.
        twist: Desired, in base axes, angular first [rad/s, m/s], shape (6,).
        reference: T_base_path: where the path of the commands leads; the pose itself for none.
        pull: Joint velocity for joints that the tip leaves free, shape (n,).
        qd: Joint velocities, which decide on the side of a singularity.
        speed: Velocity limits [rad/s or m/s], shape (n,).
        acceleration: Acceleration limits [rad/s² or m/s²], shape (n,).
        gains: Length, threshold of singular values, gain, tolerance and largest error of the path.
        lost: Takes the part of the twist that a singularity takes, base axes, angular first [rad/s, m/s], shape (6,).

    Returns:
        Share of the twist that velocity limits leave, and whether a singularity takes more than `SHARE_LOST` of it.
    """
    n = jacobians.shape[2]
    for k in range(n + 1):
        for r in range(3):
            for j in range(n):
                jacobians[k, r, j] *= gains[0]
    J = jacobians[0]
    Ut, sigma, Vt, part, escape = np.empty((6, 6)), np.empty(6), np.empty((6, n)), np.empty(6), np.empty(n)
    decompose(J, Ut, sigma, Vt)
    fit, is_lost, along, size = _task(J, Ut, sigma, Vt, pose, twist, reference, pull, speed, gains, H, f, lost)
    if sigma[min(6, n) - 1] < BRAKE_BELOW and abs(along) > SHARE_LOST * size:
        leaves, kept = _near_singularity(
            jacobians, Ut, sigma, Vt, pose, along, size, qd, is_lost, speed, acceleration, gains, part, escape
        )
        if leaves or kept < 1.0:
            before, bent = lost.copy(), np.empty(6)
            for i in range(6):
                # On its way out the arm keeps the direction: what is not lost waits for what is.
                bent[i] = kept * twist[i] + part[i] if leaves else twist[i] - part[i]
            fit, _, _, _ = _task(J, Ut, sigma, Vt, pose, bent, reference, pull, speed, gains, H, f, lost)
            for j in range(n):
                f[j] -= DAMPING * escape[j]
            for i in range(6):
                lost[i] = before[i] if leaves else before[i] + part[i]
            is_lost = True
    return fit, is_lost


@njit(cache=True, nogil=True)
def _near_singularity(  # type: ignore[no-untyped-def]
    jacobians, Ut, sigmas, Vt, pose, along, size, qd, is_lost, speed, acceleration, gains, part, escape
):
    """Whether the arm leaves a singularity, and the share of the twist along the lost direction that is kept.

    Args:
        jacobians: Weighted, at the configuration and `PROBE` beside it for every joint, shape (n + 1, 6, n).
        along: Twist along the lost direction.
        size: Of the twist.
        part: What is not kept is written here, in base axes, shape (6,).
        escape: The joint velocity that leads out is written here, shape (n,).
    """
    length, threshold = gains[0], gains[1]
    last, count = min(6, len(qd)) - 1, len(qd)
    sigma, curvature, square, steepest, forward = sigmas[last], 0.0, 0.0, 0.0, 0.0
    gradient = np.empty(count)
    slowest = np.inf
    for j in range(count):
        value = 0.0
        for r in range(6):
            for k in range(count):
                value += Ut[last, r] * jacobians[j + 1, r, k] * Vt[last, k]
        gradient[j], escape[j] = (value - sigma) / PROBE, 0.0
        curvature += gradient[j] * Vt[last, j]
        square += gradient[j] * gradient[j]
        steepest = max(steepest, abs(gradient[j]))
        forward += qd[j] * Vt[last, j]
        slowest = min(slowest, acceleration[j] / max(abs(Vt[last, j]), 1e-6))
    leaves, kept, most = False, 1.0, 0.0
    if curvature * along < 0.0 and abs(curvature) > FLAT:
        # Beyond the singularity the direction is impossible: the arm must be able to stop in front of it.
        allowed = BRAKE_SHARE * math.sqrt(2.0 * sigma / abs(curvature) * slowest)
        kept = min(1.0, allowed * max(sigma, 1e-6) / abs(along))
    elif is_lost and sigma < threshold:
        if abs(curvature) > FLAT:
            decides = along if sigma > 1e-6 or abs(forward) < 1e-6 else forward
            side, most = math.copysign(1.0, decides), min(1.0, math.sqrt(abs(along) / abs(curvature)))
            for j in range(count):
                escape[j] = side * Vt[last, j]
            leaves = True
        elif steepest > FLAT and sigma < 0.5 * threshold:
            most, backward = 0.5 * abs(along) / size, 0.0
            for j in range(count):
                escape[j] = gradient[j] / math.sqrt(square)
                backward -= qd[j] * escape[j]
            if backward > 1e-3:
                for j in range(count):
                    escape[j] = -escape[j]  # it comes from the other side
            leaves = True
    if leaves:
        fastest = 0.0
        for j in range(count):
            fastest = max(fastest, abs(escape[j]) / speed[j])
        scale = (1.0 - sigma / threshold) * min(most, ESCAPE_SPEED / fastest)
        for j in range(count):
            escape[j] *= scale
        kept = max(sigma**2 / (sigma**2 + (0.5 * threshold) ** 2), SLOWEST_ESCAPE)
    for r in range(3):
        part[r], part[3 + r] = 0.0, 0.0
        for k in range(3):
            part[r] += (1.0 - kept) * along * pose[r, k] * Ut[last, k] / length
            part[3 + r] += (1.0 - kept) * along * pose[r, k] * Ut[last, 3 + k]
    return leaves, kept


@njit(cache=True, nogil=True)
def scaled_twist(twist, angular_speed, linear_speed, out):  # type: ignore[no-untyped-def]
    """Writes a twist no faster than both speeds; returns what it was divided by."""
    turn = math.sqrt(twist[0] * twist[0] + twist[1] * twist[1] + twist[2] * twist[2])
    move = math.sqrt(twist[3] * twist[3] + twist[4] * twist[4] + twist[5] * twist[5])
    too_fast = max(turn / angular_speed, move / linear_speed, 1.0)
    for i in range(6):
        out[i] = twist[i] / too_fast
    return too_fast


@njit(cache=True, nogil=True)
def rotation_log(R, out):  # type: ignore[no-untyped-def]
    """Writes the rotation vector of a rotation matrix into the first three elements."""
    x, y, z = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    w = R[0, 0] + R[1, 1] + R[2, 2]
    # The largest component of the quaternion (w, x, y, z), squared times four, is the safe one to divide by.
    ww, xx, yy, zz = 1.0 + w, 1.0 + 2.0 * R[0, 0] - w, 1.0 + 2.0 * R[1, 1] - w, 1.0 + 2.0 * R[2, 2] - w
    if ww >= xx and ww >= yy and ww >= zz:
        q0, q1, q2, q3 = ww, x, y, z
    elif xx >= yy and xx >= zz:
        q0, q1, q2, q3 = x, xx, R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]
    elif yy >= zz:
        q0, q1, q2, q3 = y, R[0, 1] + R[1, 0], yy, R[1, 2] + R[2, 1]
    else:
        q0, q1, q2, q3 = z, R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], zz
    if q0 < 0.0:
        q0, q1, q2, q3 = -q0, -q1, -q2, -q3
    length = math.sqrt(q1 * q1 + q2 * q2 + q3 * q3)
    factor = 2.0 / q0 if length < 1e-9 * q0 else 2.0 * math.atan2(length, q0) / length
    out[0], out[1], out[2] = factor * q1, factor * q2, factor * q3


@njit(cache=True, nogil=True)
def rotation_exp(w, out):  # type: ignore[no-untyped-def]
    """Writes the rotation matrix of the rotation vector in the first three elements, shape (3, 3)."""
    angle = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
    x, y, z = 0.0, 0.0, 0.0
    if angle >= 1e-12:
        x, y, z = w[0] / angle, w[1] / angle, w[2] / angle
    s, c = math.sin(angle), 1.0 - math.cos(angle)
    # 1 + s K + c K², with K the matrix of the cross product with the axis
    out[0, 0], out[0, 1], out[0, 2] = 1.0 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y
    out[1, 0], out[1, 1], out[1, 2] = c * x * y + s * z, 1.0 - c * (x * x + z * z), c * y * z - s * x
    out[2, 0], out[2, 1], out[2, 2] = c * x * z - s * y, c * y * z + s * x, 1.0 - c * (x * x + y * y)


@njit(cache=True, nogil=True)
def _product(A, B, out):  # type: ignore[no-untyped-def]
    """Writes the product of two rotations; of poses the rotations count."""
    for r in range(3):
        for c in range(3):
            out[r, c] = A[r, 0] * B[0, c] + A[r, 1] * B[1, c] + A[r, 2] * B[2, c]


@njit(cache=True, nogil=True)
def path_error(pose, reference, length, max_error, error):  # type: ignore[no-untyped-def]
    """Writes rotation vector and offset from the tip to its path, in base axes, no longer than max_error; (6,)."""
    R = np.empty((3, 3))
    for r in range(3):
        for c in range(3):
            R[r, c] = (
                reference[r, 0] * pose[c, 0] + reference[r, 1] * pose[c, 1] + reference[r, 2] * pose[c, 2]
            )  # fmt: skip
    rotation_log(R, error)
    angle, distance = 0.0, 0.0
    for r in range(3):
        error[3 + r] = reference[r, 3] - pose[r, 3]
        angle += error[r] * error[r]
        distance += error[3 + r] * error[3 + r]
    longest = max(max(math.sqrt(angle) * length, math.sqrt(distance)) / max_error, 1.0)
    for i in range(6):
        error[i] /= longest


@njit(cache=True, nogil=True)
def _beside_path(error, twist, length):  # type: ignore[no-untyped-def]
    """Takes from an error its part along the twist: how far the tip has come is no error.

    An arm of little acceleration that were to return to a point ahead or behind would swing about it.
    """
    along, size = 0.0, 1e-12
    for r in range(3):
        along += length * length * error[r] * twist[r] + error[3 + r] * twist[3 + r]
        size += length * length * twist[r] * twist[r] + twist[3 + r] * twist[3 + r]
    for r in range(6):
        error[r] -= along / size * twist[r]


@njit(cache=True, nogil=True)
def move_path(pose, reference, twist, J, qd, gains, dt):  # type: ignore[no-untyped-def]
    """Moves the path on by the part of a twist in base axes that a joint velocity achieves."""
    length, max_error = gains[0], gains[4]
    wanted, progress, size = np.empty(6), 0.0, 1e-12
    _in_tip(pose, twist, length, wanted)
    for i in range(6):
        for j in range(len(qd)):
            progress += J[i, j] * qd[j] * wanted[i]
        size += wanted[i] * wanted[i]
    share = min(max(progress / size, 0.0), 1.0) * dt
    moved, error = np.empty(6), np.empty(6)
    for i in range(6):
        moved[i] = share * twist[i]
    path_error(pose, reference, length, max_error, error)
    _beside_path(error, twist, length)
    turn, turned = np.empty((3, 3)), np.empty((3, 3))
    rotation_exp(error, turn)
    _product(turn, pose, turned)
    rotation_exp(moved, turn)
    _product(turn, turned, reference)
    for r in range(3):
        reference[r, 3] = pose[r, 3] + error[3 + r] + moved[3 + r]


@njit(cache=True, nogil=True)
def _in_tip(pose, twist, length, out):  # type: ignore[no-untyped-def]
    """Writes a twist in base axes as a weighted one in tip axes."""
    for r in range(3):
        out[r] = length * (pose[0, r] * twist[0] + pose[1, r] * twist[1] + pose[2, r] * twist[2])
        out[3 + r] = pose[0, r] * twist[3] + pose[1, r] * twist[4] + pose[2, r] * twist[5]


@njit(cache=True, nogil=True)
def _task(J, Ut, sigma, Vt, pose, twist, reference, pull, speed, gains, H, f, lost):  # type: ignore[no-untyped-def]
    """Writes H, f and what is lost, and returns fit, whether much is lost, the twist along the last direction, and its
    size; from the singular value decomposition of the weighted Jacobian.
    """
    length, threshold, gain, tolerance, max_error = gains[0], gains[1], gains[2], gains[3], gains[4]
    n, rank = J.shape[1], min(6, J.shape[1])
    wanted, correction, error = np.empty(6), np.empty(6), np.empty(6)
    path_error(pose, reference, length, max_error, error)
    _beside_path(error, twist, length)
    _in_tip(pose, twist, length, wanted)
    _in_tip(pose, error, length, correction)
    followed, returned, preferred = np.zeros(6), np.zeros(6), np.zeros(n)
    along, back, damped = np.zeros(rank), np.zeros(rank), np.zeros(rank)
    for i in range(rank):
        for r in range(6):
            along[i] += Ut[i, r] * wanted[r]
            back[i] += Ut[i, r] * gain * correction[r]
        near = max(1.0 - (sigma[i] / threshold) ** 2, 0.0)
        damped[i] = sigma[i] / (sigma[i] ** 2 + near * (0.5 * threshold) ** 2 + 1e-12)
        for r in range(6):
            followed[r] += Ut[i, r] * (sigma[i] * damped[i] * along[i])
            returned[r] += Ut[i, r] * (sigma[i] * damped[i] * back[i])
    size, missed, lag = 0.0, 0.0, 0.0
    for r in range(6):
        size += wanted[r] * wanted[r]
        missed += (wanted[r] - followed[r]) ** 2
        lag += returned[r] * returned[r]
    size, missed, lag = math.sqrt(size), math.sqrt(missed), math.sqrt(lag) / gain
    slow = max(1.0 / (1.0 + (lag / tolerance) ** 2), SLOWEST)
    for i in range(rank):
        for j in range(n):
            preferred[j] += Vt[i, j] * (damped[i] * (slow * along[i] + back[i]))
    fastest = 0.0
    for j in range(n):
        fastest = max(fastest, abs(preferred[j]) / speed[j])
    fit = 1.0 / fastest if fastest > 1.0 else 1.0
    for j in range(n):
        preferred[j] *= fit
    if n > 6:  # what the tip leaves free of the pull
        for i in range(6):
            taken = 0.0
            for j in range(n):
                taken += Vt[i, j] * pull[j]
            for j in range(n):
                preferred[j] -= taken * Vt[i, j]
        for j in range(n):
            preferred[j] += pull[j]
    for j in range(n):
        f[j] = -DAMPING * preferred[j]
        for r in range(6):
            f[j] -= J[r, j] * (fit * (slow * followed[r] + returned[r]))
        for k in range(j + 1):
            total = DAMPING if k == j else 0.0
            for r in range(6):
                total += J[r, j] * J[r, k]
            H[j, k] = H[k, j] = total
    for r in range(3):
        lost[r], lost[3 + r] = 0.0, 0.0
        for k in range(3):
            lost[r] += pose[r, k] * (wanted[k] - followed[k]) / length
            lost[3 + r] += pose[r, k] * (wanted[3 + k] - followed[3 + k])
    return fit, missed > SHARE_LOST * size, along[rank - 1], size
