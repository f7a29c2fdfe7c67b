"""Grippers of a simulated robot behind the action of ros2_control's gripper_action_controller.

Each gripper has an action `<group>_action_controller/gripper_cmd` (control_msgs/GripperCommand), where `group` is its
group in the SRDF: `gripper` for a robot with one arm. The position is for every joint of the gripper that moves on its
own; mimic joints follow. Fingers that push against an object do not move: the goal then ends without success,
`stalled`, and they continue to push with at most the effort of the goal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from control_msgs.action import GripperCommand
from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle

from manipapy_core.errors import InputError, ManipapyError
from manipapy_core.model.arms import Gripper, find_arms
from manipapy_core.model.srdf import gripper_group
from manipapy_core.sim import DriveMode, SimRobot

from ..common.deferred_action import DeferredActionServer, not_used
from ..common.names import gripper_action
from ..common.node import ManagedNode

PERIOD = 0.05
"""Between two checks of an active goal [s]."""
REACHED = 0.02
"""Share of the travel within which a gripper has reached its goal."""
STALL_VELOCITY = 1e-3
"""Below this a joint does not move [rad/s or m/s]."""
STALL_TIME = 0.5
"""A gripper that has not moved for this long is stalled [s of simulated time]."""
KEEP_RESULTS = 120
"""How long results are kept for clients [s]."""


@dataclass(eq=False)
class _ActiveGoal:
    handle: ServerGoalHandle
    position: float
    """[rad or m]"""
    moved_at: float
    """When a joint moved last [s of simulated time]."""


class GripperAction:
    """The action of one gripper.

    Args:
        node: Owner of the action.
        robot: Whose fingers it moves.
        gripper: Which of its joints are the fingers.
        name: Of the action.
        time: Simulated time [s].
    """

    def __init__(self, node: ManagedNode, robot: SimRobot, gripper: Gripper, name: str, time: Callable[[], float]):
        self._node, self._robot, self._time = node, robot, time
        self.joints = gripper.joints
        self._columns = [robot.joint_names.index(joint) for joint in gripper.joints]
        limits = robot.chain.limits
        self._lower = float(limits.lower[self._columns].max())
        self._upper = float(limits.upper[self._columns].min())
        self._effort = float(limits.effort[self._columns].min())
        self._tolerance = REACHED * (self._upper - self._lower) if np.isfinite(self._upper - self._lower) else 0.01
        self._active: _ActiveGoal | None = None
        self.name = node.resolve_topic_name(name)
        self._server = DeferredActionServer(
            node,
            GripperCommand,
            name,
            execute_callback=not_used,
            goal_callback=lambda _: GoalResponse.ACCEPT,
            handle_accepted_callback=self._on_goal,
            cancel_callback=self._on_cancel,
            result_timeout=KEEP_RESULTS,
        )

    def destroy(self) -> None:
        """End the goal and remove the action."""
        self.abandon()
        self._server.destroy()

    def abandon(self) -> None:
        """End the goal without success."""
        if self._active is not None:
            self._end(succeeded=False)

    def update(self) -> None:
        """Send feedback of the active goal, and its result when it has ended; called by a timer."""
        goal = self._active
        if goal is None:
            return
        q, qd, _ = self._measured()
        if np.abs(qd).max() > STALL_VELOCITY:
            goal.moved_at = self._time()
        reached = bool(np.abs(q - goal.position).max() <= self._tolerance)
        stalled = self._time() - goal.moved_at > STALL_TIME
        if goal.handle.is_cancel_requested:
            self._robot.hold(self.joints)
            self._end(succeeded=False, cancelled=True)
        elif reached and np.abs(qd).max() <= 10.0 * STALL_VELOCITY:
            self._end(succeeded=True)
        elif stalled:
            self._node.get_logger().info(f"{self.name}: stalled at {q[0]:.4f}, {goal.position:.4f} was commanded")
            self._end(succeeded=False)
        else:
            self._fill(feedback := GripperCommand.Feedback(), stalled=stalled, reached=reached)
            goal.handle.publish_feedback(feedback)

    def _on_goal(self, handle: ServerGoalHandle) -> None:
        handle.execute()
        try:
            self._node.require_active()
            position, effort = self._checked(handle.request.command)
            self.abandon()
            self._robot.limit_effort(self.joints, effort)
            self._robot.command(DriveMode.POSITION, [position] * len(self.joints), self.joints)
        except ManipapyError as error:
            self._node.get_logger().warning(f"{self.name}: {error}")
            self._fill(result := GripperCommand.Result(), stalled=False, reached=False)
            self._server.finish(handle, result, succeeded=False)
            return
        self._active = _ActiveGoal(handle, position, self._time())

    def _checked(self, command: GripperCommand.Goal) -> tuple[float, float]:
        """Position [rad or m] and largest effort [N m or N] of a command.

        Raises:
            InputError: They make no sense.
        """
        position, effort = float(command.position), float(command.max_effort)
        if not math.isfinite(position):
            raise InputError(f"the position is {position}; give a finite number")
        if not self._lower - self._tolerance <= position <= self._upper + self._tolerance:
            raise InputError(f"position {position:g} is outside the travel of {self._lower:g} to {self._upper:g}")
        if not effort >= 0.0:
            raise InputError(f"max_effort is {effort}; give a number above 0, or 0 for the limit of the gripper")
        return min(max(position, self._lower), self._upper), effort or math.inf

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        active = self._active is not None and self._active.handle is handle
        return CancelResponse.ACCEPT if active else CancelResponse.REJECT

    def _measured(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        state = self._robot.state()
        return state.q[self._columns], state.qd[self._columns], state.effort[self._columns]

    def _fill(self, message: GripperCommand.Result | GripperCommand.Feedback, *, stalled: bool, reached: bool) -> None:
        q, _, effort = self._measured()
        message.position, message.effort = float(q[0]), float(np.abs(effort).max())
        message.stalled, message.reached_goal = stalled, reached

    def _end(self, *, succeeded: bool, cancelled: bool = False) -> None:
        goal, self._active = self._active, None
        assert goal is not None
        stalled = self._time() - goal.moved_at > STALL_TIME and not succeeded
        self._fill(result := GripperCommand.Result(), stalled=stalled, reached=succeeded)
        self._server.finish(goal.handle, result, succeeded=succeeded, cancelled=cancelled)


def gripper_actions(
    node: ManagedNode, robot: SimRobot, commanded: Sequence[str], time: Callable[[], float]
) -> list[GripperAction]:
    """An action for every gripper of a robot.

    Args:
        commanded: Joints that a controller commands: a gripper with one of them has no action.
    """
    found = {gripper_group(arm): arm.gripper for arm in find_arms(robot.robot) if arm.gripper is not None}
    return [
        GripperAction(node, robot, gripper, gripper_action(group), time)
        for group, gripper in found.items()
        if set(gripper.joints).isdisjoint(commanded)
    ]
