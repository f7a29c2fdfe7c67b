"""Point-to-point time laws: ends, derivatives by finite differences, NumPy polynomials as the second route."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import lie
from manipapy_core.errors import InputError, NotFiniteError, ShapeError
from manipapy_core.trajectory import TimeScaling, joint_trajectory, screw_trajectory

POLYNOMIALS = {
    TimeScaling.CUBIC: np.polynomial.Polynomial([0, 0, 3, -2]),
    TimeScaling.QUINTIC: np.polynomial.Polynomial([0, 0, 0, 10, -15, 6]),
}
SCALINGS = list(TimeScaling)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_joint_motion_follows_its_polynomial(scaling):
    start, goal, duration = np.array([0.1, -2.0, 0.0]), np.array([1.0, 2.0, 0.0]), 2.5
    motion = joint_trajectory(start, goal, duration, 101, scaling=scaling)
    s = POLYNOMIALS[scaling]
    u = motion.times / duration
    delta = goal - start
    np.testing.assert_allclose(motion.positions, start + s(u)[:, None] * delta, atol=1e-14)
    np.testing.assert_allclose(motion.velocities, s.deriv()(u)[:, None] * delta / duration, atol=1e-13)
    np.testing.assert_allclose(motion.accelerations, s.deriv(2)(u)[:, None] * delta / duration**2, atol=1e-12)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_motion_starts_and_ends_at_rest(scaling):
    motion = joint_trajectory(np.zeros(2), np.ones(2), 1.0, 2, scaling=scaling)
    np.testing.assert_array_equal(motion.positions, [[0, 0], [1, 1]])
    np.testing.assert_array_equal(motion.velocities, np.zeros((2, 2)))
    if scaling is TimeScaling.QUINTIC:
        np.testing.assert_array_equal(motion.accelerations, np.zeros((2, 2)))


GOALS = {
    "turn and move": [0.7, -1.9, 0.4, 1.0, 2.0, -3.0],
    "move only": [0.0, 0.0, 0.0, 1.0, 2.0, -3.0],
    "turn only": [0.0, 0.0, 2.0, 0.0, 0.0, 0.0],
    "hardly turn, move far": [1e-7, -2e-7, 3e-7, 1.0, 2.0, -3.0],
    "half a turn": [np.pi - 1e-9, 0.0, 0.0, 0.5, 0.0, 0.0],
    "stay": [0.0] * 6,
}


@pytest.mark.parametrize("twist", GOALS.values(), ids=GOALS.keys())
@pytest.mark.parametrize("scaling", SCALINGS)
def test_screw_motion_follows_the_exponential(twist, scaling):
    T_start = lie.exp_se3([0.3, 0.2, -0.5, 1.0, 0.0, 0.5])
    T_goal = T_start @ lie.exp_se3(twist)
    motion = screw_trajectory(T_start, T_goal, 2.0, 51, scaling=scaling)
    fractions = POLYNOMIALS[scaling](motion.times / 2.0)
    expected = T_start @ lie.exp_se3(fractions[:, None] * lie.log_se3(lie.inverse(T_start) @ T_goal))
    np.testing.assert_allclose(motion.poses, expected, atol=1e-9)
    np.testing.assert_allclose(motion.poses[-1], T_goal, atol=1e-9)
    R = motion.poses[:, :3, :3]
    np.testing.assert_allclose(np.swapaxes(R, 1, 2) @ R - np.eye(3), np.zeros_like(R), atol=1e-12)


def test_screw_velocities_are_the_rates_of_the_poses():
    T_goal = lie.exp_se3([0.7, -1.9, 0.4, 1.0, 2.0, -3.0])
    motion = screw_trajectory(np.eye(4), T_goal, 2.0, 20001)
    step = motion.times[1]
    middle = slice(1, -1)
    twists = lie.log_se3(lie.inverse(motion.poses[:-2]) @ motion.poses[2:]) / (2 * step)
    np.testing.assert_allclose(motion.twists[middle], twists, atol=1e-6)
    rates = (motion.twists[2:] - motion.twists[:-2]) / (2 * step)
    np.testing.assert_allclose(motion.accelerations[middle], rates, atol=1e-5)


def test_bad_input_is_named():
    with pytest.raises(InputError, match="duration"):
        joint_trajectory([0.0], [1.0], 0.0, 10)
    with pytest.raises(InputError, match="duration"):
        joint_trajectory([0.0], [1.0], np.nan, 10)
    with pytest.raises(InputError, match="samples"):
        joint_trajectory([0.0], [1.0], 1.0, 1)
    with pytest.raises(ShapeError, match="goal"):
        joint_trajectory([0.0, 1.0], [1.0], 1.0, 10)
    with pytest.raises(NotFiniteError, match="start"):
        joint_trajectory([np.nan], [1.0], 1.0, 10)
    with pytest.raises(InputError, match="T_goal is not a pose"):
        screw_trajectory(np.eye(4), 2 * np.eye(4), 1.0, 10)
