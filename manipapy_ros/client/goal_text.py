"""Motion requests from the command line, and plans as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from manipapy_msgs.action import PlanMotion
from manipapy_msgs.msg import MotionRequest
from sensor_msgs.msg import JointState

from manipapy_core.errors import InputError
from manipapy_core.model import Chain

from ..common.conversions import to_seconds


def motion_request(
    ask_chain: Callable[[], Chain],
    values: Sequence[float],
    joints: bool,
    pose: bool,
    named: str,
    straight: bool,
    speed: float,
    planner: str = "",
) -> MotionRequest:
    """The request of a command; exactly one of `joints`, `pose` and `named` says what the numbers are.

    Args:
        ask_chain: Returns the arm, if its joints are needed.
        speed: Share of the velocity and acceleration limits, above 0 to 1.

    Raises:
        InputError: Options that contradict each other, or the wrong count of numbers.
    """
    if joints + pose + bool(named) != 1:
        raise InputError("give a goal: --joints and positions, --pose x y z qx qy qz qw, or --named and a name")
    if straight and not pose:
        raise InputError("--straight needs a pose; give one with --pose")
    if not 0.0 < speed <= 1.0:
        raise InputError(f"speed is {speed!r}; give a share of full speed above 0, at most 1")
    request = MotionRequest(velocity_scaling=speed, acceleration_scaling=speed, planner=planner)
    if named:
        request.kind, request.named = MotionRequest.NAMED, named
    elif joints:
        chain = ask_chain()
        if len(values) != chain.n:
            raise InputError(f"{len(values)} joint positions for {chain.n} joints: {', '.join(chain.joint_names)}")
        request.kind = MotionRequest.JOINTS
        request.joints = JointState(name=list(chain.joint_names), position=list(values))
    else:
        request.kind = MotionRequest.STRAIGHT if straight else MotionRequest.POSE
        request.pose = _pose(values)
    return request


def plan_data(result: PlanMotion.Result) -> dict[str, Any]:
    """A plan as data: times [s], path length [rad or m], and the points of the trajectory."""
    points = result.trajectory.points
    return {
        "text": result.text,
        "duration": to_seconds(points[-1].time_from_start) if points else None,
        "path_length": result.path_length,
        "planning_time": result.time_total,
        "joint_names": list(result.trajectory.joint_names),
        "times": [to_seconds(point.time_from_start) for point in points],
        "positions": [list(point.positions) for point in points],
    }


def plan_text(result: PlanMotion.Result) -> str:
    """A plan in two lines."""
    if not result.trajectory.points:
        return result.text
    times = (
        ("goals", result.time_goals),
        ("search", result.time_search),
        ("smoothing", result.time_smoothing),
        ("time law", result.time_law),
        ("verification", result.time_verification),
    )
    spent = ", ".join(f"{name} {1e3 * value:.1f} ms" for name, value in times)
    duration = to_seconds(result.trajectory.points[-1].time_from_start)
    return (
        f"a motion of {duration:.2f} s over {result.path_length:.2f} rad or m, {len(result.trajectory.points)} points\n"
        f"planned in {1e3 * result.time_total:.1f} ms: {spent}"
    )


def _pose(values: Sequence[float]) -> PoseStamped:
    if len(values) != 7:
        raise InputError(f"--pose takes seven numbers, x y z qx qy qz qw; got {len(values)}")
    length = float(np.linalg.norm(values[3:]))
    if not 0.9 < length < 1.1:
        raise InputError(f"qx qy qz qw has length {length:.3f}; a rotation has length 1")
    message = PoseStamped()
    position, orientation = message.pose.position, message.pose.orientation
    position.x, position.y, position.z = values[:3]
    orientation.x, orientation.y, orientation.z, orientation.w = (value / length for value in values[3:])
    return message
