"""A robot inside one PyBullet server: joints and links by name, positions in and out."""

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
"""Most that couples a mimic joint to its driver [N m or N]: far beyond any gripper."""
GEAR_CORRECTION = 0.5
"""Share of a position error between the two that is taken back in each step."""


class BulletRobot:
    """The same robot as our model, in the same joint order, whatever order PyBullet has."""

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
        """Load the robot, bolted to the world, its motors off, at the position nearest to zero.

        Args:
            chain: `robot.tree()`; its joint order is the order of every array here.
            T_world_base: Where the root link stands [m], shape (4, 4).
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
        """PyBullet leaves out a mesh that it cannot read, with a warning only: here it is an error."""
        for name, link in self.robot.links.items():
            made = len(self._client.getCollisionShapeData(self.id, self._link_index[name]))
            if made < len(link.collisions):
                meshes = [shape.geometry.uri for shape in link.collisions if isinstance(shape.geometry, MeshGeometry)]
                raise MeshNotFound(
                    ", ".join(meshes), f"PyBullet cannot read a collision mesh of link {name!r}; save it as OBJ or STL"
                )

    def prepare_physics(self) -> None:
        """Make PyBullet's dynamics those of our model: no hidden damping, friction and mimic as described."""
        client = self._client
        for index in range(-1, client.getNumJoints(self.id)):
            client.changeDynamics(self.id, index, linearDamping=0.0, angularDamping=0.0)
        for joint, index in zip(self._joints(self.moving_names), self._moving):
            if joint.friction > 0.0:
                # A motor that wants to stand still and is no stronger than the friction: Coulomb, with sticking.
                client.setJointMotorControl2(
                    self.id, index, client.VELOCITY_CONTROL, targetVelocity=0.0, force=joint.friction
                )
            if joint.mimic is not None:
                self._couple(joint, index)
        self._ignore_contacts_of_the_base()

    def _couple(self, joint: Joint, index: int) -> None:
        """Tie a mimic joint to its driver, which then feels the follower's inertia and forces."""
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

    def _ignore_contacts_of_the_base(self) -> None:
        """Links that cannot move need no contact with the table they stand on."""
        bodies = dict(zip(self.chain.link_names, self.chain.link_placements))
        static, everything = 2, -1  # Bullet's filter groups: bit 2 holds what never moves
        for name, (body, _) in bodies.items():
            if body < 0:
                self._client.setCollisionFilterGroupMask(self.id, self._link_index[name], static, everything ^ static)

    def _joints(self, names: Sequence[str]) -> list[Joint]:
        return [self.robot.joints[name] for name in names]

    def nearest_to_zero(self) -> Array:
        """The position nearest to zero that all limits allow [rad or m], shape (n,)."""
        return np.clip(np.zeros(self.chain.n), self.chain.limits.lower, self.chain.limits.upper)

    def positions_from(self, q: ArrayLike | Mapping[str, float]) -> Array:
        """Checked joint positions [rad or m], shape (n,), from an array in chain order or a mapping by name.

        Joints that a mapping leaves out take the position nearest to zero.
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
            # A hair of tolerance: a saved or measured state may stand on its limit.
            if not lower - 1e-3 <= value <= upper + 1e-3:
                name = self.chain.joint_names[index]
                raise InputError(f"joint {name!r} cannot be put to {value:g}; its limits are [{lower:g}, {upper:g}]")
        return positions

    def set_positions(self, q: Array, qd: Array | None = None) -> None:
        """Put all joints to these positions [rad or m] and velocities (zero if not given), shape (n,)."""
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
        """The same of every joint that moves, mimic joints included, in the order of `moving_names`."""
        states = self._client.getJointStates(self.id, self._moving)
        return np.array([state[0] for state in states]), np.array([state[1] for state in states])

    def apply_efforts(self, efforts: Array) -> None:
        """Efforts for the next step [N m or N], shape (n,); PyBullet forgets them after it."""
        client = self._client
        client.setJointMotorControlArray(self.id, self._free, client.TORQUE_CONTROL, forces=efforts.tolist())

    def link_pose(self, name: str) -> Array:
        """T_world_link as PyBullet has it, shape (4, 4)."""
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
        """Name of the link that PyBullet calls by this number."""
        return next(name for name, number in self._link_index.items() if number == index)


def _frame(state: Sequence[Any]) -> Array:
    # Entries 4 and 5 are the link frame; 0 and 1 would be the frame of its centre of mass.
    return from_position_quaternion(state[4], state[5])
