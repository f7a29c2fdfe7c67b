"""Roll, pitch, yaw become rotations by a second route: matrix exponentials of the three axes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manipapy_core import lie
from manipapy_core.model.elements import rotation_from_rpy, transform_from_xyz_rpy

ANGLE = st.floats(-10.0, 10.0)
LENGTH = st.floats(-1e3, 1e3)


@given(ANGLE, ANGLE, ANGLE)
def test_rotation_is_yaw_after_pitch_after_roll(roll: float, pitch: float, yaw: float) -> None:
    expected = lie.exp_so3([0, 0, yaw]) @ lie.exp_so3([0, pitch, 0]) @ lie.exp_so3([roll, 0, 0])
    np.testing.assert_allclose(rotation_from_rpy((roll, pitch, yaw)), expected, rtol=0, atol=5e-11)


@given(st.floats(-math.pi, math.pi), st.floats(-1.5, 1.5), st.floats(-math.pi, math.pi))
def test_angles_come_back_from_the_matrix(roll: float, pitch: float, yaw: float) -> None:
    R = rotation_from_rpy((roll, pitch, yaw))
    found = (math.atan2(R[2, 1], R[2, 2]), -math.asin(R[2, 0]), math.atan2(R[1, 0], R[0, 0]))
    for angle, expected in zip(found, (roll, pitch, yaw), strict=True):
        assert math.isclose(math.cos(angle - expected), 1.0, abs_tol=1e-15)
        assert abs(math.sin(angle - expected)) < 1e-9


@given(st.tuples(LENGTH, LENGTH, LENGTH), st.tuples(ANGLE, ANGLE, ANGLE))
def test_transform_is_rigid(xyz: tuple[float, float, float], rpy: tuple[float, float, float]) -> None:
    T = transform_from_xyz_rpy(xyz, rpy)
    np.testing.assert_allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), rtol=0, atol=1e-14)
    assert np.linalg.det(T[:3, :3]) > 0.0
    np.testing.assert_array_equal(T[:3, 3], xyz)
    np.testing.assert_array_equal(T[3], [0, 0, 0, 1])


@pytest.mark.parametrize("quarters", range(-8, 9))
@pytest.mark.parametrize("decimals", [11, 12, 15, 17])
def test_quarter_turns_are_exact_however_many_decimals_the_file_has(quarters: int, decimals: int) -> None:
    rotation = rotation_from_rpy((round(quarters * math.pi / 2, decimals), 0.0, 0.0))
    assert set(np.abs(rotation).ravel()) == {0.0, 1.0}


def test_a_coarsely_written_quarter_turn_stays_as_written() -> None:
    assert rotation_from_rpy((1.5708, 0.0, 0.0))[1, 1] == math.cos(1.5708)
