"""Damped least squares from one start, for any arm that can give its pose and its Jacobian.

`SerialManipulator` and `TracIKSolver` search with it where the caller chooses the start; new programs use `ik.solve`,
which chooses its own starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import draw, lie
from ..typing import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEAST_DAMPING, _MOST_DAMPING = 1e-12, 1e6


@dataclass(frozen=True)
class SearchSettings:
    """How a search goes and when it ends."""

    eomg: float = 1e-6
    """Tolerance of the rotation [rad]."""
    ev: float = 1e-6
    """Tolerance of the position [m]."""
    max_iterations: int = 10_000
    damping: float = 0.02
    """λ of the first step; afterwards it follows the success of the steps."""
    step_cap: float = 0.3
    """Longest step of one joint [rad or m]."""
    weight_orientation: float = 1.0
    weight_position: float = 1.0
    timeout: float = float("inf")
    """[s]"""


@dataclass(frozen=True)
class Search:
    """Result of a search."""

    theta: Array
    """The best configuration [rad or m], shape (n,)."""
    success: bool
    iterations: int
    """Poses that were compared with the goal; one more than the maximum if the search failed."""
    residuals: Array
    """Rotation [rad] and position error [m] after every accepted step, shape (steps, 2)."""


def search(
    pose_error: Callable[[Array], Array],
    body_jacobian: Callable[[Array], Array],
    theta0: Array,
    lower: Array,
    upper: Array,
    settings: SearchSettings,
) -> Search:
    """Levenberg–Marquardt within limits: steps that enlarge the error are rejected and damped more.

    Args:
        pose_error: Twist from the tip to its goal in unit time, in the frame of the tip, shape (6,).
        body_jacobian: In the same frame, shape (6, n).
        theta0: Start [rad or m], shape (n,); moved into the limits.
    """
    weights = np.repeat([settings.weight_orientation, settings.weight_position], 3)
    damping, ends = max(settings.damping, 1e-6) ** 2, time.monotonic() + settings.timeout
    theta = np.clip(theta0, lower, upper)
    error = pose_error(theta)
    residuals = [_residual(error)]
    for iteration in range(1, settings.max_iterations + 1):
        if residuals[-1][0] <= settings.eomg and residuals[-1][1] <= settings.ev:
            return Search(theta, True, iteration, np.array(residuals))
        if damping >= _MOST_DAMPING or time.monotonic() > ends:
            break
        J, weighted = weights[:, None] * body_jacobian(theta), weights * error
        step = J.T @ np.linalg.solve(J @ J.T + damping * np.eye(6), weighted)
        step *= min(1.0, settings.step_cap / max(float(np.abs(step).max()), 1e-300))
        trial = np.clip(theta + step, lower, upper)
        trial_error = pose_error(trial)
        if np.linalg.norm(weights * trial_error) < np.linalg.norm(weighted):
            theta, error, damping = trial, trial_error, max(damping * 0.1, _LEAST_DAMPING)
            residuals.append(_residual(error))
        else:
            damping = min(damping * 10.0, _MOST_DAMPING)
    return Search(theta, False, settings.max_iterations + 1, np.array(residuals))


def body_error(T: Array, T_desired: Array) -> Array:
    """Twist from a pose to its goal in unit time, in the frame of the pose."""
    return lie.log_se3(lie.inverse(T) @ T_desired)


def plot_residuals(residuals: Array, settings: SearchSettings, png_name: str) -> Figure:
    """Draws the errors over the accepted steps into a PNG file."""
    figure = draw.new_figure(figsize=(7, 4))
    axes = figure.add_subplot()
    for column, (label, limit) in enumerate((("rotation [rad]", settings.eomg), ("position [m]", settings.ev))):
        line = axes.semilogy(np.maximum(residuals[:, column], 1e-16), label=label)[0]
        axes.axhline(limit, linestyle="--", color=line.get_color())
    axes.set_xlabel("step")
    axes.set_ylabel("error")
    axes.legend()
    figure.savefig(png_name, dpi=400)
    return figure


def _residual(error: Array) -> tuple[float, float]:
    return float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:]))
