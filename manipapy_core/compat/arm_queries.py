"""Kinematics of the arm that a `URDFToSerialManipulator` has read, as methods of the processor itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import kinematics, lie
from ..errors import InputError
from ..model import Chain
from ..typing import Array
from .inputs import bounds, rows
from .kinematics import Frame, SerialManipulator

WORLD = "world"


class ArmQueries:
    """The queries; configurations are those of the arm [rad or m], other joints are at 0."""

    robot: Any
    chain: Chain
    serial_manipulator: SerialManipulator

    @property
    def num_dofs(self) -> int:
        """Joints of the arm."""
        return self.chain.n

    @property
    def joint_names(self) -> list[str]:
        """Of the arm, in the order of a configuration."""
        return list(self.chain.joint_names)

    @property
    def link_names(self) -> list[str]:
        """All links of the robot."""
        return [link.name for link in self.robot.links]

    @property
    def end_effector_name(self) -> str:
        """Last link of the arm."""
        return self.chain.tip

    @property
    def joint_limits_array(self) -> Array:
        """Lower and upper limit per joint [rad or m], shape (n, 2)."""
        return np.stack(bounds(self.serial_manipulator.joint_limits), axis=1)

    def forward_kinematics(self, cfg: ArrayLike, frame: Frame = "space") -> Array:
        """Pose of the end effector, shape (4, 4)."""
        return self.serial_manipulator.forward_kinematics(cfg, frame)

    def jacobian(self, cfg: ArrayLike, frame: Frame = "space") -> Array:
        """Twist of the end effector per joint velocity, angular rows first, shape (6, n)."""
        return self.serial_manipulator.jacobian(cfg, frame)

    def link_fk(self, cfg: Mapping[str, float] | ArrayLike | None = None, use_names: bool = True) -> dict[str, Array]:
        """Poses of all links by name.

        Args:
            cfg: Of the arm, shape (n,), or by joint name; all 0 if not given.
            use_names: No effect.
        """
        if cfg is None or isinstance(cfg, Mapping):
            return self.robot.link_fk(cfg)
        values = rows(np.atleast_2d(np.asarray(cfg, dtype=np.float64)), self.chain.n, "cfg")[0]
        return self.robot.link_fk(dict(zip(self.chain.joint_names, values)))

    def batch_forward_kinematics(self, cfgs: ArrayLike, link_name: str | None = None) -> Array | dict[str, Array]:
        """Poses of the links for configurations (N, n): by name, shape (N, 4, 4) each, or those of one link."""
        table = rows(cfgs, self.chain.n, "cfgs")
        poses = kinematics.link_poses(self.chain, table)
        names = self.chain.link_names
        if link_name is None:
            return {name: poses[:, index] for index, name in enumerate(names)}
        if link_name not in names:
            raise InputError(f"no link {link_name!r} in the arm; it has: {', '.join(names)}")
        return np.asarray(poses[:, names.index(link_name)])

    def get_end_effector_transforms(self, cfgs: ArrayLike) -> Array:
        """Poses of the end effector for configurations (N, n), shape (N, 4, 4)."""
        return kinematics.forward(self.chain, rows(cfgs, self.chain.n, "cfgs"))

    def get_transform(
        self, frame_to: str, frame_from: str = WORLD, cfg: Mapping[str, float] | ArrayLike | None = None
    ) -> Array:
        """Pose of one link in the frame of another; "world" is the root of the robot."""
        poses = self.link_fk(cfg)
        for name in (frame_to, frame_from):
            if name != WORLD and name not in poses:
                raise InputError(f"no link {name!r}; there are: {', '.join(poses)}")
        to, base = (np.eye(4) if name == WORLD else poses[name] for name in (frame_to, frame_from))
        return lie.inverse(base) @ to

    def inverse_kinematics(
        self, T_desired: ArrayLike, initial_guess: ArrayLike | None = None, method: str = "robust", **options: Any
    ) -> tuple[Array, bool, int]:
        """Joint positions for a pose, success, and iterations.

        Args:
            method: "robust", "smart" or "iterative"; see `SerialManipulator`. The options are those of its method.
        """
        arm = self.serial_manipulator
        if method == "robust" and initial_guess is None:
            return arm.robust_inverse_kinematics(T_desired, **options)[:3]
        if method == "smart" and initial_guess is None:
            return arm.smart_inverse_kinematics(T_desired, **options)
        if method not in ("robust", "smart", "iterative"):
            raise InputError(f"method is {method!r}; there are: robust, smart, iterative")
        start = np.zeros(self.chain.n) if initial_guess is None else initial_guess
        return arm.iterative_inverse_kinematics(T_desired, start, **options)
