"""Point-to-point time laws: straight joint motions and screw motions in SE(3), with cubic or quintic scaling."""

from __future__ import annotations

from typing import Any

from ..scalar import sincos
from ..spatial import add, matmul, matvec, scale, skew


def cubic_scaling(u: Any) -> tuple[Any, Any, Any]:
    """Path fraction and its first two derivatives over normalised time u in [0, 1]: at rest at both ends."""
    return u * u * (3.0 - 2.0 * u), 6.0 * u * (1.0 - u), 6.0 - 12.0 * u


def quintic_scaling(u: Any) -> tuple[Any, Any, Any]:
    """As `cubic_scaling`, with zero acceleration at both ends too."""
    uu = u * u
    s = uu * u * (10.0 - 15.0 * u + 6.0 * uu)
    return s, 30.0 * uu * (1.0 - 2.0 * u + uu), 60.0 * u * (1.0 - 3.0 * u + 2.0 * uu)


SCALINGS = {3: cubic_scaling, 5: quintic_scaling}
"""Scaling by the order of its polynomial."""


def joint_trajectory(order: int, n: int, u: Any, start: Any, goal: Any, rate: Any) -> list[Any]:
    """Position, velocity and acceleration of n joints at one time: 3×n, row by row.

    Args:
        u: Normalised time in [0, 1], one number.
        start: Joint positions at u = 0 [rad or m], n numbers.
        goal: Joint positions at u = 1.
        rate: One over the duration [1/s], one number.
    """
    s, ds, dds = SCALINGS[order](u[0])
    ds, dds = ds * rate[0], dds * (rate[0] * rate[0])
    delta = [goal[j] - start[j] for j in range(n)]
    position = [start[j] + s * delta[j] for j in range(n)]
    return [*position, *scale(ds, delta), *scale(dds, delta)]


def screw_trajectory(order: int, u: Any, start: Any, screw: Any, distance: Any, rate: Any) -> list[Any]:
    """Pose, body twist and body acceleration along one screw axis: 16 + 6 + 6 numbers.

    Args:
        u: Normalised time in [0, 1], one number.
        start: Pose at u = 0, 4×4 row by row.
        screw: Unit screw axis in the start frame, angular first: unit angular part, or unit linear part alone.
        distance: How far to go along it [rad, or m for a pure translation], one number.
        rate: One over the duration [1/s], one number.
    """
    s, ds, dds = SCALINGS[order](u[0])
    angle = s * distance[0]
    half_sine, half_cosine = sincos(0.5 * angle)
    w, v = screw[0:3], screw[3:6]
    W = skew(w)
    WW = matmul(W, W)
    # 1 − cos by half angles keeps its digits when a long way is turned by a tiny angle
    sine, versine = 2.0 * half_sine * half_cosine, 2.0 * half_sine * half_sine
    turn = [a + b for a, b in zip(scale(sine, W), scale(versine, WW))]
    for diagonal in (0, 4, 8):
        turn[diagonal] = turn[diagonal] + 1.0
    # Lynch & Park (3.88) with a unit screw: no division, so a pure translation needs no branch
    p = add(scale(angle, v), scale(versine, matvec(W, v)), scale(angle - sine, matvec(WW, v)))
    R0 = [start[4 * r + c] for r in range(3) for c in range(3)]
    R, moved = matmul(R0, turn), matvec(R0, p)
    position = [moved[r] + start[4 * r + 3] for r in range(3)]
    pose = [entry for r in range(3) for entry in (*R[3 * r : 3 * r + 3], position[r])]
    # The screw axis is fixed in the moving frame, so twist and acceleration are multiples of it.
    speed, acceleration = ds * (rate[0] * distance[0]), dds * (rate[0] * rate[0] * distance[0])
    return [*pose, 0.0, 0.0, 0.0, 1.0, *scale(speed, screw), *scale(acceleration, screw)]
