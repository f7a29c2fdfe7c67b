"""The Lie-group helpers under their textbook names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manipapy_core.compat import utils
from manipapy_core.errors import ShapeError

TWISTS = st.lists(st.floats(-1.7, 1.7), min_size=6, max_size=6).map(np.array)


@given(TWISTS)
def test_matrix_logarithm_inverts_the_exponential(V):
    matrix = utils.VecTose3(V)
    np.testing.assert_allclose(utils.se3ToVec(matrix), V, atol=0)
    T = utils.MatrixExp6(matrix)
    np.testing.assert_allclose(utils.MatrixLog6(T), matrix, atol=1e-12)
    np.testing.assert_allclose(utils.MatrixLog3(utils.MatrixExp3(matrix[:3, :3])), matrix[:3, :3], atol=1e-12)
    np.testing.assert_allclose(utils.transform_from_twist(V / 2, 2.0), T, atol=1e-14)
    R, p = utils.TransToRp(T)
    np.testing.assert_array_equal(utils.RpToTrans(R, p), T)
    np.testing.assert_allclose(utils.TransInv(T) @ T, np.eye(4), atol=1e-14)


@given(TWISTS, TWISTS)
def test_adjoint_agrees_with_conjugation(V, W):
    T = utils.MatrixExp6(utils.VecTose3(V))
    moved = T @ utils.VecTose3(W) @ utils.TransInv(T)
    np.testing.assert_allclose(utils.VecTose3(utils.adjoint_transform(T) @ W), moved, atol=1e-12)


def test_skew_matrix_is_the_cross_product():
    v, x = np.array([1.0, 2.0, 3.0]), np.array([-0.5, 0.4, 0.3])
    np.testing.assert_allclose(utils.skew_symmetric(v) @ x, np.cross(v, x))
    np.testing.assert_array_equal(utils.skew_symmetric_to_vector(utils.skew_symmetric(v)), v)
    assert utils.VecToso3 is utils.skew_symmetric and utils.so3ToVec is utils.skew_symmetric_to_vector


@pytest.mark.parametrize("angle", [1e-12, 1e-8, 1e-6, 5e-7, 1e-3])
def test_small_rotations_are_not_rounded_to_zero(angle):
    V = np.array([0.6 * angle, 0.0, 0.8 * angle, 0.1, 0.2, 0.3])
    np.testing.assert_allclose(
        utils.se3ToVec(utils.MatrixLog6(utils.MatrixExp6(utils.VecTose3(V)))), V, rtol=1e-9, atol=1e-20
    )


@pytest.mark.parametrize("short", [0.0, 1e-12, 1e-9, 1e-7, 1e-4])
def test_rotations_near_pi_are_accurate(short):
    """An arc cosine of the trace would lose half of the digits; Rodrigues' formula in π minus the angle does not."""
    axis = np.array([2.0, -3.0, 6.0]) / 7.0
    K = utils.skew_symmetric(axis)
    R = np.eye(3) + np.sin(short) * K + (1.0 + np.cos(short)) * K @ K
    w = utils.so3ToVec(utils.MatrixLog3(R))
    if short == 0.0 and w @ axis < 0.0:
        w = -w  # half a turn is the same about both directions
    np.testing.assert_allclose(w, (np.pi - short) * axis, atol=1e-14)


def test_screw_lists_split_and_join():
    omega = np.array([[0, 0, 1.0], [0, 1.0, 0], [0.6, 0, 0.8]]).T
    r = np.array([[0.1, 0.2, 0], [0.3, 0, 0.5], [0.8, 0.1, -0.6]]).T
    S = utils.extract_screw_list(omega, r)
    np.testing.assert_array_equal(utils.extract_omega_list(S), omega)
    points = utils.extract_r_list(S).T
    np.testing.assert_allclose(np.cross(omega, points - r, axis=0), 0, atol=1e-15)  # on the same axes
    np.testing.assert_allclose(np.sum(omega * points, axis=0), 0, atol=1e-15)  # and next to the origin
    prismatic = np.array([[0, 0, 0, 0, 1.0, 0]]).T
    np.testing.assert_array_equal(utils.extract_r_list(prismatic), np.zeros((1, 3)))


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (utils.VecTose3, np.zeros(5)),
        (utils.se3ToVec, np.eye(3)),
        (utils.TransToRp, np.eye(3)),
        (utils.extract_r_list, np.zeros((3, 2))),
        (utils.extract_omega_list, np.zeros(6)),
    ],
)
def test_wrong_shapes_are_refused(function, argument):
    with pytest.raises(ShapeError):
        function(argument)
    with pytest.raises(ShapeError):
        utils.extract_screw_list(np.eye(3), np.zeros((3, 2)))


def test_all_names_exist():
    assert all(callable(getattr(utils, name)) for name in utils.__all__)
