"""The controller and the bridge go up and down as often as they are asked to, and leave nothing behind."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from lifecycle_msgs.msg import Transition

from ros_arm import ABORTED, HOME, SUCCEEDED, Arm

CYCLES = 5
PROMPT = 2.0
"""A node ends within this time after Ctrl-C [s]."""


@pytest.fixture(scope="module")
def arm(start_for_module, peer):
    return Arm(peer, start_for_module, "/cycled")


def threads_and_files(node) -> tuple[int, int]:
    """How many of each a process has."""
    process = Path("/proc") / str(node.process.pid)
    return len(list((process / "task").iterdir())), len(list((process / "fd").iterdir()))


def test_five_times_up_and_down_leaves_no_thread_and_no_file_open(arm, peer):
    counts = []
    for _ in range(CYCLES + 1):
        for node in (arm.controller, arm.bridge):
            assert peer.transition(node, Transition.TRANSITION_DEACTIVATE)
            assert peer.transition(node, Transition.TRANSITION_CLEANUP)
        counts.append([threads_and_files(node) for node in (arm.controller, arm.bridge)])
        for node in (arm.bridge, arm.controller):
            assert peer.transition(node, Transition.TRANSITION_CONFIGURE)
            assert peer.transition(node, Transition.TRANSITION_ACTIVATE)
    # The first round may still load what stays.
    assert counts[-1] == counts[1], counts
    arm.go_home()


def test_deactivation_in_motion_aborts_the_goal_and_leaves_a_still_arm(arm, peer):
    handle = arm.send(arm.goal(HOME + 0.4, seconds=3.0))
    arm.states.wait_until_moving()
    assert peer.transition(arm.controller, Transition.TRANSITION_DEACTIVATE)
    status, _ = arm.outcome(handle)
    assert status == ABORTED
    arm.states.wait_until_still()
    arm.states.assert_still()
    status, result = arm.execute(arm.goal(HOME))
    assert status == ABORTED
    assert "not active" in result.error_string
    assert not arm.trigger(arm.controller, "hold").success
    assert peer.transition(arm.controller, Transition.TRANSITION_ACTIVATE)
    arm.status(lambda status: status.seeded)
    arm.states.assert_still()
    assert arm.execute(arm.goal(HOME, seconds=1.5))[0] == SUCCEEDED


def test_ctrl_c_in_motion_ends_both_nodes_and_leaves_a_held_arm(arm):
    # Last in this file: the nodes are gone afterwards.
    arm.send(arm.goal(HOME + 0.4, seconds=3.0))
    arm.states.wait_until_moving()
    began = time.monotonic()
    assert arm.controller.stop(signal.SIGINT) == 0
    took_controller = time.monotonic() - began
    arm.states.wait_until_still()
    arm.states.assert_still()
    began = time.monotonic()
    assert arm.bridge.stop(signal.SIGTERM) == 0
    took_bridge = time.monotonic() - began
    assert "Traceback" not in arm.controller.close() + arm.bridge.close()
    # The requirement is PROMPT; a busy machine may take longer, but not hang.
    assert max(took_controller, took_bridge) < 5.0 * PROMPT
