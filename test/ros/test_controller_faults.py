"""Processes that die and wrong joint states: the arm is held, and the reason is reported."""

from __future__ import annotations

import re
import signal

import numpy as np
from manipapy_msgs.msg import ControllerStatus
from std_srvs.srv import SetBool

from ros_arm import ABORTED, HOME, STILL, SUCCEEDED, Arm, bring_up, stamp_of, wait

AWAY = HOME + np.array([0.6, 0.3, -0.4, 0.3, 0.2, -0.5])


def test_an_arm_whose_controller_died_is_held_within_fifty_milliseconds(start, peer):
    arm = Arm(peer, start, "/prompt")
    arm.send(arm.goal(AWAY, seconds=3.0))
    moving = arm.states.wait_until_moving(0.15)
    arm.controller.process.send_signal(signal.SIGKILL)
    states = arm.states.record(stamp_of(moving) + 2.0)
    arm.controller.process.wait()
    arm.bridge.stop()
    said = re.search(r"no command since ([\d.]+) s", arm.bridge.close())
    assert said is not None  # when the last command came, in simulated time
    last_command = float(said[1])
    later = [state for state in states if stamp_of(state) > last_command + 0.05]
    assert len(later) > 20
    assert max(np.abs(state.velocity).max() for state in later) < STILL
    # Held against gravity, not let go.
    assert abs(later[-1].effort[1]) > 1.0
    np.testing.assert_allclose(later[-1].position, later[0].position, atol=2e-3)


def test_a_restarted_controller_takes_over_without_a_jerk(start, peer):
    arm = Arm(peer, start, "/successor")
    arm.send(arm.goal(AWAY, seconds=2.0))
    arm.states.wait_until_moving()
    arm.controller.process.send_signal(signal.SIGKILL)
    arm.controller.process.wait()
    arm.states.wait_until_still()
    before = arm.states.q()
    arm.controller = start("controller", "-p", "use_sim_time:=true", "-r", "/clock:=clock", namespace="/successor")
    bring_up(peer, arm.controller)
    arm.status(lambda status: status.seeded and status.verdict == ControllerStatus.OK)
    arm.states.assert_still()
    np.testing.assert_allclose(arm.states.q(), before, atol=2e-3)
    status, result = arm.execute(arm.goal(HOME, seconds=1.5))
    assert status == SUCCEEDED, result.error_string


def test_a_dead_bridge_stops_the_controller_which_says_why(start, peer):
    arm = Arm(peer, start, "/orphan")
    handle = arm.send(arm.goal(AWAY, seconds=3.0))
    arm.states.wait_until_moving()
    arm.bridge.process.send_signal(signal.SIGKILL)
    arm.bridge.process.wait()
    status, result = arm.outcome(handle)
    assert status == ABORTED
    assert "age of the joint state" in result.error_string
    said = arm.status(lambda status: status.verdict == ControllerStatus.STOP and "no joint state for" in status.reason)
    assert "bring the simulation or the driver back" in said.reason
    # A reset that would last a moment only is refused.
    refused = arm.trigger(arm.controller, "reset")
    assert not refused.success
    assert "no joint state for" in refused.message
    # It comes back: the stop is kept until it is reset.
    arm.bridge = start("sim_bridge", "-p", f"initial_positions:={HOME.tolist()}", namespace="/orphan")
    bring_up(peer, arm.bridge)
    arm.states.next()
    assert arm.status().verdict == ControllerStatus.STOP
    status, result = arm.execute(arm.goal(AWAY))
    assert status == ABORTED
    assert "reset" in result.error_string
    arm.go_home()
    assert arm.execute(arm.goal(AWAY))[0] == SUCCEEDED


def test_a_paused_simulation_is_not_a_dead_one(start, peer):
    arm = Arm(peer, start, "/paused")
    handle = arm.send(arm.goal(AWAY))
    arm.states.wait_until_moving()
    assert peer.call(SetBool, arm.bridge, "pause", SetBool.Request(data=True)).success
    paused_at = arm.states.next()
    wait(1.5)
    assert stamp_of(arm.states.next()) == stamp_of(paused_at)
    assert arm.status().verdict < ControllerStatus.HOLD
    assert peer.call(SetBool, arm.bridge, "pause", SetBool.Request(data=False)).success
    status, result = arm.outcome(handle)
    assert status == SUCCEEDED, result.error_string
    assert np.abs(arm.states.q() - AWAY).max() < 0.002


def test_a_reset_world_aborts_the_goal_and_the_arm_stays_where_it_was_put(start, peer):
    arm = Arm(peer, start, "/reset")
    handle = arm.send(arm.goal(HOME + 0.5, seconds=2.0))
    arm.states.wait_until(lambda state: state.position[0] > 0.4, "the arm to be far from home")
    assert arm.trigger(arm.bridge, "reset").success
    status, result = arm.outcome(handle)
    assert status == ABORTED
    assert "of joint" in result.error_string
    arm.states.wait_until_still()
    arm.states.assert_still()
    arm.go_home()


def test_two_arms_in_two_namespaces_do_not_hear_each_other(start, peer):
    left, right = Arm(peer, start, "/left"), Arm(peer, start, "/right")
    status, result = left.execute(left.goal(AWAY))
    assert status == SUCCEEDED, result.error_string
    np.testing.assert_allclose(right.states.q(), HOME, atol=2e-3)
    assert np.abs(left.states.q() - AWAY).max() < 0.002
    assert right.execute(right.goal(HOME - 0.2))[0] == SUCCEEDED
