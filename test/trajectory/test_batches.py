"""Batches of point-to-point motions are the same as single motions."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core.errors import InputError, ShapeError
from manipapy_core.trajectory import TimeScaling, joint_trajectories, joint_trajectory


@pytest.mark.parametrize("scaling", TimeScaling)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_batch_is_its_motions_one_by_one(scaling, dtype):
    rng = np.random.default_rng(0)
    starts, goals = rng.normal(size=(2, 9, 5))
    many = joint_trajectories(starts, goals, 1.7, 33, scaling=scaling, dtype=dtype)
    accuracy = 1e-12 if dtype is np.float64 else 1e-5
    for index in range(9):
        one = joint_trajectory(starts[index], goals[index], 1.7, 33, scaling=scaling)
        np.testing.assert_allclose(many.times, one.times)
        for name in ("positions", "velocities", "accelerations"):
            expected = getattr(one, name)
            scale = np.abs(expected).max()
            np.testing.assert_allclose(getattr(many, name)[index], expected, atol=accuracy * scale)
    np.testing.assert_array_equal(many.positions[:, -1], goals.astype(dtype))


def test_memory_can_be_reused():
    out = np.full((3, 4, 10, 6), np.nan)
    many = joint_trajectories(np.zeros((4, 6)), np.ones((4, 6)), 1.0, 10, out=out)
    assert np.shares_memory(many.positions, out) and np.isfinite(out).all()


def test_invalid_input_is_refused():
    with pytest.raises(ShapeError):
        joint_trajectories(np.zeros(6), np.ones(6), 1.0, 10)
    with pytest.raises(ShapeError):
        joint_trajectories(np.zeros((2, 6)), np.ones((2, 6)), 1.0, 10, out=np.empty((3, 2, 9, 6)))
    with pytest.raises(InputError):
        joint_trajectories(np.zeros((2, 6)), np.ones((2, 6)), 1.0, 10, dtype=np.int64)
    with pytest.raises(InputError):
        joint_trajectories(np.zeros((2, 6)), np.ones((2, 6)), 0.0, 10)
