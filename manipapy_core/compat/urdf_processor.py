"""`URDFToSerialManipulator`: kinematics and dynamics from a URDF, with ManipulaPy's API.

Intended differences from ManipulaPy: masses behind fixed joints and on side branches are included, a link without
`<inertial>` is massless, prismatic joints have screws and limits of their own, and a description that cannot be used is
refused with a list of its problems.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import draw
from ..errors import InputError, ShapeError
from ..model import Chain, JointType, Link, Robot
from ..sim import SimulationUnavailable
from ..typing import Array
from . import utils
from .arm import pybullet_limits, serial_arm
from .arm_queries import ArmQueries
from .dynamics import ManipulatorDynamics
from .kinematics import SerialManipulator
from .urdf_view import URDFView

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.figure import Figure

    from .urdf_modifier import URDFModifier
    from .urdf_scene import Scene


class URDFToSerialManipulator(ArmQueries):
    """Reads a robot description and builds its kinematics and dynamics.

    The arm is the chain from the root of the description to its end, before any gripper; the gripper is carried along.

    Args:
        urdf_name: Path of a URDF or xacro file, the name of a bundled robot, or a robot.
        use_pybullet_limits: Take the limits of revolute joints from PyBullet, (-π, π) for continuous ones. Otherwise
            they are all (-π, π). Prismatic joints have the limits of the description either way. Without PyBullet
            they are those of the description too, with a warning; None takes those without PyBullet.
        backend: No effect: there is one reader; `load_meshes` and `validate` likewise, it always checks.
        tip_link: Last link of the arm; found if not given.

    Attributes:
        robot: The description (`URDFView`): name, links, joints, link_fk.
        robot_data: See `load_urdf`; also joint_limits, one (lower, upper) per joint.
        serial_manipulator: Kinematics.
        dynamics: Dynamics, also as `manipulator_dynamics`.

    Raises:
        FileNotFoundError: There is no such file.
        ModelError: The description cannot be used; lists every problem with its line and cure.
        InputError: The robot has several arms; the message names their ends for `tip_link`.
    """

    def __init__(
        self,
        urdf_name: str | os.PathLike[str] | Robot,
        use_pybullet_limits: bool | None = True,
        backend: str = "builtin",
        load_meshes: bool = False,
        validate: bool = False,
        *,
        tip_link: str | None = None,
    ):
        self.urdf_name, self.tip_link = urdf_name, tip_link
        self.robot: URDFView
        self.chain: Chain
        self.robot_data: dict[str, Any] = self.load_urdf(urdf_name)
        revolute = None if use_pybullet_limits is False else self._revolute_limits(use_pybullet_limits is True)
        self.robot_data["joint_limits"] = self._joint_limits(revolute)
        self.serial_manipulator: SerialManipulator = self.initialize_serial_manipulator()
        self.dynamics: ManipulatorDynamics = self.initialize_manipulator_dynamics()
        self.manipulator_dynamics = self.dynamics

    def load_urdf(self, urdf_name: str | os.PathLike[str] | Robot) -> dict[str, Any]:
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
        model = urdf_name if isinstance(urdf_name, Robot) else Robot.from_urdf(urdf_name, check_meshes=False)
        chain = serial_arm(model, self.tip_link)
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

    def _revolute_limits(self, by_pybullet: bool) -> list[tuple[float, float]]:
        if by_pybullet:
            try:
                return self._get_joint_limits_from_pybullet()
            except SimulationUnavailable as error:
                warnings.warn(f"joint limits are those of the description: {error}", UserWarning, stacklevel=3)
        limits, names = self.chain.limits, self.chain.joint_names
        return [
            (-math.pi, math.pi)
            if self.robot.model.joints[name].type is JointType.CONTINUOUS
            else (float(limits.lower[index]), float(limits.upper[index]))
            for index, name in enumerate(names)
            if self.robot.model.joints[name].type is not JointType.PRISMATIC
        ]

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
            damping=data["damping"],
            friction=data["friction"],
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

    def create_modifier(self) -> URDFModifier:
        """Makes changed copies of the description."""
        from .urdf_document import URDF  # these import this module
        from .urdf_modifier import URDFModifier

        return URDFModifier(URDF(self.robot.model, self.robot.model.urdf))

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
        assert S is not None
        if S.shape[1] != robot_dof:
            raise InputError(f"robot_dof is {robot_dof}, but w and p have {S.shape[1]} columns")
        return S


def load_robot(
    urdf_path: str | os.PathLike[str], backend: str = "builtin", use_pybullet_limits: bool = False
) -> URDFToSerialManipulator:
    """The processor of a file; without PyBullet's limits, with those of the description.

    Args:
        backend: No effect.
    """
    return URDFToSerialManipulator(urdf_path, use_pybullet_limits or None)


def create_multi_robot_scene(name: str = "scene") -> Scene:
    """An empty scene for several robots."""
    from .urdf_scene import Scene  # imports this module

    return Scene(name)
