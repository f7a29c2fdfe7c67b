"""`TrajectoryPlanning`: trajectories of joints and poses, and the dynamics along them, in ManipulaPy's words.

What is different on purpose: everything is in double precision, a goal beyond a joint limit is moved to the limit with
a warning and the motion is planned to there (positions alone are never cut off), a pose turns along its shortest turn,
and efforts are those of the exact dynamics.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from manipapy_core import trajectory

from .. import dynamics as exact
from .. import kinematics, lie
from ..errors import InputError, ShapeError
from ..typing import Array
from .dynamics import ManipulatorDynamics
from .kinematics import SerialManipulator

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class TrajectoryPlanning:
    """Plans motions of one arm.

    Args:
        serial_manipulator: Its kinematics.
        urdf_path: Its description; kept for programs that read it back.
        dynamics: Its dynamics.
        joint_limits: (lower, upper) per joint [rad or m].
        torque_limits: (lower, upper) per joint [N m or N]; none if not given.
    """

    def __init__(
        self,
        serial_manipulator: SerialManipulator,
        urdf_path: str | os.PathLike[str],
        dynamics: ManipulatorDynamics,
        joint_limits: Sequence[tuple[float, float]],
        torque_limits: Sequence[tuple[float, float]] | None = None,
    ):
        self.serial_manipulator, self.urdf_path, self.dynamics = serial_manipulator, urdf_path, dynamics
        n = dynamics.chain.n
        self.joint_limits = _pairs(joint_limits, n, "joint_limits")
        unlimited = [(-np.inf, np.inf)] * n
        self.torque_limits = _pairs(unlimited if torque_limits is None else torque_limits, n, "torque_limits")

    def joint_trajectory(
        self, thetastart: ArrayLike, thetaend: ArrayLike, Tf: float, N: int, method: int
    ) -> dict[str, Array]:
        """Every joint from start to end in the same time.

        Args:
            thetastart: [rad or m], shape (n,).
            thetaend: [rad or m], shape (n,).
            Tf: Duration [s].
            N: Number of samples.
            method: 3 for cubic, 5 for quintic time scaling.

        Returns:
            positions, velocities and accelerations, shape (N, n) each.
        """
        start = self._inside(self._vector(thetastart, "thetastart"), "thetastart")
        end = self._inside(self._vector(thetaend, "thetaend"), "thetaend")
        found = trajectory.joint_trajectory(start, end, Tf, N, scaling=_scaling(method))
        return {
            "positions": found.positions,
            "velocities": found.velocities,
            "accelerations": found.accelerations,
        }

    def batch_joint_trajectory(
        self, thetastart_batch: ArrayLike, thetaend_batch: ArrayLike, Tf: float, N: int, method: int
    ) -> dict[str, Array]:
        """Many joint trajectories at once: starts and ends have shape (batch, n), results (batch, N, n)."""
        starts = self._inside(self._rows(thetastart_batch, "thetastart_batch"), "thetastart_batch")
        ends = self._inside(self._rows(thetaend_batch, "thetaend_batch"), "thetaend_batch")
        found = trajectory.joint_trajectories(starts, ends, Tf, N, scaling=_scaling(method))
        return {
            "positions": found.positions,
            "velocities": found.velocities,
            "accelerations": found.accelerations,
        }

    def cartesian_trajectory(
        self, Xstart: ArrayLike, Xend: ArrayLike, Tf: float, N: int, method: int
    ) -> dict[str, Array]:
        """A pose from start to end: the origin in a straight line, the rotation along the shortest turn.

        Args:
            Xstart: Shape (4, 4).
            Xend: Shape (4, 4).
            Tf: Duration [s].
            N: Number of samples.
            method: 3 for cubic, 5 for quintic time scaling.

        Returns:
            positions, velocities and accelerations of the origin, shape (N, 3) each, and orientations, (N, 3, 3).
        """
        T_start, T_end = np.asarray(Xstart, dtype=np.float64), np.asarray(Xend, dtype=np.float64)
        # Refuses what is no pose, in the words of the library.
        trajectory.screw_trajectory(T_start, T_end, Tf, 2)
        origin = trajectory.joint_trajectory(T_start[:3, 3], T_end[:3, 3], Tf, N, scaling=_scaling(method))
        share = trajectory.joint_trajectory([0.0], [1.0], Tf, N, scaling=_scaling(method)).positions
        turn = lie.log_so3(T_start[:3, :3].T @ T_end[:3, :3])
        return {
            "positions": origin.positions,
            "velocities": origin.velocities,
            "accelerations": origin.accelerations,
            "orientations": T_start[:3, :3] @ lie.exp_so3(share * turn),
        }

    def inverse_dynamics_trajectory(
        self,
        thetalist_trajectory: ArrayLike,
        dthetalist_trajectory: ArrayLike,
        ddthetalist_trajectory: ArrayLike,
        gravity_vector: ArrayLike | None = None,
        Ftip: ArrayLike | None = None,
    ) -> Array:
        """Efforts along a trajectory [N m or N], shape (N, n), cut to the torque limits.

        Args:
            thetalist_trajectory: Positions, shape (N, n); velocities and accelerations likewise.
            gravity_vector: In the base frame [m/s²]; (0, 0, -9.81) if not given.
            Ftip: Wrench that the end effector exerts, in its own frame, moment first, shape (6,).
        """
        gravity = exact.GRAVITY if gravity_vector is None else np.asarray(gravity_vector, dtype=np.float64)
        theta, dtheta, ddtheta = (
            np.atleast_2d(np.asarray(values, dtype=np.float64))
            for values in (thetalist_trajectory, dthetalist_trajectory, ddthetalist_trajectory)
        )
        chain = self.dynamics.chain
        tau = exact.inverse_dynamics(chain, theta, dtheta, ddtheta, gravity=gravity, wrench_tip=_wrench(Ftip))
        return np.clip(tau, self.torque_limits[:, 0], self.torque_limits[:, 1])

    def forward_dynamics_trajectory(
        self,
        thetalist: ArrayLike,
        dthetalist: ArrayLike,
        taumat: ArrayLike,
        g: ArrayLike,
        Ftipmat: ArrayLike,
        dt: float,
        intRes: int,
    ) -> dict[str, Array]:
        """The motion that efforts make, by steps of dt / intRes [s] that conserve energy well.

        Args:
            thetalist: Where it starts [rad or m], shape (n,).
            dthetalist: Its velocity there, shape (n,).
            taumat: Efforts of every step of dt, shape (N, n).
            g: Gravity in the base frame [m/s²], shape (3,).
            Ftipmat: Wrench at the tip of every step, shape (N, 6).
            dt: Time between two rows [s].
            intRes: Steps of integration within dt.

        Returns:
            positions, velocities and accelerations, shape (N, n) each.
        """
        theta, dtheta = self._vector(thetalist, "thetalist"), self._vector(dthetalist, "dthetalist")
        taus, wrenches = np.asarray(taumat, dtype=np.float64), np.asarray(Ftipmat, dtype=np.float64)
        n, steps = self.dynamics.chain.n, len(taus)
        if taus.shape != (steps, n):
            raise ShapeError("taumat", f"(N, {n})", taus.shape)
        if wrenches.shape != (steps, 6):
            raise ShapeError("Ftipmat", f"({steps}, 6)", wrenches.shape)
        if intRes < 1 or not dt > 0.0:
            raise InputError(f"dt is {dt!r} and intRes {intRes!r}; both must be positive")
        chain, gravity, h = self.dynamics.chain, np.asarray(g, dtype=np.float64), dt / intRes
        rows = np.empty((3, steps, n))
        for index in range(steps):
            wrench = _wrench(wrenches[index])
            for _ in range(intRes):
                ddtheta = exact.forward_dynamics(chain, theta, dtheta, taus[index], gravity=gravity, wrench_tip=wrench)
                dtheta = dtheta + h * ddtheta
                theta = theta + h * dtheta
            rows[:, index] = theta, dtheta, ddtheta
        return {"positions": rows[0], "velocities": rows[1], "accelerations": rows[2]}

    @staticmethod
    def plot_trajectory(
        trajectory_data: dict[str, Array],
        Tf: float,
        title: str = "Joint Trajectory",
        labels: Sequence[str] | None = None,
    ) -> Figure:
        """Positions, velocities and accelerations over time; a window where there is a screen. Returns the figure."""
        from .. import draw

        figure = draw.new_figure(figsize=(8, 8))
        times = np.linspace(0.0, Tf, len(trajectory_data["positions"]))
        for row, name in enumerate(("positions", "velocities", "accelerations")):
            axes = figure.add_subplot(3, 1, row + 1)
            lines: Any = axes.plot(times, trajectory_data[name])
            axes.set_ylabel(name)
            if labels is not None and row == 0:
                axes.legend(lines, labels)
        figure.axes[0].set_title(title)
        figure.axes[-1].set_xlabel("time [s]")
        if draw.has_screen():
            draw.show(figure)
        return figure

    def ee_positions(self, trajectory_data: dict[str, Array]) -> Array:
        """Where the end effector is along a joint trajectory [m], shape (N, 3)."""
        return kinematics.forward(self.dynamics.chain, trajectory_data["positions"])[:, :3, 3]

    def _vector(self, values: ArrayLike, name: str) -> Array:
        array = np.asarray(values, dtype=np.float64)
        if array.shape != (self.dynamics.chain.n,):
            raise ShapeError(name, f"({self.dynamics.chain.n},)", array.shape)
        return array

    def _rows(self, values: ArrayLike, name: str) -> Array:
        rows = np.asarray(values, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.dynamics.chain.n:
            raise ShapeError(name, f"(batch, {self.dynamics.chain.n})", rows.shape)
        return rows

    def _inside(self, q: Array, name: str) -> Array:
        inside = np.clip(q, self.joint_limits[:, 0], self.joint_limits[:, 1])
        if not np.array_equal(inside, q) and np.isfinite(q).all():
            joint = int(np.argwhere(inside != q)[0][-1])
            warnings.warn(
                f"{name}: joint {joint + 1} is beyond its limits {self.joint_limits[joint].tolist()}; "
                "the motion is planned to the limit",
                UserWarning,
                stacklevel=3,
            )
        return inside if np.isfinite(q).all() else q


OptimizedTrajectoryPlanning = TrajectoryPlanning
"""The name of the same class in later versions."""


def _scaling(method: int) -> trajectory.TimeScaling:
    if method not in (3, 5):
        raise InputError(f"method is {method!r}; 3 is cubic, 5 is quintic time scaling")
    return trajectory.TimeScaling(method)


def _wrench(Ftip: ArrayLike | None) -> Array | None:
    if Ftip is None:
        return None
    wrench = np.asarray(Ftip, dtype=np.float64)
    return wrench if wrench.any() else None


def _pairs(values: Sequence[tuple[float, float]], n: int, name: str) -> Array:
    pairs = np.asarray(values, dtype=np.float64)
    if pairs.shape != (n, 2):
        raise ShapeError(name, f"({n}, 2)", pairs.shape)
    return pairs
