"""Changes of laws and gains in motion: no step of the efforts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from control.arms import AWAY, DT, HOME, UR5, quintic
from manipapy_core import InputError, Payload, dynamics
from manipapy_core.control import LAWS, LawSwitcher, Reference, SimulatedArm, make_law

PAIRS = list(itertools.permutations(["pd", "pid", "computed_torque", "adaptive"], 2))
FOLLOWING = [name for name in LAWS if LAWS[name].follows]


class Bench:
    """An arm in motion under a switcher; records the efforts."""

    def __init__(self, law):
        self.switcher = LawSwitcher(law)
        self.arm, self.reference = SimulatedArm(UR5, HOME["ur5"]), Reference.at_rest(HOME["ur5"])
        self.switcher.applied(dynamics.gravity_forces(UR5, HOME["ur5"]))
        self.efforts, self.errors, self.tick = [], [], 0

    def run(self, ticks):
        for _ in range(ticks):
            motion = quintic(HOME["ur5"], AWAY["ur5"], 2.0, self.tick * DT)
            self.reference.q[:], self.reference.qd[:], self.reference.qdd[:] = motion
            tau = self.switcher.step(self.arm.state, self.reference, DT)
            self.switcher.applied(tau)
            self.efforts.append(tau.copy())
            self.errors.append(self.reference.q - self.arm.q)
            self.arm.step(tau, DT)
            self.tick += 1

    def largest_step(self, start=0, stop=None):
        return np.abs(np.diff(self.efforts[start:stop], axis=0)).max(axis=0)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_no_step_in_the_efforts_when_the_law_changes_in_mid_motion(first, second):
    bench = Bench(make_law(first, UR5))
    bench.run(600)
    normal = bench.largest_step(300)
    bench.switcher.switch(make_law(second, UR5))
    bench.run(1)
    assert np.array_equal(bench.efforts[-1], bench.efforts[-2]), "the first tick repeats the last efforts"
    bench.run(399)
    # The blend spreads the difference over 200 ticks; the motion of the arm adds to it.
    jump = np.abs(make_jump(first, second)).max()
    assert (bench.largest_step(595) < 4.0 * normal + jump / 20).all()


def make_jump(first, second):
    """Difference of the efforts of two laws at that time: the step of a hard switch."""
    bench = Bench(make_law(first, UR5))
    bench.run(600)
    other = make_law(second, UR5)
    return other.step(bench.arm.state, bench.reference, DT) - bench.efforts[-1]


def test_a_hard_switch_would_have_been_a_large_step():
    """Counter-check of the test above: the efforts of these laws differ by newton metres."""
    assert np.abs(make_jump("pd", "computed_torque")).max() > 5.0


@pytest.mark.parametrize("name", FOLLOWING)
def test_gains_change_without_a_step(name):
    law = make_law(name, UR5)
    bench = Bench(law)
    bench.run(600)
    normal = bench.largest_step(300).max()
    gain = law.GAINS[0].name
    bench.switcher.switch(law.with_gains({gain: 1.5 * law.gains[gain]}))
    bench.run(400)
    assert bench.largest_step(595).max() < 4.0 * normal + 0.1


def test_internal_state_is_kept_with_new_gains():
    for name, memory in (("pid", "integral"), ("adaptive", "parameters")):
        law = make_law(name, UR5)
        bench = Bench(law)
        bench.run(1500)
        before = getattr(law, memory)
        changed = law.with_gains({"kd": 1.1 * law.gains["kd"]})
        bench.switcher.switch(changed)
        bench.run(1)
        assert np.allclose(getattr(changed, memory), before, rtol=0.05, atol=0.05 * np.abs(before).max()), name


def test_the_arm_keeps_following_through_a_change():
    bench = Bench(make_law("computed_torque", UR5))
    bench.run(500)
    bench.switcher.switch(make_law("feedforward", UR5))
    bench.run(500)
    bench.switcher.switch(make_law("robust", UR5))
    bench.run(1200)
    assert np.abs(bench.errors).max() < 2e-3


def test_after_the_blend_the_new_law_acts_alone():
    bench = Bench(make_law("pd", UR5))
    bench.run(100)
    law = make_law("pd_gravity", UR5)
    bench.switcher.switch(law)
    assert bench.switcher.blending
    bench.run(205)
    assert not bench.switcher.blending
    alone = law.step(bench.arm.state, bench.reference, DT).copy()
    assert np.array_equal(bench.switcher.step(bench.arm.state, bench.reference, DT), alone)


def test_two_changes_within_a_tick_end_with_the_last():
    bench = Bench(make_law("pd", UR5))
    bench.run(50)
    bench.switcher.switch(make_law("pid", UR5))
    bench.switcher.switch(make_law("computed_torque", UR5))
    bench.run(1)
    assert bench.switcher.law.name == "computed_torque"
    assert np.array_equal(bench.efforts[-1], bench.efforts[-2])


def test_a_change_in_the_middle_of_a_change_is_smooth_too():
    bench = Bench(make_law("pd", UR5))
    bench.run(600)
    for name in ("computed_torque", "pid", "robust", "pd"):
        bench.switcher.switch(make_law(name, UR5))
        bench.run(50)
    assert bench.largest_step(590).max() < 1.5


def test_the_blend_time_must_be_a_time():
    with pytest.raises(InputError, match="blend_time"):
        LawSwitcher(make_law("pd", UR5), 0.0)


def test_new_payload_changes_the_first_estimate_but_keeps_the_adaptation():
    law = make_law("adaptive", UR5)
    law.set_parameters(1.1 * UR5.inertial_parameters)
    change = law.parameters - UR5.inertial_parameters
    loaded = law.with_payload(Payload(0.5))
    fresh = loaded.parameters
    loaded.take_over(law)
    assert np.allclose(loaded.parameters - fresh, change)
