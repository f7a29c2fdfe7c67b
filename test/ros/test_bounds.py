"""Messages that are too large: refused with a sentence, and the node continues."""

from __future__ import annotations

import pytest
from geometry_msgs.msg import Point32, PoseStamped
from manipapy_msgs.action import PlanMotion
from manipapy_msgs.srv import ChangeWorld, ComputeFK
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from manipapy_core.control import GoalRefused
from manipapy_ros.common.bounds import MAX_MESSAGES, MAX_NAMES, MAX_POINTS, MAX_TEXT, TooLarge, check_size
from manipapy_ros.controller.trajectory_messages import MAX_TRAJECTORY, trajectory_from_message
from ros_arm import HOME, JOINTS, bring_up


def many_poses() -> PlanMotion.Goal:
    goal = PlanMotion.Goal()
    goal.request.poses = [PoseStamped()] * (MAX_MESSAGES + 1)
    return goal


def many_points() -> ChangeWorld.Request:
    request = ChangeWorld.Request()
    request.object.points = [Point32()] * (MAX_POINTS + 1)
    return request


def long_name() -> ChangeWorld.Request:
    request = ChangeWorld.Request()
    request.object.id = "x" * (MAX_TEXT + 1)
    return request


CASES = {
    "link_names": lambda: ComputeFK.Request(link_names=["tool0"] * (MAX_NAMES + 1)),
    "link_names has": lambda: ComputeFK.Request(link_names=["x" * (MAX_TEXT + 1)]),
    "joint_state.name": lambda: ComputeFK.Request(joint_state=JointState(name=["a"] * (MAX_NAMES + 1))),
    "request.poses": many_poses,
    "object.points": many_points,
    "object.id": long_name,
}


@pytest.mark.parametrize("field", CASES)
def test_too_large_fields_are_named_with_their_bound(field):
    with pytest.raises(TooLarge, match=f"^{field}.* at most"):
        check_size(CASES[field]())


def test_usual_sizes_pass():
    request = ChangeWorld.Request(touch_links=["tool0"])
    request.object.points = [Point32()] * 1000
    request.object.dimensions = [1.0, 2.0]
    check_size(request)
    check_size(ComputeFK.Request(link_names=["tool0"] * MAX_NAMES))


def test_a_trajectory_of_too_many_points_is_refused():
    message = JointTrajectory(joint_names=["a"], points=[JointTrajectoryPoint(positions=[0.0])] * (MAX_TRAJECTORY + 1))
    with pytest.raises(GoalRefused, match="at most"):
        trajectory_from_message(message, None)


def test_a_hundred_thousand_names_are_refused_and_the_next_request_is_answered(start, peer):
    node = start("model_server", namespace="/bounds")
    bring_up(peer, node)
    state = JointState(name=list(JOINTS), position=HOME.tolist())
    answer = peer.call(
        ComputeFK, node, "compute_fk", ComputeFK.Request(joint_state=state, link_names=["tool0"] * 10**5)
    )
    assert not answer.success and "link_names has 100000 entries, at most 1000" in answer.message
    assert peer.call(ComputeFK, node, "compute_fk", ComputeFK.Request(joint_state=state)).success
