"""Starts for inverse kinematics with ManipulaPy's names: heuristics, limits, and a cache of solved poses.

`ik.solve` needs none of them; programs that call them by name get them here.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import lie
from ..errors import InputError
from ..typing import Array
from .inputs import bounds

OpenLimits = Sequence[tuple[float | None, float | None]]

_GOOD = 1e-3
"""Residual below which a cached solution is used as it is."""


def workspace_heuristic_guess(T_desired: ArrayLike, n_joints: int, joint_limits: OpenLimits) -> Array:
    """A start for arms of the usual build: turned to the goal, raised to it, elbow bent, wrist by its rotation.

    Args:
        T_desired: Pose of the end effector, shape (4, 4).
        n_joints: n.
        joint_limits: (lower, upper) per joint [rad or m]; None for no limit.

    Returns:
        Shape (n,), inside the limits.
    """
    T = np.asarray(T_desired, dtype=np.float64)
    x, y, z = T[:3, 3]
    reach = math.hypot(x, y)
    raised = math.atan2(z, reach) if reach > 1e-9 else 0.0
    guess = [math.atan2(y, x), raised, 0.25 * math.pi]
    # Rz Ry Rz of the goal: the angles of a spherical wrist.
    sine = math.hypot(T[0, 2], T[1, 2])
    if sine > 1e-9:
        guess += [math.atan2(T[1, 2], T[0, 2]), math.atan2(sine, T[2, 2]), math.atan2(T[2, 1], -T[2, 0])]
    else:
        guess += [math.atan2(T[1, 0], T[0, 0]), 0.0, 0.0]
    return _clip_to_limits(np.array((guess + [0.0] * max(0, n_joints - 6))[:n_joints]), joint_limits)


def extrapolate_from_current(
    theta_current: ArrayLike,
    T_current: ArrayLike,
    T_desired: ArrayLike,
    jacobian_func: Callable[[Array], Array],
    joint_limits: OpenLimits,
    alpha: float = 0.5,
) -> Array:
    """A share `alpha` of the step J⁺ V from the current configuration towards the goal, V the twist between the poses.

    Args:
        jacobian_func: Space Jacobian at a configuration, shape (6, n).
    """
    theta = np.asarray(theta_current, dtype=np.float64)
    T, goal = np.asarray(T_current, dtype=np.float64), np.asarray(T_desired, dtype=np.float64)
    twist = lie.log_se3(goal @ lie.inverse(T))
    return _clip_to_limits(theta + alpha * (np.linalg.pinv(jacobian_func(theta)) @ twist), joint_limits)


def random_in_limits(joint_limits: OpenLimits) -> Array:
    """A random configuration inside the limits [rad or m], shape (n,); an open side reaches 2 π from the other one."""
    lower, upper = bounds(joint_limits)
    free = np.isinf(lower) & np.isinf(upper)
    lower, upper = np.where(free, -math.pi, lower), np.where(free, math.pi, upper)
    lower = np.where(np.isinf(lower), upper - 2.0 * math.pi, lower)
    upper = np.where(np.isinf(upper), lower + 2.0 * math.pi, upper)
    return np.random.uniform(lower, upper)


def midpoint_of_limits(joint_limits: OpenLimits) -> Array:
    """The middle of the limits [rad or m], shape (n,); 0 where a side is open."""
    lower, upper = bounds(joint_limits)
    closed = np.isfinite(lower) & np.isfinite(upper)
    return np.where(closed, 0.5 * (np.where(closed, lower, 0.0) + np.where(closed, upper, 0.0)), 0.0)


class IKInitialGuessCache:
    """Solved poses, to start near their solutions; the oldest is dropped first.

    Args:
        max_size: Number of poses.
    """

    def __init__(self, max_size: int = 100):
        if max_size < 1:
            raise InputError(f"max_size is {max_size}; give at least 1")
        self.max_size = max_size
        self._entries: deque[tuple[Array, Array, float]] = deque(maxlen=max_size)

    def add(self, T: ArrayLike, theta: ArrayLike, residual: float | None = None) -> None:
        """Stores a solution of a pose.

        Args:
            T: Shape (4, 4).
            theta: [rad or m], shape (n,).
            residual: Remaining pose error; 0 if not given.
        """
        entry = np.array(T, dtype=np.float64), np.array(theta, dtype=np.float64), float(residual or 0.0)
        self._entries.append(entry)

    def get_nearest(self, T_desired: ArrayLike, k: int = 3, joint_limits: OpenLimits | None = None) -> Array | None:
        """The solution of the nearest pose if it is exact, else a mean of the k nearest; None if the cache is empty."""
        goal = np.asarray(T_desired, dtype=np.float64)
        ranked = sorted(self._entries, key=lambda entry: self._pose_distance(entry[0], goal))[: max(k, 1)]
        if not ranked:
            return None
        if ranked[0][2] <= _GOOD:
            theta = ranked[0][1].copy()
        else:
            weights = np.array([1.0 / (1e-6 + self._pose_distance(T, goal) + residual) for T, _, residual in ranked])
            theta = np.average([theta for _, theta, _ in ranked], axis=0, weights=weights)
        return theta if joint_limits is None else _clip_to_limits(theta, joint_limits)

    def clear(self) -> None:
        """Forgets everything."""
        self._entries.clear()

    def size(self) -> int:
        """Number of stored poses."""
        return len(self._entries)

    @staticmethod
    def _pose_distance(T1: Array, T2: Array) -> float:
        """Distance [m] plus angle [rad] between two poses."""
        angle = np.linalg.norm(lie.log_so3(T1[:3, :3].T @ T2[:3, :3]))
        return float(np.linalg.norm(T1[:3, 3] - T2[:3, 3]) + angle)


def adaptive_multi_start_ik(
    ik_solver_func: Callable[..., tuple[Array, bool, int]],
    T_desired: ArrayLike,
    max_attempts: int = 10,
    eomg: float = 2e-3,
    ev: float = 2e-3,
    max_iterations: int = 1500,
    verbose: bool = False,
) -> tuple[Array, bool, int, str]:
    """Calls a solver with one strategy after the other until it succeeds.

    Args:
        ik_solver_func: Takes the pose and strategy, eomg, ev, max_iterations by name; returns a configuration, whether
            it is a solution, and the number of iterations. An exception counts as a failed attempt and is logged.

    Returns:
        Configuration, success, iterations of all attempts, and the strategy that succeeded.
    """
    logger = logging.getLogger(__name__)
    best: Array | None = None
    total = 0
    for attempt in range(max_attempts):
        strategy = _STRATEGIES[min(attempt, len(_STRATEGIES) - 1)]
        options: dict[str, Any] = {"eomg": eomg, "ev": ev, "max_iterations": max_iterations}
        try:
            theta, success, iterations = ik_solver_func(T_desired, strategy=strategy, **options)
        except Exception as error:
            logger.warning("attempt %d (%s) raised %s: %s", attempt + 1, strategy, type(error).__name__, error)
            continue
        total += iterations
        if verbose:
            logger.info("attempt %d (%s): %s", attempt + 1, strategy, "solved" if success else "failed")
        if success:
            return theta, True, total, strategy
        best = theta if best is None else best
    return (np.zeros(6) if best is None else best), False, total, FAILED


_STRATEGIES = ("workspace_heuristic", "midpoint", "random")
FAILED = "none (failed)"


def _clip_to_limits(theta: ArrayLike, joint_limits: OpenLimits) -> Array:
    clipped = np.array(theta, dtype=np.float64)
    count = min(len(clipped), len(joint_limits))
    lower, upper = bounds(joint_limits[:count])
    clipped[:count] = np.clip(clipped[:count], lower, upper)
    return clipped
