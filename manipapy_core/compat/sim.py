"""`Simulation`: an arm in PyBullet, in ManipulaPy's words, on this library's simulated world.

What is different on purpose: physics run at 1 kHz whatever the time step of the trajectory is, references are
interpolated in between, and without a screen nothing opens and nothing waits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from manipapy_core import sim

from .. import draw, kinematics
from .. import dynamics as exact
from ..errors import InputError, ShapeError
from ..model import Robot
from ..typing import Array
from .arm import serial_arm
from .control import ManipulatorController

STEP = 0.001
"""Of the physics [s]."""


class Simulation:
    """One arm, bolted to the floor.

    Args:
        urdf_file_path: Path of the description, or the name of a bundled robot.
        joint_limits: (lower, upper) per joint [rad or m].
        torque_limits: (lower, upper) per joint [N m or N]; those of the description if not given.
        time_step: Between two rows of a trajectory [s].
        real_time_factor: How fast a window shows it; without a screen it runs as fast as it can.
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
        """Opens the world and puts the arm into it; a second call does nothing."""
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
        """Asks the drives to go there [rad or m], shape (n,); time goes on with `step_simulation`."""
        values = self._row(joint_positions, "joint_positions")
        self.robot.command(sim.DriveMode.POSITION, values, self.chain.joint_names)

    def step_simulation(self) -> None:
        """Lets one time step pass."""
        self._advance(round(self.time_step / STEP))

    def run_trajectory(self, joint_trajectory: ArrayLike) -> Array:
        """Leads the drives along positions, one row per time step; returns where the end effector ends [m], (3,)."""
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
        """Follows a trajectory by computed torque; returns where the end effector ends [m], shape (3,).

        The arm is put to the first row, at rest. What was measured is kept in `history`.

        Args:
            desired_positions: One row per time step [rad or m], shape (N, n); velocities and accelerations likewise.
            g: Gravity in the base frame [m/s²], shape (3,).
            Ftip: Wrench that the end effector is to exert, in its own frame, moment first, shape (6,).
            Kp: One number or one per joint [1/s²]; Ki [1/s³] and Kd [1/s] likewise.
        """
        rows = [
            self._rows(values, name)
            for values, name in (
                (desired_positions, "desired_positions"),
                (desired_velocities, "desired_velocities"),
                (desired_accelerations, "desired_accelerations"),
            )
        ]
        if not len(rows[0]) == len(rows[1]) == len(rows[2]):
            raise InputError("positions, velocities and accelerations have different lengths; give the same number")
        wrench = None if Ftip is None else np.asarray(Ftip, dtype=np.float64)
        names, robot = self.chain.joint_names, self.robot
        robot.reset(dict(zip(names, rows[0][0])))
        controller.reset()
        fine = round(self.time_step / STEP)
        self.history = np.empty((len(rows[0]), 2, self.chain.n))
        """What was measured: positions and velocities at every row, shape (N, 2, n)."""
        for index in range(len(rows[0])):
            after = min(index + 1, len(rows[0]) - 1)
            self.history[index] = self._measured()
            for k in range(fine):
                share = k / fine
                q, qd, qdd = ((1.0 - share) * table[index] + share * table[after] for table in rows)
                measured = self._measured()
                tau = controller.computed_torque_control(q, qd, qdd, measured[0], measured[1], g, STEP, Kp, Ki, Kd)
                if wrench is not None and wrench.any():
                    tau = tau + kinematics.body_jacobian(self.chain, self.get_joint_positions()).T @ wrench
                if self.torque_limits is not None:
                    tau = np.clip(tau, *np.asarray(self.torque_limits, dtype=np.float64).T)
                robot.command(sim.DriveMode.EFFORT, tau, names)
                self._advance(1)
        robot.hold()
        return self._tip()

    def close_simulation(self) -> None:
        """Ends the simulation; a second call does nothing."""
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
        row = np.asarray(values, dtype=np.float64)
        if row.shape != (self.chain.n,):
            raise ShapeError(name, f"({self.chain.n},)", row.shape)
        return row

    def _rows(self, values: ArrayLike, name: str) -> Array:
        rows = np.asarray(values, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.chain.n or not len(rows):
            raise ShapeError(name, f"(N, {self.chain.n})", rows.shape)
        return rows
