"""Images of a board as a camera would take them: with distortion, blur and noise; for tests and trials of a set-up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..perception.stereo.camera import Camera
from ..perception.stereo.images import GrayImage, opencv
from ..typing import Array
from .boards import Board, distorted, undistorted

SAMPLES = 3
"""Rays per pixel along each axis."""
GRID = 4
"""Pixels between the nodes at which the distortion is inverted."""
TEXTURE = 48
"""Pixels of the printed board per square."""
BLACK, WHITE, BACKGROUND = 35.0, 210.0, 120.0


class BoardRenderer:
    """Renders a board for one camera.

    Args:
        noise: Standard deviation of a pixel [grey values].
        blur: Standard deviation of the lens's blur [pixels].
    """

    def __init__(self, board: Board, camera: Camera, *, noise: float = 3.0, blur: float = 0.6):
        self.board, self.camera, self.noise, self.blur = board, camera, noise, blur
        self._texture = board.image(TEXTURE).astype(np.float32)
        offsets = (np.arange(SAMPLES) + 0.5) / SAMPLES - 0.5
        u = (np.arange(camera.width)[:, None] + offsets).ravel()
        v = (np.arange(camera.height)[:, None] + offsets).ravel()
        # The inverse of a distortion is slow, and smooth: between the nodes of a grid it is interpolated.
        nodes_u, nodes_v = (
            np.arange(-GRID, size + 2 * GRID, GRID, dtype=float) for size in (camera.width, camera.height)
        )
        nodes = undistorted(np.stack(np.meshgrid(nodes_u, nodes_v), axis=-1), camera)
        along_u, along_v = _interpolation(u, nodes_u), _interpolation(v, nodes_v)
        rays = [along_v @ nodes[..., axis] @ along_u.T for axis in (0, 1)]
        self._rays = np.dstack([*rays, np.ones(rays[0].shape)]).astype(np.float32)

    def image(self, T_camera_board: Array, rng: np.random.Generator) -> GrayImage:
        """The image of the board at a pose, shape (height, width)."""
        cv2 = opencv()
        camera, square = self.camera, self.board.square
        # A ray r meets the board at (x, y, 1) ~ H⁻¹ r, with the columns x, y and origin of the board as H.
        H = np.linalg.inv(T_camera_board[:3, [0, 1, 3]])
        # In pixels of the texture: the first inner corner is two squares from its border.
        S = np.array(
            [[TEXTURE / square, 0.0, 2 * TEXTURE - 0.5], [0.0, TEXTURE / square, 2 * TEXTURE - 0.5], [0, 0, 1]]
        )
        rows, columns = self._region(T_camera_board)
        scene = np.full((camera.height, camera.width), BACKGROUND, np.float32)
        if rows.stop > rows.start and columns.stop > columns.start:
            fine = tuple(slice(part.start * SAMPLES, part.stop * SAMPLES) for part in (rows, columns))
            hits = self._rays[fine] @ (S @ H).T.astype(np.float32)
            with np.errstate(divide="ignore", invalid="ignore"):
                maps = hits[..., :2] / hits[..., 2:]
            seen = cv2.remap(
                self._texture, maps[..., 0], maps[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT,
                borderValue=-1.0,
            )  # fmt: skip
            grey = np.where(seen < 0.0, BACKGROUND, BLACK + seen * ((WHITE - BLACK) / 255.0))
            height, width = rows.stop - rows.start, columns.stop - columns.start
            scene[rows, columns] = grey.reshape(height, SAMPLES, width, SAMPLES).mean(axis=(1, 3))
        if self.blur > 0.0:
            scene = cv2.GaussianBlur(scene, (0, 0), self.blur)
        noisy = scene + rng.normal(0.0, self.noise, scene.shape)
        return np.clip(np.rint(noisy), 0, 255).astype(np.uint8)

    def visible(self, T_camera_board: Array, margin: float = 0.0) -> bool:
        """Whether all corners lie in the image, at least a margin [pixels] away from its border."""
        pixels = project(self.board.points, T_camera_board, self.camera)
        limit = np.array([self.camera.width, self.camera.height]) - 1.0 - margin
        return bool(np.all((pixels >= margin) & (pixels <= limit)))

    def _region(self, T: Array) -> tuple[slice, slice]:
        """Rows and columns that may show the board."""
        lower, upper = self.board.points.min(axis=0), self.board.points.max(axis=0)
        outline = np.array([[x, y, 0.0] for x in (lower[0], upper[0]) for y in (lower[1], upper[1])])
        outline[:, :2] += 2.2 * self.board.square * np.sign(outline[:, :2] - 0.5 * (lower + upper)[:2])
        if np.any(outline @ T[2, :3] + T[2, 3] <= 1e-3):
            return slice(0, self.camera.height), slice(0, self.camera.width)
        pixels = project(outline, T, self.camera)
        limits = np.array([self.camera.width, self.camera.height])
        first = np.clip(np.floor(pixels.min(axis=0)) - 20, 0, limits).astype(int)
        last = np.clip(np.ceil(pixels.max(axis=0)) + 20, 0, limits).astype(int)
        return slice(int(first[1]), int(last[1])), slice(int(first[0]), int(last[0]))


def _interpolation(at: Array, nodes: Array) -> Array:
    """Weights of linear interpolation, shape (len(at), len(nodes))."""
    index = np.clip(((at - nodes[0]) / GRID).astype(int), 0, len(nodes) - 2)
    share = (at - nodes[index]) / GRID
    weights = np.zeros((len(at), len(nodes)))
    weights[np.arange(len(at)), index] = 1.0 - share
    weights[np.arange(len(at)), index + 1] = share
    return weights


def project(points: Array, T_camera_board: Array, camera: Camera) -> Array:
    """Pixels of points in the raw image; NaN behind the camera.

    Args:
        points: In the board's frame [m], shape (points, 3).

    Returns:
        (u, v), shape (points, 2).
    """
    inside = points @ T_camera_board[:3, :3].T + T_camera_board[:3, 3]
    front: NDArray[np.bool_] = inside[:, 2] > 1e-6
    safe = np.where(front[:, None], inside, [0.0, 0.0, 1.0])
    return np.where(front[:, None], distorted(safe[:, :2] / safe[:, 2:], camera), np.nan)
