"""Least-squares ball fits: only the near side of a ball is visible, the fit gives the far side."""

from __future__ import annotations

import math

import numpy as np

from ...typing import Array
from ..points.plane_fit import plane_axes

NOISE_LIMIT = 0.1
"""With more noise than this share of the radius, boxes fit a ball as well."""
BALL_MISFIT = 0.088
"""Allowed standard deviation of points about a ball on a plane, per radius: boxes and cans have 0.1 and more."""
SMALL_BALL = 0.04
"""Below this radius [m] the noise may exceed that: a ball and a block differ by little there."""


def fit_ball(xyz: Array, sigma: float) -> tuple[Array, float] | None:
    """Centre and radius of the ball that fits points [m]; None if no ball fits.

    Args:
        xyz: [m], shape (points, 3).
        sigma: Standard deviation of a point [m].
    """
    if len(xyz) < 20:
        return None
    mean = xyz.mean(axis=0)
    p = xyz - mean
    # |p − c|² = r² is linear in c and r² − |c|².
    A = np.column_stack([2.0 * p, np.ones(len(p))])
    normal_equations = A.T @ A
    if np.linalg.cond(normal_equations) > 1e12:
        return None  # all in one plane
    solution = np.linalg.solve(normal_equations, A.T @ (p * p).sum(axis=1))
    square = float(solution[3] + solution[:3] @ solution[:3])
    extent = float(np.ptp(p, axis=0).max())
    # The extent of the visible half of a ball is about its diameter.
    if not (0.38 * extent) ** 2 <= square <= (0.62 * extent) ** 2:
        return None
    radius = math.sqrt(square)
    residual = float(np.std(np.linalg.norm(p - solution[:3], axis=1)))
    allowed = 0.06 * radius + 0.3 * sigma if sigma <= NOISE_LIMIT * radius else 0.04 * radius
    return (solution[:3] + mean, radius) if residual <= allowed else None


def fit_standing_ball(xyz: Array, sigma: float, feet: Array, normal: Array) -> tuple[Array, float] | None:
    """Centre and radius of the ball on a plane that fits points [m]; None if no ball fits.

    The contact leaves one unknown less than a free ball, so that the fit tolerates more noise.

    Args:
        xyz: [m], shape (points, 3).
        sigma: Standard deviation of a point [m].
        feet: A point of the plane [m], shape (3,).
        normal: Plane normal towards the ball, shape (3,).
    """
    if len(xyz) < 12:
        return None
    heights, across = (xyz - feet) @ normal, plane_axes(normal)
    flat = xyz @ across
    at = np.array([*flat.mean(axis=0), 0.5 * heights.max()])  # two coordinates in the plane, and the radius
    for _ in range(8):
        away = np.column_stack([flat - at[:2], heights - at[2]])
        distance = np.maximum(np.linalg.norm(away, axis=1), 1e-9)
        A = -away / distance[:, None]
        A[:, 2] -= 1.0
        step = np.linalg.lstsq(A, at[2] - distance, rcond=None)[0]
        at += step
        if not 0.0 < at[2] < 1.0:
            return None
        if float(np.abs(step).max()) < 1e-5:
            break
    radius = float(at[2])
    away = np.column_stack([flat - at[:2], heights - radius])
    residual = float(np.std(np.linalg.norm(away, axis=1)))
    allowed = BALL_MISFIT * radius
    if radius <= SMALL_BALL:
        allowed = max(allowed, min(0.5 * sigma, 2.0 * BALL_MISFIT * radius))
    # The top is visible from above, the full width from anywhere.
    high, wide = float(heights.max()) / (2.0 * radius), float(np.ptp(flat, axis=0).max()) / (2.0 * radius)
    if residual > allowed or not (0.85 <= high <= 1.2 and 0.75 <= wide <= 1.35):
        return None
    middle = across @ at[:2] + (radius + float(feet @ normal)) * normal
    return middle, radius
