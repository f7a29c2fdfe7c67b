"""Stereo rectification, and stereo calibration from images of a chessboard.

After rectification a point lies on the same row of both images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import lie
from ...errors import InputError
from ...typing import Array
from .camera import Camera, Distortion, StereoModel
from .images import AnyImage, BadImage, GrayImage, as_gray, opencv


class Rectifier:
    """Rectifies pairs of one stereo model; construction takes a tenth of a second, a pair a millisecond."""

    def __init__(self, stereo: StereoModel):
        self.stereo = stereo
        self._left = None if stereo.left.rectified else _maps(stereo.left)
        self._right = None if stereo.right.rectified else _maps(stereo.right)
        self.valid = None if self._left is None else self._inside()
        """Pixels of the rectified left image that lie in the raw image, shape (height, width); None: all."""

    def pair(self, left: GrayImage, right: GrayImage) -> tuple[GrayImage, GrayImage]:
        """Rectified images, each of shape (height, width)."""
        return self.left(left), self.right(right)

    def left(self, image: GrayImage) -> GrayImage:
        """The left image alone."""
        return self._apply(image, self._left, "the left image")

    def right(self, image: GrayImage) -> GrayImage:
        """The right image alone."""
        return self._apply(image, self._right, "the right image")

    def _apply(self, image: GrayImage, maps: tuple[Any, Any] | None, name: str) -> GrayImage:
        expected = (self.stereo.height, self.stereo.width)
        if image.shape[:2] != expected:
            got = f"{image.shape[1]} × {image.shape[0]}"
            raise BadImage(name, f"has {got} pixels", f"the calibration is for {expected[1]} × {expected[0]}")
        if maps is None:
            return image
        cv2 = opencv()
        # Replicate the border: a black border would be matched like an object.
        rectified: GrayImage = cv2.remap(image, maps[0], maps[1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return rectified

    def _inside(self) -> NDArray[np.bool_]:
        assert self._left is not None
        cv2 = opencv()
        ones = np.full((self.stereo.height, self.stereo.width), 255, np.uint8)
        ones[[0, -1]] = ones[:, [0, -1]] = 0
        covered = cv2.remap(ones, *self._left, cv2.INTER_LINEAR)
        return np.asarray(cv2.erode(covered, np.ones((5, 5), np.uint8)) == 255)


def _maps(camera: Camera) -> tuple[Any, Any]:
    """Rectification maps in the fixed-point format that `remap` processes fastest."""
    cv2 = opencv()
    size = (camera.width, camera.height)
    new = np.ascontiguousarray(camera.projection[:, :3])
    if camera.model is Distortion.FISHEYE:
        D = camera.D if len(camera.D) else np.zeros(4)
        return tuple(cv2.fisheye.initUndistortRectifyMap(camera.K, D, camera.R, new, size, cv2.CV_16SC2))
    D = camera.D if len(camera.D) else np.zeros(5)
    return tuple(cv2.initUndistortRectifyMap(camera.K, D, camera.R, new, size, cv2.CV_16SC2))


MIN_PAIRS = 3
"""Fewer pairs do not determine all parameters; ten or more, tilted in all directions, are recommended."""


@dataclass(frozen=True, eq=False)
class StereoCalibration:
    """Stereo model and its errors."""

    stereo: StereoModel
    reprojection_error: float
    """Root mean square distance between detected and projected corners [pixels]; below 0.5 is good."""
    epipolar_error: float
    """Mean row difference of corresponding corners after rectification [pixels]; below 0.5 is good."""
    pair_errors: tuple[float, ...]
    """Root mean square error of each used pair, left and right together [pixels]."""
    used: tuple[int, ...]
    """Indices of the used pairs."""
    T_left_right: Array
    """Pose of the right raw camera in the left one [m], shape (4, 4)."""


def find_corners(image: AnyImage, board: tuple[int, int]) -> Array | None:
    """Inner corners of a chessboard with subpixel accuracy; None if not all are detected.

    Args:
        image: Any image that `images.as_gray` accepts.
        board: Inner corners along a row and a column.

    Returns:
        Pixels (u, v), shape (corners, 2).
    """
    cv2 = opencv()
    gray = as_gray(image)
    flags = cv2.CALIB_CB_ADAPTIVE_THRESH + cv2.CALIB_CB_NORMALIZE_IMAGE
    complete, corners = cv2.findChessboardCorners(gray, board, flags=flags)
    if not complete:
        return None
    rough = np.asarray(corners, dtype=np.float32).reshape(-1, 1, 2)
    step = float(np.median(np.linalg.norm(np.diff(rough[:, 0], axis=0), axis=1)))
    half = max(2, min(11, int(0.4 * step)))
    ends = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_COUNT, 50, 1e-3)
    return np.asarray(cv2.cornerSubPix(gray, rough, (half, half), (-1, -1), ends), dtype=np.float64).reshape(-1, 2)


def calibrate_stereo(
    pairs: Sequence[tuple[AnyImage, AnyImage]], *, board: tuple[int, int] = (9, 6), square: float
) -> StereoCalibration:
    """Calibrate both cameras and their relative pose.

    Args:
        pairs: Left and right images, taken together, of one chessboard at different places and tilts.
        board: Inner corners along a row and a column.
        square: Edge of a square [m]; sets the scale of all later measurements.

    Raises:
        InputError: Too few pairs show the whole board, or sizes differ.
    """
    if not 1e-4 <= square <= 10.0:
        raise InputError(f"the edge of a square is {square!r} m; give 0.0001 to 10")
    if min(board) < 2:
        raise InputError(f"the board has {board} inner corners; give the numbers along a row and a column")
    size, lefts, rights, used = _corners(pairs, board)
    flat = np.zeros((board[0] * board[1], 3), np.float32)
    flat[:, :2] = square * np.stack(np.meshgrid(np.arange(board[0]), np.arange(board[1])), axis=-1).reshape(-1, 2)
    cv2 = opencv()
    corners = [[points.astype(np.float32).reshape(-1, 1, 2) for points in side] for side in (lefts, rights)]
    objects = [flat] * len(used)
    _, K1, D1, _, _ = cv2.calibrateCamera(objects, corners[0], size, None, None)
    _, K2, D2, _, _ = cv2.calibrateCamera(objects, corners[1], size, None, None)
    # Joint refinement of all parameters.
    error, K1, D1, K2, D2, R, t, _, _, _, _, per_view = cv2.stereoCalibrateExtended(
        objects, corners[0], corners[1], K1, D1, K2, D2, size, None, None, flags=cv2.CALIB_USE_INTRINSIC_GUESS
    )
    R1, R2, P1, P2 = cv2.stereoRectify(K1, D1, K2, D2, size, R, t, flags=cv2.CALIB_ZERO_DISPARITY, alpha=0.0)[:4]
    stereo = StereoModel(_camera(size, K1, D1, R1, P1), _camera(size, K2, D2, R2, P2))
    rows = [_rows(points, stereo.left) for points in lefts], [_rows(points, stereo.right) for points in rights]
    epipolar = float(np.mean(np.abs(np.concatenate(rows[0]) - np.concatenate(rows[1]))))
    T_right_left = np.eye(4)
    T_right_left[:3, :3], T_right_left[:3, 3] = R, np.ravel(t)
    errors = tuple(float(value) for value in np.sqrt(np.mean(np.asarray(per_view) ** 2, axis=1)))
    return StereoCalibration(stereo, float(error), epipolar, errors, tuple(used), lie.inverse(T_right_left))


def _corners(
    pairs: Sequence[tuple[AnyImage, AnyImage]], board: tuple[int, int]
) -> tuple[tuple[int, int], list[Array], list[Array], list[int]]:
    size: tuple[int, int] | None = None
    lefts: list[Array] = []
    rights: list[Array] = []
    used: list[int] = []
    for number, pair in enumerate(pairs):
        for side, image in zip(("left", "right"), pair):
            shape = np.shape(image)
            if size is None:
                size = (int(shape[1]), int(shape[0]))
            if (shape[1], shape[0]) != size:
                found = f"{shape[1]} × {shape[0]} pixels, the first has {size[0]} × {size[1]}"
                raise BadImage(f"the {side} image of pair {number}", f"has {found}", "use one camera setting for all")
        left, right = find_corners(pair[0], board), find_corners(pair[1], board)
        if left is not None and right is not None:
            lefts.append(left)
            rights.append(right)
            used.append(number)
    if size is None or len(used) < MIN_PAIRS:
        raise InputError(
            f"{len(used)} of {len(pairs)} pairs show all {board[0]} × {board[1]} inner corners on both sides; "
            f"at least {MIN_PAIRS} are needed: count inner corners, not squares; show the whole board in both images"
        )
    return size, lefts, rights, used


def _camera(size: tuple[int, int], K: Any, D: Any, R: Any, P: Any) -> Camera:
    return Camera(size[0], size[1], K, np.ravel(D), R, P)


def _rows(points: Array, camera: Camera) -> Array:
    """Rows of raw pixels in the rectified image."""
    cv2 = opencv()
    straight = cv2.undistortPoints(
        points.reshape(-1, 1, 2), camera.K, camera.D, R=camera.R, P=np.ascontiguousarray(camera.projection[:, :3])
    )
    return np.asarray(straight, dtype=np.float64).reshape(-1, 2)[:, 1]
