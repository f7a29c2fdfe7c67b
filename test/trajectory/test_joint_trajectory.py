"""Joint trajectories: accepted input, slowing down, joining, and point-to-point motions against NumPy polynomials."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core.errors import InputError, NotFiniteError, ShapeError
from manipapy_core.trajectory import JointTrajectory, Spline, TimeScaling, concatenated, joint_trajectory

TIMES = [0.5, 1.0, 2.0]
POLYNOMIALS = {
    TimeScaling.CUBIC: np.polynomial.Polynomial([0, 0, 3, -2]),
    TimeScaling.QUINTIC: np.polynomial.Polynomial([0, 0, 0, 10, -15, 6]),
}
SCALINGS = list(TimeScaling)


def test_lists_become_arrays():
    trajectory = JointTrajectory(TIMES, [[0], [1], [2]], joint_names=["a"], start_time=3.0)
    assert trajectory.positions.dtype == np.float64 and trajectory.positions.shape == (3, 1)
    assert trajectory.velocities is None and trajectory.accelerations is None
    assert trajectory.joint_names == ("a",) and trajectory.start_time == 3.0 and trajectory.duration == 2.0


@pytest.mark.parametrize("positions", [[[1, 2], [1], [1, 2, 3]], [["a"] * 6] * 3, None, [[1 + 2j]] * 3])
def test_what_is_not_a_table_of_numbers_is_refused(positions):
    with pytest.raises(InputError, match="positions are not a table of numbers"):
        JointTrajectory(TIMES, positions)


def test_names_in_place_of_times_are_refused():
    with pytest.raises(InputError, match="times are not a table of numbers"):
        JointTrajectory(("a", "b"), TIMES, [[0, 1]] * 3)


def test_states_need_velocities_and_accelerations():
    motion = joint_trajectory([0.0], [1.0], 1.0, 5)
    assert all(a is b for a, b in zip(motion.states(), (motion.positions, motion.velocities, motion.accelerations)))
    with pytest.raises(InputError, match="velocities and accelerations"):
        JointTrajectory(TIMES, [[0], [1], [2]]).states()


def test_slower_is_the_same_path_at_multiplied_times():
    motion = joint_trajectory([0.0, 1.0], [1.0, -1.0], 2.0, 20)
    slow = motion.slower(3.0)
    times = np.linspace(0.0, 2.0, 100)
    fast, stretched = Spline.of(motion).sample_many(times), Spline.of(slow).sample_many(3.0 * times)
    for order in range(3):
        np.testing.assert_allclose(stretched[:, order], fast[:, order] / 3.0**order, atol=1e-12)
    assert JointTrajectory(TIMES, [[0], [1], [2]]).slower(2.0).velocities is None


def test_concatenated_parts_follow_each_other():
    there, back = joint_trajectory([0.0], [1.0], 1.0, 11), joint_trajectory([1.0], [0.2], 2.0, 21)
    whole = concatenated([there, back])
    assert len(whole.times) == 31 and whole.duration == 3.0 and (np.diff(whole.times) > 0.0).all()
    np.testing.assert_array_equal(whole.positions, np.concatenate([there.positions, back.positions[1:]]))
    np.testing.assert_array_equal(whole.accelerations[11:], back.accelerations[1:])
    assert concatenated([JointTrajectory([0.0, 1.0], [[0], [1]])] * 2).velocities is None


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
