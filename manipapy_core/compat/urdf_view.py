"""A robot with the attributes that urchin's URDF objects have, as far as ManipulaPy's documents use them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from .. import kinematics
from ..errors import ShapeError, UnknownJoint
from ..model import Chain, Joint, Link, Robot
from ..typing import Array


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
        """The joints that move on their own, in the order of a configuration array."""
        return tuple(self.model.joints[name] for name in self._tree.joint_names)

    def link_fk(self, cfg: Mapping[str, float] | ArrayLike | None = None) -> dict[str, Array]:
        """Poses of all links in the frame of the root link.

        Args:
            cfg: Joint positions [rad or m] by name (what is not named is 0), or one per actuated joint; all 0 if
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
