"""Reports of failed motions: written by the planner's code, planned again from the file alone."""

from __future__ import annotations

import json

import numpy as np
import pytest
from manipapy_msgs.msg import MotionRequest
from sensor_msgs.msg import JointState

from manipapy_core import kinematics, lie
from manipapy_core.errors import InputError
from manipapy_core.geometry import Box, Checker, RobotBody, World
from manipapy_ros.common.robot_loader import ROBOT_PARAMETERS, LoadedRobot, robot_from_parameters
from manipapy_ros.planner.failure_report import FailureReports, is_report, report_folder, reproduce, status_text
from manipapy_ros.planner.requests import Defaults, Requests

START = np.array([0.0, -1.57, 1.57, -1.57, -1.57, 0.0])
GOAL = np.array([1.0, -1.57, 1.57, -1.57, -1.57, 0.0])


@pytest.fixture(scope="module")
def values():
    return {row.name: row.default for row in ROBOT_PARAMETERS} | {"base_link": "base_link", "tip_link": "tool0"}


@pytest.fixture(scope="module")
def requests(values):
    model = LoadedRobot.of(robot_from_parameters(values), values)
    checker = Checker(RobotBody.build(model.robot, model.chain), World())
    return Requests(model, checker, Defaults(2.0, 0.5, 0.5, 0.0), {"home": START})


def request_to(requests, q):
    joints = JointState(name=list(requests.model.chain.joint_names), position=q.tolist())
    return MotionRequest(kind=MotionRequest.JOINTS, joints=joints)


def world_with_box(requests):
    world = World()
    T = lie.pose(translation=kinematics.forward(requests.model.chain, GOAL)[:3, 3])
    world.add("crate", Box(np.full(3, 0.15)), T)
    return world.snapshot()


def test_a_failed_plan_ends_the_same_way_from_its_report(requests, values, tmp_path):
    request, world = request_to(requests, GOAL), world_with_box(requests)
    failed = requests.plan(request, START, world, lambda: False, lambda phase, cost: None)
    assert not failed.success
    said: list[str] = []
    FailureReports(tmp_path / "failures", requests, values, said.append).write(
        request, START, world, failed.message, status_text(failed.status)
    )
    (path,) = (tmp_path / "failures").iterdir()
    assert is_report(path) and str(path) in said[0]
    assert json.loads(path.read_text())["objects"] == ["crate"]
    again = reproduce(path)
    assert again.same and again.result is not None and again.result.status is failed.status
    assert (again.reason, again.text) == (failed.message, failed.message)
    np.testing.assert_array_equal(again.start, START)


def test_a_failure_outside_planning_is_distinguished(requests, values, tmp_path):
    reports = FailureReports(tmp_path, requests, values, lambda text: None)
    reports.write(request_to(requests, GOAL), START, World().snapshot(), "the controller held the arm", "")
    found = reproduce(next(tmp_path.iterdir()))
    assert found.result is not None and found.result.success and not found.status and not found.same


def test_reports_without_a_start_and_other_files_are_refused(requests, values, tmp_path):
    reports = FailureReports(tmp_path, requests, values, lambda text: None)
    reports.write(request_to(requests, GOAL), None, World().snapshot(), "no joint states", "")
    with pytest.raises(InputError, match="joint positions were not known"):
        reproduce(next(tmp_path.iterdir()))
    other = tmp_path / "other.json"
    other.write_text("[1, 2]")
    assert not is_report(other)
    with pytest.raises(InputError, match="no report"):
        reproduce(other)


def test_old_reports_are_removed_and_a_full_disk_is_no_error(requests, values, tmp_path):
    said: list[str] = []
    reports = FailureReports(tmp_path / "some", requests, values, said.append)
    for _ in range(23):
        reports.write(request_to(requests, GOAL), START, World().snapshot(), "none", "")
    assert len(list((tmp_path / "some").iterdir())) == 20
    (tmp_path / "file").write_text("")
    FailureReports(tmp_path / "file" / "below", requests, values, said.append).write(
        request_to(requests, GOAL), START, World().snapshot(), "none", ""
    )
    assert "no report" in said[-1]


def test_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert report_folder("auto") == tmp_path / "manipapy" / "failures"
    assert report_folder("") is None
