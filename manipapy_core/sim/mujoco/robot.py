"""A robot in a MuJoCo model, with joints and links by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mujoco
import numpy as np

from ...errors import UnknownLink
from ...model.chain import Chain
from ...model.robot import Robot
from ...typing import Array
from ..engine import EngineRobot, SimContact

if TYPE_CHECKING:
    from .engine import MujocoEngine


class MujocoRobot(EngineRobot):
    """A robot with fixed base.

    Args:
        engine: Has the model and the state.
    """

    def __init__(self, engine: MujocoEngine, name: str, robot: Robot, chain: Chain, T_world_base: Array):
        super().__init__(name, robot, chain, T_world_base)
        self._engine = engine

    def find(self, key: str) -> None:
        """Look up the numbers of joints, links and shapes in the engine's present model."""
        model = self._engine.model
        joints = {name: model.joint(f"{key}/{name}").id for name in self.moving_names}
        self._body_of = {link: int(model.body(f"{key}/{link}").id) for link in self.robot.links}
        moving = [joints[name] for name in self.moving_names]
        free = [joints[name] for name in self.chain.joint_names]
        self._moving_q, self._moving_v = model.jnt_qposadr[moving], model.jnt_dofadr[moving]
        self._q, self._v = _compact(model.jnt_qposadr[free]), _compact(model.jnt_dofadr[free])
        followers = [index for index, name in enumerate(self.moving_names) if name not in self.chain.joint_names]
        self._followers = np.array(followers, dtype=int)
        links = {number: link for link, number in self._body_of.items()}
        solid = [geom for geom in range(model.ngeom) if model.geom_contype[geom] and model.geom_bodyid[geom] in links]
        self._geoms = [(geom, links[int(model.geom_bodyid[geom])]) for geom in solid]

    def set_positions(self, q: Array, qd: Array | None = None) -> None:
        """Set all joints to these positions [rad or m] and velocities (zero if not given), shape (n,)."""
        data = self._engine.data
        data.qpos[self._moving_q], data.qvel[self._moving_v] = self._with_mimic(q, qd)
        data.qacc_warmstart[self._moving_v] = 0.0
        data.qfrc_applied[self._moving_v] = 0.0
        self._engine.positions_changed()

    def positions_and_velocities(self) -> tuple[Array, Array]:
        """Measured q [rad or m] and qd [rad/s or m/s] in chain order, each of shape (n,)."""
        data = self._engine.data
        return data.qpos[self._q].copy(), data.qvel[self._v].copy()

    def moving_states(self) -> tuple[Array, Array]:
        """Measured q and qd of all moving joints, mimic joints included, in the order of `moving_names`."""
        data = self._engine.data
        return data.qpos[self._moving_q], data.qvel[self._moving_v]

    def apply_efforts(self, efforts: Array, q: Array, qd: Array) -> None:
        """Efforts for the next step [N m or N], shape (n,)."""
        self._engine.data.qfrc_applied[self._v] = efforts

    def close_mimic(self) -> None:
        """Put mimic joints exactly where their drivers are; the constraint leaves them micrometres apart."""
        if self._followers.size:
            data, which = self._engine.data, self._followers
            positions, velocities = self._with_mimic(*self.positions_and_velocities())
            data.qpos[self._moving_q[which]] = positions[which]
            data.qvel[self._moving_v[which]] = velocities[which]

    def link_pose(self, name: str) -> Array:
        """T_world_link, shape (4, 4)."""
        if name not in self._body_of:
            raise UnknownLink(name, list(self.robot.links))
        return self._engine.pose(self._body_of[name])

    def push(self, link: str, force: Array, point: Array) -> None:
        """Force on a link in the next step [N], at a point [m], both in the world frame, shape (3,)."""
        engine, body = self._engine, self._body_of[link]
        engine.update_poses()
        engine.data.xfrc_applied[body, :3] += force
        engine.data.xfrc_applied[body, 3:] += np.cross(point - engine.data.xipos[body], force)

    def contacts(self) -> list[SimContact]:
        """Contacts of all links in the last step."""
        engine = self._engine
        found: list[SimContact] = []
        if not engine.contacts_valid:
            return found
        wrench = np.empty(6)
        for number in range(engine.data.ncon):
            contact = engine.data.contact[number]
            for here, there in ((0, 1), (1, 0)):
                owner, link = engine.owner(contact.geom[here])
                if owner != self.name:
                    continue
                other_owner, other = engine.owner(contact.geom[there])
                mujoco.mj_contactForce(engine.model, engine.data, number, wrench)
                # The normal points from the first shape to the second; the contact is halfway between the surfaces.
                side = (-0.5 if here == 0 else 0.5) * contact.dist
                place = contact.pos + side * contact.frame[:3]
                name = f"{other_owner}/{other}" if other_owner else other
                found.append(SimContact(link, name, float(wrench[0]), -float(contact.dist), tuple(place.tolist())))
        return found

    def self_contacts(self) -> list[SimContact]:
        """Pairs of links that touch or overlap now and that more than one joint separates; force 0."""
        engine, found = self._engine, []
        engine.update_poses()
        segment = np.empty(6)
        for number, (one, link) in enumerate(self._geoms):
            for two, other in self._geoms[:number]:
                if link == other or not self._separate_bodies(link, other):
                    continue
                first, second, a, b = (one, two, link, other) if link < other else (two, one, other, link)
                distance = mujoco.mj_geomDistance(engine.model, engine.data, first, second, 1e-3, segment)
                if distance <= 0.0:
                    found.append(SimContact(a, b, 0.0, -float(distance), tuple(segment[:3].tolist())))
        return found


def _compact(indices: np.ndarray) -> np.ndarray | slice:
    """A slice where the indices follow each other, because it is read faster."""
    first = int(indices[0]) if len(indices) else 0
    return slice(first, first + len(indices)) if (np.diff(indices) == 1).all() else indices
