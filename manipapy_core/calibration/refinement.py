"""Least squares over all reprojections of a hand-eye calibration, with the uncertainty of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .. import lie
from ..typing import Array

STEPS = 100
CONVERGED = 1e-12
"""Largest step that ends the search [rad, m]."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Corners seen in every view: T_camera_board = X⁻¹ A Y."""

    A: Sequence[Array]
    """Per view, shape (4, 4)."""
    points: Sequence[Array]
    """Corners in the board's frame [m], shape (corners, 3) per view."""
    flat: Sequence[Array]
    """Where they are seen on the plane z = 1, shape (corners, 2) per view."""
    focal: float
    """[pixels]"""

    def errors(self, X: Array, Y: Array) -> list[Array]:
        """Reprojection errors [pixels], shape (2 · corners,) per view."""
        return [self._view(index, X, Y)[0] for index in range(len(self.A))]

    def residual(self, X: Array, Y: Array) -> float:
        """Root mean square distance of detected and predicted corners [pixels]."""
        return float(np.sqrt(2.0 * np.mean(np.concatenate(self.errors(X, Y)) ** 2)))

    def view_residuals(self, X: Array, Y: Array) -> list[float]:
        """The same per view."""
        return [float(np.sqrt(2.0 * np.mean(error**2))) for error in self.errors(X, Y)]

    def equations(self, index: int, X: Array, Y: Array) -> tuple[Array, Array]:
        """Errors of a view and their derivatives by twists of X and Y in their own frames.

        Returns:
            Shapes (2 · corners,) and (2 · corners, 12).
        """
        error, x, R = self._view(index, X, Y)
        p = self.points[index]
        count = len(p)
        # X⁻¹ becomes exp(−ξ) X⁻¹, so x moves by −(ω × x + v); Y becomes Y exp(η).
        dx = np.empty((count, 3, 12))
        dx[:, :, :3], dx[:, :, 3:6] = lie.hat(x), -np.eye(3)
        dx[:, :, 6:9], dx[:, :, 9:] = -R @ lie.hat(p), R
        z = np.maximum(x[:, 2], 1e-6)
        du = np.zeros((count, 2, 3))
        du[:, 0, 0] = du[:, 1, 1] = self.focal / z
        du[:, :, 2] = -self.focal * x[:, :2] / z[:, None] ** 2
        return error, (du @ dx).reshape(-1, 12)

    def _view(self, index: int, X: Array, Y: Array) -> tuple[Array, Array, Array]:
        T = lie.inverse(X) @ self.A[index] @ Y
        x = self.points[index] @ T[:3, :3].T + T[:3, 3]
        ideal = x[:, :2] / np.maximum(x[:, 2:], 1e-6)
        return (self.focal * (ideal - self.flat[index])).ravel(), x, T[:3, :3]


def refine(problem: Problem, X: Array, Y: Array) -> tuple[Array, Array, Array]:
    """Least squares from a start value, by Levenberg-Marquardt.

    Returns:
        X, Y, and the covariance of X as a twist in its own frame, rotation first, shape (6, 6). It is that of the
        jackknife over views: errors of a robot pose move all corners of a view together, which the residuals of single
        corners would not show.
    """
    damping, cost = 1e-6, _cost(problem, X, Y)
    for _ in range(STEPS):
        H, g, _ = _normal_equations(problem, X, Y)
        step = np.linalg.solve(H + damping * np.diag(np.diag(H)), -g)
        new_X, new_Y = X @ lie.exp_se3(step[:6]), Y @ lie.exp_se3(step[6:])
        new_cost = _cost(problem, new_X, new_Y)
        if new_cost <= cost:
            X, Y, cost, damping = new_X, new_Y, new_cost, max(damping * 0.1, 1e-12)
            if np.abs(step).max() < CONVERGED:
                break
        elif damping > 1e6:
            break
        else:
            damping *= 10.0
    return X, Y, _covariance(problem, X, Y)


def information(problem: Problem, X: Array, Y: Array) -> list[Array]:
    """Information of each view about X and Y for corners with an error of one pixel, shape (12, 12) each."""
    found = []
    for index in range(len(problem.A)):
        J = problem.equations(index, X, Y)[1]
        found.append(J.T @ J)
    return found


def _cost(problem: Problem, X: Array, Y: Array) -> float:
    return float(sum(error @ error for error in problem.errors(X, Y)))


def _normal_equations(problem: Problem, X: Array, Y: Array) -> tuple[Array, Array, list[tuple[Array, Array]]]:
    parts = []
    for index in range(len(problem.A)):
        error, J = problem.equations(index, X, Y)
        parts.append((J.T @ J, J.T @ error))
    return sum(H for H, _ in parts), sum(g for _, g in parts), parts


def _covariance(problem: Problem, X: Array, Y: Array) -> Array:
    H, _, parts = _normal_equations(problem, X, Y)
    count = len(parts)
    # What leaving out one view would change, in one Gauss-Newton step.
    changes = np.array([np.linalg.solve(H - part, g) for part, g in parts])
    covariance: Array = (count - 1) / count * changes.T @ changes
    return covariance[:6, :6]
