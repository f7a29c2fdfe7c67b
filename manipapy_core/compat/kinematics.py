"""`SerialManipulator`: a serial arm from its screw axes, with ManipulaPy's API.

Intended differences from ManipulaPy: the Jacobian, the pose and the twist of one call are in the same frame, inverse
kinematics included; joint limits are respected; nothing is plotted or printed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .. import ik, kinematics, lie
from ..errors import InputError, ShapeError
from ..model.chain import Chain
from ..typing import Array
from . import utils
from .inputs import pose, shaped
from .screws import chain_from_screws

Frame = Literal["space", "body"]
Limits = list[tuple[float, float]]

_DAMPING = 1e-2
"""Initial damping of the iterative inverse kinematics."""
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
        B_list: Screw axes in the body frame, shape (6, n); from S_list and M_list if not given.
        G_list: Spatial inertias, kept as an attribute; `ManipulatorDynamics` computes with them.
        joint_limits: (lower, upper) per joint [rad or m]; (-π, π) for revolute joints if not given.
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
        joint_limits: Sequence[tuple[float, float]] | None = None,
    ):
        self.M_list = pose(M_list, "M_list")
        if S_list is None:
            if omega_list is None or r_list is None:
                raise InputError("S_list is missing; give it, or omega_list and r_list to compute it from")
            S_list = utils.extract_screw_list(omega_list, r_list)
        self.S_list = np.array(S_list, dtype=np.float64)
        self.joint_limits: Limits = _limits(joint_limits, self.S_list)
        self.chain: Chain = self._build_chain(G_list)
        """The same arm for the rest of the library."""
        self.B_list = self.chain.B.copy() if B_list is None else np.array(B_list, dtype=np.float64)
        if self.B_list.shape != self.S_list.shape:
            raise ShapeError("B_list", f"{self.S_list.shape}, the shape of S_list", self.B_list.shape)
        if not np.allclose(self.B_list, self.chain.B, atol=_SCREW_TOLERANCE):
            raise InputError("B_list is not S_list in the end-effector frame (Ad of M⁻¹ times S_list); leave it out")
        self.omega_list = _given_or(omega_list, utils.extract_omega_list(self.S_list))
        self.r_list = _given_or(r_list, utils.extract_r_list(self.S_list))
        self.b_list = _given_or(b_list, utils.extract_r_list(self.B_list))
        self.G_list = None if G_list is None else [np.array(G, dtype=np.float64) for G in np.asarray(G_list)]
        n = self.S_list.shape[1]
        self.joint_positions, self.joint_velocities = np.zeros(n), np.zeros(n)

    def _build_chain(self, G_list: Sequence[ArrayLike] | ArrayLike | None) -> Chain:
        """The chain without masses: kinematics need none."""
        return chain_from_screws(self.S_list, self.M_list, self.joint_limits)

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

    def iterative_inverse_kinematics(
        self,
        T_desired: ArrayLike,
        thetalist0: ArrayLike,
        eomg: float = 1e-6,
        ev: float = 1e-6,
        max_iterations: int = 500,
    ) -> tuple[Array, bool, int]:
        """Joint positions within the limits for a pose, by Levenberg–Marquardt from one start.

        Args:
            T_desired: Pose of the end effector, shape (4, 4).
            thetalist0: Start [rad or m], shape (n,).
            eomg: Tolerance of the rotation [rad].
            ev: Tolerance of the position [m].
            max_iterations: Maximum number of steps, rejected ones included.

        Returns:
            Joint positions (the best found on failure), whether both errors are within tolerance, number of steps.
        """
        T_desired = pose(T_desired, "T_desired")
        lower, upper = np.array(self.joint_limits).T
        theta = np.clip(self._vector(thetalist0, "thetalist0"), lower, upper)
        error, damping = self._body_error(theta, T_desired), _DAMPING
        for iteration in range(max_iterations + 1):
            if np.linalg.norm(error[:3]) <= eomg and np.linalg.norm(error[3:]) <= ev:
                return theta, True, iteration
            if iteration == max_iterations:
                break
            # The error is a twist in the frame of the end effector, and so must be the Jacobian.
            J = self.jacobian(theta, "body")
            step = J.T @ np.linalg.solve(J @ J.T + damping * np.eye(6), error)
            trial = np.clip(theta + step, lower, upper)
            trial_error = self._body_error(trial, T_desired)
            if trial_error @ trial_error < error @ error:
                theta, error, damping = trial, trial_error, max(damping * 0.1, 1e-12)
            else:
                damping = min(damping * 10.0, 1e6)
        return theta, False, max_iterations

    def smart_inverse_kinematics(
        self, T_desired: ArrayLike, thetalist0: ArrayLike | None = None, eomg: float = 1e-6, ev: float = 1e-6
    ) -> tuple[Array, bool, int]:
        """Joint positions for a pose by `ik.solve`, which chooses a start if none is given."""
        seed = None if thetalist0 is None else self._vector(thetalist0, "thetalist0")
        tolerances = ik.IKTolerances(position=ev, orientation=eomg)
        return _as_tuple(ik.solve(self.chain, pose(T_desired, "T_desired"), q_seed=seed, tolerances=tolerances))

    def robust_inverse_kinematics(
        self, T_desired: ArrayLike, eomg: float = 1e-6, ev: float = 1e-6, timeout: float = 1.0
    ) -> tuple[Array, bool, int]:
        """As `smart_inverse_kinematics`, with restarts until the timeout [s]."""
        tolerances = ik.IKTolerances(position=ev, orientation=eomg)
        return _as_tuple(ik.solve(self.chain, pose(T_desired, "T_desired"), tolerances=tolerances, timeout=timeout))

    def _body_error(self, theta: Array, T_desired: Array) -> Array:
        """Twist from the end effector to its goal in unit time, in the frame of the end effector."""
        return lie.log_se3(lie.inverse(kinematics.forward(self.chain, theta)) @ T_desired)

    def _vector(self, values: ArrayLike, name: str) -> Array:
        return shaped(values, (self.chain.n,), name)


def _as_tuple(result: ik.IKResult) -> tuple[Array, bool, int]:
    return result.q, result.solved, result.iterations


def _float64(values: ArrayLike) -> Array:
    return np.asarray(values, dtype=np.float64)


def _given_or(given: ArrayLike | None, computed: Array) -> Array:
    return computed if given is None else np.array(given, dtype=np.float64)


def _require_frame(frame: str) -> None:
    if frame not in ("space", "body"):
        raise InputError(f"frame is {frame!r}; there are: 'space', 'body'")


def _limits(limits: Sequence[tuple[float, float]] | None, S: Array) -> Limits:
    if limits is None:
        revolute = np.any(S[:3] != 0.0, axis=0)
        return [(-math.pi, math.pi) if turns else (-math.inf, math.inf) for turns in revolute]
    pairs = [(float(lower), float(upper)) for lower, upper in limits]
    for index, (lower, upper) in enumerate(pairs):
        if not lower <= upper:
            raise InputError(f"joint_limits[{index}] is ({lower}, {upper}); write (lower, upper) with lower ≤ upper")
    return pairs
