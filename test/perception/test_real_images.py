"""Images of real cameras: disparity against ground truth, and calibration of a real pair.

The images are no part of this project: they come from Debian's package opencv-doc, one pair from scikit-image 0.15.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from manipapy_core import lie
from manipapy_core.calibration import Board, BoardKind, calibrate_stereo
from manipapy_core.errors import InputError
from manipapy_core.perception import (
    Matcher,
    MatcherSettings,
    Method,
    Rectifier,
    StereoModel,
)

cv2 = pytest.importorskip("cv2", reason="stereo vision needs OpenCV: pip install 'manipapy[perception]'")

FOLDERS = [
    Path(__file__).resolve().parents[2] / "build" / "images",
    Path("/usr/share/doc/opencv-doc/examples/data"),
    Path("/usr/share/opencv4/samples/data"),
]
FOCAL, BASELINE = 3740.0, 0.16
"""Of the aloe pair at full size, from the Middlebury dataset [pixels, m]; only their product matters here."""

BOARD = Board(BoardKind.CHESSBOARD, 9, 6, 0.025)


def read(name: str):
    """An image as grey values, or the test is skipped."""
    for folder in FOLDERS:
        if (folder / name).is_file():
            return cv2.imread(str(folder / name), 0)
    pytest.skip(f"no {name} here: run make images, or apt-get install opencv-doc")


def stored(name: str):
    """The array in a file of NumPy, or the test is skipped."""
    for folder in FOLDERS:
        if (folder / name).is_file():
            with np.load(folder / name) as file:
                return file[file.files[0]]
    pytest.skip(f"no {name} here: run make images")


def matched(**changes):
    left, right, truth = read("aloeL.jpg"), read("aloeR.jpg"), read("aloeGT.png")
    height, width = left.shape
    stereo = StereoModel.ideal(width, height, FOCAL, FOCAL, width / 2, height / 2, BASELINE)
    # Truth lies between 20 and 211 pixels.
    product = FOCAL * BASELINE
    settings = MatcherSettings(
        min_depth=product / 220, max_depth=product / 16, max_search_depth=1.0, row_step=1, **changes
    )
    disparity = Matcher(stereo, settings).match(left, right)
    known = np.isfinite(disparity.values) & (truth > 0)
    return np.abs(disparity.values[known] - truth[known]), known


@pytest.mark.parametrize("method", [Method.SGBM_3WAY, Method.SGBM])
def test_disparity_of_aloe_pair(method):
    error, known = matched(method=method)
    assert np.median(error) <= 0.5
    assert np.mean(error > 2.0) <= 0.05
    assert known.mean() > 0.6


def test_cross_check_reduces_wrong_pixels():
    plain, _ = matched()
    checked, known = matched(cross_check=True)
    assert np.mean(checked > 2.0) < np.mean(plain > 2.0)
    assert known.mean() > 0.55


def aloe_pair(width):
    left, right, truth = read("aloeL.jpg"), read("aloeR.jpg"), read("aloeGT.png").astype(np.float32)
    size = (width, round(left.shape[0] * width / left.shape[1]))
    truth = cv2.resize(np.where(truth > 0, truth, np.nan), size, interpolation=cv2.INTER_NEAREST)
    left, right = (cv2.resize(image, size, interpolation=cv2.INTER_AREA) for image in (left, right))
    return left, right, truth * np.float32(width / 1282)


def motorcycle_pair(width):
    truth = stored("motorcycle_disp.npz")
    left, right = read("motorcycle_left.png"), read("motorcycle_right.png")
    scale, size = width / left.shape[1], (width, round(left.shape[0] * width / left.shape[1]))
    truth = np.where(np.isfinite(truth) & (truth > 0), truth, np.nan).astype(np.float32)
    left, right = (cv2.resize(image, size, interpolation=cv2.INTER_AREA) for image in (left, right))
    return left, right, cv2.resize(truth, size, interpolation=cv2.INTER_NEAREST) * np.float32(scale)


@pytest.mark.parametrize("pair", [aloe_pair, motorcycle_pair])
def test_no_more_gross_errors_than_opencv(pair):
    """At the size that the pipeline matches; `benchmarks/stereo_pairs.py` also has the times."""
    left, right, truth = pair(640)
    height, width = left.shape
    lowest = max(int(np.nanmin(truth)) - 3, 2) // 2 * 2
    count = 32 * int(np.ceil((np.nanmax(truth) + 4 - lowest) / 32))
    peer = cv2.StereoSGBM_create(lowest, count, 3, 72, 288, 1, 31, 10, 100, 2, cv2.StereoSGBM_MODE_SGBM_3WAY)
    reference = peer.compute(left, right).astype(np.float32) / 16.0
    reference[reference < lowest] = np.nan
    product = FOCAL * BASELINE
    settings = MatcherSettings(
        min_depth=product / (lowest + count - 1), max_depth=product / lowest, max_search_depth=product / lowest
    )
    stereo = StereoModel.ideal(width, height, FOCAL, FOCAL, width / 2, height / 2, BASELINE)
    ours = Matcher(stereo, settings).match(left, right).full_size(height)
    shares, gross = [], []
    for values in (ours, reference):
        error = np.abs(values - truth)[np.isfinite(truth)]
        shares.append(np.isfinite(error).mean())
        gross.append(np.mean(error[np.isfinite(error)] > 2.0))
    assert gross[0] <= gross[1]
    assert shares[0] >= 0.85 * shares[1]


@pytest.fixture(scope="module")
def boards():
    return [(read(f"left{n:02}.jpg"), read(f"right{n:02}.jpg")) for n in range(1, 10)]


def test_real_pair_is_calibrated_from_chessboards(boards):
    found = calibrate_stereo(boards, BOARD)
    assert len(found.used) >= 8
    assert found.reprojection_error < 0.6
    assert found.epipolar_error < 0.5
    stereo = found.stereo
    assert not stereo.rectified
    assert 0.05 < stereo.baseline < 0.12  # squares of 25 mm: the scale of the board
    assert stereo.baseline == pytest.approx(np.linalg.norm(found.T_left_right[:3, 3]), rel=1e-6)

    # Second route: corners detected in the rectified images lie on the same rows, and the squares have the right size.
    rectifier = Rectifier(stereo)
    edges = []
    for number in found.used:
        views = [BOARD.detect(image) for image in rectifier.pair(*boards[number])]
        if None in views:
            continue
        left, right = (view.pixels for view in views)
        assert np.abs(left[:, 1] - right[:, 1]).mean() < 1.0
        z = stereo.focal * stereo.baseline / (left[:, 0] - right[:, 0] - stereo.offset)
        P = stereo.left.projection
        xyz = np.column_stack([(left - P[:2, 2]) / P[0, 0] * z[:, None], z]).reshape(6, 9, 3)
        edges.append(np.linalg.norm(np.diff(xyz, axis=1), axis=-1).mean())
    assert len(edges) >= 4
    assert np.median(edges) == pytest.approx(0.025, rel=0.02)
    assert lie.log_so3(found.T_left_right[:3, :3]) == pytest.approx([0, 0, 0], abs=0.1)


def test_images_without_chessboard_are_rejected(boards):
    blank = np.full_like(boards[0][0], 128)
    with pytest.raises(InputError, match="inner corners"):
        calibrate_stereo([boards[0], (blank, blank)], BOARD)
    with pytest.raises(InputError, match="one camera setting"):
        calibrate_stereo([boards[0], (blank[:-10], blank)], BOARD)
