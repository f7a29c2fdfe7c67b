"""Every example runs as its own process without a screen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from manipapy_core import Robot

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("[0-9]*.py"))


def run(example: str, folder: Path, *arguments: str) -> str:
    path = next(path for path in EXAMPLES if path.name == example)
    environment = {
        name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND")
    }
    environment["PYTHONPATH"] = str(path.parents[1])
    done = subprocess.run(
        [sys.executable, "-W", "error", path, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example_runs_without_warnings(path, tmp_path):
    assert run(path.name, tmp_path).strip()


def test_examples_are_numbered_consecutively():
    numbers = [int(path.name[:2]) for path in EXAMPLES]
    assert numbers == list(range(1, len(numbers) + 1))


def test_first_robot_is_described_and_drawn(tmp_path):
    text = run("01_first_robot.py", tmp_path, "image.png")
    assert "wrist_3_joint" in text and "Gravity torques" in text
    assert (tmp_path / "image.png").read_bytes().startswith(b"\x89PNG")


def test_dh_example_writes_a_urdf(tmp_path):
    assert "standard DH" in run("02_dh.py", tmp_path, "arm.urdf")
    assert Robot.from_urdf(tmp_path / "arm.urdf").free_joints == tuple(f"joint_{index}" for index in range(1, 7))
