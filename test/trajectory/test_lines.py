"""Straight lines with an even turn: twists and their rates by finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import lie
from manipapy_core.errors import InputError
from manipapy_core.trajectory import TimeScaling, line_trajectory

T_A = lie.pose(lie.exp_so3(np.array([0.2, -0.4, 0.9])), np.array([0.3, -0.1, 0.5]))
T_B = lie.pose(lie.exp_so3(np.array([-1.1, 0.6, 0.3])), np.array([-0.2, 0.4, 0.1]))


@pytest.mark.parametrize("scaling", TimeScaling)
def test_twists_are_the_motion(scaling):
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


def test_nonsense_is_refused():
    with pytest.raises(InputError):
        line_trajectory(T_A, 2.0 * T_B, 1.0, 10)
    with pytest.raises(InputError):
        line_trajectory(T_A, T_B, -1.0, 10)
