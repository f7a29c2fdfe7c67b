"""A robot from outside this project: from its file to a motion in simulation by two commands."""

from __future__ import annotations

import importlib.metadata
import os
import signal
import subprocess
from pathlib import Path

import pytest

from ros.suites import MANIPAPY, suite


@pytest.mark.parametrize("simulator", ["mujoco", pytest.param("pybullet", marks=pytest.mark.slow)])
def test_file_of_another_maker_comes_up_and_moves(domain, simulator):
    """No acceleration limits, no tip, no parameter file: the arm is found, and what is missing is assumed and said."""
    files = importlib.metadata.files("example-robot-data") or ()
    path = next(Path(str(file.locate())) for file in files if file.name == "z1.urdf")
    pytest.importorskip(simulator, reason=f"this run is with {simulator}: pip install 'manipapy[sim]'")
    words = ("--robot", str(path), "--namespace", "/outside", "--simulator", simulator)
    with suite(*words, domain=domain) as running:
        running.wait_until_up()
        output = running.output
        assert "world → gripperStator" in output
        assert "assumed, because the description does not give them: acceleration of joint1" in output
        words = ["move", "--joints", "0.3", "0.9", "-0.8", "-0.2", "0.2", "0.4", "--namespace", "/outside"]
        moved = subprocess.run([*MANIPAPY, *words], capture_output=True, text=True, env=dict(os.environ), timeout=180)
        assert moved.returncode == 0, moved.stderr + running.output
        assert "arrived" in moved.stdout
        running.process.send_signal(signal.SIGINT)
        assert running.end() == 0
        assert "Traceback" not in running.output
