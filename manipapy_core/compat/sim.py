"""`Simulation`: an arm in PyBullet with ManipulaPy's API, over `manipapy_core.sim`.

Intended differences from ManipulaPy: the physics run at 1 kHz for any time step of the trajectory, references are
interpolated in between, a window opens only if there is a screen, `run_controller` with a controller closes the loop by
computed torque, and `check_collisions` names the links.
"""

from __future__ import annotations

import csv
import logging
import os
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import draw, kinematics, sim
from .. import dynamics as exact
from ..errors import InputError
from ..typing import Array
from .arm import read_robot, serial_arm
from .control import ManipulatorController
from .inputs import rows, shaped, tip_wrench
from .path_planning import TrajectoryPlanning
from .sim_sliders import Sliders
from .urdf_processor import URDFToSerialManipulator

STEP = 0.001
"""Time step of the physics [s]."""
TIMING_TOLERANCE = 0.005
"""Share of the motion by which the integral of the velocities may differ from the positions."""


class Simulation(Sliders):
    """One arm with a fixed base.

    Args:
        urdf_file_path: Path of the description, or the name of a bundled robot.
        joint_limits: (lower, upper) per joint [rad or m].
        torque_limits: (lower, upper) per joint [N m or N], or one bound per joint; those of the description if not
            given.
        time_step: Between two rows of a trajectory [s].
        real_time_factor: Speed of the display; without a screen the simulation runs as fast as possible.
        physics_client: Not supported: the simulation opens a server of its own.
        enable_self_collision: `check_collisions` also looks for links of the arm that touch each other.
        disable_pairs: Pairs of link names that `check_collisions` leaves out.
        tip_link: Last link of the arm; found as `URDFToSerialManipulator` finds it if not given.

    Attributes:
        robot: Kinematics, after `initialize_robot` or `set_robot_models`; `dynamics` likewise.
        trajectory_planner, controller: After `initialize_planner_and_controller`.
        history: Measured positions and velocities at every row of `run_controller`, shape (N, 2, n).
    """

    def __init__(
        self,
        urdf_file_path: str | os.PathLike[str],
        joint_limits: Sequence[tuple[float, float]],
        torque_limits: Sequence[tuple[float, float]] | Sequence[float] | None = None,
        time_step: float = 0.01,
        real_time_factor: float = 1.0,
        physics_client: int | None = None,
        enable_self_collision: bool = False,
        disable_pairs: Sequence[tuple[str, str]] | None = None,
        *,
        tip_link: str | None = None,
    ):
        if not time_step >= STEP:
            raise InputError(f"time_step is {time_step!r} s; give at least {STEP:g}")
        if physics_client is not None:
            raise InputError("physics_client is not supported; leave it out, the simulation opens a server of its own")
        self.logger = logging.getLogger("SimulationLogger")
        self.urdf_file_path, self.joint_limits, self.torque_limits = urdf_file_path, joint_limits, torque_limits
        self.time_step, self.real_time_factor = time_step, real_time_factor
        self.enable_self_collision = enable_self_collision
        self.disabled_pairs = {frozenset(pair) for pair in disable_pairs or ()}
        self.robot_model, self.tip_link = read_robot(urdf_file_path), tip_link
        self.chain = serial_arm(self.robot_model, tip_link)
        self.world: sim.SimWorld | None = None
        self._arm: sim.SimRobot | None = None
        self.robot: Any = None
        self.dynamics: Any = None
        self.trajectory_planner: TrajectoryPlanning | None = None
        self.controller: ManipulatorController | None = None
        self.trajectory_body_ids: list[int] = []

    def connect_simulation(self) -> None:
        """Opens the world without the arm; a second call does nothing."""
        if self.world is None:
            self.world = sim.SimWorld(time_step=STEP, simulator=sim.Simulator.PYBULLET, gui=draw.has_screen())

    setup_simulation = connect_simulation

    def initialize_robot(self) -> None:
        """Opens the world, adds the arm and makes its models; a second call does nothing."""
        self.connect_simulation()
        assert self.world is not None
        if self._arm is None:
            settings = sim.DriveSettings(command_timeout=float("inf"), resume=sim.ResumePolicy.COMMAND)
            self._arm = self.world.add_robot(self.robot_model, settings=settings)
        if self.robot is None:
            models = URDFToSerialManipulator(self.urdf_file_path, tip_link=self.tip_link)
            self.set_robot_models(models.serial_manipulator, models.dynamics)

    def set_robot_models(self, robot: Any, dynamics: Any) -> None:
        """Kinematics and dynamics to use in place of those from the description."""
        self.robot, self.dynamics = robot, dynamics

    def initialize_planner_and_controller(self) -> None:
        """Makes `trajectory_planner` and `controller` from the models."""
        self.initialize_robot()
        self.trajectory_planner = TrajectoryPlanning(
            self.robot, self.urdf_file_path, self.dynamics, self.joint_limits, self._torque_pairs()
        )
        self.controller = ManipulatorController(self.dynamics)

    @property
    def arm(self) -> sim.SimRobot:
        """The arm in the simulation."""
        if self._arm is None:
            raise InputError("there is no robot yet; call initialize_robot() first")
        return self._arm

    def get_joint_positions(self) -> Array:
        """[rad or m], shape (n,)."""
        return self._measured()[0]

    def set_joint_positions(self, joint_positions: ArrayLike, forces: ArrayLike | None = None) -> None:
        """Sets the position command of the drives [rad or m], shape (n,); `step_simulation` advances time.

        Args:
            forces: No effect: the drives keep to the effort limits of the description.
        """
        self.arm.command(sim.DriveMode.POSITION, self._row(joint_positions, "joint_positions"), self.chain.joint_names)

    def step_simulation(self) -> None:
        """Advances by one time step."""
        self._advance(round(self.time_step / STEP))

    def run_trajectory(self, joint_trajectory: Iterable[ArrayLike] | ArrayLike) -> Array:
        """Commands positions, one row per time step; returns the final position of the end effector [m], (3,).

        With a screen the path of the end effector is drawn.
        """
        path = [self._tip()]
        for row in self._rows(joint_trajectory, "joint_trajectory"):
            self.set_joint_positions(row)
            self.step_simulation()
            path.append(self._tip())
        if draw.has_screen():
            self.plot_trajectory(path)
        return path[-1]

    simulate_robot_motion = run_trajectory

    def simulate_robot_with_desired_angles(self, desired_angles: ArrayLike) -> None:
        """Commands one configuration [rad or m], shape (n,), and lets the arm move there for a second."""
        for _ in range(round(1.0 / self.time_step)):
            self.set_joint_positions(desired_angles)
            self.step_simulation()

    def run(self, joint_trajectory: Iterable[ArrayLike] | ArrayLike) -> Array:
        """`run_trajectory`; with a screen, `manual_control` afterwards."""
        end = self.run_trajectory(joint_trajectory)
        if draw.has_screen():
            self.manual_control()
        return end

    def run_controller(
        self,
        controller: ManipulatorController | Iterable[ArrayLike] | ArrayLike,
        desired_positions: ArrayLike | None = None,
        desired_velocities: ArrayLike | None = None,
        desired_accelerations: ArrayLike | None = None,
        g: ArrayLike = exact.GRAVITY,
        Ftip: ArrayLike | None = None,
        Kp: ArrayLike = 80.0,
        Ki: ArrayLike = 0.0,
        Kd: ArrayLike = 8.0,
    ) -> Array:
        """Follows a trajectory by computed torque; returns the final position of the end effector [m], shape (3,).

        The arm starts at rest at the first row. Measurements are stored in `history`. With positions as the only
        argument, as later versions of ManipulaPy have it, this is `run_trajectory`.

        Args:
            desired_positions: One row per time step [rad or m], shape (N, n); velocities and accelerations likewise.
            g: Gravity in the base frame [m/s²], shape (3,).
            Ftip: Wrench that the end effector exerts, in its own frame, moment first, shape (6,).
            Kp: One number or one per joint [1/s²]; Ki [1/s³] and Kd [1/s] likewise.
        """
        if not isinstance(controller, ManipulatorController):
            return self.run_trajectory(controller)
        tables = [
            self._rows(values, name)
            for values, name in (
                (desired_positions, "desired_positions"),
                (desired_velocities, "desired_velocities"),
                (desired_accelerations, "desired_accelerations"),
            )
        ]
        if not len(tables[0]) == len(tables[1]) == len(tables[2]):
            raise InputError("positions, velocities and accelerations have different lengths; give the same number")
        self._check_times(tables[0], tables[1])
        wrench, efforts = tip_wrench(Ftip), self._torque_pairs()
        names, arm = self.chain.joint_names, self.arm
        arm.reset(dict(zip(names, tables[0][0])))
        controller.reset()
        substeps = round(self.time_step / STEP)
        self.history = np.empty((len(tables[0]), 2, self.chain.n))
        for index in range(len(tables[0])):
            after = min(index + 1, len(tables[0]) - 1)
            self.history[index] = self._measured()
            for k in range(substeps):
                share = k / substeps
                q, qd, qdd = ((1.0 - share) * table[index] + share * table[after] for table in tables)
                measured = self._measured()
                tau = controller.computed_torque_control(q, qd, qdd, measured[0], measured[1], g, STEP, Kp, Ki, Kd)
                if wrench is not None:
                    tau = tau + kinematics.body_jacobian(self.chain, self.get_joint_positions()).T @ wrench
                if efforts is not None:
                    tau = np.clip(tau, efforts[:, 0], efforts[:, 1])
                arm.command(sim.DriveMode.EFFORT, tau, names)
                self._advance(1)
        arm.hold()
        return self._tip()

    def check_collisions(self) -> list[tuple[str, str, tuple[float, float, float]]]:
        """Contacts of the arm: link, other link or object, and where [m]; empty without any, or without a robot."""
        if self._arm is None:
            return []
        found = [*self._arm.contacts(), *(self._arm.self_contacts() if self.enable_self_collision else ())]
        return [
            (contact.link, contact.other, contact.position)
            for contact in found
            if frozenset((contact.link, contact.other)) not in self.disabled_pairs
        ]

    def plot_trajectory(
        self,
        ee_positions: Sequence[ArrayLike] | ArrayLike,
        line_width: float = 3.0,
        color: Sequence[float] | None = None,
    ) -> list[int]:
        """Draws a path in the scene; `clear_trajectory_visualization` removes it.

        Args:
            ee_positions: In the base frame [m], shape (points, 3).
            line_width: Diameter [mm].
            color: Red, green, blue from 0 to 1.
        """
        self.initialize_robot()
        assert self.world is not None
        colour = (1.0, 0.5, 0.0) if color is None else color
        drawn = self.world.draw_path(np.asarray(ee_positions), radius=0.0005 * line_width, colour=colour)
        self.trajectory_body_ids += drawn
        return drawn

    def clear_trajectory_visualization(self) -> None:
        """Removes all paths that `plot_trajectory` has drawn."""
        if self.world is not None:
            self.world.erase(self.trajectory_body_ids)
        self.trajectory_body_ids = []

    def plot_trajectory_in_scene(
        self, joint_trajectory: Iterable[ArrayLike] | ArrayLike, end_effector_trajectory: Sequence[ArrayLike]
    ) -> Array:
        """Draws the path of the end effector and runs the joint trajectory."""
        self.plot_trajectory(end_effector_trajectory)
        return self.run_trajectory(joint_trajectory)

    def save_joint_states(self, filename: str | os.PathLike[str] = "joint_states.csv") -> None:
        """Writes name, position [rad or m] and velocity [rad/s or m/s] of every joint as a CSV file."""
        with open(filename, "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(["joint", "position", "velocity"])
            table.writerows(zip(self.chain.joint_names, *self._measured()))

    def close_simulation(self) -> None:
        """Closes the simulation; a second call does nothing."""
        if self.world is not None:
            self.world.close()
            self.world = self._arm = None
            self.trajectory_body_ids = []

    disconnect_simulation = close_simulation

    def _check_times(self, positions: Array, velocities: Array) -> None:
        """Warns of velocities that belong to rows of another distance in time."""
        moved = positions[-1] - positions[0]
        expected = self.time_step * (velocities.sum(axis=0) - 0.5 * (velocities[0] + velocities[-1]))
        if expected @ expected > 0.0 and np.abs(expected - moved).max() > TIMING_TOLERANCE * np.abs(moved).max():
            fitting = self.time_step * float(moved @ expected) / float(expected @ expected)
            self.logger.warning(
                "the velocities fit rows that are %.4g ms apart, time_step is %.4g ms; N points over Tf seconds are "
                "Tf / (N - 1) apart",
                1e3 * fitting,
                1e3 * self.time_step,
            )

    def _torque_pairs(self) -> Array | None:
        if self.torque_limits is None:
            return None
        limits = np.asarray(self.torque_limits, dtype=np.float64)
        return np.stack([-limits, limits], axis=1) if limits.ndim == 1 else limits

    def _advance(self, steps: int) -> None:
        if self.world is None:
            raise InputError("there is no robot yet; call initialize_robot() first")
        self.world.step(steps)
        if draw.has_screen():
            time.sleep(steps * STEP / self.real_time_factor)

    def _measured(self) -> tuple[Array, Array]:
        state = self.arm.state()
        order = [state.names.index(name) for name in self.chain.joint_names]
        return state.q[order], state.qd[order]

    def _tip(self) -> Array:
        return kinematics.forward(self.chain, self.get_joint_positions())[:3, 3]

    def _row(self, values: ArrayLike, name: str) -> Array:
        return shaped(values, (self.chain.n,), name)

    def _rows(self, values: Any, name: str) -> Array:
        table = values if isinstance(values, np.ndarray) else list(() if values is None else values)
        if not len(table):
            raise InputError(f"{name} is empty; give at least one row")
        return rows(table, self.chain.n, name)
