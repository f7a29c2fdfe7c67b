"""`manipapy up`: real processes, started in order, looked after, and gone when they should be."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from manipapy_core import Robot
from manipapy_ros.client.arm import ArmClient, MotionFailed, rest_to_rest
from manipapy_ros.client.session import RosSession
from manipapy_ros.common import qos
from ros.suites import free_domain, suite

GOAL = np.array([0.5, -1.3, 1.3, -1.4, -1.4, 0.4])


@pytest.fixture(scope="module")
def ur5():
    return Robot.from_urdf("ur5").chain("base_link", "tool0")


@pytest.fixture
def gentle(tmp_path) -> str:
    """Parameters that leave the real-time scheduler alone: other tests want to run, too."""
    path = tmp_path / "gentle.yaml"
    path.write_text("/**: {ros__parameters: {priority: 0, lock_memory: false}}")
    return str(path)


def moved(namespace: str, chain, goal, **options) -> np.ndarray:
    """Where the arm is after it was sent to a goal."""
    with RosSession("tester", namespace) as client:
        arm = ArmClient(client)
        arm.move(rest_to_rest(chain, arm.positions(chain.joint_names, 30.0), goal, speed=0.8), seconds=60.0, **options)
        return arm.positions(chain.joint_names)


def test_a_simulated_arm_comes_up_moves_and_ends_by_itself(domain, ur5, gentle):
    pytest.importorskip("mujoco", reason="the simulation needs MuJoCo: pip install 'manipapy[sim]'")
    arguments = ("--namespace", "/timed", "--params-file", gentle, "--seconds", "12")
    with suite(*arguments, domain=domain) as timed:
        timed.wait_until_up()
        assert len(timed.members()) >= 3
        np.testing.assert_allclose(moved("/timed", ur5, GOAL), GOAL, atol=2e-3)
        assert timed.end() == 0
        assert timed.members() == {}


def test_ctrl_c_ends_all_nodes_in_time_and_leaves_nothing_behind(domain, gentle, tmp_path, monkeypatch):
    pytest.importorskip("pybullet", reason="of the two engines only PyBullet writes files, which must be gone after")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    before = shared_memory()
    # Not the default of 2 s: on a machine with other work all nodes at once may take longer.
    options = ("--perception", "--capability", "--viewer", "--stop-timeout", "60", "--simulator", "pybullet")
    with suite("--namespace", "/stopped", "--params-file", gentle, *options, domain=domain) as stopped:
        stopped.wait_until_up()
        assert len(stopped.members()) == 9, "eight nodes and the renderer"
        assert list(temporary.glob("manipapy-sim-*")), "the simulation writes no files there any more"
        mapped = {name for number in stopped.members() for name in shared_memory(number)} - before
        assert mapped, "no node uses shared memory any more"
        stopped.process.send_signal(signal.SIGINT)
        assert stopped.end() == 0
        assert stopped.members() == {}
    # The supervisor kills what does not end in time, and quotes what ends with another exit code than 0.
    for text in ("killed", "exit code", "Traceback"):
        assert text not in stopped.output
    assert list(temporary.iterdir()) == []
    assert mapped & shared_memory() == set()


def shared_memory(process: int | None = None) -> set[str]:
    """Shared memory of DDS participants: all there is, or what a process has mapped."""
    if process is None:
        return {str(path) for path in Path("/dev/shm").glob("fastrtps_*") if "port" not in path.name}
    lines = Path(f"/proc/{process}/maps").read_text().splitlines()
    return {line.split()[-1] for line in lines if "/dev/shm/fastrtps_" in line and "port" not in line}


def test_a_death_makes_the_arm_hold_and_the_node_come_back(domain, ur5):
    with suite("--mode", "mock", "--namespace", "/restarted", "--on-failure", "restart", domain=domain) as restarted:
        restarted.wait_until_up()
        killed = time.monotonic() + 0.7

        def interfere() -> bool:
            nonlocal killed
            if time.monotonic() > killed:
                restarted.kill("model_server")
                killed = float("inf")
            return True

        with pytest.raises(MotionFailed, match="cancelled"):
            moved("/restarted", ur5, GOAL + 1.2, while_moving=interfere)
        restarted.wait_for("SIGKILL")
        restarted.wait_for("the arm holds")
        restarted.wait_for("model_server is active again")
        # The driver itself, too.
        restarted.kill("mock_hardware")
        restarted.wait_for("mock_hardware is active again")
        np.testing.assert_allclose(moved("/restarted", ur5, GOAL), GOAL, atol=1e-6)
        # And the supervisor: the kernel takes its children along.
        restarted.process.kill()
        deadline = time.monotonic() + 5.0
        while restarted.members() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert restarted.members() == {}


def test_a_death_stops_everything_where_that_is_the_policy(domain):
    with suite("--mode", "mock", "--namespace", "/strict", domain=domain) as strict:
        strict.wait_until_up()
        strict.kill("model_server")
        assert strict.end() == 1
        assert "model_server was ended by SIGKILL" in strict.output
        assert strict.members() == {}


def test_a_node_that_cannot_be_configured_is_quoted(domain, tmp_path):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("/**: {ros__parameters: {tip_link: no_such_link}}")
    with suite("--mode", "mock", "--namespace", "/wrong", "--params-file", str(wrong), domain=domain) as failed:
        assert failed.end() == 1
        assert "no_such_link" in failed.output and "cannot start" in failed.output
        assert failed.members() == {}


def test_two_suites_do_not_hear_each_other(domain, peer):
    with (
        free_domain() as other,
        suite("--mode", "mock", "--robot", "panda", domain=other) as panda,
        suite("--mode", "mock", domain=domain) as ur5,
    ):
        ur5.wait_until_up()
        panda.wait_until_up()
        heard: list[JointState] = []
        subscription = peer.node.create_subscription(JointState, "joint_states", heard.append, qos.STATE)
        peer.wait_for(lambda: len(heard) > 50, "joint states")
        peer.node.destroy_subscription(subscription)
        assert {name.split("_")[0] for state in heard for name in state.name} == {"shoulder", "elbow", "wrist"}
        for running in (ur5, panda):
            running.process.send_signal(signal.SIGINT)
        assert ur5.end() == 0
        assert panda.end() == 0


def test_every_process_dies_with_its_parent_in_whatever_way(tmp_path):
    code = (
        "import sys, time\nfrom manipapy_ros.bringup.managed_process import ManagedProcess\n"
        "child = ManagedProcess('sleeper', ['sh', '-c', 'sleep 300 & echo $!; wait'], {}, lambda name, line: None)\n"
        "print(child.pid, flush=True)\ntime.sleep(300)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    number = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 5.0
    while _runs(number) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _runs(number)


def _runs(number: int) -> bool:
    try:
        with open(f"/proc/{number}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
