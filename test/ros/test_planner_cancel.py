"""A motion cancelled in every one of its phases, and a planner that dies: the arm is seen at rest each time."""

from __future__ import annotations

import signal
from collections.abc import Callable

import numpy as np
import pytest
from control_msgs.action import FollowJointTrajectory
from diagnostic_msgs.msg import KeyValue
from lifecycle_msgs.msg import Transition
from manipapy_msgs.action import Move, PlanMotion

from manipapy_core import kinematics
from manipapy_ros.common.heartbeat import HEARTBEAT_QOS
from ros_arm import ABORTED, CANCELED, SUCCEEDED, Arm, bring_up
from ros_planner import LEFT, RIGHT, PlannedArm, Request, move, to, to_pose

THINGS = 3000
"""Of a world in which every phase of planning takes long enough to be met by a message."""
TRIES = 12
"""Cancels that may come too late for their phase."""


@pytest.fixture(scope="module")
def shared(start_for_module, peer):
    # Sooner than a simulation usually would: the motions here are short.
    arm = Arm(peer, start_for_module, controller=("-p", "guard.heartbeat_timeout:=1.0"))
    return PlannedArm(peer, start_for_module, arm=arm)


@pytest.fixture(scope="module")
def crowded(start_for_module, peer, shared, tmp_path_factory):
    """The same arm with a second planner, whose world is full of objects out of reach."""
    rng = np.random.default_rng(0)
    angles, heights = rng.uniform(-np.pi, np.pi, THINGS), rng.uniform(0.0, 1.0, THINGS)
    crates = [
        f"  - {{name: crate{number}, type: box, size: [0.05, 0.05, 0.05], "
        f"xyz: [{1.3 * np.cos(angle):.4f}, {1.3 * np.sin(angle):.4f}, {height:.4f}]}}"
        for number, (angle, height) in enumerate(zip(angles, heights, strict=True))
    ]
    scene = tmp_path_factory.mktemp("scenes") / "crowded.yaml"
    scene.write_text("\n".join(["objects:", *crates]) + "\n")
    planned = PlannedArm(peer, start_for_module, arm=shared.arm, namespace="/crowded", scene=str(scene))
    planned.add_pillar()
    return planned


class Story:
    """What a motion tells about itself."""

    def __init__(self, peer):
        self._peer = peer
        self.told: list[Move.Feedback] = []

    def __call__(self, message) -> None:
        self.told.append(message.feedback)

    def wait_for(self, condition: Callable[[Move.Feedback], bool], what: str) -> None:
        self._peer.wait_for(lambda: any(condition(feedback) for feedback in self.told), what)


def assert_cancelled_at_rest(planned: PlannedArm, handle) -> str:
    """The text of the result."""
    status, result = planned.arm.outcome(handle)
    assert (status, result.error_code) == (CANCELED, -7), result.text
    planned.states.assert_still()
    return result.text


def go_right(planned: PlannedArm) -> None:
    planned.change(Request.DETACH)
    assert planned.change(Request.CLEAR).success
    status, result = planned.execute(move(RIGHT))
    assert status == SUCCEEDED, result.text


@pytest.mark.parametrize("phase", ["search", "time law", "verification", "goals"])
def test_cancel_in_every_phase_of_planning(shared, crowded, phase):
    """Slow motions have many samples, which makes the last two phases long, too.

    Smoothing takes a fifth of a millisecond: no message meets it; test_plan.py cancels it in the library.
    """
    go_right(shared)
    goal = kinematics.forward(crowded.chain, LEFT)
    before, told = crowded.states.q(), []
    for number in range(TRIES):
        if phase == "goals":
            # Whatever changes the world makes the planner look at all of it again, which takes a second.
            crowded.add_pillar(at=[0.55, 0.111 + 0.001 * number, 0.45])
        request = to_pose(goal, velocity_scaling=0.001, acceleration_scaling=0.001, timeout=60.0, seed=number)
        request.planner = "optimal" if phase == "search" else ""
        story = Story(crowded.peer)
        handle = crowded.send(Move.Goal(request=request), story)
        # rclpy drops feedback that arrives before the answer to the goal: then the arm moves, slowly.
        story.wait_for(lambda feedback: feedback.phase in (phase, "moving"), f"the phase {phase}")
        crowded.arm.cancel(handle)
        told.append(assert_cancelled_at_rest(crowded, handle))
        np.testing.assert_allclose(crowded.states.q(), before, atol=2e-3)
        if repr(phase) in told[-1]:
            return
    pytest.fail(f"no cancel came in the phase {phase!r}: {told}")


def test_cancel_while_waiting_for_the_controller(shared):
    go_right(shared)
    controller, peer = shared.arm.controller, shared.peer
    for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP):
        assert peer.transition(controller, transition)
    try:
        story = Story(peer)
        handle = shared.send(move(LEFT), story)
        story.wait_for(lambda feedback: feedback.phase == "waiting", "the planner to wait")
        shared.arm.cancel(handle)
        text = assert_cancelled_at_rest(shared, handle)
        assert "waiting" in text
        assert "moving" not in {feedback.phase for feedback in story.told}
    finally:
        bring_up(peer, controller)
        shared.arm.status(lambda status: status.seeded)


def test_cancel_while_moving(shared):
    go_right(shared)
    handle = shared.send(move(LEFT, velocity_scaling=0.3))
    shared.states.wait_until_moving()
    shared.arm.cancel(handle)
    assert_cancelled_at_rest(shared, handle)
    assert RIGHT[0] < shared.states.q()[0] < LEFT[0] - 0.1


def test_cancel_while_another_way_is_sought(shared):
    """The planner that is asked for uses all of its time, so that the second search lasts."""
    go_right(shared)
    story = Story(shared.peer)
    handle = shared.send(move(LEFT, velocity_scaling=0.3, planner="optimal", timeout=4.0), story)
    shared.states.wait_until(lambda state: state.position[0] > RIGHT[0] + 0.15, "the arm to be on its way")
    shared.add_pillar()
    story.wait_for(lambda feedback: feedback.attempt == 2 and feedback.phase == "search", "the second search")
    shared.arm.cancel(handle)
    assert "'search'" in assert_cancelled_at_rest(shared, handle)
    assert not shared.checker([0.55, 0.11, 0.45]).collides(shared.states.q())


def test_cancel_of_a_plan(shared):
    handle = shared.send(PlanMotion.Goal(request=to(LEFT, planner="optimal", timeout=60.0)))
    shared.arm.cancel(handle)
    status, result = shared.arm.outcome(handle)
    assert (status, result.error_code) == (CANCELED, -7), result.text
    assert not result.trajectory.points


def test_a_planner_that_is_stuck_stops_the_arm_and_reads_why_later(shared):
    go_right(shared)
    handle = shared.send(move(LEFT, velocity_scaling=0.2))
    shared.states.wait_until_moving()
    shared.planner.process.send_signal(signal.SIGSTOP)
    try:
        shared.states.wait_until_still()
        shared.states.assert_still()
    finally:
        shared.planner.process.send_signal(signal.SIGCONT)
    assert shared.states.q()[0] < LEFT[0] - 0.1
    status, result = shared.arm.outcome(handle)
    assert status == ABORTED
    assert "/planner" in result.text and "heartbeat" in result.text


@pytest.mark.slow
def test_a_motion_that_ends_while_the_planner_is_paused_has_succeeded(shared):
    """Longer than every timeout of the planner, so that none of them may count the pause as silence.

    The pause begins so late that the arm arrives before the controller misses the heartbeats.
    """
    go_right(shared)
    handle = shared.send(move(LEFT, velocity_scaling=0.6))
    shared.states.wait_until(lambda state: state.position[0] > LEFT[0] - 0.15, "the arm to be near its goal")
    shared.planner.process.send_signal(signal.SIGSTOP)
    try:
        shared.states.wait_until_still()
        shared.peer.spin_for(7.0)
    finally:
        shared.planner.process.send_signal(signal.SIGCONT)
    status, result = shared.arm.outcome(handle)
    assert status == SUCCEEDED, result.text
    assert np.abs(shared.states.q() - LEFT).max() < 0.01


def test_a_planner_that_is_killed_does_not_leave_a_moving_arm(shared, start_for_module):
    """A goal without a monitor continues to its end, whichever node sent it."""
    go_right(shared)
    peer, arm = shared.peer, shared.arm
    beats: list[KeyValue] = []
    subscription = peer.node.create_subscription(KeyValue, "controller/watch", beats.append, HEARTBEAT_QOS)
    shared.send(move(LEFT, velocity_scaling=0.2))
    shared.states.wait_until_moving()
    peer.wait_for(lambda: bool(beats), "a heartbeat of the planner")
    shared.planner.process.kill()
    shared.states.wait_until_still()
    shared.states.assert_still()
    assert shared.states.q()[0] < LEFT[0] - 0.1
    status, result = outcome_of(arm, bytes.fromhex(beats[0].key))
    assert status == ABORTED
    assert "/planner" in result.error_string and "heartbeat" in result.error_string
    peer.node.destroy_subscription(subscription)
    status, result = arm.execute(arm.goal(RIGHT, seconds=2.0))
    assert status == SUCCEEDED, result.error_string


def outcome_of(arm: Arm, goal_id: bytes):
    """How a goal of the controller ended that another node has sent."""
    service = FollowJointTrajectory.Impl.GetResultService
    request = service.Request()
    request.goal_id.uuid = list(goal_id)
    answer = arm.peer.call(service, arm.controller, "follow_joint_trajectory/_action/get_result", request)
    return answer.status, answer.result
