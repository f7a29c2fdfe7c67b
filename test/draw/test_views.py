"""`manipapy view`: what a file is, and that the page shows it at every time."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from urllib.request import urlopen

import numpy as np
import pytest

pytest.importorskip("viser", reason="the extra viewer is not installed")

import viser

from draw.browser import Browser, chromium
from draw.test_arm_view import pose_of
from manipapy_core import Robot, kinematics
from manipapy_core.cli.view import kind_of, opened
from manipapy_core.draw.status_panel import PLOTTED, SHOWN_SECONDS, StatusPanel
from manipapy_core.draw.trajectory_view import TrajectoryFile, TrajectoryView
from manipapy_core.draw.web_view import ArmView
from manipapy_core.errors import InputError
from manipapy_core.reachability import MapSpec, build_map

NAMES = ["shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint", "wrist_2_joint", "wrist_3_joint"]


@pytest.fixture
def trajectory(tmp_path):
    path = tmp_path / "motion.json"
    positions = [[0.0, -1.2, 1.4, -1.7, -1.57, 0.0], [1.0, -1.2, 1.4, -1.7, -1.57, 0.0]]
    path.write_text(json.dumps({"joint_names": NAMES, "times": [0.0, 2.0], "positions": positions}))
    return path


def test_kinds_of_files(tmp_path, trajectory):
    assert kind_of("ur5") == "robot"
    assert kind_of(str(trajectory)) == "trajectory"
    (tmp_path / "run.mcap").write_bytes(b"")
    assert kind_of(str(tmp_path / "run.mcap")) == "recording"
    (tmp_path / "ur5.map").write_bytes(b"PK\x03\x04")
    assert kind_of(str(tmp_path / "ur5.map")) == "map"
    (tmp_path / "arm.urdf").write_text("<robot/>")
    assert kind_of(str(tmp_path / "arm.urdf")) == "robot"


def test_sliders_move_the_arm_of_a_robot_file():
    with opened("robot", "ur5", "", "", "tool0", 18110, {}) as page:
        q = np.array([0.3, -1.2, 1.4, -1.7, -1.57, 0.2])
        page.goal.set_goal(q)
        np.testing.assert_allclose(pose_of(page.arm.frames["tool0"]), kinematics.forward(page.arm.chain, q), atol=1e-9)
        assert not page.goal.goal_robot.root.visible
        page.layers["Goal"].visible = False
        page.layers["Goal"].visible = True
        assert not page.goal.goal_robot.root.visible and page.goal.gizmo.visible


def test_a_trajectory_is_played_in_order(trajectory):
    robot = Robot.from_urdf("ur5")
    with ArmView(robot, robot.chain("base_link", "tool0"), port=18111, plots=False) as page:
        shown = TrajectoryView(page, TrajectoryFile.read(trajectory))
        for seconds, pan in ((0.0, 0.0), (1.0, 0.5), (2.0, 1.0), (0.5, 0.25)):
            shown.playback.seek(seconds)
            np.testing.assert_allclose(page.goal.measured[0], pan, atol=1e-12)
        assert page.goal.q[0] == pytest.approx(1.0)
        shown.playback.play()
        assert shown.playback.playing
        time.sleep(0.2)
        assert shown.playback.now == pytest.approx(0.5)  # no browser is open
        shown.close()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"times": [0.0, 0.0]}, "do not ascend"),
        ({"positions": [[0.0]]}, "positions of shape"),
        ({"joint_names": None}, "no trajectory"),
    ],
)
def test_broken_trajectories_are_refused(trajectory, change, problem):
    data = json.loads(trajectory.read_text()) | change
    trajectory.write_text(json.dumps(data))
    with pytest.raises(InputError, match=problem):
        TrajectoryFile.read(trajectory)


def test_a_trajectory_of_another_robot_is_refused(trajectory):
    with (
        pytest.raises(InputError, match="has no panda_joint1"),
        opened("trajectory", str(trajectory), "panda", "", "", 18112, {}),
    ):
        pass
    with pytest.raises(InputError, match="which robot"), opened("trajectory", str(trajectory), "", "", "", 18112, {}):
        pass


def test_a_map_is_shown_as_a_slice(tmp_path):
    robot = Robot.from_urdf("ur5")
    spec = MapSpec(robot, "base_link", "tool0", samples=20_000, resolution=0.2, self_collision=False)
    build_map(spec, tmp_path / "ur5.map")
    with opened("map", str(tmp_path / "ur5.map"), "ur5", "base_link", "tool0", 18113, {}) as page:
        assert "positions" in page.status.text and "Reach slice" in page.layers


@pytest.mark.skipif(chromium() is None, reason="Chromium is not installed: apt install chromium")
def test_the_command_plays_a_trajectory_in_the_browser(trajectory):
    command = [sys.executable, "-c", "from manipapy_core.cli import main; main()", "view", str(trajectory)]
    command += ["--robot", "ur5", "--tip", "tool0", "--port", "18114", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            url = next(word for word in line.split() if word.startswith("http://"))
            assert urlopen(url).status == 200
            with Browser(url) as browser:
                browser.wait_for(lambda: "of 2.00 s, 2 points" in browser.text, "the page")
                browser.click("Play")
                browser.wait_for(lambda: "2.00 s of 2.00 s" in browser.text, "the end of the trajectory")
                assert not browser.errors
        finally:
            process.send_signal(2)
        assert process.wait(30) == 0


@pytest.mark.parametrize("rate", [10.0, 30.0, 200.0])
def test_a_plot_covers_its_time_at_any_rate_and_keeps_peaks(rate):
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        panel = StatusPanel(server)
        peak = round(5.0 * rate)
        for number in range(round(30.0 * rate)):
            panel.plot_tracking(number / rate, 2e-3 if number == round(30.0 * rate) - peak else 1e-6)
        times, errors, _ = panel._tracking._plot.data
    finally:
        server.stop()
    assert -SHOWN_SECONDS <= times[0] < -0.98 * SHOWN_SECONDS and times[-1] == 0.0
    assert len(times) <= PLOTTED + 1
    assert errors.max() == pytest.approx(2.0)  # mrad
    assert times[errors.argmax()] == pytest.approx(-5.0, abs=0.2)
