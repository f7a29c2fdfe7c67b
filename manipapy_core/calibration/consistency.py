"""Checks of a hand-eye set before it is solved: enough rotation, and images that belong to their robot poses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .. import lie
from ..perception.stereo.camera import Camera
from ..typing import Array
from .boards import BoardView
from .problems import BadCalibrationSet, SetProblem, list_of, rotation_angle

MIN_ROTATION = np.radians(5.0)
"""Root mean square rotation between two views about the second axis."""
MAX_ANGLE_ERROR = np.radians(3.0)
"""Difference between the rotations of hand and camera that is not noise."""
BLAMED_SHARE = 0.4
"""If more views than this do not fit, it is the set, not single views."""


def require_rotation(poses: Sequence[Array]) -> None:
    """Refuse poses that turn the hand too little, or about one axis only.

    Args:
        poses: Of the hand in the base, shape (4, 4) each.

    Raises:
        BadCalibrationSet: `TOO_LITTLE_ROTATION`.
    """
    turns = np.array(
        [lie.log_so3(a[:3, :3].T @ b[:3, :3]) for number, a in enumerate(poses) for b in poses[number + 1 :]]
    )
    spread = np.sqrt(np.maximum(np.linalg.eigvalsh(turns.T @ turns / len(turns)), 0.0))[::-1]
    if spread[1] >= MIN_ROTATION:
        return
    first, second = np.degrees(spread[:2])
    raise BadCalibrationSet(
        SetProblem.TOO_LITTLE_ROTATION,
        f"the hand turns by {first:.1f} degrees about one axis and by {second:.1f} about a second one (root mean "
        "square between views)",
        "tilt it by 20 to 40 degrees about at least two axes; moves without rotation do not help",
    )


def require_consistent_views(
    names: Sequence[str], poses: Sequence[Array], B: Sequence[Array], seen: Sequence[BoardView], camera: Camera
) -> None:
    """Refuse sets in which images do not belong to their robot poses.

    Between any two views hand and camera turn by the same angle, wherever the camera is mounted.

    Args:
        B: T_camera_board of each view.

    Raises:
        BadCalibrationSet: `UPSIDE_DOWN` or `MISMATCHED_POSE`, with the names of the views.
    """
    hand = _angles([T[:3, :3] for T in poses])
    errors = np.abs(hand - _angles([T[:3, :3].T for T in B]))
    off = _typical(errors)
    bad = [index for index in range(len(names)) if off[index] > MAX_ANGLE_ERROR]
    if not bad:
        return
    good = [index for index in range(len(names)) if index not in bad]
    if len(good) < 3 or len(bad) > BLAMED_SHARE * len(names):
        raise BadCalibrationSet(
            SetProblem.MISMATCHED_POSE,
            f"in {len(bad)} of {len(names)} views hand and camera do not turn by the same angle (typically "
            f"{np.degrees(np.median(off)):.1f} degrees apart)",
            "check that images and poses are in one order, of one time and of this arm",
            [names[index] for index in bad],
        )
    turned = [index for index in bad if _fits_upside_down(index, good, hand, B, seen, camera)]
    if turned:
        blamed = [names[index] for index in turned]
        raise BadCalibrationSet(
            SetProblem.UPSIDE_DOWN,
            f"{list_of(blamed)} fits only when turned by 180 degrees",
            "turn it like the others, or leave it out",
            blamed,
        )
    blamed = [names[index] for index in bad]
    raise BadCalibrationSet(
        SetProblem.MISMATCHED_POSE,
        f"{list_of(blamed)} does not fit its robot pose (up to {np.degrees(off[bad].max()):.1f} degrees off)",
        "take it again with the arm at rest, or leave it out",
        blamed,
    )


def _angles(rotations: Sequence[Array]) -> Array:
    """Angles of Rᵢᵀ Rⱼ for all pairs [rad], shape (views, views)."""
    stacked = np.array(rotations)
    traces = np.einsum("iab,jab->ij", stacked, stacked)
    return np.arccos(np.clip(0.5 * (traces - 1.0), -1.0, 1.0))


def _typical(errors: Array) -> Array:
    """Median over the other views, shape (views,)."""
    count = len(errors)
    others = errors[~np.eye(count, dtype=bool)].reshape(count, count - 1)
    return np.median(others, axis=1)


def _fits_upside_down(
    index: int, good: Sequence[int], hand: Array, B: Sequence[Array], seen: Sequence[BoardView], camera: Camera
) -> bool:
    turned = seen[index].upside_down().pose(camera)
    angles = np.array([rotation_angle(turned[:3, :3] @ B[other][:3, :3].T) for other in good])
    return float(np.median(np.abs(angles - hand[index, good]))) < MAX_ANGLE_ERROR
