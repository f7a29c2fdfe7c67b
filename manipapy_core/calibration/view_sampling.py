"""Poses of a board in front of a camera: in the image, tilted and turned in all directions, at several distances."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .. import lie
from ..perception.stereo.camera import Camera
from ..typing import Array
from .boards import Board
from .render import project

MAX_TILT = np.radians(40.0)
"""Corners of boards tilted more are detected less exactly."""
MAX_TURN = np.radians(60.0)
"""About the optical axis."""
FILLED = (0.35, 0.8)
"""Smallest and largest share of the image's height or width that the board takes."""
MARGIN = 0.04
"""Of the image's width, kept free at its border."""


def in_image(board: Board, camera: Camera, T_camera_board: Array, margin: float = MARGIN) -> bool:
    """Whether all squares of a board are in the image and seen from the front.

    Args:
        margin: Kept free at the border, as a share of the image's width.
    """
    if T_camera_board[2, 2] < np.cos(np.radians(60.0)):
        return False
    lower, upper = board.points.min(axis=0)[:2] - board.square, board.points.max(axis=0)[:2] + board.square
    outline = np.array([[x, y, 0.0] for x in (lower[0], upper[0]) for y in (lower[1], upper[1])])
    pixels = project(outline, T_camera_board, camera)
    border = margin * camera.width
    limit = np.array([camera.width, camera.height]) - 1.0 - border
    return bool(np.all((pixels >= border) & (pixels <= limit)))


def sampled_views(
    board: Board, camera: Camera, rng: np.random.Generator, *, distances: tuple[float, float] | None = None
) -> Iterator[Array]:
    """Random poses T_camera_board with the board in the image, without end, shape (4, 4) each.

    Args:
        distances: Nearest and farthest of the board's centre [m]; by its size in the image if not given.
    """
    lower, upper = board.points.min(axis=0)[:2] - board.square, board.points.max(axis=0)[:2] + board.square
    centre, size = 0.5 * (lower + upper), upper - lower
    fits = float(np.max(size * np.diag(camera.K)[:2] / [camera.width, camera.height]))
    near, far = distances or (fits / FILLED[1], fits / FILLED[0])
    to_centre = lie.pose(translation=[-centre[0], -centre[1], 0.0])
    while True:
        z = rng.uniform(near, far)
        u, v = rng.uniform([0.2, 0.2], [0.8, 0.8]) * [camera.width, camera.height]
        x, y = (u - camera.K[0, 2]) / camera.K[0, 0] * z, (v - camera.K[1, 2]) / camera.K[1, 1] * z
        direction, tilt = rng.uniform(0.0, 2.0 * np.pi), MAX_TILT * np.sqrt(rng.uniform())
        tilted = lie.exp_so3([tilt * np.cos(direction), tilt * np.sin(direction), 0.0])
        turned = lie.exp_so3([0.0, 0.0, rng.uniform(-MAX_TURN, MAX_TURN)])
        T = lie.pose(tilted @ turned, [x, y, z]) @ to_centre
        if in_image(board, camera, T):
            yield T
