"""The planning group of the planner's arm: its names, its joints and its links in messages of MoveIt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from moveit_msgs.msg import MoveItErrorCodes, RobotState
from sensor_msgs.msg import JointState

from manipapy_core import kinematics, lie
from manipapy_core.errors import UnknownJoint, UnknownLink
from manipapy_core.geometry import WorldSnapshot
from manipapy_core.model import Chain
from manipapy_core.typing import Array

from ...common.conversions import positions_by_name
from ...common.robot_loader import LoadedRobot
from .error_codes import RequestRefused, refused_as

ALIASES = ("arm", "manipulator")
"""Names that every arm answers to, beside that of the SRDF."""


@dataclass(frozen=True, eq=False)
class PlanningGroup:
    """The arm that the planner moves."""

    model: LoadedRobot
    name: str
    """In the SRDF."""
    frame_pose: Callable[[str, int], Array]
    """T_base_frame of a frame that is no link, at a time [ns], shape (4, 4)."""
    others: tuple[str, ...] = ()
    """Further groups of the SRDF, which this planner does not move."""
    aliases: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(
        cls,
        model: LoadedRobot,
        name: str,
        frame_pose: Callable[[str, int], Array],
        others: tuple[str, ...] = (),
    ) -> PlanningGroup:
        """The group, with the names that configurations of MoveIt for such robots use."""
        robot = model.robot.name
        names = {*ALIASES, name, robot, f"{robot}_arm", f"{robot}_manipulator"}
        if robot.startswith("ur"):
            names.add("ur_manipulator")
        return cls(model, name, frame_pose, others, frozenset(names - set(others)))

    @property
    def chain(self) -> Chain:
        return self.model.chain

    def require(self, name: str) -> None:
        """Refuse another group.

        Raises:
            RequestRefused: Names this group.
        """
        if name in self.aliases:
            return
        text = f"no group {name!r}; the planner moves {self.name!r} ({', '.join(self.chain.joint_names)})"
        if name in self.others:
            text = f"the planner does not move group {name!r}; it moves {self.name!r}"
        if not name:
            text = f"the request names no group; set group_name to {self.name!r}"
        raise RequestRefused(MoveItErrorCodes.INVALID_GROUP_NAME, text)

    def positions(self, state: RobotState, now: Callable[[], Array], attached: WorldSnapshot | None = None) -> Array:
        """Joint positions of a state [rad or m], shape (n,); joints that it does not name are where they are now.

        Raises:
            UnknownJoint: A joint that the robot does not have.
            RequestRefused: A position that is not finite, or objects that only this state carries.
        """
        joints, names = state.joint_state, self.chain.joint_names
        for name in joints.name:
            if name not in self.model.robot.joints:
                raise UnknownJoint(name, names)
        if attached is not None:
            for item in state.attached_collision_objects:
                if item.object.id and item.object.id not in attached.attached:
                    raise RequestRefused(
                        MoveItErrorCodes.INVALID_OBJECT_NAME,
                        f"the state carries {item.object.id!r}, which is not attached; publish it on "
                        "attached_collision_object first",
                    )
        with refused_as(MoveItErrorCodes.INVALID_ROBOT_STATE):
            given = [name for name in names if name in set(joints.name)]
            found = positions_by_name(joints, given)
            if len(given) == len(names):
                return found
            q = now().copy()
            q[[names.index(name) for name in given]] = found
            return q

    def state(self, q: Array) -> RobotState:
        """A state with the joints of this arm."""
        return RobotState(joint_state=JointState(name=list(self.chain.joint_names), position=q.tolist()))

    def link_pose(self, q: Array, link: str) -> Array:
        """T_base_link, shape (..., 4, 4).

        Raises:
            UnknownLink: There is no such link.
        """
        names = self.chain.link_names
        if link not in names:
            raise UnknownLink(link, names)
        return kinematics.link_poses(self.chain, q)[..., names.index(link), :, :]

    def T_base_frame(self, frame: str, q: Array, time_ns: int = 0) -> Array:
        """Pose of any frame, shape (4, 4): of links by forward kinematics, of others by tf.

        Raises:
            RequestRefused: Its pose is not known.
        """
        if frame in ("", self.chain.base):
            return np.eye(4)
        if frame in self.chain.link_names:
            return self.link_pose(q, frame)
        with refused_as(MoveItErrorCodes.FRAME_TRANSFORM_FAILURE):
            return self.frame_pose(frame, time_ns)

    @cached_property
    def tool_links(self) -> dict[str, Array]:
        """T_link_tip of the links that move with the tip, shape (4, 4) each."""
        chain = self.chain
        placed = zip(chain.link_names, chain.link_placements)
        return {
            name: lie.inverse(T_body_link) @ chain.T_body_tip
            for name, (body, T_body_link) in placed
            if body == chain.tip_body
        }

    def tip_poses(self, link: str, T_base_link: Array) -> Array:
        """T_base_tip for poses of a link that moves with the tip, shape (..., 4, 4).

        Raises:
            RequestRefused: The link does not move with the tip.
        """
        name = link or self.chain.tip
        if name not in self.chain.link_names:
            raise UnknownLink(name, self.chain.link_names)
        if name not in self.tool_links:
            raise RequestRefused(
                MoveItErrorCodes.INVALID_LINK_NAME,
                f"{name!r} does not move with the tip; choose one of {', '.join(self.tool_links)}",
            )
        return T_base_link @ self.tool_links[name]
