"""Motion requests: from message to plan, and the plan back to a message."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from geometry_msgs.msg import PoseStamped, Vector3
from manipapy_msgs.action import PlanMotion
from manipapy_msgs.msg import MotionRequest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage

from manipapy_core import motion
from manipapy_core.errors import InputError
from manipapy_core.geometry import Checker, WorldSnapshot
from manipapy_core.motion import Goal, JointGoal, NamedGoal, PlanResult, PoseGoal, RegionGoal, TipsGoal
from manipapy_core.motion.deadline import Cancel, Progress
from manipapy_core.trajectory import JointTrajectory
from manipapy_core.typing import Array

from ..common.conversions import duration_message, matrix_from_pose, positions_by_name
from ..common.robot_loader import LoadedRobot
from ..controller.trajectory_messages import point

Named = TypeVar("Named", bound=enum.Enum)
FAILURE = 99999
"""FAILURE of moveit_msgs/MoveItErrorCodes: a cause without a code of its own."""


@dataclass(frozen=True)
class Defaults:
    """Values for fields that a request leaves at zero."""

    timeout: float
    """[s]"""
    velocity_scaling: float
    acceleration_scaling: float
    padding: float
    """[m]"""


@dataclass(frozen=True, eq=False)
class BoundRequest:
    """A request that can be planned from any start and in any world, again and again."""

    plan: Callable[[Array, WorldSnapshot, Cancel, Progress], PlanResult]
    """Called with the joint positions at the start [rad or m], shape (n,)."""
    allow: Callable[[WorldSnapshot], WorldSnapshot] = lambda world: world
    """The world with the contacts that the request allows."""


@dataclass(eq=False)
class Requests:
    """Plans requests for one arm.

    Thread-safe: every plan is made in a snapshot of the world.
    """

    model: LoadedRobot
    checker: Checker
    defaults: Defaults
    named: Mapping[str, Array]
    """Joint positions by name [rad or m], shape (n,)."""

    def plan(
        self, request: MotionRequest, q_now: Array, snapshot: WorldSnapshot, cancel: Cancel, progress: Progress
    ) -> PlanResult:
        """Plan the motion of a request.

        Args:
            q_now: Current joint positions [rad or m], shape (n,).

        Raises:
            InputError: An invalid request.
        """
        start = self._with_named(request.start, q_now, "start") if request.start.name else q_now
        snapshot = self.with_allowed_contacts(snapshot, request)
        timeout = request.timeout or self.defaults.timeout
        velocity = request.velocity_scaling or self.defaults.velocity_scaling
        acceleration = request.acceleration_scaling or self.defaults.acceleration_scaling
        padding = max(request.padding, 0.0) if request.padding else self.defaults.padding
        law = _choice(motion.TimeLaw, request.time_law or "optimal", "time_law")
        if request.kind == MotionRequest.STRAIGHT:
            _refuse_search_options(request)
            return motion.straight_tip_motion(
                self.checker,
                start,
                self._poses(request),
                law=law,
                timeout=timeout,
                padding=padding,
                velocity_scaling=velocity,
                acceleration_scaling=acceleration,
                effort_limits=request.effort_limits,
                snapshot=snapshot,
                cancel=cancel,
                progress=progress,
            )
        return motion.plan(
            self.checker,
            start,
            self._goal(request, start),
            planner=_choice(motion.Planner, request.planner or "rrt_connect", "planner"),
            law=law,
            timeout=timeout,
            seed=request.seed,
            padding=padding,
            velocity_scaling=velocity,
            acceleration_scaling=acceleration,
            effort_limits=request.effort_limits,
            snapshot=snapshot,
            cancel=cancel,
            progress=progress,
        )

    def bound(self, request: MotionRequest) -> BoundRequest:
        """The request as it is planned before and during its execution."""
        return BoundRequest(
            functools.partial(self.plan, request), lambda world: self.with_allowed_contacts(world, request)
        )

    def whole_start(self, request: MotionRequest) -> Array | None:
        """Start of a motion [rad or m], shape (n,), if the request gives every joint; else None."""
        names = self.model.chain.joint_names
        return positions_by_name(request.start, names) if set(names) <= set(request.start.name) else None

    def _goal(self, request: MotionRequest, start: Array) -> Goal:
        if request.kind == MotionRequest.JOINTS:
            if not request.joints.name:
                raise InputError("the goal names no joints; fill in joints.name and joints.position")
            return JointGoal(self._with_named(request.joints, start, "goal"))
        if request.kind == MotionRequest.NAMED:
            return NamedGoal(request.named, dict(self.named))
        if request.kind != MotionRequest.POSE:
            raise InputError(f"kind {request.kind} does not exist; MotionRequest.msg lists those that do")
        if request.links:
            return TipsGoal(self._poses_of_links(request))
        T = self._T_base_tip(request.pose)
        position, rotation = _numbers(request.position_tolerance), _numbers(request.rotation_tolerance)
        return RegionGoal(T, position, rotation) if any((*position, *rotation)) else PoseGoal(T)

    def _poses_of_links(self, request: MotionRequest) -> dict[str, Array]:
        """T_base_link by name of the link, shape (4, 4) each."""
        links = list(request.links)
        if len(links) != len(request.poses):
            raise InputError(f"{len(links)} links and {len(request.poses)} poses for them; give one pose per link")
        if len(set(links)) != len(links):
            raise InputError(f"a link is named twice: {', '.join(links)}")
        if any((*_numbers(request.position_tolerance), *_numbers(request.rotation_tolerance))):
            raise InputError("tolerances are for the pose of the tip alone; leave them out, or name no links")
        return dict(zip(links, self._poses(request), strict=True))

    def _poses(self, request: MotionRequest) -> Array:
        stamped = list(request.poses) or [request.pose]
        frame = stamped[0].header.frame_id
        for pose in stamped[1:]:
            if pose.header.frame_id not in ("", frame):
                raise InputError(f"poses are given in {frame!r} and {pose.header.frame_id!r}; use one frame for all")
            pose.header.frame_id = frame
        return np.stack([self._T_base_tip(pose) for pose in stamped])

    def _T_base_tip(self, stamped: PoseStamped) -> Array:
        frame = stamped.header.frame_id
        T_base_frame = np.eye(4) if frame in ("", self.model.chain.base) else self.model.fixed_pose(frame)
        return T_base_frame @ matrix_from_pose(stamped.pose)

    def _with_named(self, state: JointState, others: Array, what: str) -> Array:
        """Positions with those of the joints that a message names replaced."""
        names = self.model.chain.joint_names
        unknown = [name for name in state.name if name not in names]
        if unknown:
            raise InputError(f"{what}: no joint {unknown[0]!r}; the arm has {', '.join(names)}")
        named = [name for name in names if name in set(state.name)]
        q = others.copy()
        q[[names.index(name) for name in named]] = positions_by_name(state, named)
        return q

    def with_allowed_contacts(self, snapshot: WorldSnapshot, request: MotionRequest) -> WorldSnapshot:
        """The world with the contacts that the request allows."""
        if not request.may_touch:
            return snapshot
        known = {*snapshot.objects, *snapshot.attached}
        for name in request.may_touch:
            if name not in known:
                raise InputError(f"may_touch: no object {name!r}; there are: {', '.join(sorted(known)) or 'none'}")
        bodies = (*self.model.robot.links, *snapshot.attached)
        pairs = {frozenset({body, name}) for name in request.may_touch for body in bodies if body != name}
        return replace(snapshot, allowed=snapshot.allowed | pairs)


def result_message(result: PlanResult, joint_names: tuple[str, ...]) -> PlanMotion.Result:
    """The answer of the action."""
    spent = result.timings
    message = PlanMotion.Result(
        error_code=result.status.moveit_code,
        text=result.message,
        path_length=result.length,
        fraction=result.fraction,
        time_goals=spent.goals,
        time_search=spent.search,
        time_smoothing=spent.smoothing,
        time_law=spent.time_law,
        time_verification=spent.verification,
        time_total=spent.total,
    )
    if result.trajectory is not None:
        message.trajectory = trajectory_message(result.trajectory, joint_names)
    return message


def trajectory_message(
    trajectory: JointTrajectory, joint_names: tuple[str, ...], columns: Sequence[int] | None = None
) -> TrajectoryMessage:
    """Positions, and velocities and accelerations if known, at their times.

    Args:
        columns: Of these joints in the trajectory; all if not given.
    """
    message = TrajectoryMessage(joint_names=list(joint_names))
    known: tuple[Array | None, ...] = (trajectory.positions, trajectory.velocities, trajectory.accelerations)
    if columns is not None and len(columns) < trajectory.positions.shape[1]:
        known = tuple(None if rows is None else np.ascontiguousarray(rows[:, columns]) for rows in known)
    for index, t in enumerate(trajectory.times.tolist()):
        sample = point(*(None if rows is None else rows[index] for rows in known))
        sample.time_from_start = duration_message(t)
        message.points.append(sample)
    return message


def _refuse_search_options(request: MotionRequest) -> None:
    """A straight motion follows the one line there is, to exact poses of the tip."""
    tolerances = (*_numbers(request.position_tolerance), *_numbers(request.rotation_tolerance))
    given = {
        "planner": bool(request.planner),
        "seed": request.seed != 0,
        "links": bool(request.links),
        "tolerances": any(tolerances),
    }
    for option in (name for name, is_given in given.items() if is_given):
        raise InputError(f"kind STRAIGHT has no use for {option}; leave it out, or use kind POSE")


def _choice(kind: type[Named], text: str, what: str) -> Named:
    by_name = {member.name.lower(): member for member in kind}
    wanted = text.lower().replace(" ", "_").replace("-", "_")
    if wanted not in by_name:
        raise InputError(f"{what} {text!r} does not exist; choose one of {', '.join(by_name)}")
    return by_name[wanted]


def _numbers(vector: Vector3) -> tuple[float, float, float]:
    return vector.x, vector.y, vector.z
