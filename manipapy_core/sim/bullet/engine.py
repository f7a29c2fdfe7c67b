"""PyBullet as physics engine."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from ...model.chain import Chain
from ...model.robot import Robot
from ...typing import Array
from ..engine import Engine, Simulator
from ..scene import SceneObject
from .client import BulletClient
from .objects import BulletObjects
from .robot import BulletRobot


class BulletEngine(Engine):
    """One PyBullet server.

    Args:
        gravity: In the world frame [m/s²], shape (3,).
        time_step: [s]
        gui: Open PyBullet's window.
    """

    simulator = Simulator.PYBULLET

    def __init__(self, gravity: Array, time_step: float, *, gui: bool = False):
        super().__init__(gravity, time_step)
        self.client = BulletClient(gui=gui)
        self._visuals = gui
        self._robots: dict[str, BulletRobot] = {}
        self._bodies = BulletObjects(self.client, visuals=gui)
        self._order: list[tuple[str, str]] = []
        self._drawn: set[int] = set()
        """PyBullet's numbers of what `draw_path` has drawn."""
        self._set_up()

    def _set_up(self) -> None:
        self.client.setGravity(*self.gravity.tolist())
        self.client.setTimeStep(self.time_step)
        # Otherwise the order of contacts, and so the last bits, depend on the history before a restore.
        self.client.setPhysicsEngineParameter(deterministicOverlappingPairs=1)

    def close(self) -> None:
        """Close the server; a second call does nothing."""
        self.client.close()
        self._bodies.close()

    def add_robot(self, name: str, robot: Robot, chain: Chain, T_world_base: Array) -> BulletRobot:
        """Add a robot with a fixed base, at the positions nearest to zero."""
        added = BulletRobot(
            self.client,
            name,
            robot,
            chain,
            T_world_base,
            visuals=self._visuals,
            gravity_world=self.gravity,
            time_step=self.time_step,
            name_of_body=self._name_of_body,
        )
        self._robots[name] = added
        self._order.append(("robot", name))
        return added

    def _make_object(self, item: SceneObject) -> None:
        self._bodies.add(item)
        self._order.append(("object", item.name))

    def _delete_object(self, name: str) -> None:
        self._bodies.remove(name)
        self._order.remove(("object", name))

    def object_pose(self, name: str) -> Array:
        """T_world_object, shape (4, 4)."""
        self._require_object(name)
        return self._bodies.pose(name)

    def object_twist(self, name: str) -> Array:
        """Velocity of the object's origin in world axes, angular first [rad/s, m/s], shape (6,)."""
        self._require_object(name)
        return self._bodies.twist(name)

    def place_object(self, name: str, T_world_object: Array) -> None:
        """Put an object somewhere, at rest."""
        self._require_object(name)
        self._bodies.place(name, T_world_object)

    def step(self) -> None:
        """Advance by one step."""
        self.client.stepSimulation()

    def reset(self) -> None:
        """Put everything back to its start.

        PyBullet keeps old contacts when bodies are moved back; only a rebuilt server, in the same order, repeats
        bitwise.
        """
        self.client.resetSimulation()
        self._drawn.clear()
        self._set_up()
        self._bodies.clear()
        for kind, name in self._order:
            if kind == "object":
                self._bodies.add(self.objects[name])
            else:
                self._robots[name].load()

    def save(self) -> int:
        """PyBullet's number of the saved state."""
        return int(self.client.saveState())

    def restore(self, state: int) -> None:
        """Restore a saved state."""
        self.client.restoreState(state)

    def discard(self, state: int) -> None:
        """Free the memory of a saved state."""
        self.client.removeState(state)

    def draw_path(self, points: Array, radius: float, rgba: Sequence[float]) -> list[int]:
        """Draw a line [m] as capsules, which touch nothing; PyBullet's numbers of them."""
        capsules = []
        for start, end in itertools.pairwise(points):
            length = float(np.linalg.norm(end - start))
            if length < 1e-6:
                continue
            # The shortest rotation from z to the line.
            cross, cosine = np.cross([0.0, 0.0, 1.0], (end - start) / length), (end[2] - start[2]) / length
            quaternion = [*cross, 1.0 + cosine] if cosine > -1.0 + 1e-9 else [1.0, 0.0, 0.0, 0.0]
            shape = self.client.createVisualShape(
                self.client.GEOM_CAPSULE, radius=radius, length=length, rgbaColor=list(rgba)
            )
            body = self.client.createMultiBody(
                baseVisualShapeIndex=shape,
                basePosition=(0.5 * (start + end)).tolist(),
                baseOrientation=(np.asarray(quaternion) / np.linalg.norm(quaternion)).tolist(),
            )
            capsules.append(int(body))
        self._drawn.update(capsules)
        return capsules

    def erase(self, drawn: Sequence[int]) -> None:
        """Remove parts of lines."""
        for body in self._drawn.intersection(drawn):
            self.client.removeBody(body)
        self._drawn.difference_update(drawn)

    def _name_of_body(self, body: int, link: int) -> str:
        for robot in self._robots.values():
            if robot.id == body:
                return f"{robot.name}/{robot.link_name(link)}"
        return self._bodies.name_of(body) or f"body {body}"
