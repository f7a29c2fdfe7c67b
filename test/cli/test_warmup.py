"""`manipapy warmup` compiles what the nodes of a robot need, and says how long each part took."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from manipapy_core import Robot
from manipapy_core.cli import warmup
from manipapy_core.cli.app import app
from manipapy_core.errors import MissingPackage
from manipapy_core.model import arm_chain


@pytest.mark.slow
def test_every_part_is_compiled_and_its_time_is_printed():
    shown = CliRunner().invoke(app, ["warmup", "--robot", "ur5"], env={"COLUMNS": "120"})
    assert shown.exit_code == 0, shown.output
    robot = Robot.from_urdf("ur5")
    for name, _ in warmup.steps(robot, arm_chain(robot)):
        assert re.search(rf"{re.escape(name)} +(\d+\.\d s|left out: \w+)", shown.output), (name, shown.output)
    assert re.search(r"ur5 is ready after \d+ s", shown.output)


def test_a_part_whose_package_is_missing_is_left_out(monkeypatch, capsys):
    def missing():
        raise MissingPackage("daqp", "a constrained step", "capability")

    monkeypatch.setattr(warmup, "steps", lambda *_: [("servo", missing), ("kinematics", lambda: None)])
    robot = Robot.from_urdf("ur5")
    warmup.compile_all(robot, arm_chain(robot))
    shown = capsys.readouterr().out
    assert "servo" in shown and "left out" in shown and "manipapy[capability]" in shown
    assert re.search(r"kinematics +0\.0 s", shown)


@pytest.mark.parametrize("robot", ["no_such_robot", "no_such_file.urdf"])
def test_an_unknown_robot_is_refused(robot):
    shown = CliRunner().invoke(app, ["warmup", "--robot", robot])
    assert shown.exit_code != 0 and robot in str(shown.exception)
