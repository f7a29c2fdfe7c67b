"""The arm after a command timeout: it stops, holds and never falls."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import dynamics
from manipapy_core.errors import InputError
from manipapy_core.sim import CommandRefused, DriveMode, DriveSettings, HoldReason, ResumePolicy, SimWorld
from sim.arms import HOME, arm

pytestmark = pytest.mark.usefixtures("simulator")


def in_motion(world: SimWorld, name: str, speed: float, **options):
    """An arm with all joints at this speed [rad/s] under effort control and the gripper at rest."""
    robot = world.add_robot(arm(name), q=HOME[name], **options)
    turning = robot.chain.limits.effort > 0
    turning[6 if name == "ur5" else 7 :] = False
    for _ in range(400):
        state = robot.state()
        qdd = np.where(turning, 50.0 * (speed - state.qd), -50.0 * state.qd).clip(-5.0, 5.0)
        robot.command(DriveMode.EFFORT, dynamics.inverse_dynamics(robot.chain, state.q, state.qd, qdd))
        world.step()
    assert robot.state().qd[turning].min() > 0.95 * speed
    return robot


@pytest.mark.parametrize("name", ["ur5", "panda"])
@pytest.mark.parametrize("speed", [0.3, 1.0])
def test_moving_arm_stops_within_50_ms_of_the_last_command(name, speed):
    with SimWorld() as world:
        robot = in_motion(world, name, speed)
        world.step(19)
        assert set(robot.status().modes.values()) == {DriveMode.EFFORT}
        world.step(2)
        assert set(robot.status().held.values()) == {HoldReason.TIMEOUT}
        world.step(29)
        assert np.abs(robot.state().qd).max() < 0.03 * speed
        stopped = robot.state().q
        world.step(2000)
        assert np.abs(robot.state().q - stopped).max() < 1e-3
        assert np.abs(robot.state().qd).max() < 1e-6


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_hold_supports_the_arm_and_never_sends_zero_effort(name):
    with SimWorld() as world:
        robot = in_motion(world, name, 1.0)
        for _ in range(200):
            world.step()
            weight = np.abs(dynamics.gravity_forces(robot.chain, robot.state().q)).max()
            assert np.abs(robot.state().effort).max() > 0.3 * weight > 0.0
        np.testing.assert_allclose(
            robot.state().effort, dynamics.gravity_forces(robot.chain, robot.state().q), atol=0.5
        )


def test_no_joint_speeds_up_while_the_arm_brakes():
    with SimWorld() as world:
        robot = in_motion(world, "ur5", 2.0)
        world.step(20)
        fastest = np.abs(robot.state().qd)
        for _ in range(100):
            world.step()
            assert (np.abs(robot.state().qd) <= 1.05 * fastest + 0.02).all()
        assert np.abs(robot.state().qd).max() < 0.02


def test_arm_holds_until_the_first_command():
    with SimWorld() as world:
        robot = world.add_robot(arm("ur5"), q=HOME["ur5"])
        world.step(1000)
        assert np.abs(robot.state().q - HOME["ur5"]).max() < 1e-9
        assert set(robot.status().held.values()) == {HoldReason.START}
        robot.command(DriveMode.EFFORT, np.zeros(6))
        assert not robot.status().held


def test_commands_after_a_timeout_need_enable():
    with SimWorld() as world:
        robot = in_motion(world, "ur5", 0.3)
        world.step(100)
        goal = robot.state().q + 0.05
        with pytest.raises(CommandRefused, match="enable"):
            robot.command(DriveMode.POSITION, goal)
        robot.enable()
        world.step(50)  # enabled without a command: still held
        assert np.abs(robot.state().qd).max() < 1e-3
        robot.command(DriveMode.POSITION, goal)
        world.step(1000)
        np.testing.assert_allclose(robot.state().q, goal, atol=1e-6)
        assert robot.status().timeouts == 1


def test_resume_policy_command_accepts_a_new_command():
    with SimWorld() as world:
        settings = DriveSettings(resume=ResumePolicy.COMMAND)
        robot = in_motion(world, "ur5", 0.3, settings=settings)
        world.step(100)
        robot.command(DriveMode.EFFORT, dynamics.gravity_forces(robot.chain, robot.state().q))
        assert not robot.status().held


def test_nan_commands_do_not_feed_the_watchdog():
    with SimWorld() as world:
        robot = in_motion(world, "ur5", 0.3)
        for _ in range(50):
            with pytest.raises(CommandRefused):
                robot.command(DriveMode.EFFORT, [np.nan] * 6)
            world.step()
        assert set(robot.status().held.values()) == {HoldReason.TIMEOUT}
        assert np.abs(robot.state().qd).max() < 0.01


def test_timeouts_per_mode():
    with SimWorld() as world:
        robot = world.add_robot(arm("ur5"), q=HOME["ur5"], settings=DriveSettings(command_timeout=0.005))
        robot.command(DriveMode.EFFORT, np.zeros(3), robot.joint_names[3:])
        robot.command(DriveMode.VELOCITY, [0.2], robot.joint_names[:1])
        robot.command(DriveMode.POSITION, [-1.2], robot.joint_names[1:2])
        world.step(6)
        assert set(robot.status().held) == set(robot.joint_names[2:])
        world.step(95)
        assert set(robot.status().held) == set(robot.joint_names) - {robot.joint_names[1]}
        robot.settings = DriveSettings(command_timeout=float("inf"), resume=ResumePolicy.COMMAND)
        robot.command(DriveMode.EFFORT, [0.0], robot.joint_names[5:])
        world.step(1000)
        assert robot.status().modes[robot.joint_names[5]] is DriveMode.EFFORT
        assert robot.status().modes[robot.joint_names[1]] is DriveMode.POSITION
        assert robot.state().q[1] == pytest.approx(-1.2, abs=1e-6)


def test_requested_hold_stops_the_arm_until_enable():
    with SimWorld() as world:
        robot = in_motion(world, "panda", 0.5)
        robot.hold()
        world.step(40)
        assert np.abs(robot.state().qd).max() < 0.02
        with pytest.raises(CommandRefused, match="a hold was requested"):
            robot.command(DriveMode.EFFORT, np.zeros(8))
        robot.enable(robot.joint_names[:7])
        robot.command(DriveMode.POSITION, HOME["panda"][:7], robot.joint_names[:7])
        assert set(robot.status().held) == {"panda_finger_joint1"}


def test_hold_is_stiff_against_external_forces():
    with SimWorld() as world:
        robot = world.add_robot(arm("ur5"), q=HOME["ur5"])
        world.step(100)
        for _ in range(1000):
            robot.push("wrist_3_link", [0.0, 0.0, -50.0], robot.link_pose("tool0")[:3, 3])
            world.step()
        moved = np.abs(robot.state().q - HOME["ur5"]).max()
        assert 1e-4 < moved < 0.05
        world.step(500)
        assert np.abs(robot.state().q - HOME["ur5"]).max() < 1e-3
        with pytest.raises(InputError, match="finite"):
            robot.push("wrist_3_link", [0.0, np.nan, 0.0], [0.0, 0.0, 0.0])
