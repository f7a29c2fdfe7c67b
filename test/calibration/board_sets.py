"""Rendered sets of calibration images with known answers, for both hand-eye set-ups, one camera and stereo pairs."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from manipapy_core import lie
from manipapy_core.calibration import Board, BoardKind, BoardRenderer, HandEyeView, Setup, in_image, sampled_views
from manipapy_core.perception import Camera

CAMERA = Camera(
    640,
    480,
    np.array([[610.0, 0.0, 322.5], [0.0, 611.0, 236.5], [0.0, 0.0, 1.0]]),
    np.array([-0.12, 0.06, 0.0008, -0.0006, 0.0]),
)
CHESSBOARD = Board(BoardKind.CHESSBOARD, 9, 6, 0.025)
CHARUCO = Board(BoardKind.CHARUCO, 8, 5, 0.03)
NOISE = 3.0
"""Of a pixel [grey values]: an indoor camera with some gain."""


@functools.cache
def renderer_of(board: Board, noise: float = NOISE) -> BoardRenderer:
    return BoardRenderer(board, CAMERA, noise=noise)


def hand_eye_set(
    setup: Setup,
    seed: int,
    *,
    board: Board = CHARUCO,
    views: int = 15,
    noise: float = NOISE,
    pose_noise: tuple[float, float] = (0.0, 0.0),
):
    """Views, and the true pose of the camera; pose_noise is that of the robot [m, rad]."""
    rng = np.random.default_rng([seed, setup is Setup.ON_HAND])
    if setup is Setup.ON_HAND:
        X = lie.pose(lie.exp_so3(rng.normal(0.0, 0.2, 3)), rng.normal([0.03, -0.06, 0.05], 0.02))
        Y = lie.pose(lie.exp_so3([np.pi - 0.1, 0.2, 0.1]), rng.normal([0.5, 0.1, 0.0], 0.05))
    else:
        X = lie.pose(lie.exp_so3([-1.9, 0.3, 0.1]), rng.normal([1.2, 0.2, 0.6], 0.1))
        Y = lie.pose(lie.exp_so3(rng.normal(0.0, 0.3, 3)), rng.normal([0.0, 0.02, 0.08], 0.02))
    renderer = renderer_of(board, noise)
    found = []
    for number, B in enumerate(itertools.islice(sampled_views(board, CAMERA, rng), views)):
        A = X @ B @ lie.inverse(Y)
        T_base_hand = lie.inverse(A) if setup is Setup.ON_HAND else A
        measured = T_base_hand @ lie.exp_se3([*rng.normal(0.0, pose_noise[1], 3), *rng.normal(0.0, pose_noise[0], 3)])
        found.append(HandEyeView(renderer.image(B, rng), measured, f"image {number}"))
    return found, X


def pose_error(found: np.ndarray, true: np.ndarray) -> tuple[float, float]:
    """Translation [m] and rotation [rad]."""
    return (
        float(np.linalg.norm(found[:3, 3] - true[:3, 3])),
        float(np.linalg.norm(lie.log_so3(found[:3, :3].T @ true[:3, :3]))),
    )


def stereo_set(seed: int, count: int = 8, *, board: Board = CHESSBOARD):
    """Pairs of images, and the true pose of the right camera in the left one."""
    rng = np.random.default_rng(seed)
    T_left_right = lie.pose(lie.exp_so3([0.01, -0.02, 0.005]), [0.08, 0.001, -0.002])
    renderer = renderer_of(board)
    pairs = []
    views = sampled_views(board, CAMERA, rng)
    while len(pairs) < count:
        T = next(views)
        other = lie.inverse(T_left_right) @ T
        if in_image(board, CAMERA, other, 0.01):
            pairs.append((renderer.image(T, rng), renderer.image(other, rng)))
    return pairs, T_left_right
