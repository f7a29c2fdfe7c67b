"""The controller: measures of a response, tuning, state estimate, gains, friction, and dynamics of other classes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.signal

from manipapy_core import dynamics as exact
from manipapy_core.compat.control import ManipulatorController
from manipapy_core.compat.urdf_processor import URDFToSerialManipulator
from manipapy_core.control.laws.friction import SMOOTHING
from manipapy_core.errors import InputError, NotFiniteError, ShapeError

GRAVITY = np.array([0.0, 0.0, -9.81])


@pytest.fixture(scope="module")
def ur5():
    return URDFToSerialManipulator("ur5", use_pybullet_limits=False)


class OtherDynamics:
    """Dynamics of another class, with ManipulaPy's methods."""

    def __init__(self, dynamics):
        for name in [
            "mass_matrix",
            "velocity_quadratic_forces",
            "gravity_forces",
            "jacobian",
            "inverse_dynamics",
            "forward_dynamics",
            "forward_kinematics",
        ]:
            setattr(self, name, getattr(dynamics, name))


def test_dynamics_of_other_classes_give_the_same_efforts(ur5):
    rng = np.random.default_rng(3)
    q, qd, goal, rate, acceleration, error = rng.uniform(-1.0, 1.0, (6, 6))
    Kp, Ki, Kd = np.full(6, 80.0), np.full(6, 3.0), np.full(6, 12.0)
    ours, theirs = ManipulatorController(ur5.dynamics), ManipulatorController(OtherDynamics(ur5.dynamics))
    calls = (
        ("computed_torque_control", (goal, rate, acceleration, q, qd, GRAVITY, 0.01, Kp, Ki, Kd)),
        ("pid_control", (goal, rate, q, qd, 0.01, Kp, Ki, Kd)),
        ("pd_control", (goal, rate, q, qd, Kp, Kd)),
        ("pd_feedforward_control", (goal, rate, acceleration, q, qd, Kp, Kd, GRAVITY, np.zeros(6))),
        ("robust_control", (q, qd, acceleration, GRAVITY, np.zeros(6), error, 0.5)),
        ("adaptive_control", (q, qd, acceleration, GRAVITY, np.zeros(6), error, 0.5)),
        ("cartesian_space_control", ([0.3, 0.2, 0.4], q, qd, 50.0, 5.0)),
    )
    for name, arguments in calls:
        for _ in range(2):  # the second call has integrals and estimates
            wanted, found = getattr(ours, name)(*arguments), getattr(theirs, name)(*arguments)
            np.testing.assert_allclose(found, wanted, atol=1e-10, err_msg=name)


def test_matrices_are_gains(ur5):
    controller = ManipulatorController(ur5.dynamics)
    goal, at, zero = np.linspace(0.1, 0.6, 6), np.zeros(6), np.zeros(6)
    diagonal = np.diag(np.arange(1.0, 7.0))
    full = diagonal + 0.1
    np.testing.assert_allclose(controller.pd_control(goal, zero, at, zero, diagonal, 0.0), np.arange(1.0, 7.0) * goal)
    np.testing.assert_allclose(controller.pd_control(goal, zero, at, zero, full, 0.0), full @ goal)
    with pytest.raises(ShapeError, match="Kp"):
        controller.pd_control(goal, zero, at, zero, np.ones((2, 2)), 0.0)


def test_the_integral_is_bounded_and_follows_the_number_of_joints():
    controller = ManipulatorController(None)
    for _ in range(50):
        controller.pid_control([1.0, -1.0], [0, 0], [0, 0], [0, 0], 0.1, 0.0, 1.0, 0.0, i_clamp=0.7)
    np.testing.assert_allclose(controller.eint, [0.7, -0.7])
    controller.pid_control([1.0], [0], [0], [0], 0.1, 0.0, 1.0, 0.0)
    np.testing.assert_allclose(controller.eint, [0.1])
    for bound in (0.0, -1.0, math.nan):
        with pytest.raises(InputError, match="i_clamp"):
            controller.pid_control([1.0], [0], [0], [0], 0.1, 0.0, 1.0, 0.0, i_clamp=bound)
    with pytest.raises(NotFiniteError):
        controller.pd_control([np.nan], [0], [0], [0], 1.0, 1.0)


@pytest.mark.parametrize("set_point", [2.0, -2.0])
def test_step_response_measures_agree_with_the_formulas_of_a_second_order_system(set_point):
    damping, frequency = 0.4, 5.0
    system = scipy.signal.TransferFunction([frequency**2], [1.0, 2.0 * damping * frequency, frequency**2])
    time, response = scipy.signal.step(system, T=np.linspace(0.0, 8.0, 8001))
    measures, response = ManipulatorController(None), set_point * response
    overshoot = 100.0 * math.exp(-math.pi * damping / math.sqrt(1.0 - damping**2))
    assert measures.calculate_percent_overshoot(response, set_point) == pytest.approx(overshoot, rel=1e-3)
    settled = measures.calculate_settling_time(time, response, set_point)
    assert (np.abs(response[time >= settled] - set_point) <= 0.02 * 2.0).all()
    assert abs(response[time < settled][-1] - set_point) > 0.02 * 2.0
    rise = measures.calculate_rise_time(time, response, set_point)
    share = np.interp([0.1, 0.9], response[time < 0.6] / set_point, time[time < 0.6])
    assert rise == pytest.approx(share[1] - share[0], abs=2e-3)
    assert abs(measures.calculate_steady_state_error(response, set_point)) < 1e-3
    assert len(measures.plot_steady_state_response(time, response, set_point).axes) == 1


def test_responses_that_never_arrive():
    measures, time = ManipulatorController(None), np.linspace(0.0, 1.0, 10)
    assert measures.calculate_rise_time(time, np.zeros(10), 1.0) == math.inf
    assert measures.calculate_settling_time(time, np.zeros(10), 1.0) == math.inf
    assert measures.calculate_percent_overshoot([0.0, 0.1], 0.0) == 0.0
    with pytest.raises(ShapeError):
        measures.calculate_rise_time(time, np.zeros(9), 1.0)


def test_tuning_rules_are_those_of_ziegler_and_nichols():
    controller = ManipulatorController(None)
    assert controller.tune_controller(10.0, 0.5, "PI")[1] == pytest.approx(0.54 * 10.0 / 0.5)
    Kp, Ki, Kd = controller.tune_controller([10.0, 20.0], 0.5)
    np.testing.assert_allclose([Kp, Ki, Kd], [[6.0, 12.0], [24.0, 48.0], [0.375, 0.75]])
    assert controller.ziegler_nichols_tuning(10.0, 0.0, "P")[0] == 5.0


def test_the_ultimate_gain_is_that_of_the_lagging_joint(ur5):
    q = np.array([0.0, -1.0, 1.0, 0.0, 0.5, 0.0])
    dt = 0.01
    gain, period, gains, errors = ManipulatorController(ur5.dynamics).find_ultimate_gain_and_period(q, q + 0.2, dt, 30)
    inertia = np.diagonal(exact.mass_matrix(ur5.chain, q)).min()
    # Routh for I T s³ + (I + d T) s² + d s + K with d = I / 1 s.
    assert gain == pytest.approx(inertia * (1.0 + dt) / dt, rel=0.03)
    assert period == pytest.approx(2.0 * math.pi * math.sqrt(dt), rel=0.03)
    assert gains == [gain] and len(errors) == 30 and errors[0] == pytest.approx(np.full(6, 0.2))


def test_state_estimate_agrees_with_the_textbook(ur5):
    rng = np.random.default_rng(0)
    controller = ManipulatorController(ur5.dynamics)
    q, qd, tau = rng.uniform(-0.5, 0.5, (3, 6))
    A = rng.normal(size=(12, 12))
    Q, R, dt = A @ A.T * 1e-3, np.diag(rng.uniform(0.1, 0.2, 12)), 0.01
    controller.kalman_filter_predict(q, qd, tau, GRAVITY, np.zeros(6), dt, Q)
    qdd = exact.forward_dynamics(ur5.chain, q, qd, tau, gravity=GRAVITY)
    F = np.block([[np.eye(6), dt * np.eye(6)], [np.zeros((6, 6)), np.eye(6)]])
    P = F @ F.T + Q
    x = np.concatenate([q + dt * qd, qd + dt * qdd])
    np.testing.assert_allclose(controller.x_hat, x)
    np.testing.assert_allclose(controller.P, P)
    z = x + rng.normal(size=12)
    controller.kalman_filter_update(z, R)
    # The information form: a second route to the same estimate.
    information = np.linalg.inv(P) + np.linalg.inv(R)
    np.testing.assert_allclose(controller.P, np.linalg.inv(information), atol=1e-12)
    wanted = np.linalg.solve(information, np.linalg.solve(P, x) + np.linalg.solve(R, z))
    np.testing.assert_allclose(controller.x_hat, wanted, atol=1e-12)
    estimate = controller.kalman_filter_control(q, qd, q, qd, tau, GRAVITY, np.zeros(6), dt, Q, R)
    assert estimate[0].shape == estimate[1].shape == (6,)


def test_estimates_of_the_wrong_size_are_refused():
    controller = ManipulatorController(None)
    with pytest.raises(InputError, match="P must be initialized"):
        controller.kalman_filter_update(np.zeros(4), np.eye(4))
    controller.x_hat, controller.P = np.zeros(4), np.eye(3)
    with pytest.raises(ShapeError, match=r"\(4, 4\)"):
        controller.kalman_filter_update(np.zeros(4), np.eye(4))
    with pytest.raises(ShapeError, match="z"):
        controller.kalman_filter_update(np.zeros((4, 1)), np.eye(4))


def test_friction_of_the_description_is_compensated():
    text = URDFToSerialManipulator("ur5", False).robot.model
    joints = {name: _with_friction(joint) for name, joint in text.joints.items()}
    from dataclasses import replace

    rough = URDFToSerialManipulator(replace(text, joints=joints), None)
    smooth = ManipulatorController(URDFToSerialManipulator("ur5", False).dynamics)
    q, qd, qdd = np.random.default_rng(2).uniform(-1.0, 1.0, (3, 6))
    resistance = 0.3 * qd + 0.2 * np.tanh(qd / SMOOTHING)
    controller = ManipulatorController(rough.dynamics)
    arguments = (q, qd, qdd, GRAVITY, np.zeros(6))
    np.testing.assert_allclose(
        controller.feedforward_control(*arguments) - smooth.feedforward_control(*arguments), resistance
    )
    arguments = (q, qd, qdd, q, qd, GRAVITY, 0.01, 10.0, 0.0, 1.0)
    np.testing.assert_allclose(
        controller.computed_torque_control(*arguments) - smooth.computed_torque_control(*arguments), resistance
    )
    # The equations of motion themselves stay without friction.
    tau = rough.dynamics.inverse_dynamics(q, qd, qdd, GRAVITY, np.zeros(6))
    np.testing.assert_allclose(tau, smooth.dynamics.inverse_dynamics(q, qd, qdd, GRAVITY, np.zeros(6)))


def _with_friction(joint):
    from dataclasses import replace

    return replace(joint, damping=0.3, friction=0.2) if joint.type.moves else joint
