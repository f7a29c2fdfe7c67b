"""A robot in a PyBullet server, with joints and links by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import MeshNotFound, UnknownLink
from ...model.chain import Chain
from ...model.elements import Joint, MeshGeometry
from ...model.robot import Robot
from ...typing import Array
from ..engine import EngineRobot, SimContact
from ..joint_friction import ImplicitFriction
from .client import BulletClient, from_position_quaternion, to_position_quaternion
from .robot_file import load_robot

GEAR_FORCE = 1e5
"""Maximum effort that couples a mimic joint to its driver [N m or N]: far above any gripper."""
GEAR_CORRECTION = 0.5
"""Fraction of the position error between the two corrected per step."""


class BulletRobot(EngineRobot):
    """A robot with fixed base whose motors are off, at first at the positions nearest to zero.

    Args:
        visuals: Load the visual shapes, for a window.
        gravity_world: [m/s²], shape (3,).
        time_step: [s]
        name_of_body: Name of another body by PyBullet's numbers of body and link.
    """

    def __init__(
        self,
        client: BulletClient,
        name: str,
        robot: Robot,
        chain: Chain,
        T_world_base: Array,
        *,
        visuals: bool,
        gravity_world: Array,
        time_step: float,
        name_of_body: Callable[[int, int], str],
    ):
        super().__init__(name, robot, chain, T_world_base)
        self._client, self._visuals, self._name_of_body = client, visuals, name_of_body
        gravity_base = np.ascontiguousarray(self.T_world_base[:3, :3].T @ gravity_world)
        friction = ImplicitFriction.of(chain, gravity_base, time_step)
        self._friction = friction if friction is not None and friction.stiff else None
        self.load()

    def load(self) -> None:
        """Create the body in PyBullet, also after a reset of the server."""
        self.id = load_robot(self._load, self.robot, visuals=self._visuals, collisions=True)
        self._joint_index, self._link_index = self._find_indices()
        self._require_collision_shapes()
        self._moving = [self._joint_index[name] for name in self.moving_names]
        self._free = [self._joint_index[name] for name in self.chain.joint_names]
        for index in self._moving:
            self._client.setJointMotorControl2(self.id, index, self._client.VELOCITY_CONTROL, force=0.0)
        self.set_positions(self.nearest_to_zero())
        self._prepare_physics(damping=self._friction is None)

    def _load(self, path: str) -> int:
        client = self._client
        position, quaternion = to_position_quaternion(self.T_world_base)
        flags = client.URDF_USE_INERTIA_FROM_FILE
        return client.loadURDF(path, position, quaternion, useFixedBase=True, flags=flags)

    def _find_indices(self) -> tuple[dict[str, int], dict[str, int]]:
        joints, links = {}, {self.robot.root: -1}
        for index in range(self._client.getNumJoints(self.id)):
            info = self._client.getJointInfo(self.id, index)
            joints[info[1].decode()] = index
            links[info[12].decode()] = index
        assert joints.keys() == self.robot.joints.keys() and links.keys() == self.robot.links.keys()
        return joints, links

    def _require_collision_shapes(self) -> None:
        """Raise an error for a mesh that PyBullet cannot read; PyBullet only warns."""
        for name, link in self.robot.links.items():
            count = len(self._client.getCollisionShapeData(self.id, self._link_index[name]))
            if count < len(link.collisions):
                meshes = [shape.geometry.uri for shape in link.collisions if isinstance(shape.geometry, MeshGeometry)]
                raise MeshNotFound(
                    ", ".join(meshes), f"PyBullet cannot read a collision mesh of link {name!r}; save it as OBJ or STL"
                )

    def _prepare_physics(self, *, damping: bool) -> None:
        """Match PyBullet's dynamics to the model: no default damping, friction and mimic joints as described.

        Args:
            damping: False leaves damping and friction of the joints to the caller.
        """
        client = self._client
        for index in range(-1, client.getNumJoints(self.id)):
            client.changeDynamics(self.id, index, linearDamping=0.0, angularDamping=0.0)
            if not damping and index >= 0:
                client.changeDynamics(self.id, index, jointDamping=0.0)
        for joint, index in zip(self._joints(self.moving_names), self._moving):
            if joint.friction > 0.0 and damping:
                # A velocity motor at zero, limited to the friction, acts as Coulomb friction with stiction.
                client.setJointMotorControl2(
                    self.id, index, client.VELOCITY_CONTROL, targetVelocity=0.0, force=joint.friction
                )
            if joint.mimic is not None:
                self._couple(joint, index)
        self._ignore_base_contacts()

    def _couple(self, joint: Joint, index: int) -> None:
        """Couple a mimic joint to its driver, so that inertia and forces act on both."""
        client, mimic, zero = self._client, joint.mimic, [0.0, 0.0, 0.0]
        assert mimic is not None
        if mimic.multiplier == 0.0:
            client.setJointMotorControl2(
                self.id, index, client.POSITION_CONTROL, targetPosition=mimic.offset, force=GEAR_FORCE
            )
            return
        driver = self._joint_index[mimic.joint]
        gear = client.createConstraint(self.id, driver, self.id, index, client.JOINT_GEAR, [1.0, 0.0, 0.0], zero, zero)
        # PyBullet keeps q_driver + gearRatio * q_follower at relativePositionTarget.
        ratio = -1.0 / mimic.multiplier
        client.changeConstraint(
            gear,
            gearRatio=ratio,
            relativePositionTarget=mimic.offset * ratio,
            erp=GEAR_CORRECTION,
            maxForce=GEAR_FORCE,
        )

    def _ignore_base_contacts(self) -> None:
        """Disable contacts between fixed links and fixed objects, such as the table below the base."""
        bodies = dict(zip(self.chain.link_names, self.chain.link_placements))
        static, everything = 2, -1  # Bullet's filter groups: bit 2 is for static bodies
        for name, (body, _) in bodies.items():
            if body < 0:
                self._client.setCollisionFilterGroupMask(self.id, self._link_index[name], static, everything ^ static)

    def _joints(self, names: Sequence[str]) -> list[Joint]:
        return [self.robot.joints[name] for name in names]

    def set_positions(self, q: Array, qd: Array | None = None) -> None:
        """Set all joints to these positions [rad or m] and velocities (zero if not given), shape (n,)."""
        positions, velocities = self._with_mimic(q, qd)
        for index, position, velocity in zip(self._moving, positions.tolist(), velocities.tolist()):
            self._client.resetJointState(self.id, index, position, velocity)

    def positions_and_velocities(self) -> tuple[Array, Array]:
        """Measured q [rad or m] and qd [rad/s or m/s] in chain order, each of shape (n,)."""
        states = self._client.getJointStates(self.id, self._free)
        return np.array([state[0] for state in states]), np.array([state[1] for state in states])

    def moving_states(self) -> tuple[Array, Array]:
        """Measured q and qd of all moving joints, mimic joints included, in the order of `moving_names`."""
        states = self._client.getJointStates(self.id, self._moving)
        return np.array([state[0] for state in states]), np.array([state[1] for state in states])

    def apply_efforts(self, efforts: Array, q: Array, qd: Array) -> None:
        """Efforts for the next step [N m or N], shape (n,); PyBullet clears them after it."""
        client = self._client
        if self._friction is not None:
            efforts = self._friction.efforts(q, qd, efforts)
        client.setJointMotorControlArray(self.id, self._free, client.TORQUE_CONTROL, forces=efforts.tolist())

    def link_pose(self, name: str) -> Array:
        """T_world_link from PyBullet, shape (4, 4)."""
        index = self._link_index.get(name)
        if index is None:
            raise UnknownLink(name, list(self.robot.links))
        if index < 0:
            return self.T_world_base.copy()
        return _frame(self._client.getLinkState(self.id, index, computeForwardKinematics=1))

    def push(self, link: str, force: Array, point: Array) -> None:
        """Force on a link in the next step [N], at a point [m], both in the world frame, shape (3,)."""
        client = self._client
        client.applyExternalForce(
            self.id, self._link_index[link], np.asarray(force).tolist(), np.asarray(point).tolist(), client.WORLD_FRAME
        )

    def contacts(self) -> list[SimContact]:
        """Contacts of all links in the last step."""
        found = []
        for point in self._client.getContactPoints(self.id):
            body_a, body_b, link_a, link_b = point[1:5]
            mine = body_a == self.id
            if not mine:
                body_b, link_a, link_b = body_a, link_b, link_a
            here = point[5] if mine else point[6]
            other = self._name_of_body(body_b, link_b)
            found.append(SimContact(self.link_name(link_a), other, float(point[9]), -float(point[8]), here))
        return found

    def self_contacts(self) -> list[SimContact]:
        """Pairs of links that touch or overlap now and that more than one joint separates; force 0."""
        found = []
        for point in self._client.getClosestPoints(self.id, self.id, 0.0):
            link, other = self.link_name(point[3]), self.link_name(point[4])
            if link < other and self._separate_bodies(link, other):
                found.append(SimContact(link, other, 0.0, -float(point[8]), point[5]))
        return found

    def link_name(self, index: int) -> str:
        """Name of the link with this PyBullet index."""
        return next(name for name, number in self._link_index.items() if number == index)


def _frame(state: Sequence[Any]) -> Array:
    # Entries 4 and 5 are the link frame; 0 and 1 would be the frame of its centre of mass.
    return from_position_quaternion(state[4], state[5])
