"""A robot in a PyBullet server, with joints and links by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, MeshNotFound, NotFiniteError, ShapeError, UnknownJoint, UnknownLink
from ..model.chain import Chain
from ..model.elements import Joint, MeshGeometry
from ..model.robot import Robot
from ..typing import Array
from .bullet import BulletClient, from_position_quaternion, to_position_quaternion
from .robot_file import DrawAs, load_robot

GEAR_FORCE = 1e5
"""Maximum effort that couples a mimic joint to its driver [N m or N]: far above any gripper."""
GEAR_CORRECTION = 0.5
"""Fraction of the position error between the two corrected per step."""


class BulletRobot:
    """A robot in the joint order of its model, independent of PyBullet's order."""

    def __init__(
        self,
        client: BulletClient,
        robot: Robot,
        chain: Chain,
        T_world_base: Array,
        *,
        visuals: bool,
        collisions: bool,
        draw_as: DrawAs = lambda shape: shape,
    ):
        """Load the robot with a fixed base and motors off, at the positions nearest to zero.

        Args:
            chain: `robot.tree()`; its joint order is the order of every array here.
            T_world_base: Pose of the root link [m], shape (4, 4).
        """
        self._client, self.robot, self.chain = client, robot, chain
        self.T_world_base = np.array(T_world_base, dtype=np.float64)
        self.id = load_robot(self._load, robot, visuals=visuals, collisions=collisions, draw_as=draw_as)
        self._joint_index, self._link_index = self._find_indices()
        if collisions:
            self._require_collision_shapes()
        moving = [joint for joint in robot.joints.values() if joint.type.moves]
        drivers = [joint.mimic.joint if joint.mimic else joint.name for joint in moving]
        self.moving_names = tuple(joint.name for joint in moving)
        """Every joint that moves, mimic joints included, in the order of the description."""
        self._moving = [self._joint_index[joint.name] for joint in moving]
        self._driver = np.array([chain.joint_names.index(name) for name in drivers], dtype=int)
        self._ratio = np.array([joint.mimic.multiplier if joint.mimic else 1.0 for joint in moving])
        self._offset = np.array([joint.mimic.offset if joint.mimic else 0.0 for joint in moving])
        self._free = [self._joint_index[name] for name in chain.joint_names]
        for index in self._moving:
            client.setJointMotorControl2(self.id, index, client.VELOCITY_CONTROL, force=0.0)
        self.set_positions(self.nearest_to_zero())

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

    def prepare_physics(self) -> None:
        """Match PyBullet's dynamics to the model: no default damping, friction and mimic joints as described."""
        client = self._client
        for index in range(-1, client.getNumJoints(self.id)):
            client.changeDynamics(self.id, index, linearDamping=0.0, angularDamping=0.0)
        for joint, index in zip(self._joints(self.moving_names), self._moving):
            if joint.friction > 0.0:
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

    def set_positions(self, q: Array, qd: Array | None = None) -> None:
        """Set all joints to these positions [rad or m] and velocities (zero if not given), shape (n,)."""
        rates = np.zeros(self.chain.n) if qd is None else qd
        positions = self._ratio * q[self._driver] + self._offset
        velocities = self._ratio * rates[self._driver]
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

    def apply_efforts(self, efforts: Array) -> None:
        """Efforts for the next step [N m or N], shape (n,); PyBullet clears them after it."""
        client = self._client
        client.setJointMotorControlArray(self.id, self._free, client.TORQUE_CONTROL, forces=efforts.tolist())

    def link_pose(self, name: str) -> Array:
        """T_world_link from PyBullet, shape (4, 4)."""
        index = self._link_index.get(name)
        if index is None:
            raise UnknownLink(name, list(self.robot.links))
        if index < 0:
            return self.T_world_base.copy()
        return _frame(self._client.getLinkState(self.id, index, computeForwardKinematics=1))

    def link_poses(self) -> dict[str, Array]:
        """T_world_link of every link by name, each of shape (4, 4)."""
        return {name: self.link_pose(name) for name in self._link_index}

    def link_name(self, index: int) -> str:
        """Name of the link with this PyBullet index."""
        return next(name for name, number in self._link_index.items() if number == index)


def _frame(state: Sequence[Any]) -> Array:
    # Entries 4 and 5 are the link frame; 0 and 1 would be the frame of its centre of mass.
    return from_position_quaternion(state[4], state[5])
