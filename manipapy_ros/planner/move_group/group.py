"""Planning groups of the planner's arms: their names, joints and links in messages of MoveIt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from moveit_msgs.msg import MoveItErrorCodes, RobotState
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from manipapy_core import kinematics, lie
from manipapy_core.errors import InputError, UnknownJoint, UnknownLink
from manipapy_core.geometry import Checker, WorldSnapshot
from manipapy_core.model import Chain, SemanticDescription
from manipapy_core.motion import PoseGoal, plan, warm_up
from manipapy_core.motion.goals import held_joints
from manipapy_core.typing import Array

from ...common.conversions import positions_by_name
from ...common.robot_loader import LoadedRobot
from .error_codes import RequestRefused, refused_as

ALIASES = ("arm", "manipulator")
"""Names that every arm answers to, beside that of the SRDF."""


@dataclass(frozen=True, eq=False)
class PlanningGroup:
    """Joints that are planned together: all that the planner moves, or one of several arms while the others hold."""

    model: LoadedRobot
    name: str
    """In the SRDF."""
    checker: Checker
    """For all joints that the planner moves; the tip of its chain is that of this group."""
    frame_pose: Callable[[str, int], Array]
    """T_base_frame of a frame that is no link, at a time [ns], shape (4, 4)."""
    joints: tuple[str, ...]
    """Joints of this group, in the order of the chain."""
    tips: tuple[str, ...] = ()
    """Ends of its arms."""

    @property
    def chain(self) -> Chain:
        return self.checker.body.chain

    @property
    def moved(self) -> tuple[str, ...] | None:
        """Joints that may move; None if all do."""
        return None if len(self.joints) == self.chain.n else self.joints

    @cached_property
    def held(self) -> NDArray[np.bool_] | None:
        """Which elements of q stay where they are, shape (n,); None if all may move."""
        return held_joints(self.chain, self.moved)

    @cached_property
    def columns(self) -> list[int]:
        """Elements of q that this group moves."""
        return [self.chain.joint_names.index(name) for name in self.joints]

    @cached_property
    def moved_links(self) -> frozenset[str]:
        """Links that a joint of this group moves."""
        chain, moving = self.chain, set[int]()
        for index, body in enumerate(chain.bodies):  # parents first
            if chain.joint_names[body.dof] in self.joints or body.parent in moving:
                moving.add(index)
        return frozenset(name for name, (body, _) in zip(chain.link_names, chain.link_placements) if body in moving)

    def tip_of(self, link: str) -> str:
        """The link that a request is about; for an empty name the end of the arm.

        Raises:
            RequestRefused: The group has several ends and none is named.
        """
        if not link and len(self.tips) > 1:
            text = f"group {self.name!r} has several ends; name one of {', '.join(self.tips)}"
            raise RequestRefused(MoveItErrorCodes.INVALID_LINK_NAME, text)
        return link or self.chain.tip

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
        """A state with all joints that the planner moves."""
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
        name = self.tip_of(link)
        if name not in self.chain.link_names:
            raise UnknownLink(name, self.chain.link_names)
        if name not in self.tool_links:
            raise RequestRefused(
                MoveItErrorCodes.INVALID_LINK_NAME,
                f"{name!r} does not move with the tip; choose one of {', '.join(self.tool_links)}",
            )
        return T_base_link @ self.tool_links[name]


class PlanningGroups:
    """The groups that a planner moves, by name.

    Args:
        model: The robot, with all joints that the planner moves.
        semantics: Its groups.
        main: Name of the group that has all these joints.
        checker: Of the planner.
        frame_pose: T_base_frame of a frame that is no link, at a time [ns], shape (4, 4).
        grippers: Names of the groups that are grippers.
    """

    def __init__(
        self,
        model: LoadedRobot,
        semantics: SemanticDescription,
        main: str,
        checker: Checker,
        frame_pose: Callable[[str, int], Array],
        grippers: Collection[str] = (),
    ):
        self._model, self._names = model, [group.name for group in semantics.groups]
        self.main = PlanningGroup(
            model, main, checker, frame_pose, model.chain.joint_names, semantics.tips_of(main) or (model.chain.tip,)
        )
        self.by_name = {main: self.main}
        for group in semantics.groups:
            tips, joints = semantics.tips_of(group.name), set(semantics.joints_of(group.name, model.robot))
            if group.name == main or not tips or not joints < set(model.chain.joint_names):
                continue
            own = tuple(name for name in model.chain.joint_names if name in joints)
            other = Checker(replace(checker.body, chain=model.chain.with_tip(tips[0])), checker.world)
            self.by_name[group.name] = PlanningGroup(model, group.name, other, frame_pose, own, tips)
        self._grippers = frozenset(grippers)
        self._aliases = self._other_names()

    def of(self, name: str) -> PlanningGroup:
        """The group of a name.

        Raises:
            RequestRefused: There is none; names those that there are.
        """
        found = self.by_name.get(self._aliases.get(name, name))
        if found is not None:
            return found
        known = ", ".join(map(repr, self.by_name))
        if len(self.by_name) == 1:
            known += f" ({', '.join(self.main.joints)})"
        text = f"no group {name!r}; the planner moves {known}"
        if not name:
            text = f"the request names no group; set group_name to one of {', '.join(self.by_name)}"
        elif name in self._grippers:
            text = f"group {name!r} is a gripper, for which there is only a goal of joint positions; the arm is {known}"
        elif name in self._names:
            text = f"the planner does not move group {name!r}, it moves {known}; for all arms start it with group:=arms"
        raise RequestRefused(MoveItErrorCodes.INVALID_GROUP_NAME, text)

    def warm_up(self) -> None:
        """Run what planning for one of several arms needs once, before a request with a short timeout does."""
        for group in self.by_name.values():
            warm_up(group.checker)
            if group.held is None:
                continue
            q = np.clip(np.zeros(group.chain.n), group.chain.limits.lower, group.chain.limits.upper)
            plan(group.checker, q, PoseGoal(kinematics.forward(group.chain, q)), joints=group.moved)
            plan(group.checker, q, np.where(group.held, q, q + 0.01), joints=group.moved)

    def for_link(self, group: PlanningGroup, link: str) -> PlanningGroup:
        """The group of the one arm that a link is the end of, if a group has several; else the group itself."""
        if len(group.tips) < 2:
            return group
        arms = (item for item in self.by_name.values() if set(item.joints) < set(group.joints))
        return next((arm for arm in arms if link in arm.tool_links), group)

    def with_joints(self, names: Sequence[str]) -> PlanningGroup:
        """The group that has exactly these joints.

        Raises:
            InputError: There is none.
        """
        wanted = sorted(names)
        for group in self.by_name.values():
            if sorted(group.joints) == wanted:
                return group
        known = "; ".join(", ".join(group.joints) for group in self.by_name.values())
        raise InputError(f"the trajectory is for {', '.join(names) or 'no joints'}; the arm has {known}")

    def _other_names(self) -> dict[str, str]:
        """Names that configurations of MoveIt for such robots use."""
        robot, main = self._model.robot.name, self.main.name
        if len(self.by_name) > 1:
            names = {robot: main, f"{robot}_arms": main, "both_arms": main, "dual_arm": main}
            for name in self.by_name:
                names |= {f"{name}_arm": name, f"{name}_manipulator": name}
        else:
            names = dict.fromkeys((*ALIASES, robot, f"{robot}_arm", f"{robot}_manipulator"), main)
            if robot.startswith("ur"):
                names["ur_manipulator"] = main
        return {alias: name for alias, name in names.items() if alias not in self._names}
