"""The rotation vector against `lie`, and the springs against the slope of the energy that they store."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manipapy_core import lie
from manipapy_core.control.laws.cartesian import curvature, rotation_vector, spring_wrench

coordinates = st.floats(-1.0, 1.0)
vectors = st.tuples(coordinates, coordinates, coordinates).filter(lambda v: np.linalg.norm(v) > 1e-2)
STIFFNESS = np.array([3.0, 40.0, 11.0, 800.0, 50.0, 300.0])


@given(vectors, st.floats(0.0, math.pi))
def test_rotation_vector_is_the_logarithm(axis, angle):
    w = angle * np.array(axis) / np.linalg.norm(axis)
    R = lie.exp_so3(w)
    found = np.array(rotation_vector(R.ravel().tolist()))
    # At a half turn both ends of the axis are right.
    assert min(np.abs(found - w).max(), np.abs(found + w).max() if angle > 3.1 else np.inf) < 1e-7
    assert np.allclose(lie.exp_so3(found), R, atol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-12, 1e-8, 1e-4, math.pi - 1e-8, math.pi])
@pytest.mark.parametrize("axis", np.vstack([np.eye(3), [[0.6, -0.8, 0.0], [0.577, 0.577, 0.577]]]))
def test_rotation_vector_at_the_ends(axis, angle):
    w = angle * axis / np.linalg.norm(axis)
    found = np.array(rotation_vector(lie.exp_so3(w).ravel().tolist()))
    assert np.allclose(lie.exp_so3(found), lie.exp_so3(w), atol=1e-12)
    assert np.linalg.norm(found) == pytest.approx(angle, abs=1e-11)


def stored_energy(T_tip, T_goal):
    """½ rᵀ K r + ½ pᵀ K p, with `lie` for the logarithm."""
    error = lie.inverse(T_tip) @ T_goal
    r, p = lie.log_so3(error[:3, :3]), error[:3, 3]
    return 0.5 * float(STIFFNESS[:3] @ r**2 + STIFFNESS[3:] @ p**2)


@given(vectors, vectors, st.floats(1e-3, 3.0))
def test_spring_wrench_is_the_gradient_of_the_energy(axis, translation, angle):
    """Wrench · twist = − d(energy)/dt for every small motion of the tip: also with unequal stiffness."""
    w = angle * np.array(axis) / np.linalg.norm(axis)
    T_tip = lie.exp_se3([0.3, -0.2, 0.5, 0.1, 0.2, 0.3])
    T_goal = T_tip @ lie.pose(lie.exp_so3(w), np.array(translation))
    error = lie.inverse(T_tip) @ T_goal
    r = rotation_vector(error[:3, :3].ravel().tolist())
    wrench = np.array(spring_wrench(r, curvature(r), error[:3, 3], STIFFNESS))
    h = 1e-6
    slope = [
        (stored_energy(T_tip @ lie.exp_se3(h * twist), T_goal) - stored_energy(T_tip @ lie.exp_se3(-h * twist), T_goal))
        / (2 * h)
        for twist in np.eye(6)
    ]
    assert np.allclose(wrench, -np.array(slope), rtol=1e-5, atol=1e-4)


def test_equal_stiffness_pulls_along_the_error():
    r, p = np.array([0.4, -0.7, 0.2]), np.array([0.1, 0.0, -0.2])
    wrench = spring_wrench(r, curvature(r), p, [20.0] * 3 + [500.0] * 3)
    assert np.allclose(wrench, [*(20.0 * r), *(500.0 * p)])
