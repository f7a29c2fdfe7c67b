"""Planning requests of MoveIt: read, planned as the planner's own requests are, and answered."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from moveit_msgs.msg import MotionPlanRequest, MotionPlanResponse, MoveItErrorCodes, RobotTrajectory
from moveit_msgs.srv import GetCartesianPath

from manipapy_core import kinematics, motion
from manipapy_core.geometry import WorldSnapshot
from manipapy_core.motion import Planner, PlanResult, PlanStatus, PoseGoal
from manipapy_core.motion.cartesian import POSITION_STEP
from manipapy_core.motion.deadline import Cancel, Progress, Stopped
from manipapy_core.typing import Array

from ...common.conversions import to_nanoseconds
from ...common.object_messages import pose_of
from ..requests import BoundRequest, Requests, trajectory_message
from .constraints import read_constraints
from .error_codes import RequestRefused, code_of_plan, code_of_status, error_code, refused_as
from .goals import goal_of
from .group import PlanningGroup, PlanningGroups
from .path_constraints import path_constraints

PLANNERS = {
    **{member.name.lower().replace("_", ""): member for member in Planner},
    "rrtstar": Planner.OPTIMAL,
    "prmstar": Planner.OPTIMAL,
    "bitstar": Planner.OPTIMAL,
    "ptp": Planner.STRAIGHT,
}
"""Ours by their names and by those of MoveIt's configurations, without the additions around them."""
LINE = "lin"
"""Of the industrial motion planner: a straight motion of the tip."""
LONGEST = 600.0
"""Longest planning time that is accepted [s]."""
AT_WAYPOINT = 1e-3
"""Distance at which a path counts as having come through a waypoint [m]."""


@dataclass(eq=False)
class MotionRequests:
    """Reads and answers planning requests."""

    groups: PlanningGroups
    requests: Requests

    def bound(self, request: MotionPlanRequest, start: Array) -> BoundRequest:
        """A request, ready to be planned.

        Args:
            start: Joint positions for frames that move with the arm [rad or m], shape (n,).

        Raises:
            RequestRefused: It is invalid, or requests what does not exist.
        """
        group = self.groups.of(request.group_name)
        if request.trajectory_constraints.constraints or request.reference_trajectories:
            raise RequestRefused(
                MoveItErrorCodes.INVALID_MOTION_PLAN,
                "trajectory_constraints and reference_trajectories are not supported; leave them out",
            )
        velocity, acceleration = self.scalings(request)
        timeout = _positive(request.allowed_planning_time, self.requests.defaults.timeout, "allowed_planning_time")
        planner = planner_of(request.planner_id)
        constraints = path_constraints(request.path_constraints, group, start)
        options: dict[str, Any] = {
            "timeout": min(timeout, LONGEST),
            "padding": self.requests.defaults.padding,
            "velocity_scaling": velocity,
            "acceleration_scaling": acceleration,
        }

        def plan(q: Array, world: WorldSnapshot, cancel: Cancel, progress: Progress) -> PlanResult:
            given = {"snapshot": world, "cancel": cancel, "progress": progress, **options}
            try:
                goal = goal_of(request.goal_constraints, group, q)
            except Stopped as end:
                return PlanResult(end.status, end.message)
            if planner is None and constraints:
                raise RequestRefused(
                    MoveItErrorCodes.INVALID_MOTION_PLAN, "LIN keeps no path constraints; leave out planner_id or them"
                )
            if planner is None:
                return motion.straight_tip_motion(group.checker, q, _pose_of_goal(goal), **given)
            given |= {"planner": planner, "constraints": constraints, "joints": group.moved}
            return motion.plan(group.checker, q, goal, **given)

        return BoundRequest(plan)

    def answer(self, result: PlanResult, start: Array, request: MotionPlanRequest) -> MotionPlanResponse:
        """The response with a plan, or with the reason why there is none."""
        response = MotionPlanResponse(
            group_name=request.group_name,
            trajectory_start=self.groups.main.state(start),
            planning_time=result.timings.total,
            error_code=code_of_plan(result),
        )
        response.trajectory = self.trajectory(result, self.groups.of(request.group_name))
        return response

    def trajectory(self, result: PlanResult, group: PlanningGroup) -> RobotTrajectory:
        """The trajectory of a plan, for the joints of the group; empty without one."""
        message = RobotTrajectory()
        if result.trajectory is not None:
            message.joint_trajectory = trajectory_message(result.trajectory, group.joints, group.columns)
            message.joint_trajectory.header.frame_id = group.chain.base
        return message

    def cartesian(
        self, request: GetCartesianPath.Request, start: Array, world: WorldSnapshot, cancel: Cancel
    ) -> GetCartesianPath.Response:
        """A motion of a link in straight lines through waypoints, as far as it gets.

        Raises:
            RequestRefused: It is invalid, or requests what does not exist.
        """
        group = self.groups.for_link(self.groups.of(request.group_name), request.link_name)
        if not request.waypoints:
            raise RequestRefused(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, "there are no waypoints; give at least one")
        velocity, acceleration = self.scalings(request)
        with refused_as(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS):
            step = _positive(request.max_step, POSITION_STEP, "max_step")
            header = request.header
            T = group.T_base_frame(header.frame_id, start, to_nanoseconds(header.stamp))
            poses = np.stack([T @ pose_of(pose) for pose in request.waypoints])
            if not np.isfinite(poses).all():
                raise RequestRefused(MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, "a waypoint has a position that is NaN")
            tips = group.tip_poses(request.link_name, poses)
        kept = read_constraints(request.path_constraints, group, start, MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS)
        options: dict[str, Any] = {
            # Without collision checks the arm must still not hit itself.
            "snapshot": world if request.avoid_collisions else WorldSnapshot(),
            "position_step": min(step, POSITION_STEP),
            "timeout": self.requests.defaults.timeout,
            "padding": self.requests.defaults.padding,
            "velocity_scaling": velocity,
            "acceleration_scaling": acceleration,
            "cancel": cancel,
        }
        result = motion.straight_tip_motion(group.checker, start, tips, **options)
        fraction, text, path = (1.0 if result.success else result.fraction), result.message, result.path
        if not kept.empty and len(path):
            rows = path if result.trajectory is None else result.trajectory.positions
            met = kept.met(group, rows)
            if not met[0]:
                code = MoveItErrorCodes.START_STATE_VIOLATES_PATH_CONSTRAINTS
                raise RequestRefused(code, "the start does not meet the path constraints")
            if not met.all():
                share = float(np.argmin(met)) / len(rows)
                text = f"the path constraints are not met from {100.0 * share * fraction:.0f} % on"
                fraction, path, result = (
                    share * fraction,
                    rows[: int(np.argmin(met))],
                    PlanResult(PlanStatus.NO_PATH, text),
                )
        if not result.success and len(path) > 1 and fraction > 0.0:
            passed = _passed(kinematics.forward(group.chain, path), tips)
            result = motion.straight_tip_motion(group.checker, start, passed, **options)
        response = GetCartesianPath.Response(start_state=group.state(start))
        response.solution = self.trajectory(result, group)
        response.fraction = fraction if result.trajectory is not None else 0.0
        whole = response.fraction > 0.0
        response.error_code = (
            error_code(MoveItErrorCodes.SUCCESS, text) if whole else code_of_status(result.status, text)
        )
        return response

    def scalings(self, request: Any) -> tuple[float, float]:
        """Shares of the velocity and acceleration limits; MoveIt takes 1 for more than that, and 0 for the default."""
        defaults = self.requests.defaults
        velocity = _positive(request.max_velocity_scaling_factor, defaults.velocity_scaling, "velocity scaling")
        acceleration = _positive(
            request.max_acceleration_scaling_factor, defaults.acceleration_scaling, "acceleration scaling"
        )
        if request.max_cartesian_speed > 0.0 or math.isnan(request.max_cartesian_speed):
            raise RequestRefused(
                MoveItErrorCodes.INVALID_MOTION_PLAN,
                "max_cartesian_speed is not supported; leave it at 0 and lower max_velocity_scaling_factor",
            )
        return min(velocity, 1.0), min(acceleration, 1.0)


def planner_of(planner_id: str) -> Planner | None:
    """The planner of an id; None for a straight motion of the tip. Others of MoveIt's get the default."""
    name = planner_id.lower().replace("geometric::", "").replace("kconfigdefault", "").replace("_", "")
    if name == LINE:
        return None
    return PLANNERS.get(name, Planner.RRT_CONNECT)


def _positive(value: float, default: float, name: str) -> float:
    """A number above 0; the default for 0.

    Raises:
        RequestRefused: It is negative or not finite.
    """
    if value == 0.0:
        return default
    if not (0.0 < value < math.inf):
        raise RequestRefused(MoveItErrorCodes.INVALID_MOTION_PLAN, f"{name} is {value}; give a number above 0, or 0")
    return value


def _pose_of_goal(goal: motion.Goal) -> Array:
    if not isinstance(goal, PoseGoal):
        raise RequestRefused(
            MoveItErrorCodes.INVALID_GOAL_CONSTRAINTS, "a straight motion needs position and orientation of the tip"
        )
    return np.asarray(goal.T_base_tip)


def _passed(tips: Array, waypoints: Array) -> Array:
    """The waypoints that a path of the tip came through, in order, and its last pose, shape (poses, 4, 4)."""
    passed, begin = [], 0
    for T in waypoints:
        away = np.linalg.norm(tips[begin:, :3, 3] - T[:3, 3], axis=1)
        if not len(away) or away.min() > AT_WAYPOINT:
            break
        passed.append(T)
        begin += int(np.argmin(away))
    if not passed or np.abs(passed[-1] - tips[-1]).max() > AT_WAYPOINT:
        passed.append(tips[-1])
    return np.stack(passed)
