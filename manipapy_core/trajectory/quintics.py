"""Between the samples of a trajectory: the quintic polynomials by which controllers join them, and their extremes."""

from __future__ import annotations

import math

import numpy as np

from ..jit import njit
from ..typing import Array
from .point_to_point import JointTrajectory

SUBSTEPS = 8
"""Looks within an interval."""


def quintic_coefficients(trajectory: JointTrajectory) -> Array:
    """Of the polynomials between samples, by the share of the interval: shape (intervals, 6, n)."""
    h = np.diff(trajectory.times)[:, None]
    p, v, a = trajectory.positions, trajectory.velocities, trajectory.accelerations
    way = np.diff(p, axis=0)
    v0, v1, a0, a1 = v[:-1] * h, v[1:] * h, a[:-1] * h * h, a[1:] * h * h
    return np.stack(
        [
            p[:-1],
            v0,
            0.5 * a0,
            10.0 * way - 6.0 * v0 - 4.0 * v1 - 1.5 * a0 + 0.5 * a1,
            -15.0 * way + 8.0 * v0 + 7.0 * v1 + 1.5 * a0 - a1,
            6.0 * way - 3.0 * (v0 + v1) - 0.5 * (a0 - a1),
        ],
        axis=1,
    )


def evaluate_quintics(coefficients: Array, widths: Array, share: Array) -> tuple[Array, Array, Array, Array]:
    """Positions and three derivatives by time, at shares of the intervals.

    Args:
        coefficients: Shape (..., 6, n).
        widths: Of the intervals [s], shape (...,).
        share: From 0 to 1, shape (...,).
    """
    x, h = share[..., None], widths[..., None]
    c = [coefficients[..., k, :] for k in range(6)]
    position = c[0] + x * (c[1] + x * (c[2] + x * (c[3] + x * (c[4] + x * c[5]))))
    velocity = c[1] + x * (2.0 * c[2] + x * (3.0 * c[3] + x * (4.0 * c[4] + x * 5.0 * c[5])))
    acceleration = 2.0 * c[2] + x * (6.0 * c[3] + x * (12.0 * c[4] + x * 20.0 * c[5]))
    jerk = 6.0 * c[3] + x * (24.0 * c[4] + x * 60.0 * c[5])
    return position, velocity / h, acceleration / h**2, jerk / h**3


@njit(cache=True, nogil=True)
def extremes(a, b, c):  # type: ignore[no-untyped-def]
    """Zeros and turning point of a + b x + c x² within 0 to 1; 0 in place of those that are not there."""
    if abs(c) < 1e-300:
        x = -a / b if abs(b) > 1e-300 else 0.0
        x = x if 0.0 < x < 1.0 else 0.0
        return x, x, x
    turning = -0.5 * b / c
    inside = turning * turning - a / c
    spread = math.sqrt(inside) if inside > 0.0 else 0.0
    first, second = turning - spread, turning + spread
    return (
        turning if 0.0 < turning < 1.0 else 0.0,
        first if 0.0 < first < 1.0 else 0.0,
        second if 0.0 < second < 1.0 else 0.0,
    )


@njit(cache=True, nogil=True)
def worst_ratios(coefficients, widths, velocity, acceleration, jerk, lower, upper):  # type: ignore[no-untyped-def]
    """Largest velocity, acceleration and jerk over their limits, and farthest position beyond a limit."""
    worst = np.zeros(4)
    for i in range(coefficients.shape[0]):
        h = widths[i]
        for j in range(coefficients.shape[2]):
            c0, c1, c2 = coefficients[i, 0, j], coefficients[i, 1, j], coefficients[i, 2, j]
            c3, c4, c5 = coefficients[i, 3, j], coefficients[i, 4, j], coefficients[i, 5, j]
            fastest, strongest, roughest = 0.0, 0.0, 0.0
            for k in range(SUBSTEPS + 1):
                x = k / SUBSTEPS
                q = c0 + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * c5))))
                v = c1 + x * (2.0 * c2 + x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)))
                a = 2.0 * c2 + x * (6.0 * c3 + x * (12.0 * c4 + x * 20.0 * c5))
                fastest, strongest = max(fastest, abs(v)), max(strongest, abs(a))
                roughest = max(roughest, abs(6.0 * c3 + x * (24.0 * c4 + x * 60.0 * c5)))
                worst[3] = max(worst[3], max(lower[j] - q, q - upper[j]))
            # Acceleration is largest where the jerk is zero, the jerk where its own slope is.
            for x in extremes(6.0 * c3, 24.0 * c4, 60.0 * c5):
                strongest = max(strongest, abs(2.0 * c2 + x * (6.0 * c3 + x * (12.0 * c4 + x * 20.0 * c5))))
                roughest = max(roughest, abs(6.0 * c3 + x * (24.0 * c4 + x * 60.0 * c5)))
            worst[0] = max(worst[0], fastest / (h * velocity[j]))
            worst[1] = max(worst[1], strongest / (h * h * acceleration[j]))
            worst[2] = max(worst[2], roughest / (h * h * h * jerk[j]))
    return worst
