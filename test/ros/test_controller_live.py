"""What may change while the controller runs: gains, law, mode, speed; and what may be asked of it meanwhile."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from control_msgs.msg import JointTrajectoryControllerState
from diagnostic_msgs.msg import DiagnosticArray
from manipapy_msgs.msg import ControllerStatus
from manipapy_msgs.srv import SetMode
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from manipapy_ros.common import qos
from ros_arm import ABORTED, HOME, JOINTS, SUCCEEDED, Arm, stamp_of

AWAY = HOME + np.array([0.5, 0.3, -0.4, 0.3, 0.2, -0.5])
TORQUE_STEP = 15.0
"""More than the shoulder's torque changes within one millisecond of any of these motions [N m]."""


@pytest.fixture(scope="module")
def shared_arm(start_for_module, peer):
    return Arm(peer, start_for_module)


@pytest.fixture
def arm(shared_arm):
    """The arm of the module, at HOME, under computed torque."""
    assert shared_arm.set(law="computed_torque", mode="effort", speed=1.0).successful
    shared_arm.go_home()
    return shared_arm


@pytest.fixture
def recorded(arm):
    """Joint states as they come, until the end of the test."""
    states: list[JointState] = []
    subscription = arm.peer.node.create_subscription(JointState, "joint_states", states.append, 1000)
    yield states
    arm.peer.node.destroy_subscription(subscription)


def largest_torque_step(states: list[JointState]) -> float:
    """Between states that follow each other directly [N m]."""
    steps = [
        np.abs(np.subtract(after.effort, before.effort)).max()
        for before, after in itertools.pairwise(states)
        if stamp_of(after) - stamp_of(before) < 0.0015
    ]
    assert len(steps) > 100
    return max(steps)


@pytest.mark.parametrize(
    "change",
    [
        {"gains__computed_torque__kp": [80.0], "gains__computed_torque__kd": [12.0]},
        {"law": "feedforward"},
        {"law": "pd_gravity"},
    ],
    ids=["gains", "feedforward", "pd_gravity"],
)
def test_changes_in_motion_do_not_jump(arm, recorded, change):
    handle = arm.send(arm.goal(AWAY, seconds=2.0))
    arm.states.wait_until_moving()
    assert arm.set(**change).successful
    status, result = arm.outcome(handle)
    assert status == SUCCEEDED, result.error_string
    now = stamp_of(arm.states.next())
    arm.peer.wait_for(lambda: stamp_of(recorded[-1]) > now, "the recording to catch up")
    assert largest_torque_step(recorded) < TORQUE_STEP
    if "law" in change:
        assert arm.status().law == change["law"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"gains__computed_torque__kp": [-1.0]}, "must be finite and zero or above"),
        ({"gains__computed_torque__kp": [float("nan")]}, "must be finite"),
        ({"gains__pd__kp": [1.0, 2.0]}, "one per joint"),
        ({"law": "magic"}, "no control law 'magic'"),
        ({"mode": "torque"}, "no mode 'torque'"),
        ({"speed": 0.0}, "range"),
    ],
    ids=["negative", "nan", "wrong length", "unknown law", "unknown mode", "no speed"],
)
def test_bad_changes_are_refused_with_the_reason(shared_arm, change, reason):
    before = shared_arm.status()
    result = shared_arm.set(**change)
    assert not result.successful
    assert reason in result.reason
    after = shared_arm.status()
    assert (after.law, after.mode) == (before.law, before.mode)
    shared_arm.states.assert_still(0.1)


def test_set_mode_changes_law_and_mode(arm):
    answer = arm.peer.call(SetMode, arm.controller, "set_mode", SetMode.Request(mode="position", law="pd"))
    assert answer.success, answer.message
    assert (answer.mode, answer.law) == ("position", "pd")
    status = arm.status()
    assert (status.mode, status.law) == ("position", "pd")
    # Slowly: the simulated servo plans a stop at every position that it gets, and so lags behind a stream of them.
    status, result = arm.execute(arm.goal(AWAY, seconds=3.0))
    assert status == SUCCEEDED, result.error_string
    arm.states.wait_until_still()
    answer = arm.peer.call(SetMode, arm.controller, "set_mode", SetMode.Request(mode="effort", law="computed_torque"))
    assert answer.success, answer.message
    arm.states.assert_still()
    assert np.abs(arm.states.q() - AWAY).max() < 0.01


def test_the_mode_does_not_change_in_motion(arm):
    handle = arm.send(arm.goal(AWAY, seconds=2.0))
    arm.states.wait_until_moving()
    answer = arm.peer.call(SetMode, arm.controller, "set_mode", SetMode.Request(mode="position"))
    assert not answer.success
    assert "hold the arm" in answer.message
    assert answer.mode == "effort"
    assert arm.outcome(handle)[0] == SUCCEEDED


def test_set_mode_names_what_there_is(shared_arm):
    answer = shared_arm.peer.call(SetMode, shared_arm.controller, "set_mode", SetMode.Request(law="magic"))
    assert not answer.success
    assert "computed_torque" in answer.message
    assert not shared_arm.peer.call(SetMode, shared_arm.controller, "set_mode", SetMode.Request()).success


def test_gravity_compensation_does_not_take_goals(arm):
    assert arm.set(law="gravity_compensation").successful
    status, result = arm.execute(arm.goal(AWAY))
    assert status == ABORTED
    assert "gravity_compensation" in result.error_string


def test_a_law_under_which_a_moving_arm_coasts_is_refused(arm):
    handle = arm.send(arm.goal(AWAY))
    arm.states.wait_until_moving()
    refused = arm.set(law="gravity_compensation")
    assert not refused.successful and "coasts" in refused.reason
    assert arm.outcome(handle)[0] == SUCCEEDED


def test_half_speed_takes_twice_as_long(arm):
    assert arm.set(speed=0.5).successful
    began = stamp_of(arm.states.next())
    assert arm.execute(arm.goal(AWAY))[0] == SUCCEEDED
    assert stamp_of(arm.states.next()) - began > 1.6


def test_hold_ends_the_goal_and_keeps_the_arm(arm):
    handle = arm.send(arm.goal(AWAY, seconds=2.0))
    arm.states.wait_until_moving()
    assert arm.trigger(arm.controller, "hold").success
    status, result = arm.outcome(handle)
    assert status == ABORTED
    assert "held" in result.error_string
    arm.states.wait_until_still()
    arm.states.assert_still()


def test_trajectories_by_topic(arm):
    publisher = arm.peer.node.create_publisher(JointTrajectory, f"{arm.controller.full_name}/joint_trajectory", 1)
    arm.peer.wait_for(lambda: publisher.get_subscription_count() == 1, "the topic of trajectories")
    publisher.publish(arm.goal(AWAY, seconds=2.0).trajectory)
    arm.states.wait_until_moving()
    # By convention an empty one stops the arm.
    publisher.publish(JointTrajectory())
    arm.states.wait_until_still()
    arm.states.assert_still()
    assert np.abs(arm.states.q() - AWAY).max() > 0.05
    arm.peer.node.destroy_publisher(publisher)


def test_controller_state_and_diagnostics(arm):
    states: list[JointTrajectoryControllerState] = []
    reports: list[DiagnosticArray] = []
    node = arm.peer.node
    name = f"{arm.controller.full_name}/controller_state"
    subscriptions = [
        node.create_subscription(JointTrajectoryControllerState, name, states.append, qos.NEWEST),
        node.create_subscription(DiagnosticArray, "/diagnostics", reports.append, 10),
    ]
    arm.peer.wait_for(lambda: bool(states), "a controller state")
    assert list(states[-1].joint_names) == list(JOINTS)
    np.testing.assert_allclose(states[-1].reference.positions, HOME, atol=1e-3)
    np.testing.assert_allclose(states[-1].feedback.positions, HOME, atol=1e-3)
    # A hold is never zeros: the shoulder carries the arm.
    assert abs(states[-1].output.effort[1]) > 1.0

    def names() -> set[str]:
        return {status.name for report in reports for status in report.status}

    arm.peer.wait_for(lambda: names() >= {"controller", "sim_bridge"}, "diagnostics of both nodes")
    for subscription in subscriptions:
        node.destroy_subscription(subscription)


def test_status_tells_about_the_loop(arm):
    status = arm.status(lambda status: status.rate > 0.0)
    assert status.verdict == ControllerStatus.OK
    assert status.jitter_p50 <= status.jitter_p99 <= status.jitter_max + 2.0
    assert 0.0 < status.compute_p50 <= status.work_max
    assert status.scheduler
    assert status.tracking_joint in JOINTS


def test_a_filtered_arm_follows_its_trajectory(start, peer):
    arm = Arm(peer, start, "/filtered", controller=["-p", "filter.enabled:=true"])
    status, result = arm.execute(arm.goal(HOME + 0.3))
    assert status == SUCCEEDED, result.error_string
    assert np.abs(arm.states.q() - HOME - 0.3).max() < 0.002
