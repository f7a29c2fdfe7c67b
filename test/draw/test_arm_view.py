"""Web viewer: drawn poses agree with kinematics, and commands reach the arm."""

from __future__ import annotations

import threading
from urllib.request import urlopen

import numpy as np
import pytest

pytest.importorskip("viser", reason="the extra viewer is not installed")

from draw.browser import Browser, chromium
from manipapy_core import Robot, kinematics, lie
from manipapy_core.draw import ArmView, Commands
from manipapy_core.errors import InputError
from manipapy_core.ik import IKStatus

Q = np.array([0.3, -1.2, 1.4, -1.7, -1.57, 0.2])


class RecordedCommands:
    """Recorded commands of the buttons."""

    def __init__(self) -> None:
        self.moves: list[np.ndarray] = []
        self.held = threading.Event()

    def move(self, q: np.ndarray) -> str:
        self.moves.append(q)
        if len(self.moves) > 1:
            raise InputError("no path found")
        return "the arm has arrived"

    def hold(self) -> str:
        self.held.set()
        return "the arm holds"


@pytest.fixture(scope="module")
def recorded():
    return RecordedCommands()


@pytest.fixture(scope="module")
def view(recorded):
    robot = Robot.from_urdf("ur5")
    commands = Commands(plan=lambda q: "", move=recorded.move, hold=recorded.hold, reset=lambda: "")
    with ArmView(robot, robot.chain("base_link", "tool0"), commands, port=18080) as view:
        yield view


def pose_of(handle) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = lie.rotation_from_quaternion(np.roll(handle.wxyz, -1)), handle.position
    return T


def test_drawn_link_poses_agree_with_kinematics(view):
    view.show(Q)
    robot, chain = Robot.from_urdf("ur5"), view.arm.chain
    assert list(view.arm.frames) == list(chain.link_names)
    for link in ("shoulder_link", "upper_arm_link", "forearm_link", "wrist_1_link", "wrist_2_link", "tool0"):
        alone = robot.chain("base_link", link)  # the chain to this link only
        np.testing.assert_allclose(pose_of(view.arm.frames[link]), kinematics.forward(alone, Q[: alone.n]), atol=1e-9)


def test_goal_follows_sliders_and_gizmo(view):
    goal = view.goal
    goal.set_goal(Q)
    np.testing.assert_allclose([slider.value for slider in goal.sliders], Q, atol=5e-4)
    np.testing.assert_allclose(pose_of(goal.gizmo), kinematics.forward(goal.chain, Q), atol=1e-9)
    wanted = kinematics.forward(goal.chain, Q + 0.1)
    assert goal.aim(wanted).status is IKStatus.SOLVED
    np.testing.assert_allclose(kinematics.forward(goal.chain, goal.q), wanted, atol=1e-5)
    np.testing.assert_allclose(pose_of(goal.goal_robot.frames["tool0"]), wanted, atol=1e-5)


def test_unreachable_goal_is_reported_and_ignored(view):
    goal = view.goal
    goal.set_goal(Q)
    far = kinematics.forward(goal.chain, Q)
    far[:3, 3] *= 10.0
    assert goal.aim(far).status is not IKStatus.SOLVED
    np.testing.assert_array_equal(goal.q, Q)
    assert "out of reach" in goal.message.content


def test_page_is_served_on_localhost_only(view):
    assert view.url.startswith("http://127.0.0.1:")
    with urlopen(view.url) as page:
        assert page.status == 200


def test_invalid_port_is_refused():
    robot = Robot.from_urdf("ur5")
    with pytest.raises(InputError, match="port is 0"):
        ArmView(robot, robot.chain("base_link", "tool0"), port=0)


@pytest.mark.skipif(chromium() is None, reason="Chromium is not installed: apt install chromium")
def test_browser_shows_and_moves_the_arm(view, recorded):
    view.goal.set_goal(Q)
    view.show_status("**OK** · computed_torque · 1000 Hz")
    with Browser(view.url) as browser:
        browser.wait_for(lambda: "computed_torque" in browser.text, "the text about the arm")
        assert "shoulder_pan_joint" in browser.text
        browser.wait_for(lambda: view.watched, "the server to know of the visitor")
        before = browser.screenshot()
        view.show(Q + 0.5)
        browser.wait_for(lambda: browser.screenshot() != before, "the arm to move in the image")
        browser.click("Move")
        browser.wait_for(lambda: "the arm has arrived" in browser.text, "the answer")
        np.testing.assert_array_equal(recorded.moves[-1], Q)
        browser.click("Move")
        browser.wait_for(lambda: "no path found" in browser.text, "the refusal")
        browser.click("Hold")
        browser.wait_for(recorded.held.is_set, "the hold")
