"""Hand-eye calibration against the truth of rendered images, both set-ups, and the sets that it refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from calibration.board_sets import CAMERA, CHARUCO, CHESSBOARD, hand_eye_set, pose_error
from manipapy_core import lie
from manipapy_core.calibration import BadCalibrationSet, Board, BoardKind, SetProblem, Setup, calibrate_hand_eye
from manipapy_core.calibration.closed_forms import start_values
from manipapy_core.calibration.refinement import Problem

pytest.importorskip("cv2")
MAX_TRANSLATION, MAX_ROTATION = 1.5e-3, np.radians(0.15)


@pytest.mark.parametrize("setup", Setup)
@pytest.mark.parametrize(("seed", "board"), [(0, CHARUCO), (1, CHESSBOARD)])
def test_camera_is_found_in_rendered_images(setup, seed, board):
    views, true = hand_eye_set(setup, seed, board=board)
    found = calibrate_hand_eye(views, board, CAMERA, setup)
    translation, rotation = pose_error(found.T_parent_camera, true)
    assert translation < MAX_TRANSLATION and rotation < MAX_ROTATION
    assert translation < 5.0 * found.translation_sigma and rotation < 5.0 * found.rotation_sigma
    assert found.residual < 0.3 and len(found.methods) >= 3
    assert found.residual <= min(found.methods.values()) + 1e-9


@pytest.fixture(scope="module")
def views():
    return hand_eye_set(Setup.ON_HAND, 3, views=8)[0]


def refusal(views, setup=Setup.ON_HAND, board=CHARUCO) -> BadCalibrationSet:
    with pytest.raises(BadCalibrationSet) as caught:
        calibrate_hand_eye(views, board, CAMERA, setup)
    return caught.value


def test_image_upside_down_is_named(views):
    turned = replace(views[3], image=np.ascontiguousarray(views[3].image[::-1, ::-1]))
    error = refusal([*views[:3], turned, *views[4:]])
    assert error.problem is SetProblem.UPSIDE_DOWN and error.views == ("image 3",)


def test_view_with_another_robot_pose_is_named(views):
    wrong = replace(views[2], T_base_hand=views[2].T_base_hand @ lie.exp_se3([0.0, 0.3, 0.1, 0.0, 0.05, 0.0]))
    error = refusal([*views[:2], wrong, *views[3:]])
    assert error.problem is SetProblem.MISMATCHED_POSE and error.views == ("image 2",)


def test_poses_in_another_order_are_refused(views):
    mixed = [replace(a, T_base_hand=b.T_base_hand) for a, b in zip(views, [*views[1:], views[0]])]
    assert refusal(mixed).problem is SetProblem.MISMATCHED_POSE


def test_copies_of_one_pose_are_refused(views):
    assert refusal([views[0], views[1]] * 4).problem is SetProblem.COPIES
    assert refusal(views[:3]).problem is SetProblem.TOO_FEW_VIEWS


def test_copies_beside_enough_other_views_are_left_out(views):
    found = calibrate_hand_eye([*views, views[0], views[0]], CHARUCO, CAMERA, Setup.ON_HAND)
    assert len(found.view_residuals) == len(views) and "2 copies" in found.warnings[0]


def test_rotation_about_one_axis_is_refused(views):
    turned = [
        replace(view, T_base_hand=lie.pose(lie.exp_so3([0.0, 0.0, 0.2 * n]), [0.1 * n, 0.0, 0.4]))
        for n, view in enumerate(views)
    ]
    error = refusal(turned)
    assert error.problem is SetProblem.TOO_LITTLE_ROTATION and "two axes" in str(error)


def test_other_setup_is_recognised(views):
    error = refusal(views, Setup.BESIDE)
    assert error.problem is SetProblem.WRONG_SETUP and "'hand'" in str(error)


def test_board_that_looks_the_same_upside_down_is_refused(views):
    assert refusal(views, board=Board(BoardKind.CHESSBOARD, 8, 6, 0.025)).problem is SetProblem.AMBIGUOUS_BOARD


def random_poses(rng, count):
    return [lie.exp_se3(rng.normal(0.0, 0.4, 6)) for _ in range(count)]


def test_closed_forms_are_exact_without_noise():
    rng = np.random.default_rng(5)
    X, Y, *A = random_poses(rng, 10)
    B = [lie.inverse(X) @ a @ Y for a in A]
    starts = list(start_values(A, B))
    assert {"park_martin", "dual_quaternions", "kronecker"} <= {name for name, _, _ in starts}
    for name, found_X, found_Y in starts:
        assert np.allclose(found_X, X, atol=1e-6), name
        assert np.allclose(found_Y, Y, atol=1e-6), name


def test_derivatives_are_those_of_finite_differences():
    rng = np.random.default_rng(6)
    X, Y, A = random_poses(rng, 3)
    Y[2, 3] += 1.5
    points = CHESSBOARD.points
    problem = Problem([A], [points], [np.zeros((len(points), 2))], 600.0)
    error, J = problem.equations(0, X, Y)
    for column in range(12):
        step = 1e-6 * np.eye(12)[column]
        moved = problem.errors(X @ lie.exp_se3(step[:6]), Y @ lie.exp_se3(step[6:]))[0]
        back = problem.errors(X @ lie.exp_se3(-step[:6]), Y @ lie.exp_se3(-step[6:]))[0]
        assert J[:, column] == pytest.approx((moved - back) / 2e-6, rel=1e-4, abs=1e-3)
    assert len(error) == 2 * len(points)
