"""Test processes that run at once, workers of pytest-xdist among them, never share a ROS domain."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient

from manipapy_ros.client.session import RosSession
from ros.suites import free_domain

HOLDER = """
import sys
from ros.suites import free_domain
with free_domain() as number:
    print(number, flush=True)
    sys.stdin.read()
"""


def test_domains_of_processes_that_run_at_once_differ(domain, project):
    environment = {**os.environ, "PYTHONPATH": str(project / "test")}
    command = [sys.executable, "-c", HOLDER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    holders = [subprocess.Popen(command, env=environment, **pipes) for _ in range(3)]
    try:
        with free_domain() as own:
            held = [int(holder.stdout.readline()) for holder in holders]
            assert len({domain, own, *held}) == 5
    finally:
        for holder in holders:
            holder.communicate()


def test_a_closed_session_gives_back_its_participant_id(domain):
    """A participant that is left behind takes an id; above 32 of them nodes do not discover each other."""
    before = participant_ports(domain)
    for _ in range(3):
        session = RosSession("short")
        client = ActionClient(session.node, FollowJointTrajectory, "nobody")
        assert participant_ports(domain) - before
        session.close()
        assert participant_ports(domain) == before
        del client


def participant_ports(domain: int) -> set[int]:
    """UDP ports of this process for participants of the domain."""
    sockets = {os.readlink(file) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()}
    rows = [line.split() for line in Path("/proc/net/udp").read_text().splitlines()[1:]]
    own = {int(row[1].split(":")[1], 16) for row in rows if f"socket:[{row[9]}]" in sockets}
    start = 7400 + 250 * domain
    return {port for port in own if start <= port < start + 250}
