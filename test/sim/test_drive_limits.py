"""Limits of the drives: torque rates and overspeed, whatever efforts are commanded."""

from __future__ import annotations

import contextlib
import math

import numpy as np
import pytest

from manipapy_core import Robot, dynamics
from manipapy_core.errors import InputError
from manipapy_core.model import BoxGeometry
from manipapy_core.sim import (
    CommandRefused,
    DriveMode,
    DriveSettings,
    HoldReason,
    ResumePolicy,
    SceneObject,
    SimWorld,
)

pytestmark = pytest.mark.usefixtures("simulator")

HOME = [0.0, -1.57, 1.57, -1.57, -1.57, 0.0]
LIMITED = DriveSettings(resume=ResumePolicy.COMMAND, effort_rise_time=0.01, overspeed=1.04)


@pytest.fixture
def world():
    with SimWorld() as world:
        yield world


def arm(world, settings=LIMITED):
    return world.add_robot(
        Robot.from_urdf("ur5"), q=dict(zip(Robot.from_urdf("ur5").tree().joint_names, HOME)), settings=settings
    )


def weight(robot):
    state = robot.state()
    return dynamics.gravity_forces(robot.chain, state.q)


def run(world, robot, steps, efforts):
    """Largest speed over its limit in some steps."""
    worst = 0.0
    for step in range(steps):
        with contextlib.suppress(CommandRefused):
            robot.command(DriveMode.EFFORT, efforts(step))
        world.step()
        worst = max(worst, float((np.abs(robot.state().qd) / robot.chain.limits.velocity).max()))
    return worst


@pytest.mark.parametrize("period", [10, 50, 10_000])
def test_efforts_of_full_size_never_make_the_arm_too_fast(world, period):
    robot = arm(world)
    worst = run(world, robot, 500, lambda step: np.full(6, 150.0 if (step // period) % 2 == 0 else -150.0))
    assert worst < 1.05
    status = robot.status()
    assert status.trips >= 1 and "velocity limit" in status.last_trip
    assert set(status.held.values()) == {HoldReason.OVERSPEED}
    assert np.abs(robot.state().qd).max() < 0.01


def test_without_the_limits_the_same_efforts_overspeed_the_arm(world):
    """The test above can fail."""
    robot = arm(world, DriveSettings(resume=ResumePolicy.COMMAND))
    assert run(world, robot, 500, lambda step: np.full(6, 150.0 if (step // 50) % 2 == 0 else -150.0)) > 5.0


def test_a_tripped_drive_takes_commands_again_that_hold_the_arm(world):
    robot = arm(world)
    run(world, robot, 100, lambda _: np.full(6, 150.0))
    with pytest.raises(CommandRefused, match="has tripped"):
        robot.command(DriveMode.EFFORT, np.full(6, 150.0))
    before = robot.state().q
    run(world, robot, 200, lambda _: weight(robot))
    assert not robot.status().held
    np.testing.assert_allclose(robot.state().q, before, atol=2e-3)


def test_an_arm_moves_again_after_a_trip_although_nobody_commands_its_gripper(world):
    """The controller of an arm names the joints of the arm alone."""
    panda = Robot.from_urdf("panda")
    chain = panda.chain("panda_link0", "panda_hand_tcp")
    start = dict(zip(chain.joint_names, [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]))
    robot = world.add_robot(panda, q=start, settings=LIMITED)
    index = [robot.chain.joint_names.index(name) for name in chain.joint_names]

    def held_and_pushed(step):
        """Gravity compensation, and from the 200th step on the first joint is accelerated."""
        with contextlib.suppress(CommandRefused):
            efforts = dynamics.gravity_forces(chain, robot.state().q[index])
            robot.command(DriveMode.EFFORT, efforts + (step >= 200) * 2.0 * np.eye(7)[0], chain.joint_names)
        world.step()

    for _ in range(100):
        with contextlib.suppress(CommandRefused):
            robot.command(DriveMode.EFFORT, chain.limits.effort, chain.joint_names)
        world.step()
    assert robot.status().trips
    refused = robot.status().refusals
    for step in range(450):
        held_and_pushed(step)
        refused = robot.status().refusals if step < 200 else refused
    status = robot.status()
    assert status.refusals == refused, status.last_refusal
    assert robot.state().qd[index[0]] > 0.3 * chain.limits.velocity[0]
    assert set(status.held.values()) <= {HoldReason.START}, "the gripper is still held, for want of a command"


def test_efforts_rise_no_faster_than_the_drive_permits(world):
    robot = arm(world)
    run(world, robot, 30, lambda _: weight(robot))
    start = robot.state().effort.copy()
    limit = robot.chain.limits.effort
    robot.command(DriveMode.EFFORT, start + 0.5 * limit * np.eye(6)[0])
    world.step()
    change = robot.state().effort - start
    np.testing.assert_allclose(change[0], 0.1 * limit[0], rtol=1e-9)
    np.testing.assert_allclose(change[1:], 0.0, atol=1e-9)


def test_an_arm_that_presses_on_a_block_does_not_trip(world):
    """In contact, efforts cause no speed, though a model without the contact says so."""
    robot = arm(world)
    tip, names = robot.link_pose("tool0")[:3, 3], robot.joint_names
    world.spawn(SceneObject("block", BoxGeometry([0.3, 0.3, 0.1]), translated(tip - [0.0, 0.0, 0.1])))
    robot.command(DriveMode.POSITION, HOME[2:], names[2:])
    for step in range(3000):
        push = np.array([0.0, min(60.0, 0.05 * step)]) - 20.0 * robot.state().qd[:2]
        robot.command(DriveMode.EFFORT, weight(robot)[:2] + push, names[:2])
        world.step()
    assert any(contact.other == "block" and contact.force > 30.0 for contact in robot.contacts())
    assert robot.status().trips == 0, robot.status().last_trip


def translated(p):
    T = np.eye(4)
    T[:3, 3] = p
    return T


@pytest.mark.parametrize("wrong", [{"overspeed": 0.0}, {"overspeed": math.nan}, {"effort_rise_time": -1.0}])
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        DriveSettings(**wrong)
