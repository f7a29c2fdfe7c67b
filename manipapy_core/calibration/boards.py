"""Calibration boards: chessboards, and ChArUco boards, whose markers number the corners."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import lie
from ..errors import InputError
from ..perception.stereo.camera import Camera, Distortion
from ..perception.stereo.images import AnyImage, GrayImage, as_gray, opencv
from ..typing import Array

MARKER_SHARE = 0.75
"""Edge of a marker by that of a square, if not given."""
MIN_CORNERS = 6
"""Corners of a ChArUco board that make a view."""
MAX_CORNERS = 100
"""Along a row or column."""
INVERSIONS = 4
"""Steps of the inversion of a distortion; the error of OpenCV's own is squared by each."""


class BoardKind(enum.Enum):
    """Patterns."""

    CHESSBOARD = "chessboard"
    CHARUCO = "charuco"


@dataclass(frozen=True)
class Board:
    """A flat board. Its frame is at the first inner corner: x along a row, y along a column, z into the board."""

    kind: BoardKind
    columns: int
    rows: int
    """Inner corners along a row and along a column: a chessboard of 10 × 7 squares has 9 × 6."""
    square: float
    """Edge of a square [m]; sets the scale of all results."""
    marker: float = 0.0
    """Edge of a marker of a ChArUco board [m]; 0: three quarters of a square."""
    dictionary: str = "4X4_250"
    """ArUco dictionary of the markers."""

    def __post_init__(self) -> None:
        if not (2 <= self.columns <= MAX_CORNERS and 2 <= self.rows <= MAX_CORNERS):
            raise InputError(
                f"the board has {self.columns} × {self.rows} inner corners; give the numbers along a row and a column"
            )
        if not 1e-4 <= self.square <= 10.0:
            raise InputError(f"the edge of a square is {self.square!r} m; give 0.0001 to 10")
        if not 0.0 <= self.marker < self.square:
            raise InputError(f"the edge of a marker is {self.marker!r} m; it must be less than that of a square")

    @property
    def points(self) -> Array:
        """All inner corners in the board's frame [m], shape (corners, 3)."""
        grid = np.stack(np.meshgrid(np.arange(self.columns), np.arange(self.rows)), axis=-1).reshape(-1, 2)
        return np.column_stack([self.square * grid, np.zeros(len(grid))])

    @property
    def ambiguous(self) -> bool:
        """Whether the board looks the same after half or a quarter of a turn."""
        symmetric = (self.columns + self.rows) % 2 == 0 or self.columns == self.rows
        return self.kind is BoardKind.CHESSBOARD and symmetric

    def image(self, pixels: int = 100) -> GrayImage:
        """The board for printing, with a white margin of one square, shape (height, width).

        Args:
            pixels: Per square.
        """
        if self.kind is BoardKind.CHARUCO:
            size = ((self.columns + 3) * pixels, (self.rows + 3) * pixels)
            printed: GrayImage = self._charuco().generateImage(size, marginSize=pixels)
            return printed
        columns, rows = np.arange(self.columns + 1), np.arange(self.rows + 1)
        # The squares at the first corner of the frame are black above left and below right of it.
        squares = np.where((columns[None, :] + rows[:, None]) % 2 == 0, 0, 255).astype(np.uint8)
        return np.pad(squares, 1, constant_values=255).repeat(pixels, axis=0).repeat(pixels, axis=1)

    def detect(self, image: AnyImage, encoding: str = "") -> BoardView | None:
        """The corners in an image; None if the board is not found.

        Args:
            image: Any image that `perception.as_gray` accepts.
        """
        gray = as_gray(image, encoding)
        size = (int(gray.shape[1]), int(gray.shape[0]))
        if self.kind is BoardKind.CHARUCO:
            corners, ids, _, _ = opencv().aruco.CharucoDetector(self._charuco()).detectBoard(gray)
            if ids is None or len(ids) < MIN_CORNERS:
                return None
            numbers, pixels = np.ravel(ids), np.asarray(corners, dtype=np.float64).reshape(-1, 2)
            if len(np.unique(numbers % self.columns)) < 2 or len(np.unique(numbers // self.columns)) < 2:
                return None  # all on one line
            # OpenCV's own refinement puts pixel centres at (½, ½).
            step = _smallest_step(numbers, pixels, self.columns)
            gap = 0.5 * (1.0 - (self.marker / self.square or MARKER_SHARE))
            return BoardView(self, numbers, _refined(gray, pixels - 0.5, int(gap * step)), size)
        found = _chessboard_corners(gray, (self.columns, self.rows))
        if found is None:
            return None
        if not self.ambiguous and not _dark_first(gray, found.reshape(self.rows, self.columns, 2)):
            found = found[::-1]
        return BoardView(self, np.arange(len(found)), np.ascontiguousarray(found), size)

    def _charuco(self) -> Any:
        aruco = opencv().aruco
        key = f"DICT_{self.dictionary.upper().removeprefix('DICT_')}"
        if not hasattr(aruco, key):
            raise InputError(f"no ArUco dictionary {self.dictionary!r}; give one such as 4X4_250 or 5X5_1000")
        markers = aruco.getPredefinedDictionary(getattr(aruco, key))
        size = (self.columns + 1, self.rows + 1)
        if len(markers.bytesList) < size[0] * size[1] // 2:
            raise InputError(
                f"dictionary {self.dictionary} has {len(markers.bytesList)} markers, the board needs "
                f"{size[0] * size[1] // 2}; take a larger one"
            )
        return aruco.CharucoBoard(size, self.square, self.marker or MARKER_SHARE * self.square, markers)


@dataclass(frozen=True, eq=False)
class BoardView:
    """The corners of a board in one image."""

    board: Board
    ids: NDArray[np.integer[Any]]
    """Which of `Board.points`, shape (corners,)."""
    pixels: Array
    """(u, v) with subpixel accuracy, shape (corners, 2)."""
    size: tuple[int, int]
    """Width and height of the image [pixels]."""

    @property
    def points(self) -> Array:
        """The corners in the board's frame [m], shape (corners, 3)."""
        return self.board.points[self.ids]

    @property
    def by_id(self) -> dict[int, Array]:
        """Pixels by corner."""
        return dict(zip(map(int, self.ids), self.pixels))

    def upside_down(self) -> BoardView:
        """The view in the image turned by half a turn."""
        return BoardView(self.board, self.ids, np.array(self.size) - 1.0 - self.pixels, self.size)

    def normalised(self, camera: Camera) -> Array:
        """The corners on the plane z = 1 of the raw camera, without distortion, shape (corners, 2)."""
        return undistorted(self.pixels, camera)

    def pose(self, camera: Camera) -> Array:
        """T_camera_board of the raw camera, by least squares of the reprojection errors, shape (4, 4)."""
        cv2 = opencv()
        flat, points = np.ascontiguousarray(self.normalised(camera)), np.ascontiguousarray(self.points)
        _, turns, shifts, errors = cv2.solvePnPGeneric(points, flat, np.eye(3), None, flags=cv2.SOLVEPNP_IPPE)
        best = int(np.argmin(np.ravel(errors)))
        turn, shift = cv2.solvePnPRefineLM(points, flat, np.eye(3), None, turns[best], shifts[best])
        return lie.pose(lie.exp_so3(np.ravel(turn)), np.ravel(shift))


def undistorted(pixels: Array, camera: Camera) -> Array:
    """Pixels of a raw image on the plane z = 1 without distortion, shape (..., 2) as given."""
    cv2 = opencv()
    wanted = np.ascontiguousarray(pixels, dtype=np.float64).reshape(-1, 1, 2)
    aimed, straight = wanted, wanted
    # OpenCV's inversion stops early, and how to make it continue differs between its versions.
    for _ in range(INVERSIONS):
        if camera.model is Distortion.FISHEYE:
            D = camera.D if len(camera.D) else np.zeros(4)
            straight = cv2.fisheye.undistortPoints(aimed, camera.K, D)
        else:
            straight = cv2.undistortPoints(aimed, camera.K, camera.D if len(camera.D) else None)
        if not len(camera.D):
            break
        aimed = aimed + wanted - distorted(straight.reshape(-1, 2), camera).reshape(-1, 1, 2)
    return np.asarray(straight, dtype=np.float64).reshape(np.shape(pixels))


def distorted(flat: Array, camera: Camera) -> Array:
    """Pixels in the raw image of points on the plane z = 1, shape (points, 2); the inverse of `undistorted`."""
    cv2, zero = opencv(), np.zeros(3)
    points = np.column_stack([flat, np.ones(len(flat))]).reshape(-1, 1, 3)
    if camera.model is Distortion.FISHEYE:
        D = camera.D if len(camera.D) else np.zeros(4)
        pixels, _ = cv2.fisheye.projectPoints(points, zero, zero, camera.K, D)
    else:
        pixels, _ = cv2.projectPoints(points, zero, zero, camera.K, camera.D if len(camera.D) else None)
    return np.asarray(pixels, dtype=np.float64).reshape(-1, 2)


def _chessboard_corners(gray: GrayImage, size: tuple[int, int]) -> Array | None:
    cv2 = opencv()
    flags = cv2.CALIB_CB_ADAPTIVE_THRESH + cv2.CALIB_CB_NORMALIZE_IMAGE
    complete, corners = cv2.findChessboardCorners(gray, size, flags=flags)
    if not complete:
        return None
    grid = np.asarray(corners, dtype=np.float64).reshape(size[1], size[0], 2)
    steps = [np.linalg.norm(np.diff(grid, axis=axis), axis=-1).min() for axis in (0, 1)]
    return _refined(gray, grid.reshape(-1, 2), int(0.4 * min(steps)))


def _smallest_step(ids: NDArray[np.integer[Any]], pixels: Array, columns: int) -> float:
    """Smallest distance of neighbouring corners [pixels]."""
    known = dict(zip(map(int, ids), pixels))
    steps = [
        float(np.linalg.norm(known[other] - at))
        for number, at in known.items()
        for other in ((number + 1) if (number + 1) % columns else -1, number + columns)
        if other in known
    ]
    return min(steps, default=0.0)


def _refined(gray: GrayImage, corners: Array, half: int) -> Array:
    """Corners with subpixel accuracy, shape (corners, 2).

    Args:
        half: Half the edge of the window around a corner [pixels]; it must show nothing but the four squares.
    """
    cv2 = opencv()
    window = max(2, min(11, half))
    ends = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_COUNT, 50, 1e-3)
    rough = corners.astype(np.float32).reshape(-1, 1, 2)
    return np.asarray(cv2.cornerSubPix(gray, rough, (window, window), (-1, -1), ends), dtype=np.float64).reshape(-1, 2)


def _dark_first(gray: GrayImage, grid: Array) -> bool:
    """Whether the square below right of the first corner is dark, as `Board.image` draws it."""
    centres = 0.25 * (grid[:-1, :-1] + grid[1:, :-1] + grid[:-1, 1:] + grid[1:, 1:])
    u, v = np.clip(np.rint(centres).astype(int), 0, [gray.shape[1] - 1, gray.shape[0] - 1]).transpose(2, 0, 1)
    even = np.indices(u.shape).sum(axis=0) % 2 == 0
    values = gray[v, u].astype(float)
    return bool(values[even].mean() < values[~even].mean())
