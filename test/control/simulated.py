"""An arm in the physics engine, with the drives of the bridge and a controller that ticks with every step."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from manipapy_core import Robot, lie
from manipapy_core.control import ArmController, ControllerSettings
from manipapy_core.model import BoxGeometry
from manipapy_core.model.chain import Chain
from manipapy_core.sim import CommandRefused, DriveMode, DriveSettings, ResumePolicy, SceneObject, SimRobot, SimWorld

Array = NDArray[np.float64]
DRIVES = DriveSettings(resume=ResumePolicy.COMMAND, effort_rise_time=0.01, overspeed=1.04)
"""As the bridge has them."""


@dataclass
class SimRig:
    """Records the motion of the arm's joints at every step."""

    world: SimWorld
    robot: SimRobot
    controller: ArmController
    delay: int = 0
    """Steps by which commands come late."""
    late: int = 0
    """Steps by which joint states come late, while the time of the controller is theirs."""
    lost: Callable[[], bool] = lambda: False
    """Whether the next joint state is lost."""
    before_step: Callable[[SimRig], None] = field(default=lambda rig: None)
    """Called before every step; tests push the arm here."""
    q: list[Array] = field(default_factory=list)
    qd: list[Array] = field(default_factory=list)
    tau: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._which = [self.robot.joint_names.index(name) for name in self.chain.joint_names]
        self._pending: list[Array] = []
        self._states: list[tuple[Array, Array, float]] = []

    @property
    def chain(self) -> Chain:
        return self.controller.chain

    def measured(self) -> tuple[Array, Array]:
        state = self.robot.state()
        return state.q[self._which].copy(), state.qd[self._which].copy()

    def run(self, seconds: float) -> SimRig:
        for _ in range(round(seconds / self.world.time_step)):
            self.step()
        return self

    def step(self) -> None:
        """One tick of the controller and one step of the physics."""
        self._states.append((*self.measured(), self.world.time + 100.0))
        if len(self._states) > self.late and not self.lost():
            q, qd, stamp = self._states[-1 - self.late]
            del self._states[: len(self._states) - self.late]
            tau = self.controller.tick(stamp, q, qd, stamp)
            if tau is not None:
                self._pending.append(tau.copy())
        if len(self._pending) > self.delay:
            command = self._pending.pop(0)
            with contextlib.suppress(CommandRefused):  # by a drive that has tripped
                self.robot.command(DriveMode.EFFORT, command, self.chain.joint_names)
        self.before_step(self)
        self.world.step()
        q, qd = self.measured()
        self.q.append(q)
        self.qd.append(qd)
        self.tau.append(self.robot.state().effort[self._which].copy())

    def shares(self, first: int = 0) -> Array:
        """Speeds over their limits, one row per step."""
        return np.abs(self.qd[first:]) / self.chain.limits.velocity


@contextmanager
def sim_rig(
    chain_of: tuple[str, str, str],
    home: Array,
    settings: ControllerSettings | None = None,
    *,
    simulator: str = "mujoco",
    delay: int = 0,
) -> Iterator[SimRig]:
    """A robot at home on an empty floor.

    Args:
        chain_of: Name of a bundled robot, base and tip.
        home: Positions of the arm [rad], shape (n,).
        simulator: Physics engine.
        delay: Steps by which commands come late.
    """
    name, base, tip = chain_of
    robot = Robot.from_urdf(name)
    chain = robot.chain(base, tip)
    with SimWorld(simulator=simulator) as world:
        added = world.add_robot(robot, q=dict(zip(chain.joint_names, home)), settings=DRIVES)
        yield SimRig(world, added, ArmController(chain, settings), delay)


def fixed_box(at: Array, size: Array) -> SceneObject:
    """A box that does not move."""
    return SceneObject("box", BoxGeometry(size), T_world_object=lie.pose(translation=at))
