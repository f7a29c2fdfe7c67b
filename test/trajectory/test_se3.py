"""SE(3) curves: straight lines and screws against the exponential and finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import lie
from manipapy_core.errors import InputError
from manipapy_core.trajectory import TimeScaling, interpolate_pose, line_poses, line_trajectory, screw_trajectory

POLYNOMIALS = {
    TimeScaling.CUBIC: np.polynomial.Polynomial([0, 0, 3, -2]),
    TimeScaling.QUINTIC: np.polynomial.Polynomial([0, 0, 0, 10, -15, 6]),
}
SCALINGS = list(TimeScaling)
T_A = lie.pose(lie.exp_so3(np.array([0.2, -0.4, 0.9])), np.array([0.3, -0.1, 0.5]))
T_B = lie.pose(lie.exp_so3(np.array([-1.1, 0.6, 0.3])), np.array([-0.2, 0.4, 0.1]))


@pytest.mark.parametrize("fraction", [0.0, 0.3, 1.0])
def test_an_interpolated_pose_is_on_the_line_and_the_shortest_turn(fraction):
    T = interpolate_pose(T_A, T_B, fraction)
    np.testing.assert_allclose(T[:3, 3], T_A[:3, 3] + fraction * (T_B[:3, 3] - T_A[:3, 3]), atol=1e-15)
    whole, part = (lie.log_so3(T_A[:3, :3].T @ pose[:3, :3]) for pose in (T_B, T))
    np.testing.assert_allclose(part, fraction * whole, atol=1e-14)
    np.testing.assert_array_equal(T[3], [0.0, 0.0, 0.0, 1.0])


def test_a_batch_of_fractions_gives_a_batch_of_poses():
    fractions = np.linspace(0.0, 1.0, 6).reshape(2, 3)
    poses = interpolate_pose(T_A, T_B, fractions)
    assert poses.shape == (2, 3, 4, 4)
    np.testing.assert_allclose(poses[1, 2], T_B, atol=1e-15)
    np.testing.assert_allclose(poses[0, 1], interpolate_pose(T_A, T_B, fractions[0, 1]), atol=1e-15)


def test_poses_of_a_line_are_no_farther_apart_than_the_steps():
    poses = line_poses(T_A, T_B, 0.01, 0.05)
    np.testing.assert_allclose(poses[[0, -1]], [T_A, T_B], atol=1e-12)
    steps = lie.inverse(poses[:-1]) @ poses[1:]
    assert np.linalg.norm(steps[:, :3, 3], axis=1).max() <= 0.01 + 1e-12
    assert np.linalg.norm(lie.log_so3(steps[:, :3, :3]), axis=1).max() <= 0.05 + 1e-12
    assert len(line_poses(T_A, T_A, 0.01, 0.05)) == 2


@pytest.mark.parametrize("scaling", TimeScaling)
def test_line_twists_are_the_rates_of_the_poses(scaling):
    motion = line_trajectory(T_A, T_B, 1.5, 4001, scaling=scaling)
    h = motion.times[1]
    steps = np.array([lie.log_se3(lie.inverse(a) @ b) for a, b in zip(motion.poses[:-2], motion.poses[2:])]) / (2 * h)
    np.testing.assert_allclose(motion.twists[1:-1], steps, atol=1e-5)
    rates = (motion.twists[2:] - motion.twists[:-2]) / (2 * h)
    np.testing.assert_allclose(motion.accelerations[1:-1], rates, atol=1e-4)


def test_the_origin_is_on_the_line_and_the_ends_are_met():
    motion = line_trajectory(T_A, T_B, 1.5, 50)
    np.testing.assert_allclose(motion.poses[[0, -1]], [T_A, T_B], atol=1e-12)
    way = T_B[:3, 3] - T_A[:3, 3]
    off = np.cross(motion.poses[:, :3, 3] - T_A[:3, 3], way)
    assert np.abs(off).max() < 1e-12


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


@pytest.mark.parametrize("curve", [line_trajectory, screw_trajectory])
def test_bad_input_is_named(curve):
    with pytest.raises(InputError, match="T_goal is not a pose"):
        curve(T_A, 2.0 * T_B, 1.0, 10)
    with pytest.raises(InputError, match="duration"):
        curve(T_A, T_B, -1.0, 10)
