"""`URDFToSerialManipulator`: kinematics and dynamics from a URDF, with ManipulaPy's API.

Intended differences from ManipulaPy: masses behind fixed joints and on side branches are included, a link without
`<inertial>` is massless, prismatic joints have screws and limits of their own, and a description that cannot be used is
refused with a list of its problems.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import draw, kinematics
from ..errors import InputError, ShapeError, UnknownJoint
from ..model import Chain, Joint, Link, Robot
from ..typing import Array
from . import utils
from .arm import pybullet_limits, serial_arm
from .dynamics import ManipulatorDynamics
from .kinematics import SerialManipulator

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure


class URDFView:
    """name, links, joints, actuated_joints and link_fk of a robot; the robot itself is `model`."""

    def __init__(self, model: Robot):
        self.model = model
        self._tree: Chain = model.tree()

    def __repr__(self) -> str:
        return f"URDFView({self.name!r}, {len(self.links)} links, {len(self.joints)} joints)"

    @property
    def name(self) -> str:
        """Name of the robot."""
        return self.model.name

    @property
    def links(self) -> tuple[Link, ...]:
        """In file order."""
        return tuple(self.model.links.values())

    @property
    def joints(self) -> tuple[Joint, ...]:
        """In file order, fixed ones included."""
        return tuple(self.model.joints.values())

    @property
    def actuated_joints(self) -> tuple[Joint, ...]:
        """The actuated joints, in the order of a configuration array."""
        return tuple(self.model.joints[name] for name in self._tree.joint_names)

    def link_fk(self, cfg: Mapping[str, float] | ArrayLike | None = None) -> dict[str, Array]:
        """Poses of all links in the frame of the root link.

        Args:
            cfg: Joint positions [rad or m] by name (missing ones are 0), or one per actuated joint; all 0 if
                not given.

        Returns:
            Homogeneous matrices by link name, in file order.
        """
        poses = kinematics.link_poses(self._tree, self.configuration(cfg))
        return {name: poses[index] for index, name in enumerate(self._tree.link_names)}

    def configuration(self, cfg: Mapping[str, float] | ArrayLike | None) -> Array:
        """Positions [rad or m] of the actuated joints, shape (n,); positions of joints that cannot move are ignored."""
        names = self._tree.joint_names
        if cfg is None:
            return np.zeros(len(names))
        if not isinstance(cfg, Mapping):
            array = np.asarray(cfg, dtype=np.float64)
            if array.shape != (len(names),):
                raise ShapeError("cfg", f"({len(names)},), one for each of {', '.join(names)}", array.shape)
            return array
        for name in cfg:
            if name not in self.model.joints:
                raise UnknownJoint(name, list(self.model.joints))
        return np.array([float(cfg.get(name, 0.0)) for name in names])


class URDFToSerialManipulator:
    """Reads a robot description and builds its kinematics and dynamics.

    The arm is the chain from the root of the description to its end, before any gripper; the gripper is carried along.

    Args:
        urdf_name: Path of a URDF or xacro file, or the name of a bundled robot.
        use_pybullet_limits: Take the limits of revolute joints from PyBullet, (-π, π) for continuous ones. Otherwise
            they are all (-π, π). Prismatic joints have the limits of the description either way.

    Attributes:
        robot: The description (`URDFView`): name, links, joints, link_fk.
        robot_data: See `load_urdf`; also joint_limits, one (lower, upper) per joint.
        serial_manipulator: Kinematics.
        dynamics: Dynamics.

    Raises:
        FileNotFoundError: There is no such file.
        ModelError: The description cannot be used; lists every problem with its line and cure.
        ImportError: `use_pybullet_limits` without PyBullet installed.
    """

    def __init__(self, urdf_name: str | os.PathLike[str], use_pybullet_limits: bool = True):
        self.urdf_name = urdf_name
        self.robot: URDFView
        self.chain: Chain
        self.robot_data: dict[str, Any] = self.load_urdf(urdf_name)
        revolute = self._get_joint_limits_from_pybullet() if use_pybullet_limits else None
        self.robot_data["joint_limits"] = self._joint_limits(revolute)
        self.serial_manipulator: SerialManipulator = self.initialize_serial_manipulator()
        self.dynamics: ManipulatorDynamics = self.initialize_manipulator_dynamics()

    def load_urdf(self, urdf_name: str | os.PathLike[str]) -> dict[str, Any]:
        """Reads a description and extracts the parameters of its arm.

        Returns:
            M: Pose of the end effector at θ = 0, (4, 4).
            Slist, Blist: Screw axes in the space and the body frame, (6, n) each.
            Glist: n spatial inertias (6, 6), each in the frame at its centre of mass.
            Mlist_per_link: Poses of these frames at θ = 0, n of (4, 4).
            actuated_joints_num: n.
            joint_names: n names, in the order of θ.
            velocity_limits, effort_limits, damping, friction: One per joint, (n,), inf where there is no limit.
        """
        model = Robot.from_urdf(urdf_name, check_meshes=False)
        chain = serial_arm(model)
        self.robot, self.chain = URDFView(model), chain
        return {
            "M": chain.M.copy(),
            "Slist": chain.S.copy(),
            "Blist": chain.B.copy(),
            "Glist": list(chain.G.copy()),
            "Mlist_per_link": list(chain.M_com.copy()),
            "actuated_joints_num": chain.n,
            "joint_names": list(chain.joint_names),
            "velocity_limits": chain.limits.velocity.copy(),
            "effort_limits": chain.limits.effort.copy(),
            "damping": chain.damping.copy(),
            "friction": chain.friction.copy(),
        }

    def _get_joint_limits_from_pybullet(self) -> list[tuple[float, float]]:
        """(lower, upper) [rad] of each revolute joint of the arm as PyBullet reads it; (-π, π) for continuous ones."""
        limits = pybullet_limits(self.robot.model)
        return [limits[body.joint] for body in self.chain.bodies if body.revolute]

    def _joint_limits(self, revolute: Sequence[tuple[float, float]] | None) -> list[tuple[float, float]]:
        """One pair per joint: as given for revolute joints, from the description for prismatic ones."""
        pairs = iter([(-math.pi, math.pi)] * self.chain.n if revolute is None else revolute)
        bounds = zip(self.chain.bodies, self.chain.limits.lower, self.chain.limits.upper)
        return [next(pairs) if body.revolute else (float(lower), float(upper)) for body, lower, upper in bounds]

    def initialize_serial_manipulator(self) -> SerialManipulator:
        """Kinematics from `robot_data`."""
        data = self.robot_data
        return SerialManipulator(
            data["M"],
            utils.extract_omega_list(data["Slist"]),
            S_list=data["Slist"],
            B_list=data["Blist"],
            G_list=data["Glist"],
            joint_limits=data["joint_limits"],
        )

    def initialize_manipulator_dynamics(self) -> ManipulatorDynamics:
        """Dynamics from `robot_data`."""
        data = self.robot_data
        return ManipulatorDynamics(
            data["M"],
            utils.extract_omega_list(data["Slist"]),
            utils.extract_r_list(data["Slist"]),
            utils.extract_r_list(data["Blist"]),
            data["Slist"],
            data["Blist"],
            data["Glist"],
            data["Mlist_per_link"],
            joint_limits=data["joint_limits"],
        )

    def visualize_robot(self) -> Figure:
        """Draws the robot at θ = 0 in a window and waits until it is closed; without a screen, draws in memory.

        Returns:
            The figure, for `savefig`.
        """
        figure = draw.draw_robot(self.robot.model).figure
        draw.show(figure)
        return figure

    def visualize_trajectory(
        self,
        cfg_trajectory: ArrayLike | Mapping[str, Sequence[float]] | None = None,
        loop_time: float = 3.0,
        use_collision: bool = False,
    ) -> FuncAnimation:
        """Plays a motion in a loop in a window and waits until it is closed; without a screen, draws in memory.

        Args:
            cfg_trajectory: Waypoints [rad or m], equally spaced in time: shape (waypoints, n) in the order of the
                arm's joints, or a list per joint name. All joints from 0 to π/2 if not given.
            loop_time: Duration of one cycle [s].
            use_collision: Draw the collision shapes instead of the visual ones.

        Returns:
            The animation, for `save`.
        """
        if not (math.isfinite(loop_time) and loop_time > 0.0):
            raise InputError(f"loop_time is {loop_time!r}; give a positive number of seconds")
        waypoints = self._waypoints(cfg_trajectory)
        return draw.animate_robot(self.robot.model, waypoints, loop_time, collisions=use_collision)

    def _waypoints(self, trajectory: ArrayLike | Mapping[str, Sequence[float]] | None) -> Array:
        """Positions of all actuated joints of the robot, shape (waypoints, joints)."""
        names = self.chain.joint_names
        if trajectory is None:
            trajectory = np.outer([0.0, 1.0], np.full(len(names), 0.5 * math.pi))
        if not isinstance(trajectory, Mapping):
            array = np.asarray(trajectory, dtype=np.float64)
            if array.ndim != 2 or array.shape[1] != len(names) or len(array) == 0:
                raise ShapeError("cfg_trajectory", f"(waypoints, {len(names)})", array.shape)
            trajectory = dict(zip(names, array.T))
        columns = {name: np.atleast_1d(np.asarray(values, dtype=np.float64)) for name, values in trajectory.items()}
        lengths = {len(column) for column in columns.values()}
        if len(lengths) != 1 or 0 in lengths:
            raise InputError("cfg_trajectory must have equally many waypoints, at least one, for every joint")
        rows = zip(*columns.values())
        return np.array([self.robot.configuration(dict(zip(columns, row))) for row in rows])

    def print_joint_info(self) -> dict[str, Any]:
        """All joints of the description, fixed ones included; prints nothing.

        Returns:
            num_joints: Their number.
            joint_names: Their names, in file order.
        """
        names = [joint.name for joint in self.robot.joints]
        return {"num_joints": len(names), "joint_names": names}

    @staticmethod
    def transform_to_xyz(T: ArrayLike) -> Array:
        """Position [m] of a pose, shape (3,)."""
        return utils.TransToRp(T)[1]

    @staticmethod
    def get_link(robot: URDFView, link_name: str) -> Link | None:
        """The link of this name, or None."""
        return next((link for link in robot.links if link.name == link_name), None)

    @staticmethod
    def w_p_to_slist(w: ArrayLike, p: ArrayLike, robot_dof: int) -> Array:
        """Screw axes (ω; -ω × p) of revolute joints.

        Args:
            w: Axis directions, shape (3, n).
            p: A point on each axis [m], shape (3, n).
            robot_dof: n.

        Returns:
            Shape (6, n).
        """
        S = utils.extract_screw_list(w, p)
        if S.shape[1] != robot_dof:
            raise InputError(f"robot_dof is {robot_dof}, but w and p have {S.shape[1]} columns")
        return S
