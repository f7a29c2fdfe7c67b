"""MuJoCo as physics engine."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from ...errors import ManipapyError
from ...model.chain import Chain
from ...model.robot import Robot
from ...typing import Array
from ..engine import Engine, Simulator
from ..errors import SimulationUnavailable
from ..scene import SceneObject
from .model import MeshStore, ModelBuilder, RobotEntry, object_key, robot_key
from .robot import MujocoRobot

FRAME = 1.0 / 60.0
"""Period of the window's images [s]."""
STATE = mujoco.mjtState.mjSTATE_INTEGRATION
"""Everything that the next step depends on."""


@dataclass(frozen=True, eq=False)
class MujocoState:
    """A saved state."""

    numbers: Array
    body_pos: Array
    body_quat: Array
    """Poses of all bodies in their parents, which change when a fixed object is placed."""


class MujocoEngine(Engine):
    """One model and its data. Every change of the content compiles a new model and carries the state over.

    Args:
        gravity: In the world frame [m/s²], shape (3,).
        time_step: [s]
        gui: Open MuJoCo's window.
    """

    simulator = Simulator.MUJOCO

    def __init__(self, gravity: Array, time_step: float, *, gui: bool = False):
        super().__init__(gravity, time_step)
        if gui and sys.platform.startswith("linux") and not os.environ.get("DISPLAY"):
            raise SimulationUnavailable("the window of MuJoCo needs a display; set DISPLAY, or use gui=False")
        self._content: dict[str, RobotEntry | SceneObject] = {}
        self._robots: dict[str, MujocoRobot] = {}
        self._meshes = MeshStore()
        self._gui, self._next_image = gui, 0.0
        self._window: Any = None
        self._model: mujoco.MjModel | None = None
        self._data: mujoco.MjData | None = None
        self._rebuild({})

    # The model.

    @property
    def model(self) -> mujoco.MjModel:
        """MuJoCo's model of the present content."""
        if self._model is None:
            raise ManipapyError("this simulation is closed; open a new one")
        return self._model

    @property
    def data(self) -> mujoco.MjData:
        """MuJoCo's state of the present content."""
        if self._data is None:
            raise ManipapyError("this simulation is closed; open a new one")
        return self._data

    def _rebuild(self, content: dict[str, RobotEntry | SceneObject]) -> None:
        """Compile another content; nothing changes if that fails."""
        builder = ModelBuilder(self.gravity, self.time_step, self._meshes, visuals=self._gui)
        model = builder.build(content)
        data = mujoco.MjData(model)
        if self._model is not None:
            _carry_over(self._model, self.data, model, data)
        self._content, self._model, self._data = content, model, data
        self._owners = _owners(model)
        for name, robot in self._robots.items():
            robot.find(robot_key(name))
        self.positions_changed()
        if self._gui:
            self._show()

    def positions_changed(self) -> None:
        """Poses are computed again before they are read, and contacts are unknown until the next step."""
        self._poses_valid = self.contacts_valid = False

    def update_poses(self) -> None:
        """Compute the poses of all bodies at the present joint positions."""
        if not self._poses_valid:
            mujoco.mj_kinematics(self.model, self.data)
            self._poses_valid = True

    def owner(self, geom: int) -> tuple[str, str]:
        """The robot and link of a shape, or "" and the object."""
        return self._owners[geom]

    # Content.

    def add_robot(self, name: str, robot: Robot, chain: Chain, T_world_base: Array) -> MujocoRobot:
        """Add a robot with a fixed base, at the positions nearest to zero."""
        self._rebuild({**self._content, robot_key(name): RobotEntry(robot, np.array(T_world_base))})
        added = MujocoRobot(self, name, robot, chain, T_world_base)
        added.find(robot_key(name))
        added.set_positions(added.nearest_to_zero())
        self._robots[name] = added
        return added

    def _make_object(self, item: SceneObject) -> None:
        self._rebuild({**self._content, object_key(item.name): item})

    def _delete_object(self, name: str) -> None:
        self._rebuild({key: entry for key, entry in self._content.items() if key != object_key(name)})

    def _body(self, name: str) -> int:
        self._require_object(name)
        return int(self.model.body(object_key(name)).id)

    def object_pose(self, name: str) -> Array:
        """T_world_object, shape (4, 4)."""
        return self.pose(self._body(name))

    def pose(self, body: int) -> Array:
        """T_world_body by MuJoCo's number, shape (4, 4)."""
        self.update_poses()
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = self.data.xmat[body].reshape(3, 3), self.data.xpos[body]
        return T

    def object_twist(self, name: str) -> Array:
        """Velocity of the object's origin in world axes, angular first [rad/s, m/s], shape (6,)."""
        body, model = self._body(name), self.model
        if model.body_dofnum[body] == 0:
            return np.zeros(6)
        start = model.body_dofadr[body]
        linear, angular = np.split(self.data.qvel[start : start + 6], 2)  # angular in axes of the body
        return np.concatenate([self.pose(body)[:3, :3] @ angular, linear])

    def place_object(self, name: str, T_world_object: Array) -> None:
        """Put an object somewhere, at rest."""
        body, model, data = self._body(name), self.model, self.data
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, np.ascontiguousarray(T_world_object[:3, :3]).ravel())
        if model.body_dofnum[body] == 0:
            model.body_pos[body], model.body_quat[body] = T_world_object[:3, 3], quaternion
        else:
            start, dof = model.jnt_qposadr[model.body_jntadr[body]], model.body_dofadr[body]
            data.qpos[start : start + 3], data.qpos[start + 3 : start + 7] = T_world_object[:3, 3], quaternion
            data.qvel[dof : dof + 6] = 0.0
            data.qacc_warmstart[dof : dof + 6] = 0.0
        self.positions_changed()

    # Time.

    def step(self) -> None:
        """Advance by one step."""
        data = self.data
        mujoco.mj_step(self.model, data)
        data.xfrc_applied[:] = 0.0
        for robot in self._robots.values():
            robot.close_mimic()
        # A step ends with the integration: positions are of its end, contacts of its start.
        self._poses_valid, self.contacts_valid = False, True
        if self._window is not None and time.monotonic() >= self._next_image:
            self._next_image = time.monotonic() + FRAME
            self.update_poses()
            self._window.sync()

    def reset(self) -> None:
        """Put everything back to its start."""
        mujoco.mj_resetData(self.model, self.data)
        for entry in self._content.values():
            if isinstance(entry, SceneObject) and entry.fixed:
                self.place_object(entry.name, entry.T_world_object)
        self.positions_changed()

    def save(self) -> MujocoState:
        """Everything that the next step depends on."""
        numbers = np.empty(mujoco.mj_stateSize(self.model, STATE))
        mujoco.mj_getState(self.model, self.data, numbers, STATE)
        return MujocoState(numbers, self.model.body_pos.copy(), self.model.body_quat.copy())

    def restore(self, state: MujocoState) -> None:
        """Restore a saved state."""
        mujoco.mj_setState(self.model, self.data, state.numbers, STATE)
        self.model.body_pos[:], self.model.body_quat[:] = state.body_pos, state.body_quat
        self.positions_changed()

    def discard(self, state: MujocoState) -> None:
        """Nothing to do: the state is freed with its last reference."""

    def draw_path(self, points: Array, radius: float, rgba: Sequence[float]) -> list[int]:
        """No line: MuJoCo's window draws the model only."""
        return []

    def erase(self, drawn: Sequence[int]) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Free the model and close the window; a second call does nothing."""
        if self._window is not None:
            self._window.close()
            self._window = None
        self._model = self._data = None

    def _show(self) -> None:
        """Open the window, or open it again on another model."""
        import mujoco.viewer as viewer

        if self._window is not None:
            self._window.close()
        self.update_poses()
        self._window = viewer.launch_passive(self.model, self.data, show_left_ui=False, show_right_ui=False)


def _owners(model: mujoco.MjModel) -> list[tuple[str, str]]:
    """Robot and link, or "" and object, of every shape."""
    owners = []
    for geom in range(model.ngeom):
        name = model.body(model.geom_bodyid[geom]).name
        kind, _, rest = name.partition(" ")
        robot, _, link = rest.rpartition("/") if kind == "robot" else ("", "", rest)
        owners.append((robot, link))
    return owners


def _carry_over(old: mujoco.MjModel, before: mujoco.MjData, new: mujoco.MjModel, after: mujoco.MjData) -> None:
    """Copy the state of all joints and fixed objects that both models have."""
    sizes = {mujoco.mjtJoint.mjJNT_FREE: (7, 6), mujoco.mjtJoint.mjJNT_BALL: (4, 3)}
    names = {new.joint(number).name: number for number in range(new.njnt)}
    for number in range(old.njnt):
        to = names.get(old.joint(number).name)
        if to is None or old.jnt_type[number] != new.jnt_type[to]:
            continue
        positions, rates = sizes.get(mujoco.mjtJoint(old.jnt_type[number]), (1, 1))
        q, p = old.jnt_qposadr[number], new.jnt_qposadr[to]
        v, w = old.jnt_dofadr[number], new.jnt_dofadr[to]
        after.qpos[p : p + positions] = before.qpos[q : q + positions]
        for field in ("qvel", "qacc_warmstart", "qfrc_applied"):
            getattr(after, field)[w : w + rates] = getattr(before, field)[v : v + rates]
    bodies = {new.body(number).name: number for number in range(new.nbody)}
    for number in range(1, old.nbody):
        to = bodies.get(old.body(number).name)
        if to is not None and old.body(number).name.startswith("object ") and old.body_dofnum[number] == 0:
            new.body_pos[to], new.body_quat[to] = old.body_pos[number], old.body_quat[number]
    after.time = before.time
