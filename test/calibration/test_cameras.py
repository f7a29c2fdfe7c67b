"""Boards, intrinsic parameters and stereo pairs against the truth of rendered images; sets that are refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from calibration.board_sets import CAMERA, CHARUCO, CHESSBOARD, renderer_of, stereo_set
from manipapy_core import lie
from manipapy_core.calibration import (
    BadCalibrationSet,
    Board,
    BoardKind,
    SetProblem,
    calibrate_camera,
    calibrate_stereo,
    sampled_views,
)
from manipapy_core.calibration.boards import distorted, undistorted
from manipapy_core.calibration.render import project
from manipapy_core.errors import InputError

pytest.importorskip("cv2")


@pytest.mark.parametrize("board", [CHARUCO, CHESSBOARD], ids=["charuco", "chessboard"])
@pytest.mark.parametrize("turn", [0.0, 2.0, np.pi])
def test_corners_are_exact_and_in_one_order(board, turn):
    """Also upside down, and without the half pixel that OpenCV's ChArUco detector adds."""
    rng = np.random.default_rng(2)
    centre = lie.pose(translation=-board.points.mean(axis=0))
    T = lie.pose(lie.exp_so3([0.3, 0.2, 0.0]) @ lie.exp_so3([0.0, 0.0, turn]), [0.0, 0.0, 0.55]) @ centre
    view = board.detect(renderer_of(board).image(T, rng))
    errors = view.pixels - project(view.points, T, CAMERA)
    assert np.abs(errors.mean(axis=0)).max() < 0.02
    assert np.sqrt(np.mean(errors**2)) < 0.1
    assert np.linalg.norm(view.pose(CAMERA)[:3, 3] - T[:3, 3]) < 5e-4


def test_distortion_is_inverted():
    pixels = np.random.default_rng(0).uniform(0.0, [640.0, 480.0], (50, 2))
    assert np.allclose(distorted(undistorted(pixels, CAMERA), CAMERA), pixels, atol=1e-6)


def test_camera_is_calibrated_from_rendered_images():
    rng = np.random.default_rng(4)
    renderer = renderer_of(CHESSBOARD)
    images = [renderer.image(T, rng) for T in itertools.islice(sampled_views(CHESSBOARD, CAMERA, rng), 12)]
    searched: list[tuple[int, int]] = []
    found = calibrate_camera(images, CHESSBOARD, progress=lambda *step: searched.append(step))
    assert searched == [(number, 12) for number in range(13)]
    K, true = found.camera.K, CAMERA.K
    error = np.abs([K[0, 0] - true[0, 0], K[1, 1] - true[1, 1], K[0, 2] - true[0, 2], K[1, 2] - true[1, 2]])
    assert np.all(error < 5.0 * found.sigma + 0.1) and np.all(found.sigma < 2.0)
    assert found.residual < 0.2

    with pytest.raises(BadCalibrationSet) as caught:
        calibrate_camera([images[0], images[1]] * 5, CHESSBOARD)
    assert caught.value.problem is SetProblem.COPIES


def test_boards_parallel_to_the_image_are_refused():
    rng = np.random.default_rng(7)
    centre = lie.pose(translation=-CHESSBOARD.points.mean(axis=0))
    places = [[0.0, 0.0, 0.6], [0.05, 0.0, 0.6], [0.0, 0.04, 0.6], [-0.05, 0.0, 0.6], [0.0, -0.04, 0.6]]
    images = [renderer_of(CHESSBOARD).image(lie.pose(translation=place) @ centre, rng) for place in places]
    with pytest.raises(BadCalibrationSet) as caught:
        calibrate_camera(images, CHESSBOARD)
    assert caught.value.problem is SetProblem.TOO_LITTLE_TILT


@pytest.fixture(scope="module")
def pairs():
    return stereo_set(1)


def test_stereo_pair_is_calibrated_from_rendered_images(pairs):
    images, T_left_right = pairs
    found = calibrate_stereo(images, CHESSBOARD)
    assert np.linalg.norm(found.T_left_right[:3, 3] - T_left_right[:3, 3]) < 1e-3
    assert found.reprojection_error < 0.2 and found.epipolar_error < 0.2
    assert found.stereo.baseline == pytest.approx(0.08, abs=1e-3)


def test_mismatched_pairs_are_refused_by_name(pairs):
    images, _ = pairs
    swapped = [*images[:2], (images[2][0], images[3][1]), (images[3][0], images[2][1]), *images[4:]]
    with pytest.raises(BadCalibrationSet) as caught:
        calibrate_stereo(swapped, CHESSBOARD)
    assert caught.value.problem is SetProblem.MISMATCHED_PAIR
    assert caught.value.views == ("pair 2", "pair 3")
    shifted = [(left, right) for (left, _), (_, right) in zip(images, [*images[1:], images[0]])]
    with pytest.raises(BadCalibrationSet) as caught:
        calibrate_stereo(shifted, CHESSBOARD)
    assert caught.value.problem is SetProblem.MISMATCHED_PAIR


def test_right_image_upside_down_is_refused_by_name(pairs):
    images, _ = pairs
    turned = [*images[:4], (images[4][0], np.ascontiguousarray(images[4][1][::-1, ::-1])), *images[5:]]
    with pytest.raises(BadCalibrationSet) as caught:
        calibrate_stereo(turned, CHESSBOARD)
    assert caught.value.problem is SetProblem.UPSIDE_DOWN and caught.value.views == ("pair 4",)


def test_copies_of_one_pair_are_refused(pairs):
    with pytest.raises(BadCalibrationSet) as caught:
        calibrate_stereo([pairs[0][0], pairs[0][1]] * 4, CHESSBOARD)
    assert caught.value.problem is SetProblem.COPIES


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Board(BoardKind.CHARUCO, 1, 6, 0.02), "inner corners"),
        (lambda: Board(BoardKind.CHARUCO, 9, 6, 0.0), "edge of a square"),
        (lambda: Board(BoardKind.CHARUCO, 9, 6, 0.02, 0.03), "edge of a marker"),
        (lambda: Board(BoardKind.CHARUCO, 9, 6, 0.02, dictionary="9X9").image(), "dictionary"),
        (lambda: Board(BoardKind.CHARUCO, 20, 20, 0.02, dictionary="4X4_50").image(), "larger"),
    ],
)
def test_impossible_boards_are_refused(make, text):
    with pytest.raises(InputError, match=text):
        make()
