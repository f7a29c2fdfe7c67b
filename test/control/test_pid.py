"""The PID law against a plain loop over joints, and the limits of its integral."""

from __future__ import annotations

import numpy as np

from control.arms import DT, UR5, random_motion
from manipapy_core import dynamics
from manipapy_core.control import Reference, SimulatedArm, State, make_law

HOME = np.array([0.0, -1.2, 1.2, -1.2, -1.57, 0.0])


class PlainPID:
    """One joint after the other, with if and else."""

    def __init__(self, law):
        self.gains, self.effort = law.gains, law.chain.limits.effort
        self.integral = [0.0] * law.chain.n

    def step(self, state, reference, dt):
        efforts = []
        for j in range(len(self.integral)):
            kp, ki, kd, most = (self.gains[name][j] for name in ("kp", "ki", "kd", "integral_limit"))
            error = reference.q[j] - state.q[j]
            others = kp * error - kd * state.qd[j]
            before = others + self.integral[j]
            saturated = abs(before) >= self.effort[j]
            if not (saturated and before * error > 0):
                self.integral[j] = min(max(self.integral[j] + ki * error * dt, -most), most)
            efforts.append(others + self.integral[j])
        return np.array(efforts)


def test_same_as_a_plain_loop_over_long_random_motion():
    law = make_law("pid", UR5)
    plain = PlainPID(law)
    rng = np.random.default_rng(0)
    state, reference = random_motion(UR5, 1)
    for _ in range(3000):
        state.q[:] += 0.01 * rng.normal(size=6)
        state.qd[:] = rng.normal(size=6)
        reference.q[:] += 0.02 * rng.normal(size=6)
        assert np.allclose(law.step(state, reference, DT), plain.step(state, reference, DT), rtol=1e-9, atol=1e-9)
    assert np.abs(law.integral).max() > 0.1, "the integral took part"


def test_integral_is_clamped():
    law = make_law("pid", UR5, {"integral_limit": 2.0, "kp": 1.0, "ki": 5.0})
    state, reference = State.at_rest(HOME), Reference.at_rest(HOME + 0.1)
    for _ in range(20000):
        law.step(state, reference, DT)
    assert np.allclose(law.integral, 2.0)


def test_integral_stands_still_while_the_effort_is_at_its_limit():
    """A reference out of reach for a minute must not cause a minute of overshoot."""
    law = make_law("pid", UR5, {"integral_limit": 1e6})
    state = State.at_rest(HOME)
    far = Reference.at_rest(HOME + 50.0)
    for _ in range(60_000):
        law.step(state, far, DT)
    assert (np.abs(law.integral) < UR5.limits.effort).all()


def test_reference_step_causes_no_derivative_kick():
    law = make_law("pid", UR5, {"ki": 0.0})
    state, still = State.at_rest(HOME), Reference.at_rest(HOME)
    moving = Reference(HOME.copy(), np.ones(6), np.zeros(6))
    assert np.array_equal(law.step(state, still, DT).copy(), law.step(state, moving, DT))


def test_integral_compensates_gravity_in_steady_state():
    law, arm = make_law("pid", UR5), SimulatedArm(UR5, HOME)
    reference = Reference.at_rest(HOME)
    for _ in range(8000):
        arm.step(law.step(arm.state, reference, DT), DT)
    assert np.abs(arm.q - HOME).max() < 1e-4
    assert np.allclose(law.integral, dynamics.gravity_forces(UR5, HOME), atol=0.1)


def test_starts_from_the_present_efforts():
    law = make_law("pid", UR5)
    state, reference = State.at_rest(HOME), Reference.at_rest(HOME)
    weight = dynamics.gravity_forces(UR5, HOME)
    law.start(state, reference, weight)
    assert np.allclose(law.step(state, reference, DT), weight)
