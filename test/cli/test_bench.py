"""`manipapy bench` measures every part of the library for a robot."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from manipapy_core import Robot
from manipapy_core.cli import bench
from manipapy_core.cli.app import app
from manipapy_core.errors import MissingPackage
from manipapy_core.model import arm_chain


@pytest.fixture(autouse=True)
def briefly(monkeypatch):
    for name, value in (("BATCH", 100), ("POSES", 5), ("MOTIONS", 2), ("MEASURE_FOR", 0.001)):
        monkeypatch.setattr(bench, name, value)


def test_every_row_has_figures():
    shown = CliRunner().invoke(app, ["bench", "ur5", "--json"])
    assert shown.exit_code == 0, shown.output
    rows = {row["name"]: row for row in json.loads(shown.stdout)}
    for name in ("forward", "inverse dynamics, batch", "inverse kinematics", "collision check, batch", "plan"):
        assert 0.0 < rows[name]["median"] <= rows[name]["p99"]
    assert rows["inverse kinematics"]["remark"] == "5 of 5 poses solved"
    assert rows["plan"]["remark"] == "2 of 2 motions among 20 boxes"
    assert rows["inverse dynamics, batch"]["median"] < rows["inverse dynamics"]["median"]


def test_the_table_names_what_is_left_out(monkeypatch):
    def missing(name):
        raise MissingPackage("daqp", "a constrained step", "capability")

    monkeypatch.setattr(bench, "_jobs", lambda *_: [("servo cycle", missing)])
    robot = Robot.from_urdf("ur5")
    assert "left out" in bench.measure(robot, arm_chain(robot))[0].remark
    shown = CliRunner().invoke(app, ["bench"])
    assert "servo cycle" in shown.stdout and "manipapy[capability]" in shown.stdout


def test_an_unknown_robot_is_refused():
    shown = CliRunner().invoke(app, ["bench", "no_such_robot"])
    assert shown.exit_code != 0 and "no_such_robot" in str(shown.exception)
