"""Camera models as in `sensor_msgs/CameraInfo`: one camera with its distortion, and a stereo pair.

Camera frames are optical (REP 103): z forward, x right, y down; pixel (0, 0) is the centre of the upper left pixel. Raw
images follow K and D; rectified ones have no distortion, are rotated by R and follow P.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError
from ...typing import Array

MAX_IMAGE_SIZE = 16384
"""Largest width and height [pixels]."""
MIN_BASELINE = 1e-3
"""Smallest baseline [m]."""


class BadCamera(InputError):
    """Invalid parameters of a camera or stereo pair."""

    def __init__(self, problem: str, cure: str):
        super().__init__(f"{problem}; {cure}")
        self.problem, self.cure = problem, cure


class Distortion(enum.Enum):
    """Distortion models of `CameraInfo`."""

    PLUMB_BOB = "plumb_bob"
    RATIONAL = "rational_polynomial"
    FISHEYE = "equidistant"

    @property
    def counts(self) -> tuple[int, ...]:
        """Allowed numbers of coefficients."""
        return {"plumb_bob": (0, 4, 5), "rational_polynomial": (8, 12, 14), "equidistant": (0, 4)}[self.value]


@dataclass(frozen=True, eq=False)
class Camera:
    """One camera: size, matrices and distortion, validated on construction."""

    width: int
    height: int
    """[pixels]"""
    K: Array
    """Camera matrix of the raw image [pixels], shape (3, 3)."""
    D: Array = field(default_factory=lambda: np.zeros(0))
    """Distortion coefficients in the order of OpenCV and ROS, shape (0,), (4,), (5,), (8,), (12,) or (14,)."""
    R: Array = field(default_factory=lambda: np.eye(3))
    """Rotation from the raw to the rectified camera frame, shape (3, 3)."""
    P: Array | None = None
    """Projection of the rectified image [pixels]; P[0, 3] = −fx · baseline on the right, shape (3, 4). None: K."""
    model: Distortion = Distortion.PLUMB_BOB

    def __post_init__(self) -> None:
        if not (1 <= self.width <= MAX_IMAGE_SIZE and 1 <= self.height <= MAX_IMAGE_SIZE):
            raise BadCamera(
                f"the camera has {self.width} × {self.height} pixels", f"both must lie between 1 and {MAX_IMAGE_SIZE}"
            )
        K = _finite(self.K, (3, 3), "K")
        P = np.column_stack([K, np.zeros(3)]) if self.P is None else _finite(self.P, (3, 4), "P")
        D = _finite(self.D, (-1,), "D")
        R = _finite(self.R, (3, 3), "R")
        for name, matrix in (("K", K), ("P", P)):
            if not (matrix[0, 0] > 0.0 and matrix[1, 1] > 0.0):
                raise BadCamera(f"{name} has focal lengths {matrix[0, 0]:g} and {matrix[1, 1]:g}", "calibrate it first")
        if len(D) not in self.model.counts:
            allowed = " or ".join(map(str, self.model.counts))
            raise BadCamera(f"{self.model.value} distortion has {len(D)} coefficients", f"give {allowed}")
        if not np.allclose(R @ R.T, np.eye(3), atol=1e-4) or np.linalg.det(R) < 0.0:
            raise BadCamera("R is no rotation", "it must be orthonormal and right-handed")
        for name, value in (("K", K), ("D", D), ("R", R), ("P", P)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    @classmethod
    def from_info(
        cls,
        width: int,
        height: int,
        k: ArrayLike,
        d: ArrayLike = (),
        r: ArrayLike = (),
        p: ArrayLike = (),
        distortion_model: str = "plumb_bob",
    ) -> Camera:
        """From the fields of a `sensor_msgs/CameraInfo`, flat or as matrices; empty or zero r and p are filled in."""
        known = [entry.value for entry in Distortion]
        if distortion_model not in (*known, ""):
            raise BadCamera(f"distortion model {distortion_model!r} is not known", f"choose one of {', '.join(known)}")
        K = _numbers(k, "K")
        if K.size != 9:
            raise BadCamera(f"K has {K.size} numbers", "give 9")
        if not np.any(K):
            raise BadCamera("K is zero: the camera is not calibrated", "calibrate it first")
        R, P = _numbers(r, "R"), _numbers(p, "P")
        if R.size not in (0, 9) or P.size not in (0, 12):
            raise BadCamera(f"R has {R.size} numbers and P has {P.size}", "give 9 and 12, or none")
        return cls(
            int(width),
            int(height),
            K.reshape(3, 3),
            _numbers(d, "D"),
            R.reshape(3, 3) if np.any(R) else np.eye(3),
            P.reshape(3, 4) if np.any(P) else None,
            Distortion(distortion_model or "plumb_bob"),
        )

    @property
    def projection(self) -> Array:
        """P, never None, shape (3, 4)."""
        assert self.P is not None
        return self.P

    @property
    def rectified(self) -> bool:
        """Whether raw and rectified images are identical."""
        return not np.any(self.D) and np.allclose(self.R, np.eye(3)) and np.allclose(self.K, self.projection[:, :3])

    def scaled(self, width: int, height: int) -> Camera:
        """The same camera at another image size."""
        S = np.diag([width / self.width, height / self.height, 1.0])
        # Pixel centres: the corner of the image is at (−½, −½).
        S[:2, 2] = 0.5 * (S.diagonal()[:2] - 1.0)
        return Camera(width, height, S @ self.K, self.D, self.R, S @ self.projection, self.model)


@dataclass(frozen=True, eq=False)
class StereoModel:
    """A stereo pair; after rectification the right camera is shifted along x of the left one."""

    left: Camera
    right: Camera

    def __post_init__(self) -> None:
        left, right = self.left, self.right
        if (left.width, left.height) != (right.width, right.height):
            sizes = f"{left.width} × {left.height} and {right.width} × {right.height} pixels"
            raise BadCamera(f"the two cameras have {sizes}", "both images must have one size")
        if not np.allclose(left.projection[:2, :2], right.projection[:2, :2], rtol=1e-6):
            raise BadCamera("the focal lengths in P differ between left and right", "rectify the pair together")
        if abs(left.projection[1, 2] - right.projection[1, 2]) > 1e-3:
            raise BadCamera("cy in P differs between left and right", "rectify the pair together, rows must agree")
        if -MIN_BASELINE < self.baseline < MIN_BASELINE:
            cure = "P[0, 3] of the right camera must be −fx · baseline"
            raise BadCamera(f"the baseline is {self.baseline:g} m", cure)
        if self.baseline < 0.0:
            raise BadCamera(f"the baseline is {self.baseline:g} m", "left and right are swapped")

    @classmethod
    def ideal(cls, width: int, height: int, fx: float, fy: float, cx: float, cy: float, baseline: float) -> StereoModel:
        """A rectified pair without distortion, such as a simulated one.

        Args:
            fx: Focal lengths fx, fy and principal point cx, cy [pixels].
            baseline: Distance of the cameras [m].
        """
        K = np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])
        P = np.column_stack([K, [-fx * baseline, 0.0, 0.0]])
        return cls(Camera(width, height, K), Camera(width, height, K, P=P))

    @property
    def width(self) -> int:
        """Image width [pixels]."""
        return self.left.width

    @property
    def height(self) -> int:
        """Image height [pixels]."""
        return self.left.height

    @property
    def focal(self) -> float:
        """fx of the rectified images [pixels]."""
        return float(self.left.projection[0, 0])

    @property
    def baseline(self) -> float:
        """Distance of the cameras [m]."""
        left, right = self.left.projection, self.right.projection
        return float((left[0, 3] - right[0, 3]) / left[0, 0])

    @property
    def offset(self) -> float:
        """Disparity of a point at infinity [pixels]: cx left − cx right."""
        return float(self.left.projection[0, 2] - self.right.projection[0, 2])

    @property
    def rectified(self) -> bool:
        """Whether the images need no rectification."""
        return self.left.rectified and np.allclose(self.right.R, np.eye(3)) and self.right.rectified

    def scaled(self, width: int, height: int) -> StereoModel:
        """The same pair at another image size."""
        return StereoModel(self.left.scaled(width, height), self.right.scaled(width, height))

    def disparity_of(self, depth: float) -> float:
        """Disparity [pixels] of a point at this depth [m]."""
        return self.focal * self.baseline / depth + self.offset


def _numbers(values: ArrayLike | Sequence[float], name: str) -> Array:
    try:
        return np.array(values, dtype=np.float64).ravel()
    except (TypeError, ValueError) as error:
        raise BadCamera(f"{name} is not made of numbers ({error})", "give numbers") from None


def _finite(values: ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    array = np.array(_numbers(values, name))
    wanted = array.size if shape == (-1,) else int(np.prod(shape))
    if array.size != wanted:
        raise BadCamera(f"{name} has {array.size} numbers", f"give {wanted}")
    if not np.all(np.abs(array) < 1e9):
        where = int(np.flatnonzero(~(np.abs(array) < 1e9))[0])
        raise BadCamera(f"{name}[{where}] is {array[where]}", "all entries must be finite; calibrate again")
    return array.reshape(shape)
