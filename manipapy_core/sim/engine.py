"""What a physics engine provides: robots and objects by name, steps, states. PyBullet and MuJoCo stand behind it."""

from __future__ import annotations

import abc
import enum
import importlib.util
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, NotFiniteError, ShapeError, UnknownJoint
from ..model.chain import Chain
from ..model.robot import Robot
from ..typing import Array
from .errors import NameTaken, SceneError, SimulationUnavailable, UnknownSceneObject
from .scene import SceneObject


class Simulator(enum.Enum):
    """A physics engine."""

    MUJOCO = "mujoco"
    PYBULLET = "pybullet"

    @property
    def other(self) -> Simulator:
        """The engine that is used when this one is not installed."""
        return Simulator.PYBULLET if self is Simulator.MUJOCO else Simulator.MUJOCO

    @property
    def installed(self) -> bool:
        """Whether its package can be imported."""
        try:
            return importlib.util.find_spec(self.value) is not None
        except ValueError:  # sys.modules has None in its place
            return False


DEFAULT_SIMULATOR = Simulator.MUJOCO
"""Its step takes half the time of PyBullet's, and it has wheels for every Python (benchmarks/simulators.py)."""
LINK_FRICTION = 0.5
"""Coefficient of sliding friction of links; two touching surfaces multiply theirs."""


@dataclass(frozen=True)
class SimContact:
    """A contact of a link with another link or object."""

    link: str
    other: str
    """Name of the other object or link."""
    force: float
    """Along the normal [N]."""
    depth: float
    """Penetration depth [m]; negative for a gap."""
    position: tuple[float, float, float]
    """On the link, in the world frame [m]."""


class EngineRobot(abc.ABC):
    """A robot in an engine, in the joint order of its model.

    Args:
        name: In the world.
        robot: The description.
        chain: `robot.tree()`; its joint order is the order of every array here.
        T_world_base: Pose of the root link [m], shape (4, 4).
    """

    def __init__(self, name: str, robot: Robot, chain: Chain, T_world_base: Array):
        self.name, self.robot, self.chain = name, robot, chain
        self.T_world_base = np.array(T_world_base, dtype=np.float64)
        moving = [joint for joint in robot.joints.values() if joint.type.moves]
        drivers = [joint.mimic.joint if joint.mimic else joint.name for joint in moving]
        self.moving_names = tuple(joint.name for joint in moving)
        """Every joint that moves, mimic joints included, in the order of the description."""
        self._driver = np.array([chain.joint_names.index(driver) for driver in drivers], dtype=int)
        self._ratio = np.array([joint.mimic.multiplier if joint.mimic else 1.0 for joint in moving])
        self._offset = np.array([joint.mimic.offset if joint.mimic else 0.0 for joint in moving])

    def nearest_to_zero(self) -> Array:
        """The positions nearest to zero within the limits [rad or m], shape (n,)."""
        return np.clip(np.zeros(self.chain.n), self.chain.limits.lower, self.chain.limits.upper)

    def positions_from(self, q: ArrayLike | Mapping[str, float]) -> Array:
        """Checked joint positions [rad or m], shape (n,), from an array in chain order or a mapping by name.

        Joints missing from a mapping get the position nearest to zero.
        """
        if isinstance(q, Mapping):
            positions = self.nearest_to_zero()
            for name, value in q.items():
                if name not in self.chain.joint_names:
                    raise UnknownJoint(name, self.chain.joint_names)
                positions[self.chain.joint_names.index(name)] = float(value)
        else:
            positions = np.array(q, dtype=np.float64)
        if positions.shape != (self.chain.n,):
            raise ShapeError("q", f"({self.chain.n},)", positions.shape)
        for index, value in enumerate(positions):
            lower, upper = self.chain.limits.lower[index], self.chain.limits.upper[index]
            if not np.isfinite(value):
                raise NotFiniteError("q", (index,), float(value), float("inf"))
            # A small tolerance: a saved or measured state may be at its limit.
            if not lower - 1e-3 <= value <= upper + 1e-3:
                name = self.chain.joint_names[index]
                raise InputError(f"joint {name!r} cannot be set to {value:g}; its limits are [{lower:g}, {upper:g}]")
        return positions

    def _with_mimic(self, q: Array, qd: Array | None) -> tuple[Array, Array]:
        """Positions and velocities of all moving joints, in the order of `moving_names`."""
        rates = np.zeros(self.chain.n) if qd is None else qd
        return self._ratio * q[self._driver] + self._offset, self._ratio * rates[self._driver]

    def _separate_bodies(self, link: str, other: str) -> bool:
        """Whether neither nothing nor a single joint separates two links."""
        bodies = {name: body for name, (body, _) in zip(self.chain.link_names, self.chain.link_placements)}
        parents = {index: body.parent for index, body in enumerate(self.chain.bodies)}
        one, two = bodies[link], bodies[other]
        return one != two and parents.get(one) != two and parents.get(two) != one

    @abc.abstractmethod
    def set_positions(self, q: Array, qd: Array | None = None) -> None:
        """Set all joints to these positions [rad or m] and velocities (zero if not given), shape (n,)."""

    @abc.abstractmethod
    def positions_and_velocities(self) -> tuple[Array, Array]:
        """Measured q [rad or m] and qd [rad/s or m/s] in chain order, each of shape (n,)."""

    @abc.abstractmethod
    def moving_states(self) -> tuple[Array, Array]:
        """Measured q and qd of all moving joints, mimic joints included, in the order of `moving_names`."""

    @abc.abstractmethod
    def apply_efforts(self, efforts: Array, q: Array, qd: Array) -> None:
        """Efforts for the next step [N m or N], at the measured q and qd, each of shape (n,)."""

    @abc.abstractmethod
    def link_pose(self, name: str) -> Array:
        """T_world_link, shape (4, 4)."""

    @abc.abstractmethod
    def push(self, link: str, force: Array, point: Array) -> None:
        """Force on a link in the next step [N], at a point [m], both in the world frame, shape (3,)."""

    @abc.abstractmethod
    def contacts(self) -> list[SimContact]:
        """Contacts of all links in the last step."""

    @abc.abstractmethod
    def self_contacts(self) -> list[SimContact]:
        """Pairs of links that touch or overlap now and that more than one joint separates; force 0."""

    def link_poses(self) -> dict[str, Array]:
        """T_world_link of every link by name, each of shape (4, 4)."""
        return {name: self.link_pose(name) for name in self.robot.links}


class Engine(abc.ABC):
    """Robots and objects under gravity. Close it after use."""

    simulator: Simulator

    def __init__(self, gravity: Array, time_step: float):
        self.gravity, self.time_step = gravity, time_step
        self.objects: dict[str, SceneObject] = {}
        """By name, in the order of addition."""

    def add_object(self, item: SceneObject) -> None:
        """Create an object at its pose.

        Raises:
            SceneError: Lists its problems.
            NameTaken: There is an object of that name.
        """
        if item.name in self.objects:
            raise NameTaken("object", item.name)
        problems = item.problems()
        if problems:
            raise SceneError(f"object {item.name!r}", problems)
        self._make_object(item)
        self.objects[item.name] = item

    def remove_object(self, name: str) -> None:
        """Remove an object."""
        self._require_object(name)
        del self.objects[name]
        self._delete_object(name)

    def _require_object(self, name: str) -> None:
        if name not in self.objects:
            raise UnknownSceneObject(name, list(self.objects))

    @abc.abstractmethod
    def _make_object(self, item: SceneObject) -> None: ...

    @abc.abstractmethod
    def _delete_object(self, name: str) -> None: ...

    @abc.abstractmethod
    def add_robot(self, name: str, robot: Robot, chain: Chain, T_world_base: Array) -> EngineRobot:
        """Add a robot with a fixed base, at the positions nearest to zero."""

    @abc.abstractmethod
    def object_pose(self, name: str) -> Array:
        """T_world_object, shape (4, 4)."""

    @abc.abstractmethod
    def object_twist(self, name: str) -> Array:
        """Velocity of the object's origin in world axes, angular first [rad/s, m/s], shape (6,)."""

    @abc.abstractmethod
    def place_object(self, name: str, T_world_object: Array) -> None:
        """Put an object somewhere, at rest."""

    @abc.abstractmethod
    def step(self) -> None:
        """Advance by one step."""

    @abc.abstractmethod
    def reset(self) -> None:
        """Put everything back to its start; the motion afterwards is bitwise that of a new engine."""

    @abc.abstractmethod
    def save(self) -> Any:
        """The state, for `restore`; the motion after it repeats bitwise."""

    @abc.abstractmethod
    def restore(self, state: Any) -> None:
        """Restore a saved state; robots and objects must be the same."""

    @abc.abstractmethod
    def discard(self, state: Any) -> None:
        """Free the memory of a saved state."""

    @abc.abstractmethod
    def draw_path(self, points: Array, radius: float, rgba: Sequence[float]) -> list[int]:
        """Draw a line [m] in the window; the numbers of its parts, none if the engine cannot draw."""

    @abc.abstractmethod
    def erase(self, drawn: Sequence[int]) -> None:
        """Remove parts of lines."""

    @abc.abstractmethod
    def close(self) -> None:
        """Close the engine; a second call does nothing."""


def chosen_simulator(wanted: Simulator | str | None) -> Simulator:
    """The engine to use: the wanted one, or with a warning the other one if it is not installed.

    Args:
        wanted: None or an empty text: the default.

    Raises:
        InputError: No engine has this name.
        SimulationUnavailable: Neither engine is installed; the message names the extra.
    """
    try:
        simulator = Simulator(wanted) if wanted else DEFAULT_SIMULATOR
    except ValueError:
        names = ", ".join(item.value for item in Simulator)
        raise InputError(f"no simulator {wanted!r}; choose one of: {names}") from None
    if simulator.installed:
        return simulator
    if not simulator.other.installed:
        raise SimulationUnavailable(
            "the simulation needs MuJoCo or PyBullet, and neither is installed: pip install 'manipapy[sim]'"
        )
    logging.getLogger(__name__).warning(
        "%s is not installed; %s simulates instead (pip install 'manipapy[sim]' installs both where they have wheels)",
        simulator.value,
        simulator.other.value,
    )
    return simulator.other


def open_engine(simulator: Simulator, gravity: Array, time_step: float, *, gui: bool) -> Engine:
    """A new engine without robots or objects."""
    if simulator is Simulator.MUJOCO:
        from .mujoco.engine import MujocoEngine

        return MujocoEngine(gravity, time_step, gui=gui)
    from .bullet.engine import BulletEngine

    return BulletEngine(gravity, time_step, gui=gui)
