"""Validation of gains when a law is made: errors name law, gain, joint and unit."""

from __future__ import annotations

import numpy as np
import pytest

from control.arms import ARMS, DT, HOME, UR5
from manipapy_core import InputError, dynamics
from manipapy_core.control import LAWS, GainError, Reference, SimulatedArm, State, UnknownLaw, law_class, make_law
from reference.cases import BUNDLED, RPRPRR, case_name, chain_of
from reference.small_robots import CONTINUOUS, MASSLESS_LINK, PRISMATIC

every_law = pytest.mark.parametrize("name", LAWS)


@every_law
@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, "much", [1.0, 2.0], None])
def test_a_gain_that_cannot_be_used_is_refused_by_name(name, value):
    for gain in law_class(name).GAINS:
        with pytest.raises(GainError, match=f"{gain.name}.*{name}") as caught:
            make_law(name, UR5, {gain.name: value})
        assert (caught.value.law, caught.value.gain) == (name, gain.name)


@every_law
def test_gains_that_do_not_exist_are_refused_with_those_that_do(name):
    with pytest.raises(GainError, match=law_class(name).GAINS[0].name):
        make_law(name, UR5, {"no_such_gain": 1.0})


def test_the_joint_of_a_bad_gain_is_named():
    with pytest.raises(GainError, match="wrist_1_joint"):
        make_law("pd", UR5, {"kp": [1, 1, 1, -1, 1, 1]})


def test_a_gain_that_divides_may_not_be_zero():
    with pytest.raises(GainError, match="above zero"):
        make_law("robust", UR5, {"layer": 0.0})


def test_an_unknown_law_lists_those_that_exist():
    with pytest.raises(UnknownLaw, match="computed_torque") as caught:
        make_law("magic", UR5)
    assert set(caught.value.available) == set(LAWS)


def test_one_number_stands_for_all_joints():
    assert np.array_equal(make_law("pd", UR5, {"kp": 7.0}).gains["kp"], np.full(6, 7.0))


def test_gains_of_a_law_are_read_only():
    law = make_law("pd", UR5)
    with pytest.raises(ValueError, match="read-only"):
        law.gains["kp"][0] = 1e6
    with pytest.raises(TypeError):
        law.gains["kp"] = np.zeros(6)


def test_gravity_must_be_a_vector():
    with pytest.raises(InputError, match="gravity"):
        make_law("pd", UR5, gravity=9.81)


CASES = (*BUNDLED.values(), RPRPRR, CONTINUOUS, PRISMATIC, MASSLESS_LINK)


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_default_gains_are_stable_with_delayed_measurements(case):
    """PD with gravity from random configurations, acting on a state one tick old: it must settle, not shake."""
    chain = chain_of(case)
    law = make_law("pd_gravity", chain)
    lower, upper = np.clip(chain.limits.lower, -3, 3), np.clip(chain.limits.upper, -3, 3)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        q = rng.uniform(lower, upper)
        arm = SimulatedArm(chain, q + 0.01 * rng.normal(size=chain.n))
        reference, old = Reference.at_rest(q), State(arm.q.copy(), arm.qd.copy())
        for _ in range(1500):
            tau = law.step(old, reference, DT)
            old.take(arm.q, arm.qd)
            arm.step(tau, DT)
        assert np.abs(arm.q - q).max() < 5e-3 and np.abs(arm.qd).max() < 0.1


@pytest.mark.parametrize("robot", ARMS)
@every_law
def test_every_law_is_stable_with_its_defaults(robot, name):
    chain = ARMS[robot]
    arm, law, reference = SimulatedArm(chain, HOME[robot]), make_law(name, chain), Reference.at_rest(HOME[robot])
    law.start(arm.state, reference, dynamics.gravity_forces(chain, arm.q))
    arm.qd[:] = 0.05
    for _ in range(1500):
        arm.step(law.step(arm.state, reference, DT), DT)
    assert np.abs(arm.qd).max() < 0.1
