"""A light wrist with damping and friction as makers state them: physics, drive and guard follow it without a fault."""

from __future__ import annotations

import itertools
from collections import deque

import numpy as np
import pytest

from manipapy_core import Robot, dynamics
from manipapy_core.control import Action, ArmController, Check, ControllerSettings
from manipapy_core.model.chain import Chain
from manipapy_core.motion import waypoint_trajectory
from manipapy_core.sim import DriveMode, DriveSettings, SimWorld
from manipapy_core.sim.joint_friction import ImplicitFriction

STEP = 1e-3


def arm(damping: float, friction: float) -> str:
    """Three joints that carry each other; the last turns 0.0003 kg m², of which damping of 1 takes 3 in a step."""

    def link(name: str, mass: float, inertia: float, com: float) -> str:
        return (
            f'<link name="{name}"><inertial><origin xyz="{com} 0 0.01"/><mass value="{mass}"/><inertia ixx="{inertia}" '
            f'iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )

    def joint(name: str, parent: str, child: str, x: float, axis: str) -> str:
        return (
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{x} 0 0"/><axis xyz="{axis}"/><limit effort="30" velocity="3.14" lower="-2.8" upper="2.8"/>'
            f'<dynamics damping="{damping}" friction="{friction}"/></joint>'
        )

    return (
        '<robot name="light_wrist"><link name="base"/>'
        + link("upper", 1.0, 0.01, 0.1)
        + link("fore", 0.5, 0.001, 0.05)
        + link("hand", 0.3, 0.0002, 0.02)
        + joint("shoulder", "base", "upper", 0.0, "0 1 0")
        + joint("elbow", "upper", "fore", 0.3, "0 1 0")
        + joint("wrist", "fore", "hand", 0.1, "1 0 0")
        + "</robot>"
    )


STATED = Robot.from_urdf(arm(1.0, 1.0))
GRAVITY = np.array([0.0, 0.0, -9.81])


@pytest.mark.usefixtures("simulator")
def test_friction_holds_a_joint_while_another_turns() -> None:
    """The elbow and the shoulder carry less than their friction; the wrist turns as damping and friction let it."""
    with SimWorld(time_step=STEP, gravity=(0.0, 0.0, 0.0)) as world:
        robot = world.add_robot(STATED)
        for _ in range(300):
            robot.command(DriveMode.EFFORT, [0.5, -0.5, 1.5])
            world.step()
        state = robot.state()
    assert np.abs(state.q[:2]).max() < 1e-5
    assert state.qd[2] == pytest.approx(0.5, rel=1e-3)


def velocity_after_a_step(chain: Chain, effort: np.ndarray) -> np.ndarray:
    """From rest without gravity, for friction and damping of 1, by trying all cases of moving and held joints."""
    M, signs = dynamics.mass_matrix(chain, np.zeros(3)), (-1.0, 0.0, 1.0)
    A = (M + STEP * np.eye(3)) / STEP
    for sign in map(np.array, itertools.product(signs, signs, signs)):
        moves = sign != 0.0
        qd = np.zeros(3)
        if moves.any():
            qd[moves] = np.linalg.solve(A[np.ix_(moves, moves)], (effort - sign)[moves])
        held = np.abs(effort - A @ qd)[~moves]
        if (qd[moves] * sign[moves] > 0.0).all() and (held <= 1.0).all():
            return qd
    raise AssertionError("one case must hold")


@pytest.mark.usefixtures("simulator")
def test_every_case_of_moving_and_held_joints_is_found() -> None:
    chain, cases = STATED.tree(), set()
    rng = np.random.default_rng(5)
    with SimWorld(time_step=STEP, gravity=(0.0, 0.0, 0.0)) as world:
        robot = world.add_robot(STATED)
        for effort in rng.uniform(-2.0, 2.0, (60, 3)):
            robot.reset(np.zeros(3))
            robot.command(DriveMode.EFFORT, effort)
            world.step()
            expected = velocity_after_a_step(chain, effort)
            assert robot.state().qd == pytest.approx(expected, abs=1e-5)
            cases.add(tuple(np.sign(expected)))
    assert len(cases) > 12


@pytest.mark.usefixtures("simulator")
def test_motion_is_that_of_implicit_damping_and_friction() -> None:
    """All joints turn: one linear solve with M + h D and full friction gives the velocity of every step."""
    chain = STATED.tree()
    effort = np.array([4.0, 3.0, 1.6])
    q, qd = np.zeros(3), np.zeros(3)
    with SimWorld(time_step=STEP, gravity=(0.0, 0.0, 0.0)) as world:
        robot = world.add_robot(STATED)
        for _ in range(200):
            robot.command(DriveMode.EFFORT, effort)
            world.step()
            M, c = dynamics.mass_matrix(chain, q), dynamics.coriolis_forces(chain, q, qd)
            qd = np.linalg.solve(M + STEP * np.eye(3), M @ qd + STEP * (effort - c - 1.0))
            q = q + STEP * qd
        state = robot.state()
    assert np.all(qd > 0.3)
    assert state.qd == pytest.approx(qd, rel=0.01)
    assert state.q == pytest.approx(q, abs=1e-2)


def test_stiff_damping_is_distinguished_from_damping_that_a_step_follows() -> None:
    weak = ImplicitFriction.of(Robot.from_urdf(arm(1e-3, 0.0)).tree(), GRAVITY, STEP)
    strong = ImplicitFriction.of(STATED.tree(), GRAVITY, STEP)
    assert weak is not None and strong is not None
    assert not weak.stiff and strong.stiff
    assert ImplicitFriction.of(Robot.from_urdf(arm(0.0, 0.0)).tree(), GRAVITY, STEP) is None


def turn_back_and_forth(described: Robot, real: Robot, delay: int) -> tuple[ArmController, SimWorld, list[float]]:
    """A motion with reversals by computed torque, whose efforts arrive some steps late."""
    chain = described.completed().tree()
    controller = ArmController(chain, ControllerSettings(period=STEP, gravity=GRAVITY, law="computed_torque"))
    path = [[0.0] * 3, [0.5, -0.7, 0.9], [0.2, 0.3, -0.9], [0.6, -0.3, 0.9]]
    trajectory = waypoint_trajectory(chain, path)[0]
    errors, sent, goal = [], deque[np.ndarray](), None
    world = SimWorld(time_step=STEP, gravity=GRAVITY)
    robot = world.add_robot(real.completed(), settings=DriveSettings(effort_rise_time=0.01, overspeed=1.04))
    for _ in range(50):
        world.step()  # the drive takes up the weight
    for _ in range(round((trajectory.duration + 0.5) / STEP)):
        state = robot.state()
        efforts = controller.tick(state.time, state.q, state.qd, state.time)
        assert efforts is not None
        sent.append(efforts.copy())
        if goal is None:
            goal = controller.submit(trajectory)
        if len(sent) > delay:
            robot.command(DriveMode.EFFORT, sent.popleft())
        world.step()
        errors.append(float(np.abs(controller.q_ref - state.q).max()))
        if goal.outcome is not None or robot.status().trips:
            break
    return controller, world, errors


@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize("delay", [0, 2])
def test_reversals_against_friction_are_no_fault(delay: int) -> None:
    """The effort changes by twice the friction within a tick: 7000 rad/s² of the wrist, had it no friction."""
    controller, world, errors = turn_back_and_forth(STATED, STATED, delay)
    with world:
        status = world.robots["light_wrist"].status()
        assert status.trips == 0, status.last_trip
        assert controller.status().held is None, controller.status().held
        assert max(errors) < 0.01
        assert np.abs(world.robots["light_wrist"].state().q - [0.6, -0.3, 0.9]).max() < 0.002


def test_less_friction_than_described_is_found_by_the_measured_acceleration() -> None:
    """The law pushes against friction that is not there: the guard holds the arm at a speed near its limit."""
    real = Robot.from_urdf(arm(0.0, 0.0))
    controller, world, _ = turn_back_and_forth(STATED, real, 1)
    with world:
        held = controller.status().held
        tripped = world.robots["light_wrist"].status().trips
        assert tripped or (held is not None and held.action >= Action.HOLD and held.check is Check.VELOCITY)
        speed = np.abs(world.robots["light_wrist"].state().qd) / STATED.tree().limits.velocity
        assert speed.max() < 1.25
