"""The simulated world: robots and objects under gravity, with fixed time steps and deterministic results.

Time advances only by `step`, so simulated time is exactly the number of steps, and the same commands at the same steps
give bitwise the same motion. All methods are thread-safe.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics import GRAVITY
from ..errors import InputError, ShapeError
from ..model.elements import has_size
from ..model.robot import Robot
from ..typing import Array
from .drive_types import DriveSettings, DriveState
from .engine import Simulator, chosen_simulator, open_engine
from .errors import NameTaken, SnapshotError
from .robot import SimRobot
from .scene import Scene, SceneObject, pose_from
from .world_view import WorldContent, WorldView


@dataclass(frozen=True, eq=False)
class SimSnapshot:
    """A saved state of one world; valid until a robot or object is added or removed, or the world is reset."""

    steps: int
    engine_state: Any
    drives: dict[str, DriveState]
    """By robot."""
    world: int
    """Identity of the world."""
    epoch: int
    """Number of changes of its content before the snapshot."""


class SimWorld:
    """Physics of robots and objects. Close it, or use it in a `with` statement."""

    def __init__(
        self,
        *,
        gravity: ArrayLike = GRAVITY,
        time_step: float = 0.001,
        simulator: Simulator | str | None = None,
        gui: bool = False,
    ):
        """Open an empty world.

        Args:
            gravity: In the world frame [m/s²], shape (3,).
            time_step: Length of a step [s], a whole number of nanoseconds.
            simulator: Physics engine, "mujoco" or "pybullet"; `DEFAULT_SIMULATOR` if not given. If it is not
                installed, the other one is used with a warning.
            gui: Open the window of the engine.

        Raises:
            SimulationUnavailable: No engine is installed, or its window cannot open.
        """
        self.gravity = np.array(gravity, dtype=np.float64)
        if self.gravity.shape != (3,) or not np.isfinite(self.gravity).all():
            raise InputError(f"gravity is {gravity!r}; give three finite numbers [m/s²]")
        if not 1e-5 <= time_step <= 0.02:
            raise InputError(f"time_step is {time_step!r} s; give 0.00001 to 0.02, normally 0.001")
        self.step_ns = round(time_step * 1e9)
        self.time_step = self.step_ns * 1e-9
        self._lock = threading.RLock()
        self._engine = open_engine(chosen_simulator(simulator), self.gravity, self.time_step, gui=gui)
        self._robots: dict[str, SimRobot] = {}
        self._steps = self._version = self._epoch = 0
        self._paused = False

    def _changed(self) -> None:
        """The content changed: renderers must reload it, and saved states are invalid."""
        self._version += 1
        self._epoch += 1

    def close(self) -> None:
        """Close the simulation; a second call does nothing."""
        with self._lock:
            self._engine.close()

    def __enter__(self) -> SimWorld:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def simulator(self) -> Simulator:
        """The physics engine."""
        return self._engine.simulator

    @property
    def time_ns(self) -> int:
        """Simulated time [ns]: the number of steps times their length."""
        return self._steps * self.step_ns

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self._steps * self.step_ns * 1e-9

    def step(self, count: int = 1) -> None:
        """Advance by this many steps, also while paused."""
        with self._lock:
            for _ in range(count):
                for robot in self._robots.values():
                    robot._actuate()
                self._engine.step()
                self._steps += 1

    def tick(self) -> bool:
        """Advance by one step unless paused, for a real-time loop; returns whether it did."""
        with self._lock:
            if self._paused:
                return False
            self.step()
            return True

    @property
    def paused(self) -> bool:
        """Whether `tick` does nothing."""
        return self._paused

    def pause(self) -> None:
        """Make `tick` do nothing; `step` still advances time."""
        self._paused = True

    def resume(self) -> None:
        """Let `tick` run again."""
        self._paused = False

    @property
    def robots(self) -> Mapping[str, SimRobot]:
        """By name."""
        return MappingProxyType(self._robots)

    def add_robot(
        self,
        robot: Robot,
        *,
        name: str | None = None,
        T_world_base: ArrayLike | None = None,
        q: ArrayLike | Mapping[str, float] | None = None,
        settings: DriveSettings | None = None,
    ) -> SimRobot:
        """Add a robot with a fixed base; it holds its position until commanded.

        Args:
            name: Unique name; the robot's own name if not given.
            T_world_base: Pose of its root link [m], shape (4, 4); the origin if not given.
            q: Joint positions to start from (see `SimRobot.reset`).
            settings: Timeouts and resume policy.
        """
        T = pose_from("T_world_base", np.eye(4) if T_world_base is None else T_world_base)
        with self._lock:
            name = robot.name if name is None else name
            if name in self._robots:
                raise NameTaken("robot", name)
            added = SimRobot(
                self._engine,
                name,
                _with_solid_shapes(robot),
                T,
                DriveSettings() if settings is None else settings,
                clock=lambda: self.time,
                lock=self._lock,
            )
            if q is not None:
                added.reset(q)
            self._robots[name] = added
            self._changed()
            return added

    def load_scene(self, scene: Scene) -> None:
        """Spawn all objects of a scene; pass its `T_world_base` to `add_robot`."""
        for item in scene.objects:
            self.spawn(item)

    def spawn(self, item: SceneObject) -> None:
        """Add an object to the world.

        Raises:
            SceneError: Lists its problems.
            NameTaken: There is an object of that name.
        """
        with self._lock:
            self._engine.add_object(item)
            self._changed()

    def remove(self, name: str) -> None:
        """Remove an object from the world."""
        with self._lock:
            self._engine.remove_object(name)
            self._changed()

    def objects(self) -> dict[str, SceneObject]:
        """Every object by name, as spawned."""
        with self._lock:
            return dict(self._engine.objects)

    def draw_path(self, points: ArrayLike, *, radius: float = 0.005, colour: ArrayLike = (1.0, 0.5, 0.0)) -> list[int]:
        """Draws a line through points in PyBullet's window, which touches nothing; `reset` removes it.

        Args:
            points: In the world frame [m], shape (points, 3).
            radius: [m]
            colour: Red, green, blue from 0 to 1.

        Returns:
            Numbers of its parts, for `erase`; MuJoCo draws none.
        """
        table, rgba = np.asarray(points, dtype=np.float64), [*np.asarray(colour, dtype=np.float64).tolist(), 1.0]
        if table.ndim != 2 or table.shape[1] != 3:
            raise ShapeError("points", "(points, 3)", table.shape)
        with self._lock:
            drawn = self._engine.draw_path(table, radius, rgba)
            self._changed()
        return drawn

    def erase(self, drawn: Sequence[int]) -> None:
        """Removes what `draw_path` has drawn."""
        with self._lock:
            self._engine.erase(drawn)
            self._changed()

    def object_pose(self, name: str) -> Array:
        """Ground truth T_world_object, shape (4, 4)."""
        with self._lock:
            return self._engine.object_pose(name)

    def object_twist(self, name: str) -> Array:
        """Ground truth velocity of an object in world axes, angular first [rad/s, m/s], shape (6,)."""
        with self._lock:
            return self._engine.object_twist(name)

    def place(self, name: str, T_world_object: ArrayLike) -> None:
        """Move an object to a pose, at rest."""
        T = pose_from("T_world_object", T_world_object)
        with self._lock:
            self._engine.place_object(name, T)

    def reset(self, *, time: bool = False) -> None:
        """Move all present objects and robots back to their start poses.

        The motion afterwards is bitwise that of a new world. Saved states become invalid.

        Args:
            time: Also reset the time to zero. Otherwise it continues, as ROS nodes on simulated time expect.
        """
        with self._lock:
            self._engine.reset()
            for robot in self._robots.values():
                robot.reset()
            self._epoch += 1
            if time:
                self._steps = 0

    def save(self) -> SimSnapshot:
        """Save the state of all robots and objects; the motion after a restore repeats bitwise."""
        with self._lock:
            drives = {name: robot._save() for name, robot in self._robots.items()}
            return SimSnapshot(self._steps, self._engine.save(), drives, id(self), self._epoch)

    def discard(self, snapshot: SimSnapshot) -> None:
        """Free the memory of a saved state."""
        with self._lock:
            if snapshot.world == id(self) and snapshot.epoch == self._epoch:
                self._engine.discard(snapshot.engine_state)

    def restore(self, snapshot: SimSnapshot) -> None:
        """Restore a saved state, time included.

        Raises:
            SnapshotError: The state is of another world, or this one was reset or changed since.
        """
        with self._lock:
            if snapshot.world != id(self):
                raise SnapshotError("it belongs to another world")
            if snapshot.epoch != self._epoch:
                raise SnapshotError("robots or objects were added or removed, or the world was reset, in between")
            self._engine.restore(snapshot.engine_state)
            for name, saved in snapshot.drives.items():
                self._robots[name]._restore(saved)
            self._steps = snapshot.steps

    def view(self) -> WorldView:
        """Current joint positions and object poses, for a renderer."""
        with self._lock:
            q = {name: robot._positions() for name, robot in self._robots.items()}
            poses = {name: self._engine.object_pose(name) for name in self._engine.objects}
            return WorldView(self.time_ns, self._version, q, poses)

    def content_and_view(self) -> tuple[WorldContent, WorldView]:
        """Robots and objects, for a renderer, and their poses at the same instant."""
        with self._lock:
            robots = {name: (robot.robot, robot.T_world_base.copy()) for name, robot in self._robots.items()}
            return WorldContent(self._version, robots, dict(self._engine.objects)), self.view()


def _with_solid_shapes(robot: Robot) -> Robot:
    """Without shapes of size 0, which physics engines refuse."""
    links = {
        name: replace(
            link,
            visuals=tuple(shape for shape in link.visuals if has_size(shape.geometry)),
            collisions=tuple(shape for shape in link.collisions if has_size(shape.geometry)),
        )
        for name, link in robot.links.items()
    }
    return replace(robot, links=links)
