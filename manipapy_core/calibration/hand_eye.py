"""Hand-eye calibration: where the camera is, from images of a board and the poses of the hand.

Both set-ups are one equation: T_camera_board = X⁻¹ A Y, with X the pose of the camera. With the camera on the hand, A
is the inverse of the hand's pose and Y the board in the base; with the camera beside the robot, A is the hand's pose
and Y the board in the hand.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .. import lie
from ..errors import InputError
from ..geometry.shapes import pose_matrix
from ..perception.stereo.camera import Camera
from ..perception.stereo.images import AnyImage
from ..typing import Array, Progress
from .boards import Board, BoardView
from .closed_forms import start_values
from .consistency import require_consistent_views, require_rotation
from .problems import BadCalibrationSet, SetProblem, distinct_poses, list_of, require_distinct
from .refinement import Problem, refine

MIN_VIEWS = 5
"""Different poses that a calibration needs; 15 or more are recommended."""
MAX_RESIDUAL = 2.0
"""Root mean square reprojection error above which a set is refused [pixels]."""


class Setup(enum.Enum):
    """Where the camera is."""

    ON_HAND = "hand"
    """On the hand; the board stays where it is."""
    BESIDE = "beside"
    """Beside the robot; the hand holds the board."""


@dataclass(frozen=True, eq=False)
class HandEyeView:
    """One image of the board and the pose of the hand at that time."""

    image: AnyImage
    T_base_hand: Array
    """Shape (4, 4)."""
    name: str = ""
    """For messages; its number if not given."""


@dataclass(frozen=True, eq=False)
class HandEyeCalibration:
    """Pose of the camera, with its residual and uncertainty."""

    setup: Setup
    T_parent_camera: Array
    """Pose of the raw camera (optical frame) in the hand (camera on the hand) or in the base, shape (4, 4)."""
    T_other_board: Array
    """Pose of the board in the base (camera on the hand) or in the hand, shape (4, 4)."""
    residual: float
    """Root mean square distance of detected and predicted corners [pixels]."""
    view_residuals: Mapping[str, float]
    """Of each used view [pixels]."""
    position_residual: float
    """Root mean square distance of the board as each image alone gives it from where the result puts it [m]."""
    covariance: Array
    """Of T_parent_camera as a twist in the camera frame, rotation first [rad, m], shape (6, 6)."""
    methods: Mapping[str, float]
    """Residual of each closed form before the refinement [pixels]."""
    warnings: tuple[str, ...] = field(default=())

    @property
    def rotation_sigma(self) -> float:
        """Standard deviation of the rotation [rad]."""
        return float(np.sqrt(np.trace(self.covariance[:3, :3])))

    @property
    def translation_sigma(self) -> float:
        """Standard deviation of the position [m]."""
        return float(np.sqrt(np.trace(self.covariance[3:, 3:])))

    def describe(self) -> str:
        """The result as text."""
        where = "hand" if self.setup is Setup.ON_HAND else "base"
        t, rpy = self.T_parent_camera[:3, 3], np.degrees(lie.rotation_to_rpy(self.T_parent_camera[:3, :3]))
        rows = [
            f"camera in the {where}: x y z {t[0]:.4f} {t[1]:.4f} {t[2]:.4f} m, "
            f"roll pitch yaw {rpy[0]:.2f} {rpy[1]:.2f} {rpy[2]:.2f} degrees",
            f"uncertainty (one standard deviation): {1e3 * self.translation_sigma:.2f} mm, "
            f"{np.degrees(self.rotation_sigma):.3f} degrees",
            f"residual: {self.residual:.3f} pixels, {1e3 * self.position_residual:.2f} mm over "
            f"{len(self.view_residuals)} views",
            "before the refinement: "
            + ", ".join(f"{name} {error:.2f}" for name, error in self.methods.items())
            + " pixels",
        ]
        return "\n".join([*rows, *(f"warning: {warning}" for warning in self.warnings)])


def calibrate_hand_eye(
    views: Sequence[HandEyeView],
    board: Board,
    camera: Camera,
    setup: Setup,
    *,
    progress: Progress = lambda done, total: None,
) -> HandEyeCalibration:
    """Pose of the camera in the hand or in the base.

    Args:
        views: The board from many directions: the hand turned about at least two axes, 15 views or more.
        camera: Its calibration; images are raw ones, unless K is also that of the rectified ones.
        progress: Called with the number of images searched for the board, and of all.

    Raises:
        BadCalibrationSet: The set gives no trustworthy result; `problem` says why.
        InputError: A pose or image that cannot be used.
    """
    if board.ambiguous:
        raise BadCalibrationSet(
            SetProblem.AMBIGUOUS_BOARD,
            f"a chessboard of {board.columns} × {board.rows} inner corners looks the same upside down",
            "use one with an odd and an even number of corners, or a ChArUco board",
        )
    names, poses, seen = _detected(views, board, camera, progress)
    warnings = []
    if len(names) < len(views):
        missing = [name for name in _names(views) if name not in names]
        warnings.append(f"no board found in {list_of(missing)}")
    kept = distinct_poses(poses)
    require_distinct(len(poses), len(kept), MIN_VIEWS)
    if len(kept) < len(poses):
        warnings.append(f"{len(poses) - len(kept)} copies of other poses are left out")
    names, poses, seen = [names[i] for i in kept], [poses[i] for i in kept], [seen[i] for i in kept]
    require_rotation(poses)
    B = [view.pose(camera) for view in seen]
    require_consistent_views(names, poses, B, seen, camera)

    problem = _problem(setup, poses, seen, camera)
    X, Y, methods = _best_start(problem, B)
    X, Y, covariance = refine(problem, X, Y)
    residuals = problem.view_residuals(X, Y)
    residual = float(np.sqrt(np.mean(np.concatenate(problem.errors(X, Y)) ** 2) * 2.0))
    if residual > MAX_RESIDUAL:
        _refuse(setup, residual, poses, seen, camera, B)
    predicted = [lie.inverse(X) @ a @ Y for a in problem.A]
    centre = np.append(board.points.mean(axis=0), 1.0)
    apart = [np.linalg.norm(((T - b) @ centre)[:3]) for T, b in zip(predicted, B)]
    return HandEyeCalibration(
        setup=setup,
        T_parent_camera=X,
        T_other_board=Y,
        residual=residual,
        view_residuals=dict(zip(names, residuals)),
        position_residual=float(np.sqrt(np.mean(np.square(apart)))),
        covariance=covariance,
        methods=methods,
        warnings=tuple(warnings),
    )


def robot_poses(setup: Setup, poses: Sequence[Array]) -> list[Array]:
    """A of the equation, from the poses of the hand in the base."""
    return [lie.inverse(T) if setup is Setup.ON_HAND else T for T in poses]


def _names(views: Sequence[HandEyeView]) -> list[str]:
    return [view.name or f"view {number}" for number, view in enumerate(views)]


def _detected(
    views: Sequence[HandEyeView], board: Board, camera: Camera, progress: Progress
) -> tuple[list[str], list[Array], list[BoardView]]:
    names, poses, seen = [], [], []
    for number, (name, view) in enumerate(zip(_names(views), views)):
        progress(number, len(views))
        shape = np.shape(view.image)
        if (shape[1], shape[0]) != (camera.width, camera.height):
            raise InputError(
                f"{name} has {shape[1]} × {shape[0]} pixels, the calibration of the camera is for "
                f"{camera.width} × {camera.height}; use the images that it was calibrated with"
            )
        T = pose_matrix(view.T_base_hand, f"the pose of {name}")
        found = board.detect(view.image)
        if found is not None:
            names.append(name)
            poses.append(T)
            seen.append(found)
    progress(len(views), len(views))
    if not names:
        raise BadCalibrationSet(
            SetProblem.TOO_FEW_VIEWS,
            f"none of {len(views)} images shows the board of {board.columns} × {board.rows} inner corners",
            "count inner corners, not squares, and check the kind of board",
        )
    return names, poses, seen


def _problem(setup: Setup, poses: Sequence[Array], seen: Sequence[BoardView], camera: Camera) -> Problem:
    focal = float(np.sqrt(camera.K[0, 0] * camera.K[1, 1]))
    A = robot_poses(setup, poses)
    return Problem(A, [view.points for view in seen], [view.normalised(camera) for view in seen], focal)


def _best_start(problem: Problem, B: Sequence[Array]) -> tuple[Array, Array, dict[str, float]]:
    starts = list(start_values(problem.A, B))
    residuals = {name: problem.residual(X, Y) for name, X, Y in starts}
    _, X, Y = min(starts, key=lambda start: residuals[start[0]])
    return X, Y, residuals


def _refuse(
    setup: Setup,
    residual: float,
    poses: Sequence[Array],
    seen: Sequence[BoardView],
    camera: Camera,
    B: Sequence[Array],
) -> None:
    """Say which of the usual mistakes it is."""
    other = Setup.BESIDE if setup is Setup.ON_HAND else Setup.ON_HAND
    problem = _problem(other, poses, seen, camera)
    X, Y, _ = _best_start(problem, B)
    X, Y, _ = refine(problem, X, Y)
    if problem.residual(X, Y) < MAX_RESIDUAL:
        raise BadCalibrationSet(
            SetProblem.WRONG_SETUP,
            f"the residual is {residual:.1f} pixels, but {problem.residual(X, Y):.2f} if the camera is "
            f"{'on the hand' if other is Setup.ON_HAND else 'beside the robot'}",
            f"choose the set-up {other.value!r}, or give the poses of the hand in the base, not their inverse",
        )
    raise BadCalibrationSet(
        SetProblem.LARGE_RESIDUAL,
        f"the residual is {residual:.1f} pixels, at most {MAX_RESIDUAL:g} are accepted",
        "check the calibration of the camera, the size of a square, that board and camera are fixed, and that image "
        "and pose are of one time",
    )
