"""The Kalman filter against textbook matrices, the Riccati equation and consistency of errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_discrete_are

from control.arms import DT, UR5
from manipapy_core import InputError
from manipapy_core.control import FilterSettings, StateFilter

SETTINGS = FilterSettings(position_noise=[1e-4, 2e-4, 1e-3, 1e-4, 5e-4, 1e-4], velocity_noise=0.02, jerk_density=30.0)


def matrices(joint, with_velocity, dt=DT):
    F = np.array([[1, dt, dt**2 / 2], [0, 1, dt], [0, 0, 1]])
    density = np.asarray(SETTINGS.jerk_density) ** 2
    Q = density * np.array(
        [[dt**5 / 20, dt**4 / 8, dt**3 / 6], [dt**4 / 8, dt**3 / 3, dt**2 / 2], [dt**3 / 6, dt**2 / 2, dt]]
    )
    noise = [np.asarray(SETTINGS.position_noise)[joint] ** 2, SETTINGS.velocity_noise**2]
    rows = 2 if with_velocity else 1
    return F, Q, np.eye(3)[:rows], np.diag(noise[:rows])


def settings(with_velocity):
    return SETTINGS if with_velocity else FilterSettings(SETTINGS.position_noise, None, SETTINGS.jerk_density)


both = pytest.mark.parametrize("with_velocity", [True, False], ids=["velocity", "position only"])


@both
def test_filter_equals_textbook_matrices(with_velocity):
    """x and P by matrix formulas, with ticks of uneven length and some measurements missing."""
    rng = np.random.default_rng(0)
    filter_ = StateFilter(UR5, settings(with_velocity))
    filter_.start(np.zeros(6), np.zeros(6))
    x = np.zeros((6, 3))
    P = filter_.covariance
    for tick in range(300):
        dt = DT * rng.uniform(0.5, 2.0)
        q, qd = rng.normal(size=6) * 1e-3, rng.normal(size=6) * 0.1
        missing = tick % 7 == 3
        state = filter_.predict(dt) if missing else filter_.update(q, qd, dt)
        for j in range(6):
            F, Q, H, R = matrices(j, with_velocity, dt)
            x[j], P[j] = F @ x[j], F @ P[j] @ F.T + Q
            if not missing:
                K = P[j] @ H.T @ np.linalg.inv(H @ P[j] @ H.T + R)
                x[j] += K @ (np.array([q[j], qd[j]])[: len(H)] - H @ x[j])
                P[j] = (np.eye(3) - K @ H) @ P[j]
        assert np.allclose(state.q, x[:, 0], rtol=1e-7, atol=1e-10)
        assert np.allclose(state.qd, x[:, 1], rtol=1e-7, atol=1e-8)
        assert np.allclose(filter_.acceleration, x[:, 2], rtol=1e-6, atol=1e-6)
    assert np.allclose(filter_.covariance, P, rtol=1e-6)


@both
def test_covariance_settles_at_the_solution_of_the_riccati_equation(with_velocity):
    filter_ = StateFilter(UR5, settings(with_velocity))
    for _ in range(5000):
        filter_.update(np.zeros(6), np.zeros(6), DT)
    for j in range(6):
        F, Q, H, R = matrices(j, with_velocity)
        before = solve_discrete_are(F.T, H.T, Q, R)
        K = before @ H.T @ np.linalg.inv(H @ before @ H.T + R)
        assert np.allclose(filter_.covariance[j], (np.eye(3) - K @ H) @ before, rtol=1e-4)


@both
def test_covariance_stays_symmetric_and_positive(with_velocity):
    filter_, rng = StateFilter(UR5, settings(with_velocity)), np.random.default_rng(1)
    for tick in range(20000):
        if rng.random() < 0.3:
            filter_.predict(DT * rng.uniform(0.1, 20))
        else:
            filter_.update(rng.normal(size=6), rng.normal(size=6), DT)
        if tick % 100 == 0:
            assert np.linalg.eigvalsh(filter_.covariance).min() > 0.0


def test_velocity_from_noisy_positions_is_far_better_than_differences():
    rng = np.random.default_rng(2)
    filter_ = StateFilter(UR5, FilterSettings(1e-4, None, 20.0))
    t = np.arange(0, 4, DT)
    truth = 0.3 * np.sin(2 * t)
    measured = truth + 1e-4 * rng.normal(size=t.size)
    found = []
    for value in measured:
        found.append(filter_.update(np.full(6, value), np.zeros(6), DT).qd[0])
    speed = 0.6 * np.cos(2 * t)
    error = np.sqrt(np.mean((np.array(found) - speed)[1000:] ** 2))
    differences = np.sqrt(np.mean((np.diff(measured) / DT - speed[1:]) ** 2))
    assert error < 0.02 and error * 5 < differences


def test_errors_are_consistent_with_the_covariance():
    """Noise of the stated size: the normalised error has the mean of a χ² with two degrees of freedom."""
    rng = np.random.default_rng(3)
    filter_ = StateFilter(UR5, FilterSettings(1e-3, 0.05, 5.0))
    x, scores = np.zeros((6, 3)), []
    F, Q, _, _ = matrices(0, True)
    Q = Q / np.asarray(SETTINGS.jerk_density) ** 2 * 25.0
    root = np.linalg.cholesky(Q)
    for tick in range(6000):
        x = x @ F.T + rng.normal(size=(6, 3)) @ root.T
        state = filter_.update(x[:, 0] + 1e-3 * rng.normal(size=6), x[:, 1] + 0.05 * rng.normal(size=6), DT)
        if tick > 1000:
            off = np.stack([state.q, state.qd], axis=1) - x[:, :2]
            cov = filter_.covariance[:, :2, :2]
            scores.append(np.einsum("ji,jik,jk->j", off, np.linalg.inv(cov), off))
    assert np.mean(scores) == pytest.approx(2.0, rel=0.15)


def test_a_measurement_that_is_not_finite_is_left_out():
    filter_ = StateFilter(UR5)
    filter_.update(np.full(6, 0.5), np.full(6, 0.1), DT)
    broken = np.full(6, 0.5)
    broken[3] = np.nan
    state = filter_.update(broken, np.full(6, 0.1), DT)
    assert np.allclose(state.q, 0.5 + 0.1 * DT)


@pytest.mark.parametrize("bad", [FilterSettings(position_noise=0.0), FilterSettings(jerk_density=-1.0)])
def test_noise_must_be_above_zero(bad):
    with pytest.raises(InputError, match=r"noise|jerk"):
        StateFilter(UR5, bad)
