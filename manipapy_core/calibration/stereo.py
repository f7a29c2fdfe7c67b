"""Calibration of a stereo pair: both cameras, their relative pose and their rectification, from images of a board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .. import lie
from ..perception.stereo.camera import Camera, StereoModel
from ..perception.stereo.images import AnyImage, opencv
from ..typing import Array, Progress
from .boards import Board, BoardView
from .cameras import checked_names, opencv_points, require_one_size, require_residual, solve_camera
from .problems import BadCalibrationSet, SetProblem, distinct_views, list_of, require_distinct, rotation_angle

MIN_PAIRS = 3
"""Fewer different pairs do not determine all parameters; ten or more, tilted in all directions, are recommended."""
MAX_RESIDUAL = 1.5
"""Root mean square reprojection error of the pair above which a set is refused [pixels]."""
UPSIDE_DOWN = np.radians(120.0)
"""Relative rotation of the two cameras that no stereo pair has."""
MAX_SHIFT, MAX_TURN = 0.15, np.radians(5.0)
"""Difference of one pair's relative pose from the median, as a share of the distance to the board and as an angle, that
is no measurement error."""


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
    warnings: tuple[str, ...] = ()

    def describe(self) -> str:
        """The result as text."""
        stereo = self.stereo
        rows = [
            f"{stereo.width} × {stereo.height} pixels, baseline {1e3 * stereo.baseline:.2f} mm, focal length of the "
            f"rectified images {stereo.focal:.2f} pixels",
            f"residual: {self.reprojection_error:.3f} pixels, rows {self.epipolar_error:.3f} pixels over "
            f"{len(self.used)} pairs",
        ]
        return "\n".join([*rows, *(f"warning: {warning}" for warning in self.warnings)])


def calibrate_stereo(
    pairs: Sequence[tuple[AnyImage, AnyImage]],
    board: Board,
    names: Sequence[str] = (),
    *,
    progress: Progress = lambda done, total: None,
) -> StereoCalibration:
    """Calibrate both cameras and their relative pose.

    Args:
        pairs: Left and right images, taken together, of one board at different places and tilts.
        names: Of the pairs, for messages; their numbers if not given.
        progress: Called with the number of pairs searched for the board, and of all.

    Raises:
        BadCalibrationSet: The set gives no trustworthy result; `problem` says why.
        BadImage: An image that cannot be used.
    """
    names = checked_names([left for left, _ in pairs], list(names) or [f"pair {n}" for n in range(len(pairs))])
    require_one_size(
        [image for pair in pairs for image in pair],
        [f"the {side} image of {name}" for name in names for side in ("left", "right")],
    )
    found: list[tuple[BoardView | None, BoardView | None]] = []
    for left_image, right_image in pairs:
        progress(len(found), len(pairs))
        found.append((board.detect(left_image), board.detect(right_image)))
    progress(len(found), len(pairs))
    both = {n: _common(left, right) for n, (left, right) in enumerate(found) if left is not None and right is not None}
    both = {number: pair for number, pair in both.items() if len(pair[0].ids) >= 6}
    warnings = []
    if len(both) < MIN_PAIRS:
        raise BadCalibrationSet(
            SetProblem.TOO_FEW_VIEWS,
            f"{len(both)} of {len(pairs)} pairs show the {board.columns} × {board.rows} inner corners on both sides",
            f"at least {MIN_PAIRS} are needed: count inner corners, not squares; show the whole board in both images",
        )
    if len(both) < len(pairs):
        warnings.append(f"not found on both sides: {list_of([names[n] for n in range(len(pairs)) if n not in both])}")
    kept = distinct_views([left.by_id for left, _ in both.values()])
    require_distinct(len(both), len(kept), MIN_PAIRS)
    if len(kept) < len(both):
        warnings.append(f"{len(both) - len(kept)} copies of other pairs are left out")
    used = {number: pair for index, (number, pair) in enumerate(both.items()) if index in kept}
    return _solve(used, names, tuple(warnings))


def _solve(
    used: Mapping[int, tuple[BoardView, BoardView]], names: Sequence[str], warnings: tuple[str, ...]
) -> StereoCalibration:
    lefts, rights = (list(side) for side in zip(*used.values()))
    known = [names[number] for number in used]
    cameras = []
    for side, views in (("left", lefts), ("right", rights)):
        residual, camera, _, errors = solve_camera(views)
        require_residual(residual, {f"the {side} image of {name}": error for name, error in zip(known, errors)})
        cameras.append(camera)
    require_matching_pairs(known, lefts, rights, cameras[0], cameras[1])
    cv2 = opencv()
    width, height = size = lefts[0].size
    objects, left_pixels = opencv_points(lefts)
    _, right_pixels = opencv_points(rights)
    given = [part for camera in cameras for part in (np.array(camera.K), np.array(camera.D))]
    # Joint refinement of all parameters.
    error, K1, D1, K2, D2, R, t, _, _, _, _, per_view = cv2.stereoCalibrateExtended(
        objects, left_pixels, right_pixels, *given, size, None, None, flags=cv2.CALIB_USE_INTRINSIC_GUESS
    )
    errors = np.sqrt(np.mean(np.asarray(per_view) ** 2, axis=1))
    if error > MAX_RESIDUAL:
        worst = [name for name, value in zip(known, errors) if value > max(MAX_RESIDUAL, 2.0 * np.median(errors))]
        raise _mismatched(f"together they have a residual of {error:.1f} pixels", worst)
    R1, R2, P1, P2 = cv2.stereoRectify(K1, D1, K2, D2, size, R, t, flags=cv2.CALIB_ZERO_DISPARITY, alpha=0.0)[:4]
    stereo = StereoModel(
        Camera(width, height, K1, np.ravel(D1), R1, P1), Camera(width, height, K2, np.ravel(D2), R2, P2)
    )
    rows = [np.concatenate([_rows(view.pixels, camera) for view in views])
            for views, camera in ((lefts, stereo.left), (rights, stereo.right))]  # fmt: skip
    return StereoCalibration(
        stereo,
        float(error),
        float(np.mean(np.abs(rows[0] - rows[1]))),
        tuple(errors.tolist()),
        tuple(used),
        lie.inverse(lie.pose(R, np.ravel(t))),
        warnings,
    )


def require_matching_pairs(
    names: Sequence[str], lefts: Sequence[BoardView], rights: Sequence[BoardView], left: Camera, right: Camera
) -> None:
    """Refuse pairs whose images were not taken together, or of which one is upside down.

    Raises:
        BadCalibrationSet: `UPSIDE_DOWN` or `MISMATCHED_PAIR`, with the names of the pairs.
    """
    poses = [view.pose(left) for view in lefts]
    relative = np.array([T @ lie.inverse(view.pose(right)) for T, view in zip(poses, rights)])
    turned = [name for name, T in zip(names, relative) if rotation_angle(T[:3, :3]) > UPSIDE_DOWN]
    if turned:
        raise BadCalibrationSet(
            SetProblem.UPSIDE_DOWN,
            f"left and right are turned by 180 degrees against each other in {list_of(turned)}",
            "turn the image of one camera",
            turned,
        )
    distances = np.array([np.linalg.norm(T[:3, 3]) for T in poses])
    # The pose that most others agree with.
    shifts = np.linalg.norm(relative[:, None, :3, 3] - relative[None, :, :3, 3], axis=-1) / distances[:, None]
    traces = np.einsum("iab,jab->ij", relative[:, :3, :3], relative[:, :3, :3])
    turns = np.arccos(np.clip(0.5 * (traces - 1.0), -1.0, 1.0))
    agreeing = (shifts < MAX_SHIFT) & (turns < MAX_TURN)
    middle = int(np.argmax(agreeing.sum(axis=0)))
    wrong = [name for name, agrees in zip(names, agreeing[:, middle]) if not agrees]
    if wrong:
        raise _mismatched(f"{len(wrong)} of {len(names)} pairs give another pose of the right camera", wrong)


def _mismatched(detail: str, names: Sequence[str]) -> BadCalibrationSet:
    blamed = f" ({list_of(names)})" if names else ""
    return BadCalibrationSet(
        SetProblem.MISMATCHED_PAIR,
        f"each camera alone is fine, but {detail}{blamed}",
        "left and right must be taken at the same time, with the board at rest, and be listed in one order",
        names,
    )


def _common(left: BoardView, right: BoardView) -> tuple[BoardView, BoardView]:
    """The corners that both images show; a board that looks the same upside down gets one order."""
    if left.board.ambiguous:
        directions = [view.pixels[-1] - view.pixels[0] for view in (left, right)]
        if directions[0] @ directions[1] < 0.0:
            right = BoardView(right.board, right.ids, np.ascontiguousarray(right.pixels[::-1]), right.size)
    ids = np.intersect1d(left.ids, right.ids)
    views = []
    for view in (left, right):
        order = np.argsort(view.ids)
        at = order[np.searchsorted(view.ids, ids, sorter=order)]
        views.append(BoardView(view.board, ids, view.pixels[at], view.size))
    return views[0], views[1]


def _rows(pixels: Array, camera: Camera) -> Array:
    """Rows of raw pixels in the rectified image."""
    new = np.ascontiguousarray(camera.projection[:, :3])
    straight = opencv().undistortPoints(pixels.reshape(-1, 1, 2), camera.K, camera.D, R=camera.R, P=new)
    return np.asarray(straight, dtype=np.float64).reshape(-1, 2)[:, 1]
