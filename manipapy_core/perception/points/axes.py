"""Axes of a point cloud, by REP 103: optical (z forward, x right, y down), or x forward, y left, z up."""

from __future__ import annotations

import enum

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ...typing import Array

FORWARD_TO_OPTICAL = np.array(
    [[0.0, 0.0, 1.0, 0.0], [-1.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
)
"""Pose of the optical frame in a frame with x forward."""
IN_FRONT = 0.995
"""Share of the points that a camera sees in front of it."""


class CloudAxes(enum.Enum):
    """Direction in which a camera looks, in the frame of its points."""

    OPTICAL = "optical"
    FORWARD = "forward"

    @classmethod
    def of(cls, points: NDArray[np.floating], frame: str = "") -> CloudAxes:
        """The axes that the points have: a camera sees nothing behind it.

        Args:
            points: [m], shape (..., 3); NaN: not measured.
            frame: Its name; one with "optical" in it is accepted.

        Raises:
            InputError: Both fit, or neither.
        """
        if "optical" in frame:
            return cls.OPTICAL
        flat = points.reshape(-1, 3)
        flat = flat[:: 1 + len(flat) // 20_000]
        flat = flat[np.isfinite(flat).all(axis=1)]
        x, z = (bool(len(flat)) and float(np.mean(flat[:, axis] > 0.0)) > IN_FRONT for axis in (0, 2))
        if x != z:
            return cls.FORWARD if x else cls.OPTICAL
        found = "look along x as well as along z" if x else "look neither along x nor along z"
        raise InputError(
            f"the points of {frame!r} {found}: set camera.axes to optical (z forward) or forward (x forward)"
        )


def to_optical(points: NDArray[np.floating], T_base_frame: Array) -> tuple[NDArray[np.floating], Array]:
    """Points with x forward in the optical frame, shape as given, and the pose of that frame in the base."""
    turned = np.stack([-points[..., 1], -points[..., 2], points[..., 0]], axis=-1)
    return turned, T_base_frame @ FORWARD_TO_OPTICAL
