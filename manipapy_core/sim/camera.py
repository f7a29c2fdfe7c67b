"""Pinhole cameras and stereo pairs: intrinsics, poses and frames.

Camera frames are optical (REP 103): z looks forward, x to the right of the image, y down. Pixel (0, 0) is the CENTRE
of the upper left pixel, as in OpenCV and ROS: a point of the optical frame appears at u = fx x/z + cx, v = fy y/z + cy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import lie
from ..errors import InputError
from ..model.elements import frozen_array
from ..typing import Array

UP = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Pinhole:
    """A camera without distortion."""

    width: int
    height: int
    """[pixels]"""
    fx: float
    fy: float
    """Focal lengths [pixels]."""
    cx: float
    cy: float
    """Principal point [pixels]."""
    near: float = 0.05
    far: float = 10.0
    """Clipping planes [m, along z]."""

    def __post_init__(self) -> None:
        if not (self.width > 0 and self.height > 0 and self.fx > 0.0 and self.fy > 0.0):
            sizes = f"{self.width} × {self.height} pixels, focal lengths {self.fx} and {self.fy} pixels"
            raise InputError(f"a camera of {sizes}; all must be positive")
        if not 0.0 < self.near < self.far < math.inf:
            raise InputError(f"near is {self.near} m and far {self.far} m; give 0 < near < far")

    @classmethod
    def from_field_of_view(
        cls, width: int, height: int, horizontal: float, *, near: float = 0.05, far: float = 10.0
    ) -> Pinhole:
        """Square pixels, principal point at the image centre.

        Args:
            horizontal: Angle between the left and the right edge [rad].
        """
        if not 0.0 < horizontal < math.pi:
            raise InputError(f"the field of view is {horizontal} rad; give 0 to π")
        focal = 0.5 * width / math.tan(0.5 * horizontal)
        return cls(width, height, focal, focal, 0.5 * (width - 1), 0.5 * (height - 1), near, far)

    @property
    def K(self) -> Array:
        """Camera matrix: pixels = K point / z, shape (3, 3)."""
        return np.array([[self.fx, 0.0, self.cx], [0.0, self.fy, self.cy], [0.0, 0.0, 1.0]])

    def project(self, points: ArrayLike) -> Array:
        """Pixels (u, v) of points in the optical frame [m], shape (..., 3) to (..., 2)."""
        p = np.asarray(points, dtype=np.float64)
        return p[..., :2] / p[..., 2:] * [self.fx, self.fy] + [self.cx, self.cy]

    def rays(self) -> Array:
        """Direction of every pixel with z = 1, in the optical frame, shape (height, width, 3)."""
        u, v = np.meshgrid(np.arange(self.width), np.arange(self.height))
        return np.stack([(u - self.cx) / self.fx, (v - self.cy) / self.fy, np.ones(u.shape)], axis=-1)

    def projection_matrix(self) -> Array:
        """The clip matrix with which PyBullet's software renderer samples exactly at our pixel centres, shape (4, 4).

        That renderer samples column i at i, and row j (counted from the top) at j + 1, in pixels from the corner of the
        image: hence cx and cy + 1 here, where graphics hardware needs half a pixel more and less.
        """
        n, f = self.near, self.far
        return np.array(
            [
                [2.0 * self.fx / self.width, 0.0, 1.0 - 2.0 * self.cx / self.width, 0.0],
                [0.0, 2.0 * self.fy / self.height, 2.0 * (self.cy + 1.0) / self.height - 1.0, 0.0],
                [0.0, 0.0, -(f + n) / (f - n), -2.0 * f * n / (f - n)],
                [0.0, 0.0, -1.0, 0.0],
            ]
        )

    def metric_depth(self, buffer: NDArray[np.float32]) -> NDArray[np.float32]:
        """Depth along z [m] from the numbers 0 (near) to 1 (far) of a depth buffer; inf at the background."""
        n, f = self.near, self.far
        # In double precision: most of the depth range is in the last bits of the buffer below 1.
        depth = f * n / (f - (f - n) * buffer.astype(np.float64))
        # At the background the buffer is 1, or a rounding error below.
        return np.where(buffer < 1.0 - 2.0**-22, depth, np.inf).astype(np.float32)


def look_at(eye: ArrayLike, target: ArrayLike, *, up: ArrayLike = UP) -> Array:
    """Pose of an optical frame at `eye` whose axis points to `target`, shape (4, 4).

    Args:
        eye: Position of the camera [m], shape (3,).
        target: Point on the optical axis [m], shape (3,).
        up: Up direction of the image, shape (3,).
    """
    position = np.asarray(eye, dtype=np.float64)
    z = np.asarray(target, dtype=np.float64) - position
    x = np.cross(z, np.asarray(up, dtype=np.float64))
    if not np.linalg.norm(z) > 0.0 or not np.linalg.norm(x) > 1e-9 * np.linalg.norm(z):
        raise InputError(f"a camera at {eye!r} cannot look at {target!r} with {up!r} up; move it or choose another up")
    z, x = z / np.linalg.norm(z), x / np.linalg.norm(x)
    return lie.pose(np.column_stack([x, np.cross(z, x), z]), position)


def view_matrix(T_world_optical: Array) -> Array:
    """World to graphics camera (x right, y up, looking along −z), shape (4, 4)."""
    return np.diag([1.0, -1.0, -1.0, 1.0]) @ lie.inverse(T_world_optical)


@dataclass(frozen=True, eq=False)
class StereoCamera:
    """Two equal cameras side by side, rectified: the right one is shifted along x of the left one."""

    pinhole: Pinhole
    baseline: float
    """Distance between the cameras [m]."""
    T_mount_left: Array
    """Pose of the left optical frame in the frame that carries the pair [m], shape (4, 4)."""
    robot: str | None = None
    link: str | None = None
    """The link that carries the pair, and its robot; None: fixed in the world."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "T_mount_left", frozen_array(self.T_mount_left, (4, 4)))
        if not 0.0 < self.baseline < math.inf:
            raise InputError(f"the baseline is {self.baseline} m; give a positive number")
        if (self.robot is None) != (self.link is None):
            raise InputError("name both the robot and the link that carry the camera, or neither")

    @property
    def T_left_right(self) -> Array:
        """Pose of the right optical frame in the left one, shape (4, 4)."""
        return lie.pose(None, [self.baseline, 0.0, 0.0])

    @property
    def P_left(self) -> Array:
        """Projection of the left camera as in `camera_info`, shape (3, 4)."""
        return np.column_stack([self.pinhole.K, np.zeros(3)])

    @property
    def P_right(self) -> Array:
        """Projection of points in the LEFT frame to the right image; P[0, 3] = −fx · baseline, shape (3, 4)."""
        return np.column_stack([self.pinhole.K, [-self.pinhole.fx * self.baseline, 0.0, 0.0]])


@dataclass(frozen=True, eq=False)
class StereoFrame:
    """Images and depth of a stereo pair at one instant."""

    time_ns: int
    """Simulated time [ns]."""
    left: NDArray[np.uint8]
    right: NDArray[np.uint8]
    """Red, green, blue, shape (height, width, 3)."""
    depth: NDArray[np.float32]
    """True depth along z of the left camera [m], shape (height, width); inf at the background."""
    T_world_left: Array
    """Pose of the left optical frame [m], shape (4, 4)."""
    T_base_left: Array | None
    """The same in the root link of the robot; None without a robot, or with several robots of which none is named."""
