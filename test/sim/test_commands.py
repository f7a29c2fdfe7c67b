"""Commands by joint name: effect, validation and limits."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import dynamics
from manipapy_core.errors import InputError
from manipapy_core.model import BoxGeometry
from manipapy_core.sim import CommandRefused, DriveMode, DriveSettings, SceneObject, SimWorld
from sim.arms import HOME, arm

pytestmark = pytest.mark.usefixtures("simulator")


@pytest.fixture
def world():
    with SimWorld() as world:
        yield world


@pytest.fixture
def ur5(world):
    return world.add_robot(arm("ur5"), q=HOME["ur5"])


@pytest.fixture
def panda(world):
    return world.add_robot(arm("panda"), q=HOME["panda"])


def test_joint_order_does_not_matter(world, ur5):
    order = [3, 0, 5, 1, 4, 2]
    names = [ur5.joint_names[index] for index in order]
    goal = np.add(HOME["ur5"], [0.1, -0.1, 0.2, 0.1, -0.2, 0.3])
    ur5.command(DriveMode.POSITION, goal[order], names)
    world.step(1500)
    np.testing.assert_allclose(ur5.state().q, goal, atol=1e-6)


def test_joints_without_a_command_hold_position(world, panda):
    panda.command(DriveMode.POSITION, [0.04], ["panda_finger_joint1"])
    world.step(1500)
    q = panda.state().q
    assert q[7] == pytest.approx(0.04, abs=1e-4)
    np.testing.assert_allclose(q[:7], HOME["panda"][:7], atol=1e-5)


def test_arm_by_effort_and_gripper_by_position_at_once(world, panda):
    panda.command(DriveMode.POSITION, [0.03], ["panda_finger_joint1"])
    for _ in range(1000):
        tau = dynamics.gravity_forces(panda.chain, panda.state().q)
        panda.command(DriveMode.EFFORT, tau[:7], panda.joint_names[:7])
        world.step()
    # The arm is only gravity-compensated: the reaction of the gripper moves it slightly.
    np.testing.assert_allclose(panda.state().q[:7], HOME["panda"][:7], atol=5e-3)
    assert panda.state().q[7] == pytest.approx(0.03, abs=1e-4)


def test_gripper_pushes_with_no_more_than_its_effort(world, panda):
    """A finger that closes against a force of 20 N: with 5 N it does not get there, without a limit it does."""

    def close(seconds: float) -> float:
        panda.command(DriveMode.POSITION, [0.0], ["panda_finger_joint1"])
        for _ in range(round(seconds / world.time_step)):
            T = panda.link_pose("panda_leftfinger")
            panda.push("panda_leftfinger", 20.0 * T[:3, 1], T[:3, 3])
            world.step()
        return panda.state().q[7]

    panda.limit_effort(["panda_finger_joint1"], 5.0)
    assert close(0.3) > 0.03
    assert abs(panda.state().effort[7]) <= 5.0 + 1e-9
    panda.limit_effort(["panda_finger_joint1"], np.inf)
    assert close(1.5) < 5e-3  # some millimetres: a servo
    with pytest.raises(InputError, match="above 0"):
        panda.limit_effort(["panda_finger_joint1"], float("nan"))


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_position_is_reached_within_velocity_and_acceleration_limits(world, name):
    robot = world.add_robot(arm(name), q=HOME[name])
    goal = np.array(HOME[name]) + (0.5 if name == "ur5" else np.array([0.5] * 7 + [0.015]))
    robot.command(DriveMode.POSITION, goal)
    limits, fastest, hardest = robot.chain.limits, 0.0, 0.0
    before = robot.state().qd
    for _ in range(2500):
        world.step()
        qd = robot.state().qd
        fastest, hardest = np.maximum(fastest, np.abs(qd)), np.maximum(hardest, np.abs(qd - before) / 1e-3)
        before = qd
    np.testing.assert_allclose(robot.state().q, goal, atol=1e-6)
    assert (fastest <= 1.02 * limits.velocity).all()
    assert (hardest <= 1.02 * np.minimum(limits.acceleration, 1e6)).all()


def test_velocity_is_tracked_and_stops_at_the_joint_limit(world, panda):
    def drive(steps):
        for _ in range(steps):
            panda.command(DriveMode.VELOCITY, [-0.5], ["panda_joint4"])
            world.step()

    drive(300)
    assert panda.state().qd[3] == pytest.approx(-0.5, abs=1e-3)
    drive(2000)
    assert panda.state().q[3] == pytest.approx(panda.chain.limits.lower[3], abs=1e-3)
    assert abs(panda.state().qd[3]) < 1e-3


def test_commands_are_clipped_to_limits_and_reported(world, ur5):
    huge = np.zeros(6)
    huge[[1, 4]] = 1e4, -1e4
    assert ur5.command(DriveMode.EFFORT, huge) == ("shoulder_lift_joint", "wrist_2_joint")
    world.step()
    np.testing.assert_array_equal(ur5.state().effort, [0.0, 150.0, 0.0, 0.0, -28.0, 0.0])
    assert ur5.status().limited == ("shoulder_lift_joint", "wrist_2_joint")
    assert ur5.command(DriveMode.VELOCITY, [9.0], ["elbow_joint"]) == ("elbow_joint",)
    assert ur5.command(DriveMode.POSITION, [-9.0], ["elbow_joint"]) == ("elbow_joint",)
    assert ur5.command(DriveMode.EFFORT, np.zeros(6)) == ()


@pytest.mark.parametrize(
    ("values", "joints", "reason"),
    [
        ([np.nan, 0, 0, 0, 0, 0], None, "shoulder_pan_joint.*nan"),
        ([0, 0, np.inf, 0, 0, 0], None, "elbow_joint.*inf"),
        ([0, 0, 0], None, "3 values.*6 joints"),
        ([0.0, 0.0], ["elbow_joint"], "2 values.*1 joints"),
        ([0.0], ["knee_joint"], "knee_joint.*available"),
        ([0.0, 0.0], ["elbow_joint", "elbow_joint"], "twice"),
        (["fast"], ["elbow_joint"], "numbers"),
        ([[0.0]], ["elbow_joint"], "shape"),
    ],
)
def test_invalid_commands_are_refused_and_the_last_one_stays(world, ur5, values, joints, reason):
    good = dynamics.gravity_forces(ur5.chain, ur5.state().q)
    ur5.command(DriveMode.EFFORT, good)
    with pytest.raises(CommandRefused, match=reason):
        ur5.command(DriveMode.EFFORT, values, joints)
    world.step()
    np.testing.assert_array_equal(ur5.state().effort, good)
    status = ur5.status()
    assert status.refusals == 1 and status.last_refusal
    assert set(status.modes.values()) == {DriveMode.EFFORT}


def test_hold_mode_is_refused_as_a_command(world, ur5):
    with pytest.raises(CommandRefused, match="hold"):
        ur5.command(DriveMode.HOLD, np.zeros(6))
    with pytest.raises(InputError, match="command_timeout"):
        DriveSettings(command_timeout=0.0)


def test_blocked_joint_does_not_overshoot_when_released(world, ur5):
    """The arm pushes against a wall that is then removed."""
    tool = ur5.link_pose("tool0")[:3, 3]
    T = np.eye(4)
    T[:3, 3] = np.add(tool, [0.0, 0.20, 0.0])
    world.spawn(SceneObject("wall", BoxGeometry([1.0, 0.1, 1.0]), T))
    goal = np.add(HOME["ur5"], [0.8, 0, 0, 0, 0, 0])
    ur5.command(DriveMode.POSITION, goal)
    world.step(2000)
    assert {contact.other for contact in ur5.contacts()} == {"wall"}
    assert ur5.state().q[0] < goal[0] - 0.1
    world.remove("wall")
    fastest = 0.0
    for _ in range(2500):
        world.step()
        fastest = max(fastest, float(np.abs(ur5.state().qd).max()))
    np.testing.assert_allclose(ur5.state().q, goal, atol=1e-5)
    assert fastest < 2.0


def test_gripper_lifts_an_object(world, panda):
    """Closing on a box by position holds it by friction while the arm moves."""
    grip = panda.link_pose("panda_hand_tcp")
    world.spawn(SceneObject("cube", BoxGeometry([0.03, 0.03, 0.03]), grip, mass=0.05, friction=2.0))
    for _ in range(300):
        panda.command(DriveMode.POSITION, [0.0], ["panda_finger_joint1"])
        world.place("cube", grip)
        world.step()
    panda.command(DriveMode.POSITION, np.add(HOME["panda"][:7], [0.3, 0, 0, 0, 0, 0, 0]), panda.joint_names[:7])
    world.step(1500)
    carried = np.linalg.inv(panda.link_pose("panda_hand_tcp")) @ world.object_pose("cube")
    assert np.linalg.norm(carried[:3, 3]) < 0.005
    assert {contact.link for contact in panda.contacts()} == {"panda_leftfinger", "panda_rightfinger"}
