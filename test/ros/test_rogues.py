"""Rogue publishers beside a moving arm, judged by the physics: what the arm did, at every step of the simulation."""

from __future__ import annotations

import time

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the simulation needs MuJoCo: pip install 'manipapy[sim]'")

from manipapy_msgs.msg import ControllerStatus

from faults.judge import peak_ratio
from faults.rig import UR5, Rig, rig
from ros_arm import ABORTED, SUCCEEDED

STATES = {
    "zeros": ("--kind", "zeros"),
    "zeros, wall clock": ("--kind", "zeros", "--stamps", "wall"),
    "offset": ("--kind", "offset", "--rate", "200"),
    "stale": ("--kind", "stale", "--rate", "500"),
}


@pytest.fixture(scope="module")
def arm():
    with rig() as made:
        yield made


def send_rogue_into_motion(arm: Rig, *arguments: str):
    """Starts a rogue, then a motion; returns its handle, the rogue and the monotonic time of its first message."""
    arm.arm.go_home()
    rogue = arm.rogue(*arguments)
    rogue.stdout.readline()  # it has been discovered, and begins when told
    handle = arm.arm.send(arm.arm.goal(UR5.away, seconds=3.0))
    arm.wait_until_moving()
    return handle, rogue, arm.release()


@pytest.mark.parametrize("kind", STATES)
def test_rogue_joint_states_brake_the_arm_which_recovers_when_they_end(arm, kind):
    handle, rogue, began = send_rogue_into_motion(arm, "states", *STATES[kind], "--joints", ",".join(UR5.joints))
    status, result = arm.arm.outcome(handle)
    assert status == ABORTED and "another node publishes joint states" in result.error_string
    said = arm.arm.status(lambda status: "rogue" in status.reason)
    assert said.verdict == ControllerStatus.HOLD and "stop all but one" in said.reason
    rogue.wait()
    arm.peer.spin_for(2.0)  # the rogue counts as gone after a second
    truth = arm.truth_since(began)
    assert peak_ratio(UR5.chain, truth) < 1.0
    speed = np.abs(truth.qd).max(axis=1)
    assert speed.max() < 0.9, "no faster than the motion itself"
    assert speed[truth.time > truth.time[0] + 1.5].max() < 0.01, "at rest, and stays there"
    arm.arm.go_home()
    assert arm.arm.execute(arm.arm.goal(UR5.away, seconds=2.0))[0] == SUCCEEDED


@pytest.mark.parametrize("mode", ["effort", "velocity", "position"])
def test_rogue_commands_do_not_reach_the_arm(arm, mode):
    rogue = ("efforts", "--mode", mode, "--amount", "150", "--rate", "1000", "--seconds", "0.5")
    handle, _, began = send_rogue_into_motion(arm, *rogue)
    status, result = arm.arm.outcome(handle)
    assert status == SUCCEEDED, result.error_string
    truth = arm.truth_since(began)
    assert peak_ratio(UR5.chain, truth) < 1.0
    assert np.abs(truth.q[-1] - UR5.away).max() < 0.005
    arm.peer.wait_for(lambda: "commands of /rig/rogue are refused" in arm.arm.bridge.printed, "a warning of the bridge")


def test_the_drive_trips_on_excessive_efforts_of_the_only_commander(arm):
    """Without a controller anyone may command, but not fling the arm."""
    from lifecycle_msgs.msg import Transition

    assert arm.peer.transition(arm.arm.controller, Transition.TRANSITION_DEACTIVATE)
    began = time.monotonic()
    rogue = arm.rogue("efforts", "--amount", "150", "--rate", "1000", "--seconds", "3.0")
    rogue.stdin.write("go\n")
    rogue.stdin.flush()
    rogue.wait()
    arm.peer.wait_for(lambda: "overspeed" in arm.arm.bridge.printed, "the reason")
    arm.peer.spin_for(0.5)
    truth = arm.truth_since(began)
    assert peak_ratio(UR5.chain, truth) < 1.05
    assert np.abs(truth.qd[-1]).max() < 0.01
    assert arm.peer.transition(arm.arm.controller, Transition.TRANSITION_ACTIVATE)
    arm.arm.status(lambda status: status.seeded)
    arm.arm.go_home()
