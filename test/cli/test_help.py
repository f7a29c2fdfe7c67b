"""The lists of commands, on a terminal of 80 columns."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

MANIPAPY = [sys.executable, "-c", "from manipapy_core.cli.app import main; main()"]


@pytest.mark.parametrize("group", [[], ["reach"], ["calibrate"]])
def test_every_command_is_described_in_one_whole_line(group):
    environment = {**os.environ, "COLUMNS": "80"}
    ran = subprocess.run([*MANIPAPY, *group, "--help"], capture_output=True, text=True, env=environment, check=True)
    lines = ran.stdout.partition("Commands:\n")[2].splitlines()
    assert len(lines) > 3
    assert [line for line in lines if not line.endswith((".", "--servo`.")) or line.endswith("...")] == []
