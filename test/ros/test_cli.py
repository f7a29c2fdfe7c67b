"""The commands of `manipapy` that talk to a running robot, as a user types them."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from manipapy_core.recording import Recording
from ros.suites import MANIPAPY, suite

NAMESPACE = "/typed"
CONTROLLER_STATE = "joint_trajectory_controller/controller_state"
GOAL = {"shoulder_pan": 0.5, "shoulder_lift": -1.3, "elbow": 1.2, "wrist_1": -1.5, "wrist_2": -1.4, "wrist_3": 0.2}
"""Where the recorded motion ends [rad]."""


def manipapy(*words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "80"}
    return subprocess.run([*MANIPAPY, *words], capture_output=True, text=True, env=environment, timeout=180)


@pytest.fixture(scope="module")
def robot(domain):
    with suite("--mode", "mock", "--namespace", NAMESPACE, domain=domain) as running:
        running.wait_until_up()
        yield running
        running.process.send_signal(signal.SIGINT)
        assert running.end() == 0


def test_move_to_joint_positions_and_look_where_the_arm_is(robot):
    moved = manipapy(
        "move", "--joints", "0.3", "-1.2", "1.2", "-1.5", "-1.4", "0.2", "--namespace", NAMESPACE, "--speed", "0.9"
    )
    assert moved.returncode == 0, moved.stderr
    assert "arrived" in moved.stdout
    state = manipapy("state", "--namespace", NAMESPACE)
    assert state.returncode == 0, state.stderr
    assert re.search(r"shoulder_lift_joint\W+-1\.2000", state.stdout)
    assert "tool0 in base_link" in state.stdout


def test_move_to_a_pose_and_one_out_of_reach(robot):
    pose = ("move", "--namespace", NAMESPACE, "--speed", "0.9", "--pose")
    moved = manipapy(*pose, "0.4", "-0.15", "0.4", "0", "1", "0", "0")
    assert moved.returncode == 0, moved.stderr
    position = re.search(r"tool0 in base_link: (\S+) (\S+) (\S+) m", manipapy("state", "--namespace", NAMESPACE).stdout)
    assert position is not None
    assert [float(value) for value in position.groups()] == pytest.approx([0.4, -0.15, 0.4], abs=1e-3)
    refused = manipapy(*pose, "4", "0", "0", "0", "0", "0", "1")
    assert refused.returncode == 2 and "unreachable" in refused.stderr


@pytest.mark.parametrize(
    ("words", "text"), [(("state",), "tool0 in base_link"), (("state", "--json"), '"tip"'), (("hold",), "it holds")]
)
def test_state_and_hold_do_not_wait_for_ros(robot, words, text):
    """They ask the supervisor, so that they work at once: without rclpy, in a fraction of a second of computing."""
    line = [*words, "--namespace", NAMESPACE]
    program = f"import sys; sys.modules['rclpy'] = None; sys.argv = ['manipapy', *{line!r}]\n" + MANIPAPY[-1]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    assert text in done.stdout
    computing = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{' '.join(words)}: {took:.2f} s, {computing:.2f} s of computing")
    assert computing < 0.5


def test_state_without_a_supervisor_comes_over_ros(robot, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    found = manipapy("state", "--namespace", NAMESPACE, "--json")
    assert found.returncode == 0, found.stderr
    assert len(json.loads(found.stdout)["position"]) == 6


def test_a_plan_is_described_and_moves_nothing(robot):
    planned = manipapy("plan", "--joints", "0,-1.0,1.0,-1.5,-1.4,0", "--namespace", NAMESPACE)
    assert planned.returncode == 0, planned.stderr
    assert re.search(r"a motion of \d+\.\d+ s", planned.stdout) and "verification" in planned.stdout
    assert not re.search(r"shoulder_lift_joint\W+-1\.0000", manipapy("state", "--namespace", NAMESPACE).stdout)


def test_a_motion_is_recorded_and_a_kill_leaves_the_file_readable(robot, tmp_path):
    path = tmp_path / "run.mcap"
    # A file, not a pipe without a reader.
    with (tmp_path / "said").open("w") as said:
        command = [*MANIPAPY, "record", str(path), "--namespace", NAMESPACE]
        recorder = subprocess.Popen(command, stdout=said, stderr=said)
    try:
        moved = manipapy("move", "--joints", "0.5,-1.3,1.2,-1.5,-1.4,0.2", "--namespace", NAMESPACE, "--speed", "0.9")
        assert moved.returncode == 0, moved.stderr
        # Topics are discovered one after the other.
        topics = [f"{NAMESPACE}/{name}" for name in ("joint_states", "robot_description", CONTROLLER_STATE)]
        states, end = topics[0], {}
        deadline = time.monotonic() + 60.0
        while end != pytest.approx(GOAL, abs=1e-3):
            assert time.monotonic() < deadline, (tmp_path / "said").read_text()
            time.sleep(0.2)
            found = Recording(path) if path.exists() else None
            if found is not None and all(found.topics.get(topic, ("", 0))[1] for topic in topics):
                series = found.joint_states(states)
                joints = (name.removesuffix("_joint") for name in series.joint_names)
                end = dict(zip(joints, series.values["position"][-1].tolist()))
    finally:
        recorder.kill()
        recorder.wait()
    recording = Recording(path)
    assert recording.topics[f"{NAMESPACE}/{CONTROLLER_STATE}"][1] > 0
    assert "<robot" in recording.description()
    drawn = manipapy("plot", str(path), "--json")
    assert drawn.returncode == 0, drawn.stderr
    assert Path(json.loads(drawn.stdout)["image"]).stat().st_size > 10_000
    refused = manipapy("replay", str(path))
    assert refused.returncode == 2 and "is published by" in refused.stderr


def test_hold_is_answered_and_reset_says_who_can(robot):
    assert "holds" in manipapy("hold", "--namespace", NAMESPACE).stdout
    refused = manipapy("reset", "--namespace", NAMESPACE)
    assert refused.returncode == 2 and "driver or pendant" in refused.stderr


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("move", "1", "2"), "--named"),
        (("move", "--pose", "1", "2"), "seven numbers"),
        (("move", "--jonits", "1", "2"), "'--jonits' is neither a number nor an option"),
        (("plan", "--joints", "1,two"), "'two' is neither a number"),
        (("up", "--robot", "no_such_robot"), "ur5"),
        (("up", "--on-failure", "pray"), "restart"),
        (("up", "--mode", "hardware", "--hand-off", "effort"), "far_side_timeout"),
    ],
)
def test_mistakes_are_answered_with_a_sentence(words, reason):
    done = manipapy(*words)
    assert done.returncode == 2
    assert reason in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(("command", "code", "text"), [("describe", 0, "wrist_3_joint"), ("up", 2, "make setup")])
def test_without_ros_the_library_works_and_the_rest_says_what_to_do(command, code, text):
    words = [command, *(["ur5"] if command == "describe" else [])]
    program = f"import sys; sys.modules['rclpy'] = None; sys.argv = ['manipapy', *{words!r}]\n" + MANIPAPY[-1]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == code
    assert text in done.stdout + done.stderr and "Traceback" not in done.stderr


def test_doctor_looks_at_the_machine_side_of_ros():
    done = manipapy("doctor")
    assert {"real time", "discovery", "ports"} <= {line[9:24].strip() for line in done.stdout.splitlines()}
