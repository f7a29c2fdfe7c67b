"""`make sim`: a box drops into the path of the moving arm, the cameras detect it, and the arm moves around it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ros.suites import free_domain

pytest.importorskip("mujoco", reason="the simulation needs MuJoCo: pip install 'manipapy[sim]'")
pytest.importorskip("cv2", reason="stereo vision needs OpenCV: pip install 'manipapy[perception]'")

HOME = np.array([0.0, -np.pi / 2, np.pi / 2, -np.pi / 2, -np.pi / 2, 0.0])
OTHER_SIDE = HOME - [0.9, 0.0, 0.0, 0.0, 0.0, 0.0]
DEMO = Path(__file__).resolve().parents[2] / "examples/sim_demo"
SECONDS = 100
"""Wall-clock time [s]; the demo simulates half as many seconds on two cores."""


def run_demo(folder: Path, seconds: int, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DEMO), "--perception", "--seconds", str(seconds), "--folder", str(folder)]
    with free_domain() as number:
        settings = {**os.environ, "ROS_DOMAIN_ID": str(number), **environment}
        return subprocess.run(command, capture_output=True, text=True, timeout=300 + 4 * seconds, env=settings)


def test_the_demo_sees_plans_and_moves(tmp_path):
    """What a newcomer starts first; here for some seconds only."""
    run = run_demo(tmp_path, 14)
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"detected after [\d.]+ s as obstacle", run.stdout), run.stdout
    assert (tmp_path / "tracking.png").exists()
    assert np.abs(np.load(tmp_path / "tracking.npz")["measured"][:, 0] - HOME[0]).max() > 0.8


@pytest.mark.slow
def test_arm_moves_around_a_box_that_only_the_cameras_detect(tmp_path):
    """Right after the installation: nothing is compiled yet."""
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "numba"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    run = run_demo(tmp_path, SECONDS, **cache)
    assert "after the start of" not in run.stdout, run.stdout
    assert "the planner gets no message" in run.stdout, run.stdout
    assert re.search(r"detected after [\d.]+ s as obstacle", run.stdout), run.stdout
    planned = re.search(r"arrived after .*; (\d+) motions were planned", run.stdout)
    assert planned and int(planned[1]) >= 2, run.stdout

    # The arm reached the other side and was never pushed off its trajectory.
    record = np.load(tmp_path / "tracking.npz")
    measured, reference = record["measured"], record["reference"]
    assert np.abs(measured - OTHER_SIDE).max(axis=1).min() < 0.01
    assert np.abs(measured - reference).max() < 0.05
