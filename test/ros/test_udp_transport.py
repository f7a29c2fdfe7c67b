"""Nodes with a loop use no shared memory: new subscribers do not delay them, and discovery works as before."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from manipapy_ros.realtime.udp_transport import (
    LOCALHOST_ONLY,
    PEERS,
    PROFILE_VARIABLES,
    RANGE,
    fallback_reason,
    use_udp_transport,
)
from ros_arm import HOME, SUCCEEDED, Arm

AWAY = HOME + np.array([1.2, 0.3, -0.4, 0.3, 0.2, -0.5])
SECONDS = 13.0
"""Length of a motion."""
DELAYS = np.arange(2.0, 9.0, 0.7)
"""When processes that are already there begin to listen [s]. With shared memory the arm was held in one run of three,
and in every fourth start of a whole suite."""
LISTENER = """
import sys, time, rclpy
from manipapy_msgs.msg import ControllerStatus
from sensor_msgs.msg import JointState
rclpy.init()
node, heard = rclpy.create_node("newcomer"), set()
time.sleep(float(sys.argv[1]))
node.create_subscription(JointState, "joint_states", lambda _: heard.add("states"), 10)
node.create_subscription(ControllerStatus, "controller/status", lambda _: heard.add("status"), 10)
while len(heard) < 2:
    rclpy.spin_once(node, timeout_sec=0.1)
"""


@pytest.fixture
def clean(monkeypatch, tmp_path):
    """An environment that says nothing, in a folder without profiles."""
    for name in (*PROFILE_VARIABLES, RANGE, PEERS, LOCALHOST_ONLY):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return monkeypatch


def profile() -> str:
    (path,) = {os.environ[name] for name in PROFILE_VARIABLES}
    return Path(path).read_text(encoding="utf-8")


def threads(process) -> list[str]:
    folder = Path(f"/proc/{process.pid}/task")
    return [(task / "comm").read_text().strip() for task in folder.iterdir()]


def udp_addresses(process) -> set[tuple[str, int]]:
    """Addresses and ports that a process has bound."""
    sockets = {os.readlink(file) for file in Path(f"/proc/{process.pid}/fd").iterdir()}
    rows = [row.split() for row in Path("/proc/net/udp").read_text().splitlines()[1:]]
    bound = [row[1].split(":") for row in rows if f"socket:[{row[9]}]" in sockets]
    return {(socket.inet_ntoa(bytes.fromhex(address)[::-1]), int(port, 16)) for address, port in bound}


@pytest.mark.parametrize("name", ["sim_bridge", "controller", "mock_hardware"])
def test_no_shared_memory_and_no_traffic_beyond_this_machine(start, peer, domain, name):
    node = start(name, namespace=f"/datagrams_{name}")
    assert peer.state(node) == "unconfigured"  # a peer with shared memory finds it
    assert any(thread.startswith("dds.udp") for thread in threads(node.process))
    assert not [thread for thread in threads(node.process) if thread.startswith("dds.shm")]
    assert_on_loopback(node.process, domain)


def assert_on_loopback(process, domain) -> None:
    bound = udp_addresses(process)
    assert 7400 + 250 * domain not in {port for _, port in bound}, "no multicast"
    listening = {address for address, port in bound if 7400 <= port <= 7400 + 250 * (domain + 1)}
    assert listening == {"127.0.0.1"}, bound


@pytest.mark.parametrize("name", ["model_server", "planner"])
def test_nodes_without_a_loop_are_on_loopback_and_keep_shared_memory(start, peer, domain, name):
    node = start(name, namespace=f"/loopback_{name}")
    assert peer.state(node) == "unconfigured"
    assert [thread for thread in threads(node.process) if thread.startswith("dds.shm")]
    assert_on_loopback(node.process, domain)


CLIENT = """
import sys
from manipapy_ros.client.session import RosSession
with RosSession("client"):
    print("ready", flush=True)
    sys.stdin.readline()
"""


def test_clients_such_as_the_command_line_are_on_loopback(domain):
    environment = {**os.environ, "ROS_DOMAIN_ID": str(domain), RANGE: "LOCALHOST"}
    command, pipe = [sys.executable, "-c", CLIENT], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as client:
        assert client.stdout.readline() == "ready\n"
        assert_on_loopback(client, domain)
        client.communicate("end\n")


def test_new_subscribers_do_not_delay_a_moving_arm(start, peer):
    arm = Arm(peer, start)
    handle = arm.send(arm.goal(AWAY, seconds=SECONDS))
    arm.states.wait_until_moving()
    newcomers = [subprocess.Popen([sys.executable, "-c", LISTENER, str(delay)]) for delay in DELAYS]
    assert [newcomer.wait(60.0) for newcomer in newcomers] == [0] * len(DELAYS)
    assert np.abs(arm.states.next().velocity).max() > 0.0, "the motion was over before all had come"
    status, result = arm.outcome(handle)
    assert status == SUCCEEDED, result.error_string
    assert np.abs(arm.states.q() - AWAY).max() < 0.002


def test_this_machine_alone_stays_this_machine_alone(clean):
    clean.setenv(RANGE, "LOCALHOST")
    clean.setenv(PEERS, "10.0.0.7;robot&co")
    with use_udp_transport():
        assert os.environ[RANGE] == "SYSTEM_DEFAULT"
        told = profile()
    assert all(f"<address>{name}</address>" in told for name in ("127.0.0.1", "10.0.0.7", "robot&amp;co"))
    assert "metatrafficUnicastLocatorList" in told
    assert os.environ[RANGE] == "LOCALHOST"
    assert not [name for name in PROFILE_VARIABLES if name in os.environ]


def test_the_older_word_for_it_counts_as_well(clean):
    clean.setenv(LOCALHOST_ONLY, "1")
    with use_udp_transport():
        assert LOCALHOST_ONLY not in os.environ
        assert "127.0.0.1" in profile()
    assert os.environ[LOCALHOST_ONLY] == "1"


def test_elsewhere_only_the_transport_is_chosen(clean):
    clean.setenv(RANGE, "SUBNET")
    with use_udp_transport():
        assert os.environ[RANGE] == "SUBNET"
        assert "initialPeersList" not in profile()


@pytest.mark.parametrize("name", PROFILE_VARIABLES)
def test_a_profile_of_the_user_is_not_touched(clean, name):
    clean.setenv(name, "mine.xml")
    clean.setenv(RANGE, "LOCALHOST")
    with use_udp_transport():
        assert os.environ[name] == "mine.xml"
        assert os.environ[RANGE] == "LOCALHOST"


def test_a_profile_in_the_working_directory_is_not_touched(clean, tmp_path):
    (tmp_path / "DEFAULT_FASTRTPS_PROFILES.xml").write_text("<dds/>")
    with use_udp_transport():
        assert not [name for name in PROFILE_VARIABLES if name in os.environ]


def test_a_fallback_is_logged_once_with_its_reason(clean, capfd):
    assert fallback_reason() == ""
    clean.setenv(PROFILE_VARIABLES[0], "mine.xml")
    with use_udp_transport():
        pass
    logged = capfd.readouterr().err
    assert logged.count("shared memory stays in use") == 1 and PROFILE_VARIABLES[0] in logged
