"""`TracIKSolver` and `trac_ik_solve` with ManipulaPy's signatures: several starts within a time limit.

Intended difference from ManipulaPy: the starts are searched one after the other, also with `use_parallel`.
`SerialManipulator.trac_ik` calls `ik.solve` instead.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import lie
from ..typing import Array
from .ik_helpers import OpenLimits, midpoint_of_limits, random_in_limits, workspace_heuristic_guess
from .inputs import bounds, pose
from .iterative_ik import SearchSettings, body_error, search

ErrorFunction = Callable[[Array, Array], tuple[Array, float, float]]


class TracIKSolver:
    """Inverse kinematics of an arm that is given by functions.

    Args:
        fk_func: Pose of the end effector at a configuration, shape (4, 4).
        jacobian_func: Space Jacobian at a configuration, angular first, shape (6, n).
        joint_limits: (lower, upper) per joint [rad or m]; None stands for ∓2 π.
        n_joints: n.
        error_func: From a pose and its goal: twist in the frame of the pose, angular first, its angle [rad] and length
            [m]; the logarithm if not given.
    """

    def __init__(
        self,
        fk_func: Callable[[Array], Array],
        jacobian_func: Callable[[Array], Array],
        joint_limits: OpenLimits,
        n_joints: int,
        error_func: ErrorFunction | None = None,
    ):
        self.fk_func, self.jacobian_func, self.joint_limits, self.n_joints = (
            fk_func,
            jacobian_func,
            joint_limits,
            n_joints,
        )
        self.error_func: ErrorFunction = error_func or _logarithm
        turn = 2.0 * math.pi
        self.bounds = [(-turn if low is None else low, turn if high is None else high) for low, high in joint_limits]

    def solve(
        self,
        T_desired: ArrayLike,
        theta0: ArrayLike | None = None,
        timeout: float = 0.2,
        eomg: float = 1e-4,
        ev: float = 1e-4,
        num_restarts: int = 5,
        use_parallel: bool = False,
    ) -> tuple[Array, bool, float]:
        """Joint positions for a pose.

        Args:
            T_desired: Shape (4, 4).
            theta0: First start [rad or m], shape (n,).
            timeout: [s]
            eomg: Tolerance of the rotation [rad].
            ev: Tolerance of the position [m].
            num_restarts: Starts at most, in addition to `theta0`.
            use_parallel: No effect.

        Returns:
            The best configuration, whether it is within the tolerances, and the time taken [s].
        """
        begin, goal = time.perf_counter(), pose(T_desired, "T_desired")
        lower, upper = bounds(self.bounds)

        def error(theta: Array) -> Array:
            return np.asarray(self.error_func(self.fk_func(theta), goal)[0], dtype=np.float64)

        def jacobian(theta: Array) -> Array:
            return lie.adjoint(lie.inverse(self.fk_func(theta))) @ self.jacobian_func(theta)

        best, least = midpoint_of_limits(self.bounds), math.inf
        for start in self._starts(goal, theta0, num_restarts):
            left = timeout - (time.perf_counter() - begin)
            if left <= 0.0:
                break
            settings = SearchSettings(eomg, ev, max_iterations=500, timeout=left)
            found = search(error, jacobian, start, lower, upper, settings)
            if found.success:
                return found.theta, True, time.perf_counter() - begin
            residual = float(np.linalg.norm(found.residuals[-1]))
            if residual < least:
                best, least = found.theta, residual
        return best, False, time.perf_counter() - begin

    def _starts(self, goal: Array, theta0: ArrayLike | None, restarts: int) -> list[Array]:
        given = [] if theta0 is None else [np.array(theta0, dtype=np.float64)]
        fixed = [workspace_heuristic_guess(goal, self.n_joints, self.bounds), midpoint_of_limits(self.bounds)]
        drawn = [random_in_limits(self.bounds) for _ in range(max(0, restarts - len(fixed)))]
        return [*given, *fixed[: max(1, restarts)], *drawn]


def trac_ik_solve(
    robot: Any,
    T_desired: ArrayLike,
    theta0: ArrayLike | None = None,
    timeout: float = 0.2,
    eomg: float = 1e-4,
    ev: float = 1e-4,
    num_restarts: int = 5,
    use_parallel: bool = False,
) -> tuple[Array, bool, float]:
    """`TracIKSolver.solve` for any object with `forward_kinematics`, `jacobian` and `joint_limits`."""
    solver = TracIKSolver(robot.forward_kinematics, robot.jacobian, robot.joint_limits, len(robot.joint_limits))
    return solver.solve(T_desired, theta0, timeout, eomg, ev, num_restarts, use_parallel)


def _logarithm(T: Array, goal: Array) -> tuple[Array, float, float]:
    twist = body_error(np.asarray(T, dtype=np.float64), goal)
    return twist, float(np.linalg.norm(twist[:3])), float(np.linalg.norm(twist[3:]))
