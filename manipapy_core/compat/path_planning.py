"""`TrajectoryPlanning`: joint and Cartesian trajectories and the dynamics along them, with ManipulaPy's API.

Intended differences from ManipulaPy: double precision throughout; a goal beyond a joint limit is moved to the limit
with a warning and the whole motion is planned to there (samples are never clipped); rotations take the shortest arc;
efforts come from the exact dynamics; trajectories between two configurations are not bent around obstacles:
`plan_trajectory` calls `motion.plan`, which finds a way or says that there is none. Robots and dynamics of other
classes are taken too, as long as they have the methods that are called.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import dynamics as exact
from .. import trajectory
from ..model import Robot
from ..model.chain import Chain
from ..typing import Array
from .arm import serial_arm
from .dynamics import ManipulatorDynamics
from .inputs import bounds, pose, rows, shaped, tip_wrench
from .kinematics import SerialManipulator
from .sampling import LINEAR, States, integrated, sampled, time_scaling
from .trajectory_plots import TrajectoryPlots

STATISTICS = ("cpu_calls", "gpu_calls", "total_cpu_time", "total_gpu_time", "memory_transfers", "kernel_launches")


class OptimizedTrajectoryPlanning(TrajectoryPlots):
    """Plans trajectories of one arm.

    Args:
        serial_manipulator: Its kinematics.
        urdf_path: Its description; read by `plan_trajectory`.
        dynamics: Its dynamics.
        joint_limits: (lower, upper) per joint [rad or m]; None for no limit.
        torque_limits: (lower, upper) per joint [N m or N]; none if not given.
        use_cuda: True asks for a GPU; trajectories are computed on the CPU, with a warning. The other options that
            select CUDA kernels have no effect.
    """

    def __init__(
        self,
        serial_manipulator: SerialManipulator | Any,
        urdf_path: str | os.PathLike[str],
        dynamics: ManipulatorDynamics | Any,
        joint_limits: Sequence[tuple[float | None, float | None]] | ArrayLike,
        torque_limits: Sequence[tuple[float, float]] | ArrayLike | None = None,
        *,
        use_cuda: bool | None = None,
        cuda_threshold: int = 10,
        memory_pool_size_mb: int | None = None,
        enable_profiling: bool = False,
        auto_optimize: bool = True,
        kernel_type: str = "auto",
        target_speedup: float = 40.0,
    ):
        self.serial_manipulator, self.urdf_path, self.dynamics = serial_manipulator, urdf_path, dynamics
        chain = _chain_of(dynamics)
        pairs: Any = joint_limits
        n = len(pairs) if chain is None else chain.n
        self.joint_limits = shaped(np.stack(bounds(pairs), axis=1), (n, 2), "joint_limits")
        unlimited = [(-np.inf, np.inf)] * n
        self.torque_limits = shaped(unlimited if torque_limits is None else torque_limits, (n, 2), "torque_limits")
        self.kernel_type, self.target_speedup = kernel_type, target_speedup
        self.cuda_available = False
        if use_cuda:
            warnings.warn("use_cuda: trajectories are computed on the CPU; see docs/gpu.md", UserWarning, stacklevel=2)
        self.reset_performance_stats()

    def joint_trajectory(
        self,
        thetastart: ArrayLike,
        thetaend: ArrayLike,
        Tf: float,
        N: int,
        method: int,
        kernel_type: str | None = None,
        enable_monitoring: bool | None = None,
    ) -> dict[str, Array]:
        """Moves every joint from start to end in the same time.

        Args:
            thetastart: [rad or m], shape (n,).
            thetaend: [rad or m], shape (n,).
            Tf: Duration [s].
            N: Number of samples.
            method: 1 for linear, 3 for cubic, 5 for quintic time scaling.
            kernel_type: No effect, as `enable_monitoring`.

        Returns:
            positions, velocities and accelerations, shape (N, n) each.
        """
        start = self._inside(self._vector(thetastart, "thetastart"), "thetastart")
        end = self._inside(self._vector(thetaend, "thetaend"), "thetaend")
        with self._timed():
            return _as_dict(sampled(start, end, Tf, N, method))

    def batch_joint_trajectory(
        self,
        thetastart_batch: ArrayLike,
        thetaend_batch: ArrayLike,
        Tf: float,
        N: int,
        method: int,
        kernel_type: str | None = None,
    ) -> dict[str, Array]:
        """A batch of joint trajectories: starts and ends have shape (batch, n), results (batch, N, n)."""
        n = len(self.joint_limits)
        starts = self._inside(rows(thetastart_batch, n, "thetastart_batch"), "thetastart_batch")
        ends = self._inside(rows(thetaend_batch, n, "thetaend_batch"), "thetaend_batch")
        with self._timed():
            return _as_dict(sampled(starts, ends, Tf, N, method))

    def cartesian_trajectory(
        self, Xstart: ArrayLike, Xend: ArrayLike, Tf: float, N: int, method: int
    ) -> dict[str, Array]:
        """Moves a frame from start to end: its origin along a straight line, its rotation about one axis.

        Args:
            Xstart: Shape (4, 4).
            Xend: Shape (4, 4).
            Tf: Duration [s].
            N: Number of samples.
            method: 1 for linear, 3 for cubic, 5 for quintic time scaling.

        Returns:
            positions, velocities and accelerations of the origin, shape (N, 3) each, and orientations, (N, 3, 3).
        """
        T_start, T_end = pose(Xstart, "Xstart"), pose(Xend, "Xend")
        with self._timed():
            origin = _as_dict(sampled(T_start[:3, 3], T_end[:3, 3], Tf, N, method))
            if method == LINEAR or N == 1:
                poses = trajectory.interpolate_pose(T_start, T_end, np.linspace(0.0, 1.0, N) if N > 1 else np.zeros(1))
            else:
                poses = trajectory.line_trajectory(T_start, T_end, Tf, N, scaling=time_scaling(method)).poses
            return {**origin, "orientations": poses[:, :3, :3]}

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
        tables = [
            np.atleast_2d(np.asarray(values, dtype=np.float64))
            for values in (thetalist_trajectory, dthetalist_trajectory, ddthetalist_trajectory)
        ]
        chain = _chain_of(self.dynamics)
        with self._timed():
            if chain is not None:
                tau = exact.inverse_dynamics(chain, *tables, gravity=gravity, wrench_tip=tip_wrench(Ftip))
            else:
                wrench = np.zeros(6) if Ftip is None else Ftip
                one: Any = self.dynamics.inverse_dynamics
                tau = np.array([one(*states, gravity, wrench) for states in zip(*tables)], dtype=np.float64)
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
        taus = rows(taumat, len(self.joint_limits), "taumat")
        wrenches, gravity = shaped(Ftipmat, (len(taus), 6), "Ftipmat"), np.asarray(g, dtype=np.float64)
        chain = _chain_of(self.dynamics)

        def acceleration(q: Array, qd: Array, tau: Array, wrench: Array) -> ArrayLike:
            if chain is None:
                return self.dynamics.forward_dynamics(q, qd, tau, gravity, wrench)
            return exact.forward_dynamics(chain, q, qd, tau, gravity=gravity, wrench_tip=tip_wrench(wrench))

        with self._timed():
            steps = list(integrated(acceleration, theta, dtheta, taus, wrenches, dt, intRes))
        columns = zip(*steps) if steps else [np.empty((0, len(theta)))] * 3
        positions, velocities, accelerations = (np.array(column) for column in columns)
        return _as_dict((positions, velocities, accelerations))

    def plan_trajectory(
        self, start_position: ArrayLike, target_position: ArrayLike, obstacle_points: ArrayLike
    ) -> list[list[float]]:
        """Corners of a path that touches neither the obstacles nor the robot itself, by `motion.plan`.

        Args:
            start_position: [rad or m], shape (n,).
            target_position: [rad or m], shape (n,).
            obstacle_points: Points on obstacles in the base frame [m], shape (points, 3); may be empty.

        Raises:
            RuntimeError: There is no way, or start or goal collide; the message gives the reason.
        """
        from .. import geometry, motion

        robot = Robot.from_urdf(self.urdf_path)
        world = geometry.World()
        points = np.asarray(obstacle_points, dtype=np.float64).reshape(-1, 3)
        if len(points):
            world.add("obstacle_points", geometry.PointCloud(points))
        checker = geometry.Checker(geometry.RobotBody.build(robot, serial_arm(robot)), world)
        found = motion.plan(checker, start_position, target_position, law=None)
        if not found.success:
            raise RuntimeError(found.message)
        return [[float(value) for value in row] for row in found.path]

    def ee_positions(self, trajectory_data: dict[str, Array]) -> Array:
        """Positions of the end effector along a joint trajectory [m], shape (N, 3)."""
        forward = self.serial_manipulator.forward_kinematics
        return np.array([np.asarray(forward(theta))[:3, 3] for theta in trajectory_data["positions"]])

    def get_performance_stats(self) -> dict[str, Any]:
        """Calls and time [s] on the CPU; those of a GPU are 0."""
        stats = dict(self.performance_stats)
        stats["avg_cpu_time"] = stats["total_cpu_time"] / max(stats["cpu_calls"], 1)
        return {**stats, "avg_gpu_time": 0.0, "gpu_usage_percent": 0.0, "speedup_achieved": 0.0}

    def reset_performance_stats(self) -> None:
        """Sets the statistics to 0."""
        self.performance_stats: dict[str, Any] = {name: 0.0 if "time" in name else 0 for name in STATISTICS}

    def cleanup_gpu_memory(self) -> None:
        """No effect: no GPU memory is held."""

    @contextmanager
    def _timed(self) -> Iterator[None]:
        begin = time.perf_counter()
        yield
        self.performance_stats["cpu_calls"] += 1
        self.performance_stats["total_cpu_time"] += time.perf_counter() - begin

    def _vector(self, values: ArrayLike, name: str) -> Array:
        return shaped(values, (len(self.joint_limits),), name)

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


class TrajectoryPlanning(OptimizedTrajectoryPlanning):
    """Name of the class in the first versions of ManipulaPy."""


def create_optimized_planner(
    serial_manipulator: SerialManipulator | Any,
    urdf_path: str | os.PathLike[str],
    dynamics: ManipulatorDynamics | Any,
    joint_limits: Sequence[tuple[float | None, float | None]] | ArrayLike,
    torque_limits: Sequence[tuple[float, float]] | ArrayLike | None = None,
    target_speedup: float = 40.0,
    gpu_memory_mb: int | None = None,
    enable_profiling: bool = False,
    kernel_type: str = "auto",
) -> OptimizedTrajectoryPlanning:
    """The planner, as its class makes it; the options for a GPU have no effect."""
    return OptimizedTrajectoryPlanning(serial_manipulator, urdf_path, dynamics, joint_limits, torque_limits)


def compare_implementations(
    serial_manipulator: SerialManipulator | Any,
    urdf_path: str | os.PathLike[str],
    dynamics: ManipulatorDynamics | Any,
    joint_limits: Sequence[tuple[float | None, float | None]] | ArrayLike,
    test_params: dict[str, Any] | None = None,
    detailed_analysis: bool = True,
) -> dict[str, dict[str, Any]]:
    """Time of a joint trajectory [s]; trajectories are computed on the CPU, so the entry of the GPU is not available.

    Args:
        test_params: N, Tf, method and num_runs.
        detailed_analysis: No effect.
    """
    options = {"N": 1000, "Tf": 2.0, "method": 5, "num_runs": 5, **(test_params or {})}
    planner = OptimizedTrajectoryPlanning(serial_manipulator, urdf_path, dynamics, joint_limits)
    start = np.zeros(len(planner.joint_limits))
    end = np.clip(0.5, planner.joint_limits[:, 0], planner.joint_limits[:, 1])
    for _ in range(options["num_runs"]):
        found = planner.joint_trajectory(start, end, options["Tf"], options["N"], options["method"])
    stats = planner.get_performance_stats()
    return {"cpu": {"time": stats["avg_cpu_time"], "stats": stats, "result": found}, "gpu": {"available": False}}


def _chain_of(dynamics: Any) -> Chain | None:
    """The arm of our own dynamics; None for other objects."""
    chain = getattr(dynamics, "chain", None)
    return chain if isinstance(chain, Chain) else None


def _as_dict(states: States) -> dict[str, Array]:
    return dict(zip(("positions", "velocities", "accelerations"), states, strict=True))
