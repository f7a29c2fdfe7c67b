"""Test processes that run at once, workers of pytest-xdist among them, never share a ROS domain."""

from __future__ import annotations

import os
import subprocess
import sys

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
