"""Compiled calls of the loop against the functions that they combine."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

from control.arms import ARMS, AWAY, DT, HOME, UR5, Rig, random_motion
from manipapy_core import Payload, dynamics
from manipapy_core.compiler import native_wait
from manipapy_core.control import (
    ControllerSettings,
    ExecutionSettings,
    GoalStatus,
    LoopSettings,
    PeriodicLoop,
    State,
    make_law,
)
from manipapy_core.control.guard import Guard
from manipapy_core.control.loop.realtime import DeadlineWait, RealtimeInterpreter
from manipapy_core.trajectory import JointTrajectory, Spline

RNG = np.random.default_rng(7)
SPINNING = LoopSettings(period=2e-3, spin=5e-4, priority=None, lock_memory=False)


def wait_until(condition, timeout=20.0):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "timeout"
        time.sleep(0.005)


@pytest.mark.parametrize("payload", [None, Payload(2.0, (0.01, 0.0, 0.05))], ids=["empty", "loaded"])
@pytest.mark.parametrize("robot", ARMS)
def test_fused_computed_torque_is_inverse_dynamics_of_the_desired_acceleration(robot, payload):
    chain = ARMS[robot]
    law = make_law("computed_torque", chain, {"kp": 300.0, "kd": 30.0}, payload=payload)
    for seed in range(20):
        state, reference = random_motion(chain, seed)
        desired = reference.qdd + 300.0 * (reference.q - state.q) + 30.0 * (reference.qd - state.qd)
        expected = dynamics.inverse_dynamics(chain, state.q, state.qd, desired, payload=payload)
        assert np.allclose(law.step(state, reference, DT), expected, rtol=1e-10, atol=1e-10)


def test_segment_hint_gives_the_same_segment_as_a_search():
    times = np.cumsum(RNG.uniform(0.01, 0.3, 40))
    points = RNG.normal(size=(40, 3))
    spline, last = Spline(times, points, 0.0 * points, 0.0 * points), -1
    for t in np.sort(RNG.uniform(times[0], times[-1] - 1e-9, 500)):
        hinted, searched = spline.segment(float(t), last), spline.segment(float(t), 38)
        assert hinted.number == searched.number and hinted.start <= t < hinted.end
        last = hinted.number
    assert spline.segment(float(times[0]), 30).number == 0


@pytest.mark.parametrize("speed", [1.0, 0.4])
def test_goal_runs_equally_on_fast_and_slow_path(speed):
    """A path tolerance on velocities forces the slow path; a large one changes nothing else."""
    runs = []
    for velocity in (float("inf"), 1e6):
        settings = ControllerSettings(execution=ExecutionSettings(path_velocity=velocity))
        rig = Rig.of("ur5", settings).run(0.05)
        rig.controller.set_speed(speed)
        times = np.arange(1, 41) * 0.025
        u = (times / times[-1])[:, None]
        path = HOME["ur5"] + (AWAY["ur5"] - HOME["ur5"]) * 0.2 * u**3 * (10.0 - 15.0 * u + 6.0 * u * u)
        slope = (AWAY["ur5"] - HOME["ur5"]) * 0.2 * 30.0 * u * u * (1.0 - u) ** 2
        goal = rig.controller.submit(JointTrajectory(times, path, slope, joint_names=UR5.joint_names))
        rig.run(4.0)
        assert goal.outcome is not None and goal.outcome.status is GoalStatus.SUCCEEDED
        assert goal.tolerances.checks_path_velocity == (velocity == 1e6)
        runs.append((np.array(rig.q), np.array(rig.tau)))
    assert np.allclose(runs[0][0], runs[1][0], atol=1e-9) and np.allclose(runs[0][1], runs[1][1], atol=1e-6)


def test_accepted_measurement_survives_an_invalid_one():
    guard, q = Guard(UR5), HOME["ur5"]
    guard.check_input(1.0, DT, q, 0.1 * q, 1.0)
    accepted = guard.accept()
    guard.check_input(1.001, DT, np.full(6, np.nan), q, 1.001)
    guard.check_input(1.002, DT, q + 1.0, q, 1.002)
    assert np.array_equal(accepted.q, q) and np.array_equal(accepted.qd, 0.1 * q)
    assert isinstance(accepted, State) and np.array_equal(guard.accept().q, q + 1.0)


def test_missing_native_wait_is_reported_and_the_loop_ticks(monkeypatch):
    monkeypatch.setattr(sys, "platform", "plan9")
    native_wait.wait_code.cache_clear()
    assert "plan9" in (DeadlineWait.best(spin=True).refused or "")
    assert DeadlineWait.best(spin=False).refused is None
    ticks = []
    loop = PeriodicLoop(ticks.append, SPINNING)
    loop.start()
    wait_until(lambda: len(ticks) > 20)
    loop.stop()
    monkeypatch.undo()
    native_wait.wait_code.cache_clear()
    refused = loop.report().realtime.refused
    assert len(refused) == 1 and "plan9" in refused[0] and (np.diff(ticks) > 0.0).all()


def test_switch_interval_is_longer_during_a_tick():
    before = sys.getswitchinterval()
    with RealtimeInterpreter() as interpreter:
        between = sys.getswitchinterval()
        interpreter.begin_tick()
        assert sys.getswitchinterval() > 5.0 * between
        interpreter.end_tick()
        assert sys.getswitchinterval() == pytest.approx(between)
    assert sys.getswitchinterval() == pytest.approx(before)
