"""A simulated robot: commands by joint name in, joint states and ground truth out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .. import dynamics
from ..errors import InputError, UnknownLink
from ..model.robot import Robot
from ..typing import Array
from .drive import Drive
from .drive_types import DriveMode, DriveSettings, DriveState, DriveStatus
from .engine import Engine, SimContact
from .errors import NotSimulable


@dataclass(frozen=True, eq=False)
class JointStates:
    """Joints at one instant; arrays are in the order of `names`."""

    time: float
    """Simulated time [s]."""
    names: tuple[str, ...]
    q: Array
    """Positions [rad or m], shape (n,)."""
    qd: Array
    """Velocities [rad/s or m/s], shape (n,)."""
    effort: Array
    """Effort applied by the drives in the last step, after limits [N m or N], shape (n,); 0 for mimic joints."""


class SimRobot:
    """One robot in a `SimWorld`, created by `add_robot`."""

    def __init__(
        self,
        engine: Engine,
        name: str,
        robot: Robot,
        T_world_base: Array,
        settings: DriveSettings,
        *,
        clock: Callable[[], float],
        lock: threading.RLock,
    ):
        self.name, self.robot = name, robot
        self.chain = robot.tree()
        """The whole robot with every joint free; all arrays are in its joint order."""
        self.T_world_base = T_world_base
        """Pose of the root link [m], shape (4, 4)."""
        self._clock, self._lock = clock, lock
        self._require_mass()
        gravity_base = np.ascontiguousarray(T_world_base[:3, :3].T @ engine.gravity)
        self._drive = Drive(self.chain, gravity_base, engine.time_step, settings)
        self._body = engine.add_robot(name, robot, self.chain, T_world_base)
        self._own_columns = [self._body.moving_names.index(joint) for joint in self.chain.joint_names]
        """Of joints that take commands, among all moving joints."""
        self._home = self._body.nearest_to_zero()
        self.reset()

    def _require_mass(self) -> None:
        """Refuse joints that move no mass: engines return NaN for them or refuse them."""
        inertia = dynamics.mass_matrix(self.chain, np.zeros(self.chain.n)).diagonal()
        massless = [name for name, value in zip(self.chain.joint_names, inertia) if not value > 0.0]
        if massless:
            raise NotSimulable(self.robot.name, massless)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joints that take commands, without mimic joints; the order of arrays without names."""
        return self.chain.joint_names

    @property
    def moving_names(self) -> tuple[str, ...]:
        """All moving joints, mimic joints included, in the order of the description."""
        return self._body.moving_names

    @property
    def settings(self) -> DriveSettings:
        """Timeouts and resume policy; may be changed at any time."""
        return self._drive.settings

    @settings.setter
    def settings(self, settings: DriveSettings) -> None:
        with self._lock:
            self._drive.settings = settings

    def command(self, mode: DriveMode, values: ArrayLike, joints: Sequence[str] | None = None) -> tuple[str, ...]:
        """Set a command; it applies until the next one or until its timeout (see `DriveSettings`).

        Args:
            mode: EFFORT, VELOCITY or POSITION.
            values: One number per joint [N m or N, rad/s or m/s, rad or m].
            joints: Names in the order of the values; `joint_names` if not given. Others keep their commands.

        Returns:
            Names of the joints whose value was clipped to a limit.

        Raises:
            CommandRefused: Not finite, wrong names or count, or the joint is held; the last command stays.
        """
        with self._lock:
            return self._drive.command(mode, values, joints, self._clock(), self._body.positions_and_velocities)

    def hold(self, joints: Sequence[str] | None = None) -> None:
        """Stop joints (all if not given) and hold their positions."""
        with self._lock:
            self._drive.hold(joints)

    def limit_effort(self, joints: Sequence[str], effort: float) -> None:
        """Limit the effort with which joints, such as fingers, are moved to positions or held, until the next reset.

        Args:
            effort: [N m or N]; above the limit of the joint, and inf, mean that limit.
        """
        with self._lock:
            self._drive.limit_effort(joints, effort)

    def enable(self, joints: Sequence[str] | None = None) -> None:
        """Let held joints (all if not given) take commands again."""
        with self._lock:
            self._drive.enable(joints)

    def status(self) -> DriveStatus:
        """Modes, holds with their reasons, limited joints, counts of timeouts and refusals."""
        with self._lock:
            return self._drive.status()

    def state(self, *, mimic: bool = False) -> JointStates:
        """Measured joint states.

        Args:
            mimic: Include mimic joints, in the order of the description.
        """
        with self._lock:
            time, effort = self._clock(), self._drive.state.effort.copy()
            if not mimic:
                return JointStates(time, self.chain.joint_names, *self._body.positions_and_velocities(), effort)
            names = self._body.moving_names
            efforts = np.zeros(len(names))
            efforts[self._own_columns] = effort
            return JointStates(time, names, *self._body.moving_states(), efforts)

    def link_pose(self, name: str) -> Array:
        """Ground truth T_world_link, shape (4, 4)."""
        with self._lock:
            return self._body.link_pose(name)

    def link_poses(self) -> dict[str, Array]:
        """Ground truth T_world_link of every link by name."""
        with self._lock:
            return self._body.link_poses()

    def contacts(self) -> tuple[SimContact, ...]:
        """Contacts of all links in the last step."""
        with self._lock:
            return tuple(self._body.contacts())

    def push(self, link: str, force: ArrayLike, point: ArrayLike) -> None:
        """Push a link during the next step.

        Args:
            link: Name.
            force: In the world frame [N], shape (3,).
            point: Where it acts, in the world frame [m], shape (3,).
        """
        F, p = np.asarray(force, dtype=np.float64), np.asarray(point, dtype=np.float64)
        for name, value in (("force", F), ("point", p)):
            if value.shape != (3,) or not np.isfinite(value).all():
                raise InputError(f"{name} is {value.tolist()}; give three finite numbers")
        if link not in self.robot.links:
            raise UnknownLink(link, list(self.robot.links))
        with self._lock:
            self._body.push(link, F, p)

    def self_contacts(self) -> tuple[SimContact, ...]:
        """Pairs of links that touch or overlap now, without those that a joint or nothing separates; force 0.

        The physics do not stop a robot at itself.
        """
        with self._lock:
            return tuple(self._body.self_contacts())

    def reset(self, q: ArrayLike | Mapping[str, float] | None = None) -> None:
        """Set joint positions at rest, clear all commands and hold.

        Args:
            q: Positions [rad or m] in the order of `joint_names`, or by name; also used by later resets. If not
                given, the last ones given, at first the positions nearest to zero within the limits.
        """
        with self._lock:
            if q is not None:
                self._home = self._body.positions_from(q)
            self._body.set_positions(self._home)
            self._drive.reset(self._home)

    def _actuate(self) -> None:
        """Apply the efforts for the next step."""
        q, qd = self._body.positions_and_velocities()
        self._body.apply_efforts(self._drive.efforts(q, qd, self._clock()), q, qd)

    def _positions(self) -> Array:
        return self._body.positions_and_velocities()[0]

    def _save(self) -> DriveState:
        """State of the drive, which the engine does not save."""
        return self._drive.state.copy()

    def _restore(self, saved: DriveState) -> None:
        self._drive.state = saved.copy()
