"""Input frames of the pipeline: stereo pairs, depth images and point clouds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError, ShapeError
from ...geometry.shapes import pose_matrix
from ...typing import Array
from .camera import Camera
from .depth import Points
from .images import AnyImage, BadImage

MAX_SKEW_NS = 20_000_000
"""Largest time difference of left and right image [ns]."""


class Unsynchronised(InputError):
    """Left and right image were not taken at the same time."""

    def __init__(self, skew_ns: int, allowed_ns: int):
        super().__init__(
            f"left and right were taken {1e-6 * skew_ns:.1f} ms apart, {1e-6 * allowed_ns:.1f} are allowed; "
            "trigger the cameras together, or pair the nearest time stamps"
        )
        self.skew_ns, self.allowed_ns = skew_ns, allowed_ns


@dataclass(frozen=True, eq=False)
class _Frame:
    """Fields of all frames."""

    time_ns: int
    """Time of the image [ns], on the clock of the joint positions."""
    T_base_optical: Array
    """Pose of the (left, rectified) optical frame in the robot's base at that time, shape (4, 4)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "T_base_optical", pose_matrix(self.T_base_optical, "T_base_optical"))


@dataclass(frozen=True, eq=False)
class StereoPair(_Frame):
    """Two images, raw or rectified as in the pipeline's stereo model."""

    left: AnyImage
    right: AnyImage
    """Shape (height, width) or (height, width, channels)."""
    q: ArrayLike | None = None
    """Joint positions of the robot at that time; required for the self filter."""
    encoding: str = ""
    """As in `sensor_msgs/Image`; see `images.as_gray`."""
    right_time_ns: int | None = None
    """Time of the right image; if not given, that of the left one."""
    allowed_skew_ns: int = MAX_SKEW_NS

    def __post_init__(self) -> None:
        super().__post_init__()
        left, right = np.shape(self.left)[:2], np.shape(self.right)[:2]
        if left != right:
            sizes = f"{left} and {right} rows and columns"
            raise BadImage("a stereo pair", f"has images of {sizes}", "both cameras must have one size")
        if self.right_time_ns is not None and abs(self.right_time_ns - self.time_ns) > self.allowed_skew_ns:
            raise Unsynchronised(abs(self.right_time_ns - self.time_ns), self.allowed_skew_ns)


@dataclass(frozen=True, eq=False)
class DepthImage(_Frame):
    """Image of a depth camera."""

    depth: AnyImage
    """float32 metres or uint16 millimetres, shape (height, width)."""
    camera: Camera
    q: ArrayLike | None = None
    encoding: str = ""
    colour: AnyImage | None = None
    """Colour image of the same size, for a detector."""
    raw: bool = False
    """Whether the image follows K and D, and has to be rectified; otherwise it follows P."""


@dataclass(frozen=True, eq=False)
class PointSet(_Frame):
    """Points in the optical frame, such as from a `PointCloud2`."""

    points: NDArray[np.generic]
    """[m], shape (height, width, 3) or (points, 3); NaN: not measured."""
    q: ArrayLike | None = None
    sigma: ArrayLike | None = None
    """Standard deviation along z [m], scalar or per point; if not given, the model of a depth camera."""

    def in_optical_frame(self, noise: float, noise_floor: float = 0.0) -> Points:
        """Validated points with their uncertainty.

        Args:
            noise: Part of σ_z at 1 m [m] that grows with the square of the depth, if the frame has no `sigma`.
            noise_floor: Part of σ_z that is the same at all depths [m].
        """
        xyz = np.asarray(self.points)
        if xyz.ndim not in (2, 3) or xyz.shape[-1] != 3 or xyz.dtype.kind != "f":
            raise ShapeError("points", "(points, 3) or (height, width, 3) of floats", xyz.shape)
        xyz32 = np.ascontiguousarray(xyz, dtype=np.float32)
        if self.sigma is None:
            sigma = np.float32(noise_floor) + np.float32(noise) * xyz32[..., 2] ** 2
        else:
            sigma = np.broadcast_to(np.asarray(self.sigma, dtype=np.float32), xyz32.shape[:-1])
        return Points(xyz32, np.ascontiguousarray(sigma, dtype=np.float32))


Frame = StereoPair | DepthImage | PointSet
"""One input of perception, of one of these three kinds."""
