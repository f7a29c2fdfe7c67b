"""Poses as robot descriptions write them: a translation and roll, pitch, yaw."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .elements import Array

# Files write a quarter turn as 1.5708 (an angle like any other) or with eleven or more decimals, where pi/2
# is meant. Within this distance [rad] the exact zeros and ones are used: it moves a point at 1 m by at most
# 10 picometres, and a compiled kernel has many terms fewer.
_QUARTER_TURN_TOLERANCE = 1e-11

_QUARTER_TURNS = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))


def _cosine_sine(angle: float) -> tuple[float, float]:
    turns = round(angle / (math.pi / 2))
    if abs(angle - turns * (math.pi / 2)) < _QUARTER_TURN_TOLERANCE:
        return _QUARTER_TURNS[turns % 4]
    return math.cos(angle), math.sin(angle)


def rotation_from_rpy(rpy: Sequence[float]) -> Array:
    """Rotation about the fixed axes x, then y, then z: R = Rz(yaw) Ry(pitch) Rx(roll).

    Args:
        rpy: Roll, pitch, yaw [rad].

    Returns:
        Rotation matrix, shape (3, 3).
    """
    (cr, sr), (cp, sp), (cy, sy) = (_cosine_sine(angle) for angle in rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def transform_from_xyz_rpy(xyz: Sequence[float], rpy: Sequence[float]) -> Array:
    """Homogeneous pose of a frame written as `<origin xyz=... rpy=...>`.

    Args:
        xyz: Position [m].
        rpy: Roll, pitch, yaw [rad].

    Returns:
        Pose, shape (4, 4).
    """
    transform = np.eye(4)
    transform[:3, :3] = rotation_from_rpy(rpy)
    transform[:3, 3] = xyz
    return transform
