"""The rotation between two frames as a vector, and the wrench of springs between them.

`lie` has the same logarithm for batches of any shape and takes some hundred microseconds for one pose. Here a
thousand poses per second are compared: what branches is written for plain floats, the rest is straight-line code that
runs on floats and on traced symbols.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

Numbers = Sequence[float]


def rotation_vector(R: Numbers) -> tuple[float, float, float]:
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


def curvature(r: Numbers) -> float:
    """c of J⁻¹ = 1 − ½ [r] + c [r]², the inverse left Jacobian of SO(3) at a rotation vector."""
    square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    if square < 1e-6:
        return 1.0 / 12.0 + square / 720.0
    half = 0.5 * math.sqrt(square)
    return (1.0 - half / math.tan(half)) / square


def spring_wrench(r: Sequence[Any], c: Any, p: Sequence[Any], stiffness: Sequence[Any]) -> list[Any]:
    """Wrench that springs exert on the tip, in its own frame, moment first [N m, N]; over any scalar.

    The springs store ½ rᵀ K_r r + ½ pᵀ K_p p. The wrench is the exact gradient of that, so they give back what they
    took even when they are stiff about one axis only: r changes by J⁻¹ times the angular velocity, which makes the
    moment J⁻ᵀ K_r r, and the springs along the axes of the tip turn with it, which adds p × K_p p.

    Args:
        r: Rotation vector from the tip to its goal [rad].
        c: Its `curvature`.
        p: Position of the goal seen from the tip [m].
        stiffness: Six numbers, angular first [N m/rad, N/m].
    """
    k, f = [stiffness[i] * r[i] for i in range(3)], [stiffness[3 + i] * p[i] for i in range(3)]
    first = _cross(r, k)
    second = _cross(r, first)
    lever = _cross(p, f)
    # J⁻ᵀ = 1 + ½ [r] + c [r]²
    moment = [k[i] + 0.5 * first[i] + c * second[i] + lever[i] for i in range(3)]
    return [*moment, *f]


def _cross(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
