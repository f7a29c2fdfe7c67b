"""Rotation and spring wrench between two poses, in plain floats.

`lie` does the same for batches of any shape and takes some hundred microseconds for one pose. Here a thousand poses
per second are compared, so the formulas are written out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

Vector = tuple[float, float, float]
Numbers = Sequence[float]


def rotation_vector(R: Numbers) -> Vector:
    """Axis times angle [rad] of a rotation matrix, angle in [0, π].

    By the quaternion, whose largest component is computed first: as exact near 0 as near π.

    Args:
        R: Nine numbers, row by row.
    """
    xx, yy, zz = R[0], R[4], R[8]
    if xx + yy + zz > 0.0:
        w, x, y, z = 1.0 + xx + yy + zz, R[7] - R[5], R[2] - R[6], R[3] - R[1]
    elif xx >= yy and xx >= zz:
        w, x, y, z = R[7] - R[5], 1.0 + xx - yy - zz, R[1] + R[3], R[2] + R[6]
    elif yy >= zz:
        w, x, y, z = R[2] - R[6], R[1] + R[3], 1.0 - xx + yy - zz, R[5] + R[7]
    else:
        w, x, y, z = R[3] - R[1], R[2] + R[6], R[5] + R[7], 1.0 - xx - yy + zz
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    length = math.sqrt(x * x + y * y + z * z)
    # The four numbers are a multiple of the quaternion; only their ratio counts.
    factor = 2.0 * math.atan2(length, w) / length if length > 1e-12 * w else 2.0 / w
    return factor * x, factor * y, factor * z


def turning_moment(r: Vector, stiffness: Numbers) -> Vector:
    """Moment of a spring that stores ½ rᵀ K r when turned by the rotation vector r, in the turned frame [N m].

    The rate of r is J⁻¹ times the angular velocity, with J the left Jacobian of SO(3), so the moment is J⁻ᵀ K r.
    For equal stiffness about all axes that is K r itself.

    Args:
        r: Rotation vector from the current frame to the wanted one [rad].
        stiffness: Three numbers [N m/rad].
    """
    x, y, z = r
    kx, ky, kz = stiffness[0] * x, stiffness[1] * y, stiffness[2] * z
    square = x * x + y * y + z * z
    if square < 1e-6:
        c = 1.0 / 12.0 + square / 720.0
    else:
        angle = math.sqrt(square)
        half = 0.5 * angle
        c = (1.0 - half / math.tan(half)) / square
    # J⁻ᵀ = 1 + ½ [r] + c [r]², the transpose of Lynch & Park (3.92) written for SO(3)
    ax, ay, az = y * kz - z * ky, z * kx - x * kz, x * ky - y * kx
    bx, by, bz = y * az - z * ay, z * ax - x * az, x * ay - y * ax
    return kx + 0.5 * ax + c * bx, ky + 0.5 * ay + c * by, kz + 0.5 * az + c * bz


def spring_wrench(
    T_base_tip: Numbers, T_base_goal: Numbers, stiffness: Numbers
) -> tuple[list[float], list[float]]:
    """Wrench of the springs between the tip and its goal, and how the goal is turned against the tip.

    The potential is ½ rᵀ K_r r + ½ pᵀ K_p p with r and p the rotation and translation from tip to goal, seen by the
    tip. The wrench is its exact gradient, so the springs give back what they took even when stiff along one axis
    only: the stiffness turns with the tip, which adds the moment p × K_p p.

    Args:
        T_base_tip: Sixteen numbers, row by row.
        T_base_goal: Sixteen numbers, row by row.
        stiffness: Six numbers, angular first [N m/rad, N/m].

    Returns:
        The wrench on the tip in its own frame, moment first [N m, N], and R_tip_goal, nine numbers row by row.
    """
    a, b = T_base_tip, T_base_goal
    R = [
        a[i] * b[j] + a[4 + i] * b[4 + j] + a[8 + i] * b[8 + j]
        for i in (0, 1, 2)
        for j in (0, 1, 2)
    ]  # fmt: skip
    dx, dy, dz = b[3] - a[3], b[7] - a[7], b[11] - a[11]
    px = a[0] * dx + a[4] * dy + a[8] * dz
    py = a[1] * dx + a[5] * dy + a[9] * dz
    pz = a[2] * dx + a[6] * dy + a[10] * dz
    fx, fy, fz = stiffness[3] * px, stiffness[4] * py, stiffness[5] * pz
    mx, my, mz = turning_moment(rotation_vector(R), stiffness)
    wrench = [mx + py * fz - pz * fy, my + pz * fx - px * fz, mz + px * fy - py * fx, fx, fy, fz]
    return wrench, R
