"""SO(3) and SE(3): group axioms, inverse pairs near 0 and near π, and scipy as the second route."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from manipapy_core import lie
from manipapy_core.errors import InputError, ShapeError


def vectors(size, limit):
    return arrays(np.float64, size, elements=st.floats(-limit, limit))


TWISTS = vectors(6, 3.0)
DIRECTIONS = vectors(3, 1.0).filter(lambda v: np.linalg.norm(v) > 1e-3).map(lambda v: v / np.linalg.norm(v))
ANGLES = st.one_of(
    st.floats(0.0, np.pi),
    st.sampled_from([0.0, 1e-300, 1e-12, 1e-8, 9.99e-5, 1.01e-4, 1e-3, 0.0999, 0.1001, 3.0]),
    st.sampled_from([np.pi - 1e-3, np.pi - 1e-6, np.pi - 1e-9, np.pi - 1e-13, np.pi]),
)


@given(TWISTS)
def test_exp_agrees_with_the_matrix_exponential(twist):
    hatted = np.zeros((4, 4))
    hatted[:3, :3], hatted[:3, 3] = lie.hat(twist[:3]), twist[3:]
    np.testing.assert_allclose(lie.exp_se3(twist), expm(hatted), atol=1e-12)


@given(DIRECTIONS, ANGLES)
def test_log_undoes_exp_at_every_angle(direction, angle):
    w = direction * angle
    found = lie.log_so3(lie.exp_so3(w))
    if angle > np.pi - 1e-7 and found @ w < 0:  # at π both directions are right
        found = -found
    np.testing.assert_allclose(found, w, atol=1e-9)


@given(DIRECTIONS, ANGLES)
def test_exp_undoes_log_at_every_angle(direction, angle):
    R = lie.exp_so3(direction * angle)
    np.testing.assert_allclose(lie.exp_so3(lie.log_so3(R)), R, atol=1e-12)


@given(DIRECTIONS, ANGLES)
def test_log_agrees_with_scipy(direction, angle):
    R = Rotation.from_rotvec(direction * angle).as_matrix()
    found, expected = lie.log_so3(R), Rotation.from_matrix(R).as_rotvec()
    if angle > np.pi - 1e-7 and found @ expected < 0:
        found = -found
    np.testing.assert_allclose(found, expected, atol=1e-9)


@given(vectors(3, 5.0), DIRECTIONS, ANGLES.filter(lambda angle: angle < np.pi - 1e-6))
def test_pose_log_undoes_pose_exp(v, direction, angle):
    twist = np.concatenate([direction * angle, v])
    np.testing.assert_allclose(lie.log_se3(lie.exp_se3(twist)), twist, atol=1e-8)


@given(TWISTS, TWISTS, TWISTS)
def test_poses_form_a_group(a, b, c):
    A, B, C = lie.exp_se3(a), lie.exp_se3(b), lie.exp_se3(c)
    np.testing.assert_allclose((A @ B) @ C, A @ (B @ C), atol=1e-10)
    np.testing.assert_allclose(lie.inverse(A) @ A, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(lie.inverse(A @ B), lie.inverse(B) @ lie.inverse(A), atol=1e-10)


@given(TWISTS, TWISTS, TWISTS)
def test_adjoint_carries_twists_and_respects_products(a, b, v):
    A, B = lie.exp_se3(a), lie.exp_se3(b)
    np.testing.assert_allclose(lie.adjoint(A @ B), lie.adjoint(A) @ lie.adjoint(B), atol=1e-9)
    moved = lie.exp_se3(lie.adjoint(A) @ v)
    np.testing.assert_allclose(moved, A @ lie.exp_se3(v) @ lie.inverse(A), atol=1e-7)


@given(TWISTS, TWISTS)
def test_small_adjoint_is_the_bracket(a, b):
    step = 1e-6
    difference = (lie.adjoint(lie.exp_se3(step * a)) - lie.adjoint(lie.exp_se3(-step * a))) @ b / (2 * step)
    np.testing.assert_allclose(lie.small_adjoint(a) @ b, difference, atol=1e-6)


@given(DIRECTIONS, st.floats(-7, 7))
def test_quaternions_agree_with_scipy(direction, angle):
    expected = Rotation.from_rotvec(direction * angle)
    R = expected.as_matrix()
    quaternion = lie.rotation_to_quaternion(R)
    assert quaternion[3] >= 0
    np.testing.assert_allclose(lie.rotation_from_quaternion(quaternion), R, atol=1e-12)
    np.testing.assert_allclose(lie.rotation_from_quaternion(3.7 * expected.as_quat()), R, atol=1e-12)


QUARTERS = st.sampled_from([0.0, np.pi / 2, -np.pi / 2, np.pi, np.pi / 2 - 1e-9])
RPY = st.tuples(*[st.one_of(st.floats(-np.pi, np.pi), QUARTERS)] * 3)


@given(RPY)
def test_roll_pitch_yaw_agree_with_scipy_and_come_back(rpy):
    R = lie.rotation_from_rpy(rpy)
    np.testing.assert_allclose(R, Rotation.from_euler("xyz", rpy).as_matrix(), atol=1e-14)
    found = lie.rotation_to_rpy(R)
    assert abs(found[1]) <= np.pi / 2
    np.testing.assert_allclose(lie.rotation_from_rpy(found), R, atol=1e-14)


def test_roll_pitch_yaw_of_batches_give_the_single_answers():
    angles = np.random.default_rng(1).uniform(-3.0, 3.0, (2, 5, 3))
    R = lie.rotation_from_rpy(angles)
    assert R.shape == (2, 5, 3, 3)
    np.testing.assert_array_equal(lie.rotation_to_rpy(R)[1, 3], lie.rotation_to_rpy(R[1, 3]))
    with pytest.raises(ShapeError, match="rpy"):
        lie.rotation_from_rpy([0.0, 0.0])


def test_batches_of_any_shape_give_the_single_answers():
    twists = np.random.default_rng(0).normal(size=(3, 4, 6))
    poses = lie.exp_se3(twists)
    assert poses.shape == (3, 4, 4, 4)
    np.testing.assert_array_equal(poses[1, 2], lie.exp_se3(twists[1, 2]))
    np.testing.assert_allclose(lie.log_se3(poses), twists, atol=1e-9)
    assert lie.adjoint(poses).shape == (3, 4, 6, 6)
    assert lie.rotation_to_quaternion(poses[..., :3, :3]).shape == (3, 4, 4)


def test_vee_undoes_hat():
    w = np.array([1.0, -2.0, 3.0])
    np.testing.assert_array_equal(lie.vee(lie.hat(w)), w)


def test_wrong_shapes_and_empty_quaternions_are_named():
    with pytest.raises(ShapeError, match="twist"):
        lie.exp_se3(np.zeros(5))
    with pytest.raises(ShapeError, match="T_ab"):
        lie.adjoint(np.eye(3))
    for quaternion in (np.zeros(4), [np.nan, 0, 0, 1]):
        with pytest.raises(InputError, match="order x, y, z, w"):
            lie.rotation_from_quaternion(quaternion)
