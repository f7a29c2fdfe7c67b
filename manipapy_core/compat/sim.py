"""`Simulation`: an arm in PyBullet with ManipulaPy's API, over `manipapy_core.sim`.

Intended differences from ManipulaPy: the physics run at 1 kHz for any time step of the trajectory, references are
interpolated in between, and without a screen no window opens.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from .. import draw, kinematics, sim
from .. import dynamics as exact
from ..errors import InputError
from ..model import Robot
from ..typing import Array
from .arm import serial_arm
from .control import ManipulatorController
from .inputs import rows, shaped, tip_wrench

STEP = 0.001
"""Time step of the physics [s]."""


class Simulation:
    """One arm with a fixed base.

    Args:
        urdf_file_path: Path of the description, or the name of a bundled robot.
        joint_limits: (lower, upper) per joint [rad or m].
        torque_limits: (lower, upper) per joint [N m or N]; those of the description if not given.
        time_step: Between two rows of a trajectory [s].
        real_time_factor: Speed of the display; without a screen the simulation runs as fast as possible.
    """

    def __init__(
        self,
        urdf_file_path: str | os.PathLike[str],
        joint_limits: Sequence[tuple[float, float]],
        torque_limits: Sequence[tuple[float, float]] | None = None,
        time_step: float = 0.01,
        real_time_factor: float = 1.0,
    ):
        if not time_step >= STEP:
            raise InputError(f"time_step is {time_step!r} s; give at least {STEP:g}")
        self.urdf_file_path, self.joint_limits, self.torque_limits = urdf_file_path, joint_limits, torque_limits
        self.time_step, self.real_time_factor = time_step, real_time_factor
        self.robot_model = Robot.from_urdf(urdf_file_path)
        self.chain = serial_arm(self.robot_model)
        self.world: sim.SimWorld | None = None
        self._robot: sim.SimRobot | None = None

    def initialize_robot(self) -> None:
        """Opens the world and adds the arm; a second call does nothing."""
        if self.world is None:
            self.world = sim.SimWorld(time_step=STEP, gui=draw.has_screen())
            settings = sim.DriveSettings(command_timeout=float("inf"), resume=sim.ResumePolicy.COMMAND)
            self._robot = self.world.add_robot(self.robot_model, settings=settings)

    @property
    def robot(self) -> sim.SimRobot:
        if self._robot is None:
            raise InputError("there is no robot yet; call initialize_robot() first")
        return self._robot

    def get_joint_positions(self) -> Array:
        """[rad or m], shape (n,)."""
        return self._measured()[0]

    def set_joint_positions(self, joint_positions: ArrayLike) -> None:
        """Sets the position command of the drives [rad or m], shape (n,); `step_simulation` advances time."""
        values = self._row(joint_positions, "joint_positions")
        self.robot.command(sim.DriveMode.POSITION, values, self.chain.joint_names)

    def step_simulation(self) -> None:
        """Advances by one time step."""
        self._advance(round(self.time_step / STEP))

    def run_trajectory(self, joint_trajectory: ArrayLike) -> Array:
        """Commands positions, one row per time step; returns the final position of the end effector [m], (3,)."""
        for row in self._rows(joint_trajectory, "joint_trajectory"):
            self.set_joint_positions(row)
            self.step_simulation()
        return self._tip()

    def run_controller(
        self,
        controller: ManipulatorController,
        desired_positions: ArrayLike,
        desired_velocities: ArrayLike,
        desired_accelerations: ArrayLike,
        g: ArrayLike = exact.GRAVITY,
        Ftip: ArrayLike | None = None,
        Kp: ArrayLike = 80.0,
        Ki: ArrayLike = 0.0,
        Kd: ArrayLike = 8.0,
    ) -> Array:
        """Follows a trajectory by computed torque; returns the final position of the end effector [m], shape (3,).

        The arm starts at rest at the first row. Measurements are stored in `history`.

        Args:
            desired_positions: One row per time step [rad or m], shape (N, n); velocities and accelerations likewise.
            g: Gravity in the base frame [m/s²], shape (3,).
            Ftip: Wrench that the end effector exerts, in its own frame, moment first, shape (6,).
            Kp: One number or one per joint [1/s²]; Ki [1/s³] and Kd [1/s] likewise.
        """
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
        wrench = tip_wrench(Ftip)
        names, robot = self.chain.joint_names, self.robot
        robot.reset(dict(zip(names, tables[0][0])))
        controller.reset()
        substeps = round(self.time_step / STEP)
        self.history = np.empty((len(tables[0]), 2, self.chain.n))
        """Measured positions and velocities at every row, shape (N, 2, n)."""
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
                if self.torque_limits is not None:
                    tau = np.clip(tau, *np.asarray(self.torque_limits, dtype=np.float64).T)
                robot.command(sim.DriveMode.EFFORT, tau, names)
                self._advance(1)
        robot.hold()
        return self._tip()

    def close_simulation(self) -> None:
        """Closes the simulation; a second call does nothing."""
        if self.world is not None:
            self.world.close()
            self.world = self._robot = None

    def _advance(self, steps: int) -> None:
        if self.world is None:
            raise InputError("there is no robot yet; call initialize_robot() first")
        self.world.step(steps)
        if draw.has_screen():
            time.sleep(steps * STEP / self.real_time_factor)

    def _measured(self) -> tuple[Array, Array]:
        state = self.robot.state()
        order = [state.names.index(name) for name in self.chain.joint_names]
        return state.q[order], state.qd[order]

    def _tip(self) -> Array:
        return kinematics.forward(self.chain, self.get_joint_positions())[:3, 3]

    def _row(self, values: ArrayLike, name: str) -> Array:
        return shaped(values, (self.chain.n,), name)

    def _rows(self, values: ArrayLike, name: str) -> Array:
        table = rows(values, self.chain.n, name)
        if not len(table):
            raise InputError(f"{name} is empty; give at least one row")
        return table
