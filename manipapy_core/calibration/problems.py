"""Sets of images that give no usable calibration: each problem has a name, and the error says what to do."""

from __future__ import annotations

import enum
from collections.abc import Sequence

import numpy as np

from .. import lie
from ..errors import InputError
from ..typing import Array

SAME_PLACE, SAME_ROTATION = 0.002, np.radians(0.5)
"""Poses nearer to each other than both [m, rad] are copies of one."""
SAME_PIXELS = 2.0
"""Views of one board whose corners moved less than this in the mean are copies of one [pixels]."""


class SetProblem(enum.Enum):
    """Why a set of images is refused."""

    TOO_FEW_VIEWS = "too few views"
    COPIES = "copies of one pose"
    TOO_LITTLE_ROTATION = "too little rotation"
    TOO_LITTLE_TILT = "too little tilt"
    UPSIDE_DOWN = "image upside down"
    MISMATCHED_PAIR = "mismatched pair"
    MISMATCHED_POSE = "mismatched robot pose"
    WRONG_SETUP = "wrong set-up"
    LARGE_RESIDUAL = "large residual"
    AMBIGUOUS_BOARD = "ambiguous board"


class BadCalibrationSet(InputError):
    """A set of images that is refused.

    Args:
        problem: Its name.
        detail: What was found.
        cure: What to do.
        views: Names of the images that are to blame; none if it is the whole set.
    """

    def __init__(self, problem: SetProblem, detail: str, cure: str, views: Sequence[str] = ()):
        super().__init__(f"{problem.value}: {detail}; {cure}")
        self.problem, self.detail, self.cure, self.views = problem, detail, cure, tuple(views)


def distinct_poses(poses: Sequence[Array]) -> list[int]:
    """Indices of the poses that are no copies of an earlier one.

    Args:
        poses: Each of shape (4, 4).
    """
    kept: list[int] = []
    for index, T in enumerate(poses):
        if not any(_same(T, poses[other]) for other in kept):
            kept.append(index)
    return kept


def distinct_views(views: Sequence[dict[int, Array]]) -> list[int]:
    """Indices of the views that are no copies of an earlier one.

    Args:
        views: Pixels by corner, each of shape (2,).
    """
    kept: list[int] = []
    for index, view in enumerate(views):
        if not any(_same_pixels(view, views[other]) for other in kept):
            kept.append(index)
    return kept


def require_distinct(total: int, distinct: int, needed: int) -> None:
    """Refuse a set with fewer different views than needed.

    Raises:
        BadCalibrationSet: `TOO_FEW_VIEWS`, or `COPIES` if there would be enough without the copies.
    """
    if distinct >= needed:
        return
    cure = f"at least {needed} different ones are needed, 15 or more are recommended"
    if total >= needed:
        raise BadCalibrationSet(SetProblem.COPIES, f"{total} views show only {distinct} different poses", cure)
    raise BadCalibrationSet(SetProblem.TOO_FEW_VIEWS, f"{distinct} views can be used", cure)


def list_of(names: Sequence[str], most: int = 6) -> str:
    """Names as text, shortened."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def rotation_angle(R: Array) -> float:
    """Angle of a rotation [rad]."""
    return float(np.linalg.norm(lie.log_so3(R)))


def _same(a: Array, b: Array) -> bool:
    near = float(np.linalg.norm(a[:3, 3] - b[:3, 3])) < SAME_PLACE
    return near and rotation_angle(a[:3, :3].T @ b[:3, :3]) < SAME_ROTATION


def _same_pixels(a: dict[int, Array], b: dict[int, Array]) -> bool:
    common = a.keys() & b.keys()
    if len(common) < 0.5 * max(len(a), len(b)):
        return False
    return float(np.mean([np.linalg.norm(a[key] - b[key]) for key in common])) < SAME_PIXELS
