"""Groups that are grippers: straight motions of the fingers, executed by the action of their own controller.

Collisions of the fingers are not checked: closing on an object is what they are for, and their controller limits the
effort. As MoveIt does with controllers of this type, the last point of a trajectory is sent as the goal.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from moveit_msgs.msg import Constraints, MotionPlanRequest, MotionPlanResponse, MoveItErrorCodes, RobotState
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from manipapy_core.errors import InputError, UnknownJoint
from manipapy_core.model import Chain, Robot, find_arms
from manipapy_core.model.arms import nearest_to_zero
from manipapy_core.model.srdf import gripper_group
from manipapy_core.typing import Array

from ...client.arm import rest_to_rest
from ...client.gripper import GripperClient
from ...client.session import RosSession
from ...common.conversions import positions_by_name
from .constraints import no_constraints
from .error_codes import RequestRefused, error_code, refused_as

TIMEOUT = 5.0
"""For the gripper to accept a goal [s]."""
SLACK = 1e-3
"""How far beyond a limit a position still counts as at it [rad or m]."""
INVALID = MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS


@dataclass(frozen=True, eq=False)
class GripperGroup:
    """The fingers of one gripper."""

    name: str
    robot: Robot
    chain: Chain
    """With the joints of the gripper alone."""
    locked: dict[str, float]
    """Where the arm is planned to have the fingers [rad or m], by joint."""
    client: GripperClient
    moving: threading.Lock
    """Held during a motion."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints that move on their own."""
        return self.chain.joint_names

    def positions(self, state: RobotState, now: JointState) -> Array:
        """Positions of the fingers in a state [rad or m], shape (n,); those that it does not name are as now.

        Raises:
            UnknownJoint: A joint that the robot does not have.
            RequestRefused: A position that is not finite, or no joint states of the gripper.
        """
        given = state.joint_state
        for name in given.name:
            if name not in self.robot.joints:
                raise UnknownJoint(name, self.joints)
        with refused_as(MoveItErrorCodes.INVALID_ROBOT_STATE):
            named = [name for name in self.joints if name in set(given.name)]
            q = positions_by_name(now, self.joints).copy()
            q[[self.joints.index(name) for name in named]] = positions_by_name(given, named)
        return q

    def goal(self, alternatives: Sequence[Constraints]) -> dict[int, float]:
        """Positions of fingers of the first alternative [rad or m], by element of q.

        Raises:
            RequestRefused: It requests something else, or for positions beyond the limits.
        """
        if not alternatives or not alternatives[0].joint_constraints:
            raise no_constraints()
        wanted = alternatives[0]
        if wanted.position_constraints or wanted.orientation_constraints or wanted.visibility_constraints:
            raise RequestRefused(INVALID, f"group {self.name!r} is a gripper; give joint positions alone")
        goal: dict[int, float] = {}
        for item in wanted.joint_constraints:
            index, position = self._driver(item.joint_name, item.position)
            if abs(goal.get(index, position) - position) > SLACK:
                raise RequestRefused(INVALID, f"the constraints of {self.name!r} contradict each other; fingers follow")
            low, high = self.chain.limits.lower[index], self.chain.limits.upper[index]
            if not low - SLACK <= position <= high + SLACK:
                raise RequestRefused(
                    MoveItErrorCodes.GOAL_STATE_INVALID,
                    f"joint {item.joint_name!r} cannot be at {item.position:.4g}; its limits are {low:g} to {high:g}",
                )
            goal[index] = min(max(position, float(low)), float(high))
        return goal

    def _driver(self, name: str, position: float) -> tuple[int, float]:
        """Element of q that moves a joint, and its position [rad or m] for one of the joint."""
        if not np.isfinite(position):
            raise RequestRefused(INVALID, f"the position of joint {name!r} is {position}; give a finite number")
        if name in self.joints:
            return self.joints.index(name), float(position)
        mimic = self.robot.joints[name].mimic if name in self.robot.joints else None
        if mimic is None or mimic.joint not in self.joints or mimic.multiplier == 0.0:
            text = f"group {self.name!r} does not move joint {name!r}; it moves {', '.join(self.joints)}"
            raise RequestRefused(INVALID, text)
        return self.joints.index(mimic.joint), (float(position) - mimic.offset) / mimic.multiplier

    def plan(self, request: MotionPlanRequest, now: JointState, speed: float) -> MotionPlanResponse:
        """The response with a straight motion of the fingers.

        Args:
            speed: Share of the velocity and acceleration limits.

        Raises:
            RequestRefused: The request is invalid.
        """
        wanted, start = self.goal(request.goal_constraints), self.positions(request.start_state, now)
        goal = start.copy()
        goal[list(wanted)] = list(wanted.values())
        response = MotionPlanResponse(group_name=request.group_name)
        response.trajectory_start.joint_state = JointState(name=list(self.joints), position=start.tolist())
        response.trajectory.joint_trajectory = self.motion(start, goal, speed)
        text = "straight motion of the fingers, without collision checks"
        elsewhere = [f"{name} at {self.locked[name]:g}" for name in self.joints if name in self.locked]
        if elsewhere:
            text += f"; the arm is planned with {', '.join(elsewhere)}, as locked_joints says"
        response.error_code = error_code(MoveItErrorCodes.SUCCESS, text)
        return response

    def motion(self, start: Array, goal: Array, speed: float) -> JointTrajectory:
        """A motion from rest to rest."""
        message = rest_to_rest(self.chain, start, goal, speed=speed)
        zeros = [0.0] * self.chain.n
        message.points.insert(0, JointTrajectoryPoint(positions=start.tolist(), velocities=zeros, accelerations=zeros))
        return message

    def execute(self, position: float, cancel: threading.Event) -> str:
        """Move the fingers; returns a message that describes it.

        Raises:
            RequestRefused: They move already.
            NoAnswer: There is no gripper.
            MotionFailed: They did not get there.
        """
        if not self.moving.acquire(blocking=False):
            text = f"the gripper {self.name!r} moves already; wait for its end"
            raise RequestRefused(MoveItErrorCodes.CONTROL_FAILED, text)
        try:
            reached = self.client.move(position, cancel=cancel.is_set, seconds=TIMEOUT)
        finally:
            self.moving.release()
        return f"the gripper is at {reached:.4f}"

    def last_position(self, message: JointTrajectory) -> float:
        """Position that all fingers have at the end of a trajectory [rad or m].

        Raises:
            InputError: It has none, or one per finger: the action takes one for all.
        """
        if not message.points:
            raise InputError("the trajectory has no points; plan again")
        last = message.points[-1].positions
        if len(last) != len(message.joint_names):
            raise InputError("the last point of the trajectory has positions for some joints only")
        found: dict[int, float] = {}
        for name, position in zip(message.joint_names, last):
            index, value = self._driver(name, position)
            found.setdefault(index, value)
            if abs(found[index] - value) > SLACK:
                raise InputError(f"the fingers of {self.name!r} move together; {name!r} is elsewhere than its driver")
        values = list(found.values())
        if max(values) - min(values) > SLACK:
            raise InputError(f"the fingers of {self.name!r} have one position for all; the trajectory has {values}")
        return values[0]


class GripperGroups:
    """The grippers of a robot that its arms do not move.

    Args:
        robot: Whose grippers.
        arms: What the planner moves.
        session: For the clients of the grippers.
    """

    def __init__(self, robot: Robot, arms: Chain, session: RosSession):
        self.by_name: dict[str, GripperGroup] = {}
        moved, locked = arms.joint_names, dict(arms.locked)
        for arm in find_arms(robot):
            if arm.gripper is None or not set(arm.gripper.joints).isdisjoint(moved):
                continue
            name, fingers = gripper_group(arm), set(arm.gripper.joints)
            others = [joint for joint in robot.free_joints if joint not in fingers]
            chain = robot.tree(fixed=nearest_to_zero(robot, others))
            client, moving = GripperClient(session, name), threading.Lock()
            self.by_name[name] = GripperGroup(name, robot, chain, locked, client, moving)

    def of(self, name: str) -> GripperGroup | None:
        """The gripper of a group, if it is one; `hand` is another name of the only one."""
        if name == "hand" and len(self.by_name) == 1:
            return next(iter(self.by_name.values()))
        return self.by_name.get(name)

    def with_joints(self, names: Sequence[str]) -> GripperGroup | None:
        """The gripper that has all these joints, mimic joints included."""
        for group in self.by_name.values():
            own = {*group.joints, *_followers(group.robot, group.joints)}
            if names and own.issuperset(names):
                return group
        return None


def _followers(robot: Robot, joints: Sequence[str]) -> Mapping[str, str]:
    """Mimic joints of these joints, with the joint that each follows."""
    return {
        name: joint.mimic.joint
        for name, joint in robot.joints.items()
        if joint.mimic is not None and joint.mimic.joint in joints
    }
