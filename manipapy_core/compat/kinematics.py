"""`SerialManipulator`: a serial arm from its screw axes, with ManipulaPy's API.

Intended differences from ManipulaPy: the Jacobian, the pose and the twist of one call are in the same frame, inverse
kinematics included; joint limits are respected; nothing is plotted or printed.
"""

from __future__ import annotations

import logging
import math
import time
import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .. import ik, kinematics, lie
from ..errors import InputError, ShapeError
from ..model.chain import Chain
from ..typing import Array
from . import ik_helpers, utils
from .inputs import bounds, pose, shaped
from .iterative_ik import Search, SearchSettings, body_error, search
from .iterative_ik import plot_residuals as draw_residuals
from .screws import chain_from_screws

Frame = Literal["space", "body"]
Limits = list[tuple[float | None, float | None]]

_HEURISTIC_STEPS = 50
"""Steps from the heuristic start before `ik.solve` takes over."""
_SCREW_TOLERANCE = 1e-6
"""Allowed difference between B_list and S_list transformed to the body frame."""


class SerialManipulator:
    """A serial arm: T(θ) = exp(S_1 θ_1) … exp(S_n θ_n) M = M exp(B_1 θ_1) … exp(B_n θ_n).

    Args:
        M_list: Pose of the end effector at θ = 0, shape (4, 4).
        omega_list: Joint axes, shape (3, n).
        r_list: A point on each axis in the space frame [m], shape (3, n).
        b_list: A point on each axis in the body frame [m], shape (3, n).
        S_list: Screw axes in the space frame, shape (6, n); from omega_list and r_list if not given.
        B_list: Screw axes in the body frame, shape (6, n); from S_list and M_list if not given, and also, with a
            warning, if it contradicts them.
        G_list: Spatial inertias, kept as an attribute; `ManipulatorDynamics` computes with them.
        joint_limits: (lower, upper) per joint [rad or m], None for no limit; no limits if not given.
    """

    def __init__(
        self,
        M_list: ArrayLike,
        omega_list: ArrayLike | None = None,
        r_list: ArrayLike | None = None,
        b_list: ArrayLike | None = None,
        S_list: ArrayLike | None = None,
        B_list: ArrayLike | None = None,
        G_list: Sequence[ArrayLike] | ArrayLike | None = None,
        joint_limits: ik_helpers.OpenLimits | None = None,
    ):
        self.M_list = pose(M_list, "M_list")
        if S_list is None:
            if omega_list is None or r_list is None:
                raise InputError("S_list is missing; give it, or omega_list and r_list to compute it from")
            S_list = utils.extract_screw_list(omega_list, r_list)
        self.S_list = np.array(S_list, dtype=np.float64)
        self.joint_limits: Limits = _limits(joint_limits, self.S_list.shape[1])
        self.chain: Chain = self._build_chain(G_list)
        """The same arm for the rest of the library."""
        self.B_list = self.chain.B.copy() if B_list is None else np.array(B_list, dtype=np.float64)
        if self.B_list.shape != self.S_list.shape:
            raise ShapeError("B_list", f"{self.S_list.shape}, the shape of S_list", self.B_list.shape)
        if not np.allclose(self.B_list, self.chain.B, atol=_SCREW_TOLERANCE):
            warnings.warn(
                "B_list is not S_list in the frame of the end effector (Ad of M⁻¹ times S_list); it is computed from "
                "S_list instead",
                UserWarning,
                stacklevel=3 if type(self) is not SerialManipulator else 2,
            )
            self.B_list = self.chain.B.copy()
        self.omega_list = _given_or(omega_list, utils.extract_omega_list(self.S_list))
        self.r_list = _given_or(r_list, utils.extract_r_list(self.S_list))
        self.b_list = _given_or(b_list, utils.extract_r_list(self.B_list))
        self.G_list = None if G_list is None else [np.array(G, dtype=np.float64) for G in np.asarray(G_list)]
        n = self.S_list.shape[1]
        self.joint_positions, self.joint_velocities = np.zeros(n), np.zeros(n)

    def _build_chain(self, G_list: Sequence[ArrayLike] | ArrayLike | None) -> Chain:
        """The chain without masses: kinematics need none."""
        return chain_from_screws(self.S_list, self.M_list, self._chain_limits())

    def _chain_limits(self) -> list[tuple[float, float]]:
        return _finite_turns(self.joint_limits, self.S_list)

    def update_state(self, joint_positions: ArrayLike, joint_velocities: ArrayLike | None = None) -> None:
        """Stores a state in `joint_positions` and `joint_velocities` (zero if not given).

        Args:
            joint_positions: [rad or m], shape (n,).
            joint_velocities: [rad/s or m/s], shape (n,).
        """
        positions = self._vector(joint_positions, "joint_positions").copy()
        velocities = np.zeros_like(positions) if joint_velocities is None else joint_velocities
        self.joint_velocities = self._vector(velocities, "joint_velocities").copy()
        self.joint_positions = positions

    def forward_kinematics(self, thetalist: ArrayLike, frame: Frame = "space") -> Array:
        """Pose of the end effector in the base frame.

        Args:
            thetalist: Joint positions [rad or m], shape (n,) or (..., n).
            frame: Whether the product of exponentials uses S_list or B_list; both give the same pose.

        Returns:
            Homogeneous matrix, shape (..., 4, 4).
        """
        _require_frame(frame)
        return kinematics.forward(self.chain, _float64(thetalist))

    def jacobian(self, thetalist: ArrayLike, frame: Frame = "space") -> Array:
        """Twist of the end effector per joint velocity, angular rows first, shape (..., 6, n).

        Args:
            thetalist: Joint positions [rad or m], shape (n,) or (..., n).
            frame: Frame of the twist: the base ("space") or the end effector ("body").
        """
        _require_frame(frame)
        function = kinematics.space_jacobian if frame == "space" else kinematics.body_jacobian
        return function(self.chain, _float64(thetalist))

    def end_effector_velocity(self, thetalist: ArrayLike, dthetalist: ArrayLike, frame: Frame = "space") -> Array:
        """Twist [rad/s, m/s] of the end effector in the named frame, angular first, shape (..., 6)."""
        J = self.jacobian(thetalist, frame)
        return np.einsum("...ij,...j->...i", J, _float64(dthetalist))

    def joint_velocity(self, thetalist: ArrayLike, V_ee: ArrayLike, frame: Frame = "space") -> Array:
        """Least-squares joint velocities of minimum norm [rad/s or m/s] for a twist in the named frame.

        Args:
            V_ee: Twist, angular first [rad/s, m/s], shape (..., 6).
        """
        J = self.jacobian(thetalist, frame)
        return np.einsum("...ij,...j->...i", np.linalg.pinv(J), _float64(V_ee))

    def end_effector_pose(self, thetalist: ArrayLike) -> Array:
        """Position [m] and roll, pitch, yaw [rad] of the end effector, shape (6,)."""
        T = self.forward_kinematics(self._vector(thetalist, "thetalist"))
        return np.concatenate([T[:3, 3], lie.rotation_to_rpy(T[:3, :3])])

    def iterative_inverse_kinematics(
        self,
        T_desired: ArrayLike,
        thetalist0: ArrayLike,
        eomg: float = 1e-6,
        ev: float = 1e-6,
        max_iterations: int = 10_000,
        plot_residuals: bool = False,
        damping: float = 0.02,
        step_cap: float = 0.3,
        png_name: str = "ik_residuals.png",
        weight_orientation: float = 1.0,
        weight_position: float = 1.0,
        adaptive_tuning: bool = False,
        backtracking: bool = False,
    ) -> tuple[Array, bool, int]:
        """Joint positions within the limits for a pose, by Levenberg–Marquardt from one start.

        Args:
            T_desired: Pose of the end effector, shape (4, 4).
            thetalist0: Start [rad or m], shape (n,).
            eomg: Tolerance of the rotation [rad].
            ev: Tolerance of the position [m].
            max_iterations: Maximum number of steps, rejected ones included.
            plot_residuals: Draw the errors of all steps into `png_name`.
            damping: λ of the first step.
            step_cap: Longest step of one joint [rad or m].
            weight_orientation: Of the rotation error [1/rad]; `weight_position` of the position error [1/m].
            adaptive_tuning: No effect: the damping always follows the success of the steps.
            backtracking: No effect: a step that enlarges the error is always taken back.

        Returns:
            Joint positions (the best found on failure), whether both errors are within tolerance, and the number of
            poses compared with the goal: `max_iterations + 1` on failure.
        """
        settings = SearchSettings(eomg, ev, max_iterations, damping, step_cap, weight_orientation, weight_position)
        found = self._search(pose(T_desired, "T_desired"), self._vector(thetalist0, "thetalist0"), settings)
        if plot_residuals:
            draw_residuals(found.residuals, settings, png_name)
        return found.theta, found.success, found.iterations

    def smart_inverse_kinematics(
        self,
        T_desired: ArrayLike,
        strategy: str = "workspace_heuristic",
        theta_current: ArrayLike | None = None,
        T_current: ArrayLike | None = None,
        cache: ik_helpers.IKInitialGuessCache | None = None,
        eomg: float = 1e-6,
        ev: float = 1e-6,
        max_iterations: int = 10_000,
        plot_residuals: bool = False,
        damping: float = 0.02,
        step_cap: float = 0.3,
        png_name: str = "ik_residuals.png",
        weight_orientation: float = 1.0,
        weight_position: float = 1.0,
        adaptive_tuning: bool = True,
        backtracking: bool = True,
        auto_fallback: bool = True,
    ) -> tuple[Array, bool, int]:
        """As `iterative_inverse_kinematics`, from a start that a strategy chooses.

        Args:
            strategy: "workspace_heuristic", "extrapolate" (a step from `theta_current`), "cached" (a neighbour in
                `cache`), "random" or "midpoint".
            T_current: Pose at `theta_current`; computed if not given.
            cache: Also receives the solution.
            auto_fallback: Call `ik.solve`, with its own starts, if the start leads to no solution.
        """
        goal = pose(T_desired, "T_desired")
        start = self._start(goal, strategy, theta_current, T_current, cache)
        settings = SearchSettings(eomg, ev, max_iterations, damping, step_cap, weight_orientation, weight_position)
        found = self._search(goal, start, settings)
        theta, success, iterations = found.theta, found.success, found.iterations
        if plot_residuals:
            draw_residuals(found.residuals, settings, png_name)
        if not success and auto_fallback:
            other = ik.solve(self.chain, goal, q_seed=theta, tolerances=ik.IKTolerances(ev, eomg))
            theta, success = other.q, other.solved
        if success and cache is not None:
            cache.add(goal, theta)
        return theta, success, iterations

    def robust_inverse_kinematics(
        self,
        T_desired: ArrayLike,
        max_attempts: int = 10,
        eomg: float = 2e-3,
        ev: float = 2e-3,
        max_iterations: int = 5000,
        verbose: bool = False,
    ) -> tuple[Array, bool, int, str]:
        """Joint positions for a pose from the heuristic start, and by `ik.solve` with starts of its own otherwise.

        Args:
            max_attempts: No effect: `ik.solve` decides how many starts it needs.
            verbose: Log the result.

        Returns:
            Joint positions (the best found on failure), success, iterations, and how the solution was found:
            "workspace_heuristic", "random" for `ik.solve`, or "none (failed)".
        """
        goal, tolerances = pose(T_desired, "T_desired"), ik.IKTolerances(ev, eomg)
        start = ik_helpers.workspace_heuristic_guess(goal, self.chain.n, self.joint_limits)
        first = self._search(goal, start, SearchSettings(eomg, ev, min(max_iterations, _HEURISTIC_STEPS)))
        theta, success, iterations, strategy = first.theta, first.success, first.iterations, "workspace_heuristic"
        if not success:
            found = ik.solve(self.chain, goal, tolerances=tolerances)
            theta, success, iterations = found.q, found.solved, iterations + found.iterations
            strategy = "random" if success else ik_helpers.FAILED
        if verbose:
            logging.getLogger(__name__).info("%s after %d iterations", strategy, iterations)
        return theta, success, iterations, strategy

    def trac_ik(
        self,
        T_desired: ArrayLike,
        theta0: ArrayLike | None = None,
        timeout: float = 0.2,
        eomg: float = 1e-4,
        ev: float = 1e-4,
        num_restarts: int = 5,
        use_parallel: bool = False,
    ) -> tuple[Array, bool, float]:
        """Joint positions for a pose by `ik.solve` within a time limit.

        Args:
            theta0: Start [rad or m], shape (n,); chosen by the solver if not given.
            timeout: [s]
            num_restarts: No effect, as `use_parallel`: the solver restarts until the timeout.

        Returns:
            Joint positions (the best found on failure), success, and the time taken [s].
        """
        begin = time.perf_counter()
        seed = None if theta0 is None else self._vector(theta0, "theta0")
        found = ik.solve(
            self.chain, pose(T_desired, "T_desired"), q_seed=seed, timeout=timeout, tolerances=ik.IKTolerances(ev, eomg)
        )
        return found.q, found.solved, time.perf_counter() - begin

    def _search(self, goal: Array, start: Array, settings: SearchSettings) -> Search:
        lower, upper = bounds(self.joint_limits)
        chain = self.chain
        return search(
            lambda theta: body_error(kinematics.forward(chain, theta), goal),
            lambda theta: kinematics.body_jacobian(chain, theta),
            start,
            lower,
            upper,
            settings,
        )

    def _start(
        self,
        goal: Array,
        strategy: str,
        theta_current: ArrayLike | None,
        T_current: ArrayLike | None,
        cache: ik_helpers.IKInitialGuessCache | None,
    ) -> Array:
        heuristic = ik_helpers.workspace_heuristic_guess(goal, self.chain.n, self.joint_limits)
        if strategy == "workspace_heuristic":
            return heuristic
        if strategy == "random":
            return ik_helpers.random_in_limits(self.joint_limits)
        if strategy == "midpoint":
            return ik_helpers.midpoint_of_limits(self.joint_limits)
        if strategy == "cached":
            cached = None if cache is None else cache.get_nearest(goal, joint_limits=self.joint_limits)
            return heuristic if cached is None else cached
        if strategy != "extrapolate":
            known = "workspace_heuristic, extrapolate, cached, random, midpoint"
            raise InputError(f"strategy is {strategy!r}; there are: {known}")
        if theta_current is None:
            raise InputError("the strategy extrapolate needs theta_current; give the current configuration")
        theta = self._vector(theta_current, "theta_current")
        T = self.forward_kinematics(theta) if T_current is None else pose(T_current, "T_current")
        return ik_helpers.extrapolate_from_current(theta, T, goal, self.jacobian, self.joint_limits)

    def _vector(self, values: ArrayLike, name: str) -> Array:
        return shaped(values, (self.chain.n,), name)


def _float64(values: ArrayLike) -> Array:
    return np.asarray(values, dtype=np.float64)


def _given_or(given: ArrayLike | None, computed: Array) -> Array:
    return computed if given is None else np.array(given, dtype=np.float64)


def _require_frame(frame: str) -> None:
    if frame not in ("space", "body"):
        raise InputError(f"Invalid frame specified: {frame!r}; there are 'space' and 'body'")


def _limits(limits: ik_helpers.OpenLimits | None, n: int) -> Limits:
    if limits is None:
        return [(None, None)] * n
    pairs = [tuple(None if bound is None else float(bound) for bound in pair) for pair in limits]
    for index, (lower, upper) in enumerate(zip(*bounds(limits))):
        if not lower <= upper:
            raise InputError(f"joint_limits[{index}] is ({lower}, {upper}); write (lower, upper) with lower ≤ upper")
    return pairs  # type: ignore[return-value]


def _finite_turns(limits: Limits, S: Array) -> list[tuple[float, float]]:
    """Limits for the chain: one turn for a revolute joint without limits, which reaches every pose there is."""
    revolute = np.any(S[:3] != 0.0, axis=0)
    pairs = zip(*bounds(limits), revolute)
    return [
        (-math.pi, math.pi) if turns and np.isinf(lower) and np.isinf(upper) else (float(lower), float(upper))
        for lower, upper, turns in pairs
    ]
