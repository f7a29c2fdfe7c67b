"""MoveIt's two actions: move_action plans and moves, execute_trajectory moves along a given trajectory."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from moveit_msgs.action import ExecuteTrajectory, MoveGroup
from moveit_msgs.msg import MoveItErrorCodes
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage

from manipapy_core.errors import InputError, ManipapyError
from manipapy_core.motion import PlanPhase, PlanResult, PlanStatus
from manipapy_core.trajectory import JointTrajectory
from manipapy_core.typing import Array

from ...client.session import GivenUp
from ...common.bounds import check_size
from ...common.conversions import to_seconds
from ..execution import MotionOutcome, PlannedMotion
from ..goal_threads import TOO_MANY, GoalThreads
from .error_codes import RequestRefused, code_of_error, code_of_plan, code_of_status, error_code, refused_as
from .grippers import GripperGroup, GripperGroups
from .group import PlanningGroup, PlanningGroups
from .planning import MotionRequests

BUSY = "another motion is active; cancel it, or wait for its end"


class MoveGroupActions:
    """Runs the goals of both actions, each on a thread of its own.

    Args:
        node: Whose actions they are.
        groups: The arms.
        grippers: The grippers.
        requests: Reads and answers planning requests.
        motion: Executes plans.
        require_active: Raises unless goals are accepted.
        show: Called with every plan that was found, where it begins [rad or m], shape (n,), and its group.
        log: Writes a warning.
    """

    def __init__(
        self,
        node: Node,
        groups: PlanningGroups,
        grippers: GripperGroups,
        requests: MotionRequests,
        motion: PlannedMotion,
        require_active: Callable[[], None],
        show: Callable[[PlanResult, Array, PlanningGroup], None],
        log: Callable[[str], object],
    ):
        self._groups, self._grippers, self._requests, self._motion = groups, grippers, requests, motion
        self._require_active, self._show, self._log = require_active, show, log
        self._threads = GoalThreads(node, "move_group")
        self._servers = {
            kind: self._threads.server(kind, name, functools.partial(self._run, kind, work))
            for kind, name, work in (
                (MoveGroup, "move_action", self._move_group),
                (ExecuteTrajectory, "execute_trajectory", self._execute),
            )
        }

    def destroy(self) -> None:
        """End every goal and remove the actions."""
        self.stop(wait=True)
        for server in self._servers.values():
            server.destroy()

    def stop(self, *, wait: bool = False) -> None:
        """Bring the arm to rest and end all goals."""
        self._threads.cancel(wait=wait)

    # On the threads.

    def _run(
        self,
        kind: Any,
        work: Callable[[ServerGoalHandle, Any, threading.Event], PlanStatus | None],
        handle: ServerGoalHandle,
        cancel: threading.Event,
    ) -> None:
        result, status = kind.Result(), None
        try:
            self._require_active()
            if self._threads.too_many:
                raise RequestRefused(MoveItErrorCodes.CONTROL_FAILED, TOO_MANY)
            check_size(handle.request)
            status = work(handle, result, cancel)
        except GivenUp as error:
            status = PlanStatus.CANCELLED if cancel.is_set() else None
            result.error_code = code_of_error(error)
        except ManipapyError as error:
            result.error_code = code_of_error(error)
        if status is not PlanStatus.SUCCESS:
            self._log(result.error_code.message)
        self._servers[kind].finish(
            handle, result, succeeded=status is PlanStatus.SUCCESS, cancelled=status is PlanStatus.CANCELLED
        )

    def _move_group(self, handle: ServerGoalHandle, result: Any, cancel: threading.Event) -> PlanStatus | None:
        request, options = handle.request.request, handle.request.planning_options
        _require_no_scene(options.planning_scene_diff)
        gripper = self._grippers.of(request.group_name)
        if gripper is not None:
            return self._move_gripper(handle, result, cancel, gripper)
        group = self._groups.of(request.group_name)
        q_now = self._motion.positions(cancel)
        world = self._motion.snapshot()
        start = group.positions(request.start_state, lambda: q_now, world)
        bound = self._requests.bound(request, start)
        if options.plan_only:
            plan = bound.plan(start, world, cancel, _state(handle, MoveGroup, "PLANNING"))
            self._fill(result, plan, start, group)
            return plan.status
        away = float(np.abs(start - q_now).max())
        if away > 0.1:
            raise RequestRefused(
                MoveItErrorCodes.START_STATE_INVALID,
                f"the start state is {away:.3g} away from where the arm is; leave start_state empty to move",
            )
        with _OneMotion(self._motion):
            outcome = self._motion.execute(
                bound, options.replan_attempts + 1 if options.replan else 0, cancel, _feedback(handle, MoveGroup)
            )
        if outcome.plan is not None:
            self._fill(result, outcome.plan, q_now, group)
        result.error_code = code_of_status(outcome.status, outcome.text)
        return outcome.status

    def _move_gripper(
        self, handle: ServerGoalHandle, result: Any, cancel: threading.Event, gripper: GripperGroup
    ) -> PlanStatus:
        request = handle.request.request
        response = gripper.plan(request, self._motion.state(cancel), self._requests.scalings(request)[0])
        result.error_code, result.trajectory_start = response.error_code, response.trajectory_start
        result.planned_trajectory = response.trajectory
        if not handle.request.planning_options.plan_only:
            position = gripper.last_position(response.trajectory.joint_trajectory)
            return self._close(gripper, position, result, cancel)
        return PlanStatus.SUCCESS

    def _close(self, gripper: GripperGroup, position: float, result: Any, cancel: threading.Event) -> PlanStatus:
        text = gripper.execute(position, cancel)
        status = PlanStatus.CANCELLED if cancel.is_set() else PlanStatus.SUCCESS
        result.error_code = code_of_status(status, text)
        return status

    def _fill(self, result: Any, plan: PlanResult, start: Array, group: PlanningGroup) -> None:
        result.error_code = code_of_plan(plan)
        result.trajectory_start = group.state(start)
        result.planned_trajectory = self._requests.trajectory(plan, group)
        result.planning_time = plan.timings.total
        if plan.success:
            self._show(plan, start, group)

    def _execute(self, handle: ServerGoalHandle, result: Any, cancel: threading.Event) -> PlanStatus | None:
        message = handle.request.trajectory.joint_trajectory
        gripper = self._grippers.with_joints(message.joint_names)
        with refused_as(MoveItErrorCodes.INVALID_MOTION_PLAN):
            if gripper is not None:
                return self._close(gripper, gripper.last_position(message), result, cancel)
            group = self._groups.with_joints(message.joint_names)
            trajectory = with_others_held(trajectory_of(message, group.joints), group, self._motion.positions(cancel))
            with _OneMotion(self._motion):
                outcome: MotionOutcome = self._motion.follow(trajectory, cancel, _feedback(handle, ExecuteTrajectory))
        if outcome.status is None:
            changed = MoveItErrorCodes.MOTION_PLAN_INVALIDATED_BY_ENVIRONMENT_CHANGE
            result.error_code = error_code(changed, outcome.text)
        else:
            result.error_code = code_of_status(outcome.status, outcome.text)
        return outcome.status


class _OneMotion:
    """The arm makes one motion at a time."""

    def __init__(self, motion: PlannedMotion):
        self._moving = motion.moving

    def __enter__(self) -> None:
        if not self._moving.acquire(blocking=False):
            raise RequestRefused(MoveItErrorCodes.CONTROL_FAILED, BUSY)

    def __exit__(self, *_: object) -> None:
        self._moving.release()


def trajectory_of(message: TrajectoryMessage, joint_names: tuple[str, ...]) -> JointTrajectory:
    """A trajectory in the order of the arm's joints.

    Raises:
        InputError: Joints, points or times that do not fit.
    """
    names = list(message.joint_names)
    if sorted(names) != sorted(joint_names):
        raise InputError(
            f"the trajectory is for {', '.join(names) or 'no joints'}; the arm has {', '.join(joint_names)}"
        )
    if not message.points:
        raise InputError("the trajectory has no points; plan again")
    columns = [names.index(name) for name in joint_names]
    tables: list[Array | None] = []
    for field in ("positions", "velocities", "accelerations"):
        rows = [list(getattr(point, field)) for point in message.points]
        if field != "positions" and not any(rows):
            tables.append(None)
            continue
        if any(len(row) != len(names) for row in rows):
            raise InputError(f"a point of the trajectory has {field} for some joints only; give {len(names)} in each")
        table = np.array(rows, dtype=np.float64)
        if not np.isfinite(table).all():
            raise InputError(f"the {field} of the trajectory are not all finite")
        tables.append(table[:, columns])
    times = [to_seconds(point.time_from_start) for point in message.points]
    if times[0] < 0.0 or any(after <= before for before, after in itertools.pairwise(times)):
        raise InputError("the times of the trajectory do not increase")
    positions = tables[0]
    assert positions is not None
    return JointTrajectory(times, positions, tables[1], tables[2], joint_names=joint_names)


def with_others_held(trajectory: JointTrajectory, group: PlanningGroup, q: Array) -> JointTrajectory:
    """A trajectory of a group for all joints that the planner moves; the others stay at q [rad or m], shape (n,)."""
    if group.moved is None:
        return trajectory
    rows = len(trajectory.times)

    def filled(table: Array | None, others: Array) -> Array | None:
        if table is None:
            return None
        whole = np.tile(others, (rows, 1))
        whole[:, group.columns] = table
        return whole

    still, names = np.zeros(group.chain.n), group.chain.joint_names
    positions = filled(trajectory.positions, q)
    velocities, accelerations = filled(trajectory.velocities, still), filled(trajectory.accelerations, still)
    assert positions is not None
    return JointTrajectory(trajectory.times, positions, velocities, accelerations, joint_names=names)


def _state(handle: ServerGoalHandle, kind: Any, text: str) -> Callable[[PlanPhase, float], None]:
    handle.publish_feedback(kind.Feedback(state=text))
    return lambda _, __: None


def _feedback(handle: ServerGoalHandle, kind: Any) -> Callable[[str, float, int], None]:
    """MoveIt names the part that works: PLANNING or MONITOR."""
    last = ""

    def publish(phase: str, _: float, __: int) -> None:
        nonlocal last
        text = "MONITOR" if phase in ("moving", "stopping", "waiting") else "PLANNING"
        if text != last:
            last = text
            handle.publish_feedback(kind.Feedback(state=text))

    return publish


def _require_no_scene(scene: Any) -> None:
    """Refuse objects for one plan alone."""
    if (
        scene.world.collision_objects
        or scene.robot_state.attached_collision_objects
        or scene.world.octomap.octomap.data
    ):
        raise RequestRefused(
            MoveItErrorCodes.INVALID_MOTION_PLAN,
            "planning_scene_diff has objects, but they cannot be for one plan alone; use apply_planning_scene before",
        )
