"""Plots of trajectories, and their derivatives, with ManipulaPy's names.

Every plot opens a window if there is a screen, and returns its figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import draw
from ..errors import InputError
from ..typing import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Trajectory = Mapping[str, Array]


class TrajectoryPlots:
    """The plots, as methods of a planner."""

    serial_manipulator: Any

    @staticmethod
    def plot_trajectory(
        trajectory_data: Trajectory,
        Tf: float,
        title: str = "Joint Trajectory",
        labels: Sequence[str] | None = None,
        performance_stats: Mapping[str, Any] | None = None,
    ) -> Figure:
        """Draws positions, velocities and accelerations of all joints over time.

        Args:
            performance_stats: No effect.
        """
        return _over_time(trajectory_data, Tf, title, labels)

    def plot_cartesian_trajectory(
        self,
        trajectory_data: Trajectory,
        Tf: float,
        title: str = "Cartesian Trajectory",
        performance_stats: Mapping[str, Any] | None = None,
    ) -> Figure:
        """Draws position, velocity and acceleration of the origin over time.

        Args:
            performance_stats: No effect.
        """
        return _over_time(trajectory_data, Tf, title, ("x", "y", "z"))

    def plot_ee_trajectory(
        self, trajectory_data: Trajectory, Tf: float, title: str = "End-Effector Trajectory"
    ) -> Figure:
        """Draws the path of the end effector in space along a joint trajectory, with its frame at some of the times."""
        poses = np.array([self.serial_manipulator.forward_kinematics(theta) for theta in trajectory_data["positions"]])
        figure = draw.new_figure(figsize=(7, 7))
        axes = draw.new_axes(figure)
        axes.plot(*poses[:, :3, 3].T)
        size = 0.1 * max(float(np.ptp(poses[:, :3, 3], axis=0).max()), 0.1)
        for index in np.unique(np.linspace(0, len(poses) - 1, 10).astype(int)):
            draw.draw_frame(axes, poses[index], size)
        axes.set_title(f"{title}, {Tf:g} s")
        return _shown(figure)

    def plot_tcp_trajectory(self, trajectory: Sequence[ArrayLike], dt: float) -> Figure:
        """Draws position, velocity, acceleration and jerk of the end effector along joint positions every `dt` [s]."""
        points = np.array(
            [np.asarray(self.serial_manipulator.forward_kinematics(theta))[:3, 3] for theta in trajectory]
        )
        figure = draw.new_figure(figsize=(8, 10))
        tables = (points, *self.calculate_derivatives(points, dt))
        for row, (name, table) in enumerate(zip(("position", "velocity", "acceleration", "jerk"), tables)):
            axes = figure.add_subplot(4, 1, row + 1)
            # A difference belongs to the middle of its samples.
            axes.plot(dt * (np.arange(len(table)) + 0.5 * row), table)
            axes.set_ylabel(name)
        figure.axes[0].legend(["x", "y", "z"])
        figure.axes[-1].set_xlabel("time [s]")
        return _shown(figure)

    def calculate_derivatives(self, positions: ArrayLike, dt: float) -> tuple[Array, Array, Array]:
        """Velocity, acceleration and jerk by differences of positions every `dt` [s]; one, two, three rows shorter."""
        table = np.asarray(positions, dtype=np.float64)
        if not dt > 0.0 or len(table) < 4:
            raise InputError(
                f"dt is {dt!r} s and there are {len(table)} positions; give a positive time and at least 4"
            )
        velocity, acceleration, jerk = (np.diff(table, n=order, axis=0) / dt**order for order in (1, 2, 3))
        return velocity, acceleration, jerk


def _over_time(data: Trajectory, Tf: float, title: str, labels: Sequence[str] | None) -> Figure:
    figure = draw.new_figure(figsize=(8, 8))
    times = np.linspace(0.0, Tf, len(data["positions"]))
    for row, name in enumerate(("positions", "velocities", "accelerations")):
        axes = figure.add_subplot(3, 1, row + 1)
        lines: Any = axes.plot(times, data[name])
        axes.set_ylabel(name)
        if labels is not None and row == 0:
            axes.legend(lines, labels)
    figure.axes[0].set_title(title)
    figure.axes[-1].set_xlabel("time [s]")
    return _shown(figure)


def _shown(figure: Figure) -> Figure:
    if draw.has_screen():
        draw.show(figure)
    return figure
