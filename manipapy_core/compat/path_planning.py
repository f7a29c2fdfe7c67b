"""`TrajectoryPlanning`: joint and Cartesian trajectories and the dynamics along them, with ManipulaPy's API.

Intended differences from ManipulaPy: double precision throughout; a goal beyond a joint limit is moved to the limit
with a warning and the whole motion is planned to there (samples are never clipped); rotations take the shortest arc;
efforts come from the exact dynamics.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import dynamics as exact
from .. import kinematics, trajectory
from ..errors import InputError
from ..typing import Array
from .dynamics import ManipulatorDynamics
from .inputs import rows, shaped, time_scaling, tip_wrench
from .kinematics import SerialManipulator

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class TrajectoryPlanning:
    """Plans trajectories of one arm.

    Args:
        serial_manipulator: Its kinematics.
        urdf_path: Its description; only stored.
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
        self.joint_limits = shaped(joint_limits, (n, 2), "joint_limits")
        unlimited = [(-np.inf, np.inf)] * n
        self.torque_limits = shaped(unlimited if torque_limits is None else torque_limits, (n, 2), "torque_limits")

    def joint_trajectory(
        self, thetastart: ArrayLike, thetaend: ArrayLike, Tf: float, N: int, method: int
    ) -> dict[str, Array]:
        """Moves every joint from start to end in the same time.

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
        motion = trajectory.joint_trajectory(start, end, Tf, N, scaling=time_scaling(method))
        return _as_dict(motion)

    def batch_joint_trajectory(
        self, thetastart_batch: ArrayLike, thetaend_batch: ArrayLike, Tf: float, N: int, method: int
    ) -> dict[str, Array]:
        """A batch of joint trajectories: starts and ends have shape (batch, n), results (batch, N, n)."""
        starts = self._inside(self._rows(thetastart_batch, "thetastart_batch"), "thetastart_batch")
        ends = self._inside(self._rows(thetaend_batch, "thetaend_batch"), "thetaend_batch")
        motion = trajectory.joint_trajectories(starts, ends, Tf, N, scaling=time_scaling(method))
        return _as_dict(motion)

    def cartesian_trajectory(
        self, Xstart: ArrayLike, Xend: ArrayLike, Tf: float, N: int, method: int
    ) -> dict[str, Array]:
        """Moves a frame from start to end: its origin along a straight line, its rotation about one axis.

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
        scaling = time_scaling(method)
        motion = trajectory.line_trajectory(T_start, T_end, Tf, N, scaling=scaling)
        origin = trajectory.joint_trajectory(T_start[:3, 3], T_end[:3, 3], Tf, N, scaling=scaling)
        return {**_as_dict(origin), "orientations": motion.poses[:, :3, :3]}

    def inverse_dynamics_trajectory(
        self,
        thetalist_trajectory: ArrayLike,
        dthetalist_trajectory: ArrayLike,
        ddthetalist_trajectory: ArrayLike,
        gravity_vector: ArrayLike | None = None,
        Ftip: ArrayLike | None = None,
    ) -> Array:
        """Inverse dynamics along a trajectory [N m or N], shape (N, n), clipped to the torque limits.

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
        tau = exact.inverse_dynamics(chain, theta, dtheta, ddtheta, gravity=gravity, wrench_tip=tip_wrench(Ftip))
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
        """Integrates the forward dynamics by semi-implicit Euler steps of dt / intRes [s].

        Args:
            thetalist: Start positions [rad or m], shape (n,).
            dthetalist: Start velocities [rad/s or m/s], shape (n,).
            taumat: Efforts for every step of dt [N m or N], shape (N, n).
            g: Gravity in the base frame [m/s²], shape (3,).
            Ftipmat: Wrench at the tip for every step, shape (N, 6).
            dt: Time between two rows [s].
            intRes: Steps of integration within dt.

        Returns:
            positions, velocities and accelerations, shape (N, n) each.
        """
        theta, dtheta = self._vector(thetalist, "thetalist"), self._vector(dthetalist, "dthetalist")
        n = self.dynamics.chain.n
        taus = rows(taumat, n, "taumat")
        steps = len(taus)
        wrenches = shaped(Ftipmat, (steps, 6), "Ftipmat")
        if intRes < 1 or not dt > 0.0:
            raise InputError(f"dt is {dt!r} and intRes {intRes!r}; both must be positive")
        chain, gravity, h = self.dynamics.chain, np.asarray(g, dtype=np.float64), dt / intRes
        samples = np.empty((3, steps, n))
        for index in range(steps):
            wrench = tip_wrench(wrenches[index])
            for _ in range(intRes):
                ddtheta = exact.forward_dynamics(chain, theta, dtheta, taus[index], gravity=gravity, wrench_tip=wrench)
                dtheta = dtheta + h * ddtheta
                theta = theta + h * dtheta
            samples[:, index] = theta, dtheta, ddtheta
        return dict(zip(("positions", "velocities", "accelerations"), samples))

    @staticmethod
    def plot_trajectory(
        trajectory_data: dict[str, Array],
        Tf: float,
        title: str = "Joint Trajectory",
        labels: Sequence[str] | None = None,
    ) -> Figure:
        """Plots positions, velocities and accelerations over time, in a window if there is a screen.

        Returns:
            The figure.
        """
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
        """Positions of the end effector along a joint trajectory [m], shape (N, 3)."""
        return kinematics.forward(self.dynamics.chain, trajectory_data["positions"])[:, :3, 3]

    def _vector(self, values: ArrayLike, name: str) -> Array:
        return shaped(values, (self.dynamics.chain.n,), name)

    def _rows(self, values: ArrayLike, name: str) -> Array:
        return rows(values, self.dynamics.chain.n, name)

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
"""Name of the class in later versions of ManipulaPy."""


def _as_dict(motion: trajectory.JointTrajectory) -> dict[str, Array]:
    return dict(zip(("positions", "velocities", "accelerations"), motion.states(), strict=True))
