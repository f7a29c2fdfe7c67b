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
from manipapy_core.draw import ArmStatus, ArmView, BoxCommands, Commands, ServoCommands, TuningCommands, guard_text
from manipapy_core.draw.goal_check import GoalKind
from manipapy_core.draw.goal_panel import COLOURS, short_names
from manipapy_core.draw.servo_panel import ANGULAR, LINEAR
from manipapy_core.draw.tuning_panel import numbers_in
from manipapy_core.errors import InputError
from manipapy_core.geometry import Box, World
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
        self.laws: list[str] = []
        self.gains: list[tuple] = []
        self.boxes: dict[str, tuple] = {}

    def move(self, q: np.ndarray) -> str:
        self.moves.append(q)
        if len(self.moves) > 1:
            raise InputError("no path found")
        return "the arm has arrived"

    def set_law(self, law: str) -> str:
        self.laws.append(law)
        return f"the law is {law}"

    def set_gain(self, *gain) -> str:
        self.gains.append(gain)
        return "the gain is set"

    def add_box(self, name, size, position) -> str:
        self.boxes[name] = (size, position)
        return f"{name} is there"

    def remove_box(self, name) -> str:
        del self.boxes[name]
        return f"{name} is removed"

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
    tuning = TuningCommands(
        laws={"pd": {"kp": "stiffness"}, "zero": {}},
        gain=lambda law, name: [1.0, 2.5],
        set_law=recorded.set_law,
        set_gain=recorded.set_gain,
        set_motion_speed=lambda share: "",
        set_speed=lambda share: "",
    )
    boxes = BoxCommands(add={"planner's world": recorded.add_box}, remove=recorded.remove_box)
    commands = Commands(lambda q: "", recorded.move, recorded.hold, lambda: "", servo, tuning, boxes)
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
    assert "out of reach" in goal.state.text and "mm" in goal.state.text


def test_state_of_an_older_goal_is_not_shown(view, monkeypatch):
    goal, begun, go_on, state = view.goal, threading.Event(), threading.Event(), view.goal._check.state

    def slow(q):
        begun.set()
        assert go_on.wait(60.0)
        return state(q)

    monkeypatch.setattr(goal._check, "state", slow)
    goal.set_goal(Q)
    assert begun.wait(60.0)  # its thread checks this goal
    far = kinematics.forward(goal.chain, Q)
    far[:3, 3] *= 10.0
    goal.aim(far)
    go_on.set()
    time.sleep(0.2)
    assert "out of reach" in goal.state.text


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
    view.status.show(ArmStatus("ok", law="computed_torque", phase="holding", rate=1000.0))
    with Browser(view.url) as browser:
        browser.wait_for(lambda: "computed_torque" in browser.text, "the text about the arm")
        assert "shoulder_pan" in browser.text and "the arm holds its position" in browser.text
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
        check_tabs(view, recorded, browser)
        assert not browser.errors


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


def check_tabs(view, recorded, browser):
    """Gains, boxes and layers are changed by clicks in their tabs."""
    browser.click_tab("Tune")
    browser.wait_for(lambda: "Apply gain" in browser.text, "the tab")
    browser.click("Apply gain")
    browser.wait_for(lambda: recorded.gains, "the gain")
    assert recorded.gains == [("pd", "kp", [1.0, 2.5])]
    browser.click_tab("World")
    browser.wait_for(lambda: "Add box" in browser.text, "the tab")
    browser.click("Add box")
    browser.wait_for(lambda: "box_1 is there" in browser.text, "the box")
    size, position = recorded.boxes["box_1"]
    np.testing.assert_allclose(size, view.boxes.size.value)
    np.testing.assert_allclose(position, view.goal.gizmo.position)
    browser.click("Remove box")
    browser.wait_for(lambda: not recorded.boxes, "its removal")
    browser.click_tab("Show")
    browser.wait_for(lambda: "Collision spheres" in browser.text, "the tab")
    browser.click_input("Arm")
    browser.wait_for(lambda: not view.arm.visuals[0].visible, "the switch")


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


def test_the_state_of_a_goal_is_shown_at_the_gizmo(view):
    goal = view.goal
    assert view.goal_check.ready.wait(60.0)
    for q, word, colour in (
        (Q, "solved", COLOURS[GoalKind.FREE]),
        (np.array([0.0, -2.0, 2.9, 0.0, 0.0, 0.0]), "in collision: ", COLOURS[GoalKind.COLLIDING]),
        (np.array([2 * np.pi, -1.2, 1.4, -1.7, -1.57, 0.2]), "shoulder_pan_joint at its upper limit", None),
    ):
        goal.set_goal(q)
        wait_for(lambda word=word: word in goal.state.text)
        if colour is not None:
            np.testing.assert_allclose(goal.goal_robot.visuals[0].color, 255 * np.array(colour), atol=1.0)


def test_an_object_in_the_way_of_a_goal_is_named():
    robot = Robot.from_urdf("ur5")
    world = World()
    with ArmView(robot, robot.chain("base_link", "tool0"), port=18086, world=world.snapshot) as view:
        assert view.goal_check.ready.wait(60.0)
        view.goal.set_goal(Q)
        wait_for(lambda: view.goal.state.text == "solved")
        world.add("crate", Box(np.full(3, 0.1)), kinematics.forward(view.goal.chain, Q))
        view.goal.set_goal(Q)
        wait_for(lambda: "with crate" in view.goal.state.text)


def wait_for(condition):
    deadline = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_guard_is_described_in_words():
    assert "follows a trajectory" in guard_text(ArmStatus("ok", phase="running"))
    assert "40 %" in guard_text(ArmStatus("slow", "late", speed=0.4))
    assert "until the next goal: too far" in guard_text(ArmStatus("hold", "too far"))
    assert "press Reset" in guard_text(ArmStatus("stop", "too fast"))
    assert "no forecast" in guard_text(ArmStatus("ok", warning="no forecast"))


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["shoulder_pan_joint", "elbow_joint"], ["shoulder_pan", "elbow"]),
        (["panda_joint1", "panda_joint2"], ["joint1", "joint2"]),
        (["left_a_joint", "left_b_joint"], ["a", "b"]),
        (["joint"], ["joint"]),
        (["joint_1", "joint_1"], ["1", "1"]),
    ],
)
def test_labels_of_joints_are_short(names, short):
    assert short_names(names) == short


def test_plots_choose_a_unit_that_shows_digits(view):
    for i in range(3):
        view.status.plot_tracking(1000.0 + i, 4e-7 * i)
    assert "µrad" in view.status._tracking.title
    view.status.plot_tracking(1004.0, 0.02)
    assert "[mrad or mm], now 20" in view.status._tracking.title
    view.status.plot_timing(1.0, 30.0, 120.0)
    assert "jitter 30" in view.status._timing.title


@pytest.mark.parametrize("text", ["", "1 2 x", " ".join(["1"] * 65)])
def test_gains_that_are_no_numbers_are_refused(text):
    with pytest.raises(InputError, match="separated by spaces"):
        numbers_in(text)
