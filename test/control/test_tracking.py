"""Tracking of each law on a simulated arm: accuracy, unknown payloads, adaptation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from control.arms import ARMS, AWAY, DT, HOME, PANDA, UR5, follow, heavier, quintic, rms
from manipapy_core import Payload, dynamics
from manipapy_core.control import ArmController, Reference, SimulatedArm, make_law
from manipapy_core.control.laws.friction import FrictionFeedforward
from manipapy_core.trajectory import JointTrajectory

robots = pytest.mark.parametrize("robot", ARMS)
DAMPING = np.array([20.0, 20.0, 10.0, 0.5, 0.1, 0.02])
"""[N m s/rad]; more on the light wrist and semi-implicit Euler would be unstable."""


def errors_of(name, robot, *, plant=None, gains=None):
    law = make_law(name, ARMS[robot], gains)
    start, goal = HOME[robot], AWAY[robot]
    reference = Reference.at_rest(start)
    law.start(SimulatedArm(law.chain, start).state, reference, dynamics.gravity_forces(law.chain, start))
    return follow(law, lambda t: quintic(start, goal, 2.0, t), 2.0, plant=plant)


@robots
def test_computed_torque_is_far_better_than_pd(robot):
    assert rms(errors_of("computed_torque", robot)) * 20 < rms(errors_of("pd", robot))
    assert np.abs(errors_of("computed_torque", robot)).max() < 1e-3


@robots
@pytest.mark.parametrize(
    ("name", "worst"),
    {
        "pid": 0.2,
        "pd_gravity": 0.1,
        "feedforward": 2e-3,
        "robust": 1e-3,
        "adaptive": 2e-3,
        "joint_impedance": 2e-3,
        "cartesian_impedance": 3e-3,
    }.items(),
)
def test_every_following_law_follows(robot, name, worst):
    assert np.abs(errors_of(name, robot)).max() < worst


@robots
@pytest.mark.parametrize("factor", [0.75, 1.3])
def test_sliding_mode_is_robust_against_wrong_masses(robot, factor):
    plant = heavier(ARMS[robot], factor)
    assert rms(errors_of("robust", robot, plant=plant)) * 3 < rms(errors_of("computed_torque", robot, plant=plant))


@robots
def test_within_the_boundary_layer_the_effort_does_not_chatter(robot):
    law = make_law("robust", ARMS[robot])
    arm, reference = SimulatedArm(heavier(ARMS[robot], 1.3), HOME[robot]), Reference.at_rest(HOME[robot])
    efforts = []
    for _ in range(2000):
        efforts.append(law.step(arm.state, reference, DT).copy())
        arm.step(efforts[-1], DT)
    assert np.abs(np.diff(efforts[-300:], axis=0)).max() < 1e-3 * np.abs(efforts).max()


def swing(start, amplitude, t):
    """Sinusoids of different periods: a motion that does not repeat within the test."""
    rates = 2 * np.pi * np.linspace(0.35, 0.9, len(start))
    amplitude = amplitude / rates
    return (
        start + amplitude * (1 - np.cos(rates * t)),
        amplitude * rates * np.sin(rates * t),
        amplitude * rates**2 * np.cos(rates * t),
    )


@pytest.mark.parametrize("robot", ["ur5", "panda"])
@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_adaptive_law_corrects_masses_that_are_thirty_percent_wrong(robot, factor):
    chain = ARMS[robot]

    def motion(t):
        return swing(HOME[robot], 0.6, t)

    def run(adaptation):
        gains = {} if adaptation is None else {"adaptation": adaptation}
        law = make_law("adaptive", chain, gains)
        law.set_parameters(factor * chain.inertial_parameters)
        return law, follow(law, motion, 12.0)

    fixed, adapting = run(0.0), run(None)
    first, last = slice(0, 1000), slice(-3000, None)
    assert rms(adapting[1][last]) * 10 < rms(fixed[1][last]), "ten times better than without adaptation"
    assert rms(adapting[1][last]) * 3 < rms(adapting[1][first]), "and better than in its first second"
    q, qd, qdd = motion(3.3)
    truth = dynamics.inverse_dynamics(chain, q, qd, qdd)
    Y = dynamics.regressor(chain, q, qd, qdd)
    before = np.abs(Y @ (factor * chain.inertial_parameters) - truth).max()
    after = np.abs(Y @ adapting[0].parameters - truth).max()
    assert after * 3 < before, "the estimate predicts the efforts of the true arm"


def test_adaptive_error_energy_never_grows():
    """½ sᵀ M s + ½ π̃ᵀ Γ⁻¹ π̃ falls along the motion: the proof of Slotine and Li, checked on the integrated arm."""
    law = make_law("adaptive", UR5, {"freedom": 2.0})
    truth, guess = UR5.inertial_parameters, 0.75 * UR5.inertial_parameters
    law.set_parameters(guess)
    arm, reference = SimulatedArm(UR5, HOME["ur5"]), Reference.at_rest(HOME["ur5"])
    values = []
    for tick in range(4000):
        reference.q[:], reference.qd[:], reference.qdd[:] = swing(HOME["ur5"], 0.5, tick * DT)
        s = reference.qd + law.gains["slope"] * (reference.q - arm.q) - arm.qd
        off = (law.parameters - truth) ** 2 / law._rate
        values.append(0.5 * s @ dynamics.mass_matrix(UR5, arm.q) @ s + 0.5 * off.sum())
        arm.step(law.step(arm.state, reference, DT), DT)
    # Sampling lets it rise slightly within a tick; the proof is for continuous time.
    assert np.diff(values).max() < 1e-4 * values[0]
    assert values[-1] < values[0]


def test_parameters_stay_within_their_bounds():
    law = make_law("adaptive", UR5, {"adaptation": 100.0, "freedom": 0.2})
    arm, reference = SimulatedArm(UR5, HOME["ur5"], payload=Payload(5.0)), Reference.at_rest(HOME["ur5"])
    for _ in range(500):
        tau = np.clip(law.step(arm.state, reference, DT), -UR5.limits.effort, UR5.limits.effort)
        arm.step(tau, DT)
        assert (law.parameters[::10] >= 0.0).all(), "no negative mass"
        assert (np.abs(law.parameters - UR5.inertial_parameters) <= 0.2 * law._scale * (1 + 1e-9)).all()


def test_known_payload_is_part_of_the_first_estimate():
    load = Payload(2.0, (0.03, -0.02, 0.1), np.diag([0.02, 0.01, 0.015]))
    law = make_law("adaptive", PANDA, payload=load)
    q, qd, qdd = swing(HOME["panda"], 0.5, 0.7)
    expected = dynamics.inverse_dynamics(PANDA, q, qd, qdd, payload=load)
    assert np.allclose(dynamics.regressor(PANDA, q, qd, qdd) @ law.parameters, expected, atol=1e-9)


@pytest.mark.parametrize("name", ["computed_torque", "feedforward"])
def test_damping_of_the_description_does_not_hold_the_arm_back(name):
    rough = replace(UR5, damping=DAMPING)
    law = make_law(name, rough)
    start, goal = HOME["ur5"], AWAY["ur5"]
    law.start(SimulatedArm(rough, start).state, Reference.at_rest(start), dynamics.gravity_forces(rough, start))
    errors = follow(law, lambda t: quintic(start, goal, 2.0, t), 2.0, plant=rough)
    assert np.abs(errors).max() < 3e-3


def test_friction_feedforward_is_the_friction_of_the_dynamics():
    rough = replace(UR5, damping=np.array([1.0, 2, 3, 4, 5, 6]), friction=np.array([0.5, 0, 1, 0, 2, 0]))
    friction, smooth = FrictionFeedforward.of(rough), FrictionFeedforward.of(UR5)
    assert friction is not None and smooth is None
    for qd in np.random.default_rng(2).uniform(0.1, 1.0, (20, 6)) * np.array([1, -1, 1, -1, 1, -1]):
        tau = np.ones(6)
        friction.add(qd, tau)
        np.testing.assert_allclose(tau - 1.0, dynamics.friction_forces(rough, qd), rtol=1e-9)
    at_rest = np.zeros(6)
    friction.add(np.zeros(6), at_rest)
    assert not at_rest.any()


def test_controller_feeds_friction_forward_on_every_tick():
    """The fused tick has no friction: an arm with friction must not take it."""
    rough = replace(UR5, damping=DAMPING)
    controller = ArmController(rough)
    arm = SimulatedArm(rough, HOME["ur5"])
    times = np.linspace(0.0, 2.0, 100)
    rows = [quintic(HOME["ur5"], AWAY["ur5"], 2.0, t) for t in times]
    goal, worst = None, 0.0
    for tick in range(2500):
        tau = controller.tick(tick * DT, arm.state.q.copy(), arm.state.qd.copy(), tick * DT)
        goal = goal or controller.submit(JointTrajectory(times, *(np.array(column) for column in zip(*rows))))
        worst = max(worst, float(np.abs(controller.q_ref - arm.state.q).max()))
        arm.step(tau, DT)
        if goal.outcome is not None:
            break
    assert goal.outcome is not None and goal.outcome.succeeded and worst < 5e-3
