"""Web viewer: drawn poses agree with kinematics, and commands reach the arm."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from urllib.request import urlopen

import numpy as np
import pytest

pytest.importorskip("viser", reason="the extra viewer is not installed")

from draw.browser import Browser, chromium
from manipapy_core import Robot, kinematics, lie
from manipapy_core.draw import ArmView, Commands, ServoCommands
from manipapy_core.draw.servo_panel import ANGULAR, LINEAR
from manipapy_core.errors import InputError
from manipapy_core.ik import IKStatus

Q = np.array([0.3, -1.2, 1.4, -1.7, -1.57, 0.2])


class RecordedCommands:
    """Recorded commands of the buttons."""

    def __init__(self) -> None:
        self.moves: list[np.ndarray] = []
        self.held = threading.Event()
        self.poses: list[np.ndarray] = []
        self.twists: list[np.ndarray] = []
        self.velocities: list[np.ndarray] = []

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
    servo = ServoCommands(recorded.poses.append, recorded.twists.append, recorded.velocities.append)
    commands = Commands(plan=lambda q: "", move=recorded.move, hold=recorded.hold, reset=lambda: "", servo=servo)
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
        check_servo(view, recorded, browser)


def check_servo(view, recorded, browser):
    """Holding a jog button streams velocities; dragging the gizmo streams poses while the switch is on."""
    view.servo.what.value, view.servo.share.value = "elbow_joint", 0.5
    browser.hold("Jog +", lambda: len(recorded.velocities) > 5)
    np.testing.assert_allclose(recorded.velocities[-1], [0.0, 0.0, 0.5 * ANGULAR, 0.0, 0.0, 0.0])
    count = len(recorded.velocities)
    time.sleep(0.5)
    assert len(recorded.velocities) <= count + 1  # nothing is sent after its release
    view.show(Q)
    browser.click_input("Servo")
    browser.wait_for(lambda: view.goal.follow is not None, "the switch")
    np.testing.assert_allclose(view.goal.q, Q)
    assert not recorded.poses  # nothing moves before the gizmo is dragged
    wanted = kinematics.forward(view.goal.chain, Q + 0.1)
    drag(view, wanted)
    browser.wait_for(lambda: len(recorded.poses) > 5, "poses again and again")
    np.testing.assert_allclose(recorded.poses[-1], wanted, atol=1e-9)
    np.testing.assert_allclose(view.goal.q, Q)  # no goal is set
    browser.click_input("Servo")
    browser.wait_for(lambda: view.goal.follow is None, "the switch")
    time.sleep(0.2)
    count = len(recorded.poses)
    time.sleep(0.3)
    assert len(recorded.poses) == count


def drag(view, T):
    """As a browser does that drags the gizmo."""
    gizmo = view.goal.gizmo
    gizmo.position, gizmo.wxyz = T[:3, 3], np.roll(lie.rotation_to_quaternion(T[:3, :3]), 1)
    view.goal._on_drag(SimpleNamespace(target=gizmo))


def test_jogs_of_the_tip_and_refusals_of_a_servo(view, recorded):
    view.servo.jog("move along z", -0.25)
    np.testing.assert_allclose(recorded.twists[-1], [0.0, 0.0, 0.0, 0.0, 0.0, -0.25 * LINEAR])
    view.servo.jog("turn about x", 1.0)
    np.testing.assert_allclose(recorded.twists[-1], [ANGULAR, 0.0, 0.0, 0.0, 0.0, 0.0])

    def refuse(_):
        raise InputError("no servo listens")

    robot = Robot.from_urdf("ur5")
    refusing = Commands(lambda q: "", lambda q: "", lambda: "", lambda: "", ServoCommands(refuse, refuse, refuse))
    with ArmView(robot, view.goal.chain, refusing, port=18085) as other:
        other.servo.jog("elbow_joint", 1.0)
        assert "no servo listens" in other.goal.message.content
    with ArmView(robot, view.goal.chain, port=18085) as shown:
        assert shown.servo is None
