"""Each law against its formula, written with the public functions of dynamics, kinematics and lie."""

from __future__ import annotations

import numpy as np
import pytest

from control.arms import ARMS, DT, HOME, PANDA, UR5, random_motion
from manipapy_core import Payload, dynamics, kinematics, lie
from manipapy_core.control import LAWS, Reference, State, make_law

arms = pytest.mark.parametrize("chain", ARMS.values(), ids=ARMS)
seeds = pytest.mark.parametrize("seed", range(3))
HELD = Payload(2.0, (0.02, -0.01, 0.08), np.diag([0.01, 0.02, 0.015]))


def gap(tau, expected):
    return np.max(np.abs(tau - expected) / np.maximum(1.0, np.abs(expected)))


@arms
@seeds
def test_pd(chain, seed):
    state, reference = random_motion(chain, seed)
    law = make_law("pd", chain)
    kp, kd = law.gains["kp"], law.gains["kd"]
    expected = kp * (reference.q - state.q) + kd * (reference.qd - state.qd)
    assert gap(law.step(state, reference, DT), expected) < 1e-13


@arms
@seeds
@pytest.mark.parametrize("payload", [None, HELD], ids=["empty", "loaded"])
def test_laws_on_inverse_dynamics(chain, seed, payload):
    state, reference = random_motion(chain, seed)
    q, qd = state.q, state.qd
    e, ed = reference.q - q, reference.qd - qd
    zero = np.zeros(chain.n)

    def inverse(*motion):
        return dynamics.inverse_dynamics(chain, *motion, payload=payload)

    laws = {name: make_law(name, chain, payload=payload) for name in LAWS}
    springs = laws["pd"].gains["kp"] * e + laws["pd"].gains["kd"] * ed
    ct, robust = laws["computed_torque"].gains, laws["robust"].gains
    s = ed + robust["slope"] * e
    pushed = robust["reach"] * s + robust["robustness"] * np.clip(s / robust["layer"], -1, 1)
    expected = {
        "pd_gravity": inverse(q, zero, zero) + springs,
        "feedforward": inverse(reference.q, reference.qd, reference.qdd) + springs,
        "computed_torque": inverse(q, qd, reference.qdd + ct["kp"] * e + ct["kd"] * ed),
        "robust": inverse(q, qd, reference.qdd + robust["slope"] * ed + pushed),
        "gravity_compensation": inverse(q, zero, zero) - laws["gravity_compensation"].gains["damping"] * qd,
    }
    for name, tau in expected.items():
        assert gap(laws[name].step(state, reference, DT), tau) < 1e-11, name


@arms
@seeds
def test_joint_impedance_by_mass_and_coriolis_matrices(chain, seed):
    state, reference = random_motion(chain, seed)
    law = make_law("joint_impedance", chain)
    expected = dynamics.mass_matrix(chain, state.q) @ reference.qdd
    expected += dynamics.coriolis_matrix(chain, state.q, state.qd) @ reference.qd
    expected += dynamics.gravity_forces(chain, state.q)
    expected += law.gains["stiffness"] * (reference.q - state.q) + law.gains["damping"] * (reference.qd - state.qd)
    assert gap(law.step(state, reference, DT), expected) < 1e-11


@seeds
def test_loaded_impedance_is_passive_dynamics_of_the_loaded_arm(seed):
    """Christoffel's C from polarised RNEA, with a payload that the matrix functions do not take."""
    state, reference = random_motion(UR5, seed)
    q, u, w = state.q, state.qd, reference.qd
    law = make_law("joint_impedance", UR5, {"stiffness": 0.0, "damping": 0.0}, payload=HELD)

    def c(v):
        return dynamics.inverse_dynamics(UR5, q, v, np.zeros(6), gravity=(0, 0, 0), payload=HELD)

    mixed = 0.5 * (c(u + w) - c(u) - c(w))
    rest = dynamics.inverse_dynamics(UR5, q, np.zeros(6), reference.qdd, payload=HELD)
    assert gap(law.step(state, reference, DT), mixed + rest) < 1e-11


@arms
@seeds
def test_adaptive_is_the_regressor_times_the_estimate(chain, seed):
    state, reference = random_motion(chain, seed)
    law = make_law("adaptive", chain)
    estimate = chain.inertial_parameters * np.random.default_rng(seed).uniform(0.8, 1.2, chain.inertial_parameters.size)
    law.set_parameters(estimate)
    estimate = law.parameters
    slope, e, ed = law.gains["slope"], reference.q - state.q, reference.qd - state.qd
    qd_r, qdd_r = reference.qd + slope * e, reference.qdd + slope * ed
    s = qd_r - state.qd
    Y = dynamics.regressor(chain, state.q, state.qd, qdd_r, qd_ref=qd_r)
    assert gap(law.step(state, reference, DT), Y @ estimate + law.gains["kd"] * s) < 1e-11
    grown = law.parameters - estimate
    direction = Y.T @ s
    inside = np.abs(grown) > 0
    assert inside.any()
    assert (np.sign(grown[inside]) == np.sign(direction[inside])).all(), "adapts along Yᵀ s"


@arms
@seeds
def test_cartesian_impedance_by_poses_and_jacobians(chain, seed):
    state, reference = random_motion(chain, seed)
    law = make_law("cartesian_impedance", chain, {"stiffness": [40.0] * 3 + [900.0] * 3, "null_damping": 0.0})
    T, T_goal = kinematics.forward(chain, state.q), kinematics.forward(chain, reference.q)
    error = lie.inverse(T) @ T_goal
    R = error[:3, :3]
    J, J_goal = kinematics.body_jacobian(chain, state.q), kinematics.body_jacobian(chain, reference.q)
    goal_twist = J_goal @ reference.qd
    turned = np.r_[R @ goal_twist[:3], R @ goal_twist[3:]]
    springs = np.r_[40.0 * lie.log_so3(R), 900.0 * error[:3, 3]]
    wrench = springs + law.gains["damping"] * (turned - J @ state.qd)
    expected = dynamics.mass_matrix(chain, state.q) @ reference.qdd
    expected += dynamics.coriolis_matrix(chain, state.q, state.qd) @ reference.qd
    expected += dynamics.gravity_forces(chain, state.q) + J.T @ wrench
    assert gap(law.step(state, reference, DT), expected) < 1e-10


@arms
@pytest.mark.parametrize("name", LAWS)
def test_a_state_that_is_not_finite_gives_nan_and_leaves_no_trace(chain, name):
    state, reference = random_motion(chain, 0)
    law, twin = make_law(name, chain), make_law(name, chain)
    for value in (np.nan, np.inf):
        broken = State(state.q.copy(), state.qd.copy())
        broken.q[2] = value
        assert np.isnan(law.step(broken, reference, DT)).any()
    assert np.array_equal(law.step(state, reference, DT), twin.step(state, reference, DT))


@arms
@pytest.mark.parametrize("name", sorted(set(LAWS) - {"pd", "pid"}))
def test_model_laws_at_rest_on_the_reference_give_gravity_forces(chain, name):
    q = random_motion(chain, 3)[0].q
    tau = make_law(name, chain).step(State.at_rest(q), Reference.at_rest(q), DT)
    assert gap(tau, dynamics.gravity_forces(chain, q)) < 1e-11


def test_null_damping_does_not_act_on_the_tip_and_dissipates():
    """The seventh joint of the Panda lets the elbow swing while the hand stays; only that swing is damped."""
    state = State.at_rest(HOME["panda"])
    J = kinematics.body_jacobian(PANDA, state.q)
    still = Reference.at_rest(state.q)
    damped = make_law("cartesian_impedance", PANDA, {"damping": 0.0, "null_damping": 5.0})
    free = make_law("cartesian_impedance", PANDA, {"damping": 0.0, "null_damping": 0.0})

    def damping(qd):
        moving = State(state.q, np.array(qd))
        return damped.step(moving, still, DT) - free.step(moving, still, DT)

    swing = np.linalg.svd(J)[2][-1]
    assert swing @ damping(swing) < -0.01
    matrix = -np.array([damping(unit) for unit in np.eye(7)])
    assert np.allclose(matrix, matrix.T, atol=1e-9)
    assert np.linalg.eigvalsh(matrix).min() > -1e-9, "a damping torque adds no energy"
    sizes = np.linalg.eigvalsh(matrix)
    assert sizes[-2] < 0.01 * sizes[-1], "one direction of seven is damped"
