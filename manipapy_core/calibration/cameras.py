"""Calibration of one camera: focal lengths, principal point and distortion, from images of a board."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..perception.stereo.camera import Camera
from ..perception.stereo.images import AnyImage, BadImage, opencv
from ..typing import Array, Progress
from .boards import Board, BoardView
from .problems import BadCalibrationSet, SetProblem, distinct_views, list_of, require_distinct

Floats = NDArray[np.float32]
MIN_VIEWS = 5
"""Different views that a calibration needs; 15 or more, tilted in all directions, are recommended."""
MAX_RESIDUAL = 1.5
"""Root mean square reprojection error above which a set is refused [pixels]."""
MIN_TILT = np.radians(12.0)
"""Largest angle between two views of the board that a set needs."""
MAX_FOCAL_SIGMA = 0.02
"""Standard deviation of the focal length, relative to it, above which a set is refused."""


@dataclass(frozen=True, eq=False)
class CameraCalibration:
    """A camera and its errors."""

    camera: Camera
    residual: float
    """Root mean square distance between detected and projected corners [pixels]; below 0.5 is good."""
    view_residuals: Mapping[str, float]
    """Of each used view [pixels]."""
    sigma: Array
    """Standard deviations of fx, fy, cx, cy [pixels], shape (4,)."""
    warnings: tuple[str, ...] = ()

    def describe(self) -> str:
        """The result as text."""
        K, camera = self.camera.K, self.camera
        rows = [
            f"{camera.width} × {camera.height} pixels: fx {K[0, 0]:.2f} ± {self.sigma[0]:.2f}, fy {K[1, 1]:.2f} ± "
            f"{self.sigma[1]:.2f}, cx {K[0, 2]:.2f} ± {self.sigma[2]:.2f}, cy {K[1, 2]:.2f} ± {self.sigma[3]:.2f}",
            "distortion: " + " ".join(f"{value:.5f}" for value in camera.D),
            f"residual: {self.residual:.3f} pixels over {len(self.view_residuals)} views",
        ]
        return "\n".join([*rows, *(f"warning: {warning}" for warning in self.warnings)])


def calibrate_camera(
    images: Sequence[AnyImage],
    board: Board,
    names: Sequence[str] = (),
    *,
    progress: Progress = lambda done, total: None,
) -> CameraCalibration:
    """Calibrate one camera.

    Args:
        images: Of one board at different places, distances and tilts, all of one size.
        names: Of the images, for messages; their numbers if not given.
        progress: Called with the number of images searched for the board, and of all.

    Raises:
        BadCalibrationSet: The set gives no trustworthy result; `problem` says why.
        BadImage: An image that cannot be used.
    """
    names = checked_names(images, names)
    require_one_size(images, names)
    seen: list[BoardView | None] = []
    for image in images:
        progress(len(seen), len(images))
        seen.append(board.detect(image))
    progress(len(seen), len(images))
    views = {name: view for name, view in zip(names, seen) if view is not None}
    warnings = [f"no board found in {list_of([name for name in names if name not in views])}"]
    warnings = warnings if len(views) < len(images) else []
    if not views:
        raise BadCalibrationSet(
            SetProblem.TOO_FEW_VIEWS,
            f"none of {len(images)} images shows the board of {board.columns} × {board.rows} inner corners",
            "count inner corners, not squares, and check the kind of board",
        )
    kept = distinct_views([view.by_id for view in views.values()])
    require_distinct(len(views), len(kept), MIN_VIEWS)
    if len(kept) < len(views):
        warnings.append(f"{len(views) - len(kept)} copies of other views are left out")
    used = {name: view for index, (name, view) in enumerate(views.items()) if index in kept}
    residual, camera, sigma, errors = solve_camera(list(used.values()))
    require_residual(residual, dict(zip(used, errors)))
    normals = np.array([view.pose(camera)[:3, 2] for view in used.values()])
    tilt = float(np.arccos(np.clip((normals @ normals.T).min(), -1.0, 1.0)))
    relative = float(np.max(sigma[:2] / np.diag(camera.K)[:2]))
    if relative > MAX_FOCAL_SIGMA or tilt < MIN_TILT:
        # Zhang 2000: boards that are parallel to each other tell nothing new.
        raise BadCalibrationSet(
            SetProblem.TOO_LITTLE_TILT,
            f"views differ by a tilt of {np.degrees(tilt):.0f} degrees at most, and the focal length is known "
            f"to {100 * relative:.1f} % only",
            "tilt the board by 20 to 40 degrees in all directions, near and far",
        )
    return CameraCalibration(camera, residual, dict(zip(used, errors)), sigma, tuple(warnings))


def solve_camera(views: Sequence[BoardView]) -> tuple[float, Camera, Array, list[float]]:
    """Residual [pixels], camera, standard deviations of fx, fy, cx, cy, and residuals per view.

    Raises:
        BadCalibrationSet: The views do not determine a camera.
    """
    cv2 = opencv()
    objects, pixels = opencv_points(views)
    size = views[0].size
    try:
        residual, K, D, _, _, sigma, _, errors = cv2.calibrateCameraExtended(objects, pixels, size, None, None)
    except cv2.error as error:
        raise BadCalibrationSet(
            SetProblem.TOO_LITTLE_TILT, f"OpenCV finds no camera ({error.err})", "tilt the board in all directions"
        ) from None
    return float(residual), Camera(*size, K, np.ravel(D)), np.ravel(sigma)[:4], np.ravel(errors).tolist()


def opencv_points(views: Sequence[BoardView]) -> tuple[list[Floats], list[Floats]]:
    """Corners of each view in the board's frame and in the image, as OpenCV takes them."""
    objects: list[Floats] = [view.points.astype(np.float32) for view in views]
    return objects, [view.pixels.astype(np.float32).reshape(-1, 1, 2) for view in views]


def require_residual(residual: float, by_view: Mapping[str, float]) -> None:
    """Refuse a large residual, with the views that contribute most.

    Raises:
        BadCalibrationSet: `LARGE_RESIDUAL`.
    """
    if residual <= MAX_RESIDUAL:
        return
    middle = float(np.median(list(by_view.values())))
    worst = [name for name, error in by_view.items() if error > max(3.0 * middle, MAX_RESIDUAL)]
    blamed = f", most of it from {list_of(worst)}" if worst else ""
    raise BadCalibrationSet(
        SetProblem.LARGE_RESIDUAL,
        f"the residual is {residual:.1f} pixels, at most {MAX_RESIDUAL:g} are accepted{blamed}",
        "use a flat board, sharp images and one camera setting, and count the corners again",
        worst,
    )


def checked_names(images: Sequence[AnyImage], names: Sequence[str]) -> list[str]:
    """Names, one per image."""
    if names and len(names) != len(images):
        raise InputError(f"{len(names)} names for {len(images)} images; give one each")
    return list(names) or [f"image {number}" for number in range(len(images))]


def require_one_size(images: Sequence[AnyImage], names: Sequence[str]) -> None:
    """Refuse images of several sizes.

    Raises:
        BadImage: It names the first that differs.
    """
    shapes = [np.shape(image)[:2] for image in images]
    for name, shape in zip(names, shapes):
        if shape != shapes[0]:
            found = f"{shape[1]} × {shape[0]} pixels, the first has {shapes[0][1]} × {shapes[0][0]}"
            raise BadImage(name, f"has {found}", "use one camera setting for all")
