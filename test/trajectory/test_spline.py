"""Splines through points against SciPy, and the curves that control adds to them: corrections and stops."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BPoly, CubicHermiteSpline

from manipapy_core.control.execution import StopProfile
from manipapy_core.control.execution.active_trajectory import Correction
from manipapy_core.trajectory import Spline

RNG = np.random.default_rng(0)
TIMES = np.cumsum(RNG.uniform(0.05, 0.9, 12))
P, V, A = (RNG.normal(size=(12, 6)) for _ in range(3))
DENSE = np.linspace(TIMES[0], TIMES[-1], 3001)


def test_positions_alone_are_joined_by_straight_lines():
    samples = Spline(TIMES, P).sample_many(DENSE)
    for j in range(6):
        assert np.allclose(samples[:, 0, j], np.interp(DENSE, TIMES, P[:, j]))
    assert not samples[:, 2].any()


def test_velocities_make_it_cubic():
    samples, truth = Spline(TIMES, P, V).sample_many(DENSE), CubicHermiteSpline(TIMES, P, V)
    inner = np.abs(DENSE[:, None] - TIMES).min(axis=1) > 1e-9
    for order in range(3):
        assert np.allclose(samples[inner, order], truth(DENSE[inner], order), atol=1e-9)


def test_accelerations_make_it_quintic():
    samples = Spline(TIMES, P, V, A).sample_many(DENSE)
    truth = BPoly.from_derivatives(TIMES, np.stack([P, V, A], axis=1))
    for order in range(3):
        assert np.allclose(samples[:, order], truth(DENSE, order), atol=1e-7)


def test_accelerations_without_velocities_are_not_used():
    assert np.array_equal(Spline(TIMES, P, None, A).sample_many(DENSE), Spline(TIMES, P).sample_many(DENSE))


@pytest.mark.parametrize("carried", [(), (V,), (V, A)], ids=["linear", "cubic", "quintic"])
def test_one_sample_is_the_same_as_many(carried):
    spline, out = Spline(TIMES, P, *carried), np.zeros((3, 6))
    many = spline.sample_many(DENSE)
    for t, expected in zip(DENSE[::97], many[::97]):
        spline.sample(float(t), out)
        assert np.allclose(out, expected)


def test_points_a_tenth_of_a_millisecond_apart_are_exact():
    times = np.array([0.0, 1e-4, 2e-4])
    points = np.array([[0.0], [1e-4], [1e-4]])
    out = np.zeros((3, 1))
    spline = Spline(times, points, np.zeros((3, 1)), np.zeros((3, 1)))
    spline.sample(1e-4, out)
    assert np.allclose(out, [[1e-4], [0.0], [0.0]], atol=1e-9)


def test_a_correction_fades_with_all_its_derivatives_within_the_allowed_acceleration():
    difference = np.zeros((3, 6))
    difference[0], difference[1] = 0.02 * RNG.normal(size=6), 0.1 * RNG.normal(size=6)
    allowed = np.full(6, 2.0)
    correction = Correction(6)
    correction.begin(difference, allowed)
    times = np.linspace(0, correction.duration, 2001)
    blocks = np.zeros((2001, 3, 6))
    for t, block in zip(times, blocks):
        correction.add(float(t), block)
    assert np.allclose(blocks[0], difference)
    assert np.allclose(blocks[-1], 0.0)
    step = times[1]
    assert np.allclose(np.gradient(blocks[:, 0], step, axis=0)[5:-5], blocks[5:-5, 1], atol=1e-4)
    assert (np.abs(blocks[:, 2]) <= allowed).all()


def test_a_stop_is_smooth_bounded_and_ends_at_rest():
    q, qd, most = RNG.normal(size=6), RNG.normal(size=6), np.array([1.4, 2.0, 3.0, 5.0, 8.0, 1.0])
    far = np.full(6, 100.0)
    profile = StopProfile(6)
    profile.begin(q, qd, most, -far, far)
    times = np.linspace(0, profile.duration, 4001)
    blocks = np.zeros((4001, 3, 6))
    for t, block in zip(times, blocks):
        profile.sample(float(t), block)
    assert np.allclose(blocks[0, 0], q) and np.allclose(blocks[0, 1], qd)
    assert np.allclose(blocks[-1, 0], profile.rest) and np.abs(blocks[-1, 1:]).max() < 1e-12
    assert (np.abs(blocks[:, 2]) <= most * (1 + 1e-9)).all()
    step = times[1]
    assert np.allclose(np.gradient(blocks[:, 0], step, axis=0)[2:-2], blocks[2:-2, 1], atol=1e-4)
    assert np.allclose(np.gradient(blocks[:, 1], step, axis=0)[2:-2], blocks[2:-2, 2], atol=0.05)


def test_a_stop_near_a_limit_ends_before_it():
    profile, out = StopProfile(1), np.zeros((3, 1))
    profile.begin(np.array([0.9]), np.array([1.0]), np.array([1.0]), np.array([-1.0]), np.array([1.0]))
    for t in np.linspace(0, 1, 200):
        profile.sample(float(t), out)
        assert out[0, 0] <= 1.0 + 1e-12
    assert np.abs(out[1:]).max() < 1e-12
