"""Links, joints and poses of a description, with the names of ManipulaPy and urchin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import kinematics
from ..errors import ShapeError, UnknownJoint, UnknownLink
from ..model import Chain, Joint, Link, Robot
from ..typing import Array
from .arm import serial_arm


class URDFView:
    """Links, joints and poses of a robot; the robot itself is `model`."""

    def __init__(self, model: Robot):
        self.model = model
        self._tree: Chain = model.tree()
        self._cfg = np.zeros(self._tree.n)

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

    def link_fk(
        self,
        cfg: Mapping[str, float] | ArrayLike | None = None,
        links: Sequence[str] | None = None,
        use_names: bool = True,
    ) -> dict[Any, Array]:
        """Poses of links in the frame of the root link.

        Args:
            cfg: Joint positions [rad or m] by name (missing ones are 0), or one per actuated joint; those of
                `update_cfg`, at first 0, if not given.
            links: Names of links; all if not given.
            use_names: Whether the keys are names; links themselves otherwise.

        Returns:
            Homogeneous matrices by link name, in file order.
        """
        poses = kinematics.link_poses(self._tree, self._cfg if cfg is None else self.configuration(cfg))
        places = self._places(links)
        return {name if use_names else self.model.links[name]: poses[index] for name, index in places.items()}

    def link_fk_batch(self, cfgs: ArrayLike, links: Sequence[str] | None = None) -> dict[str, Array]:
        """Poses of links for many configurations (N, joints): by name, shape (N, 4, 4) each."""
        poses = kinematics.link_poses(self._tree, np.asarray(cfgs, dtype=np.float64))
        return {name: poses[:, index] for name, index in self._places(links).items()}

    def _places(self, links: Sequence[str] | None) -> dict[str, int]:
        """Where links are among the poses."""
        order = {name: index for index, name in enumerate(self._tree.link_names)}
        for name in links or ():
            if name not in order:
                raise UnknownLink(name, list(order))
        return order if links is None else {name: order[name] for name in links}

    @property
    def cfg(self) -> Array:
        """Joint positions that `link_fk` takes where none are given [rad or m], shape (n,)."""
        return self._cfg.copy()

    @cfg.setter
    def cfg(self, value: Mapping[str, float] | ArrayLike | None) -> None:
        self._cfg = self.configuration(value)

    def update_cfg(self, cfg: Mapping[str, float] | ArrayLike | None) -> None:
        """Sets `cfg`: by name (missing ones are 0), or one per actuated joint; None for all 0."""
        self.cfg = cfg

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

    @property
    def link_map(self) -> dict[str, Link]:
        """Links by name."""
        return dict(self.model.links)

    @property
    def joint_map(self) -> dict[str, Joint]:
        """Joints by name."""
        return dict(self.model.joints)

    @property
    def actuated_joint_names(self) -> list[str]:
        """In the order of a configuration array."""
        return list(self._tree.joint_names)

    @property
    def num_actuated_joints(self) -> int:
        """Length of a configuration array."""
        return self._tree.n

    num_dofs = num_actuated_joints

    @property
    def root_link(self) -> Link:
        """The link that no joint moves."""
        return self.model.links[self.model.root]

    @property
    def root_links(self) -> list[Link]:
        """The root link alone: of several trees the largest is read."""
        return [self.root_link]

    @property
    def kinematic_chain(self) -> list[Joint]:
        """The joints of the arm that move, from the base on."""
        return [self.model.joints[name] for name in serial_arm(self.model).joint_names]

    @property
    def end_links(self) -> list[Link]:
        """Links without children."""
        parents = {joint.parent for joint in self.joints}
        return [link for link in self.links if link.name not in parents]

    @property
    def end_effector_link(self) -> Link:
        """The last link of the arm."""
        return self.model.links[serial_arm(self.model).tip]

    @property
    def joint_limits(self) -> list[tuple[float, float]]:
        """(lower, upper) of each actuated joint [rad or m]."""
        limits = self._tree.limits
        return [(float(low), float(high)) for low, high in zip(limits.lower, limits.upper)]
