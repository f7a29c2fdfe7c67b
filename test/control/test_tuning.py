"""Ziegler–Nichols by its table, and the experiment against the closed form of a joint with a lag."""

from __future__ import annotations

import math

import numpy as np
import pytest

from control.arms import HOME, UR5
from manipapy_core import InputError, dynamics
from manipapy_core.control import Kind, SimulatedJoint, UltimateGain, find_ultimate_gain, ziegler_nichols


def closed_form(joint):
    """J T s³ + (J + b T) s² + b s + K oscillates steadily at K = b (J + b T) / (J T), ω² = b / (J T)."""
    J, b, T = joint.inertia, joint.damping, joint.lag
    return b * (J + b * T) / (J * T), 2 * math.pi / math.sqrt(b / (J * T))


@pytest.mark.parametrize("numbers", [(1.2, 8.0, 0.01), (0.02, 0.5, 0.004), (3.0, 5.0, 0.05)])
def test_the_experiment_finds_the_ultimate_gain_and_period(numbers):
    joint = SimulatedJoint(*numbers)
    gain, period = closed_form(joint)
    found = find_ultimate_gain(joint, dt=joint.lag / 200)
    assert found.gain == pytest.approx(gain, rel=0.02)
    assert found.period == pytest.approx(period, rel=0.01)


def test_a_joint_of_an_arm_has_the_inertia_of_its_mass_matrix():
    joint = SimulatedJoint.of(UR5, "elbow_joint", HOME["ur5"], damping=2.0, lag=0.01)
    assert joint.inertia == dynamics.mass_matrix(UR5, HOME["ur5"])[2, 2]
    gain, period = closed_form(joint)
    found = find_ultimate_gain(joint)
    assert found.gain == pytest.approx(gain, rel=0.03) and found.period == pytest.approx(period, rel=0.02)


def test_ziegler_nichols_table():
    ultimate = UltimateGain(gain=100.0, period=0.5)
    p, pi, pid = (ziegler_nichols(ultimate, kind) for kind in (Kind.P, Kind.PI, Kind.PID))
    assert (p.kp, p.ki, p.kd) == (50.0, 0.0, 0.0)
    assert (pi.kp, pi.ki) == (pytest.approx(45.0), pytest.approx(45.0 / (0.5 / 1.2)))
    assert (pid.kp, pid.ki, pid.kd) == (60.0, pytest.approx(240.0), pytest.approx(3.75))


def test_tuned_gains_settle_the_joint_that_they_were_found_on():
    joint = SimulatedJoint(1.0, 6.0, 0.01)
    gains = ziegler_nichols(find_ultimate_gain(joint), Kind.PID)
    joint.release(0.0)
    q, integral, dt, path = 0.0, 0.0, 1e-3, []
    for _ in range(4000):
        error = 1.0 - q
        integral += gains.ki * error * dt
        q = joint.step(gains.kp * error + integral - gains.kd * joint.qd, dt)
        path.append(q)
    assert abs(path[-1] - 1.0) < 1e-3
    assert max(path) < 1.8, "the rule is known for its overshoot, but it is bounded"


def test_tuning_errors_give_the_reason():
    with pytest.raises(InputError, match="lag"):
        SimulatedJoint(1.0, 1.0, 0.0)
    with pytest.raises(InputError, match="no joint"):
        SimulatedJoint.of(UR5, "knee", HOME["ur5"], damping=1.0, lag=0.01)
    with pytest.raises(InputError, match="ultimate gain"):
        ziegler_nichols(UltimateGain(np.nan, 1.0))
