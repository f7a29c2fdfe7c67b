"""Rectification: of stereo pairs, after which a point lies on one row of both images, and of depth images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .camera import Camera, Distortion, StereoModel
from .images import BadImage, DepthArray, GrayImage, opencv


class Rectifier:
    """Rectifies pairs of one stereo model; construction takes a tenth of a second, a pair a millisecond."""

    def __init__(self, stereo: StereoModel):
        self.stereo = stereo
        self._left = None if stereo.left.rectified else _maps(stereo.left)
        self._right = None if stereo.right.rectified else _maps(stereo.right)
        self.valid = None if self._left is None else self._inside()
        """Pixels of the rectified left image that lie in the raw image, shape (height, width); None: all."""

    def pair(self, left: GrayImage, right: GrayImage) -> tuple[GrayImage, GrayImage]:
        """Rectified images, each of shape (height, width)."""
        return self.left(left), self.right(right)

    def left(self, image: GrayImage) -> GrayImage:
        """The left image alone."""
        return self._apply(image, self._left, "the left image")

    def right(self, image: GrayImage) -> GrayImage:
        """The right image alone."""
        return self._apply(image, self._right, "the right image")

    def _apply(self, image: GrayImage, maps: tuple[Any, Any] | None, name: str) -> GrayImage:
        expected = (self.stereo.height, self.stereo.width)
        if image.shape[:2] != expected:
            got = f"{image.shape[1]} × {image.shape[0]}"
            raise BadImage(name, f"has {got} pixels", f"the calibration is for {expected[1]} × {expected[0]}")
        if maps is None:
            return image
        cv2 = opencv()
        # Replicate the border: a black border would be matched like an object.
        rectified: GrayImage = cv2.remap(image, maps[0], maps[1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return rectified

    def _inside(self) -> NDArray[np.bool_]:
        assert self._left is not None
        cv2 = opencv()
        ones = np.full((self.stereo.height, self.stereo.width), 255, np.uint8)
        ones[[0, -1]] = ones[:, [0, -1]] = 0
        covered = cv2.remap(ones, *self._left, cv2.INTER_LINEAR)
        return np.asarray(cv2.erode(covered, np.ones((5, 5), np.uint8)) == 255)


class DepthRectifier:
    """Rectifies depth images of one camera, which follow K and D like any raw image."""

    def __init__(self, camera: Camera):
        self.camera = camera
        cv2 = opencv()
        maps = _maps(camera, cv2.CV_32FC1)
        self._columns, self._rows = (np.rint(part).astype(np.int32) for part in maps)
        self._outside = (self._columns < 0) | (self._columns >= camera.width)
        self._outside |= (self._rows < 0) | (self._rows >= camera.height)
        self._columns[self._outside] = self._rows[self._outside] = 0
        # A point s · ray of the rectified frame has the depth s · (Rᵀ ray)_z in the raw one.
        P = camera.projection
        u, v = np.meshgrid(np.arange(camera.width), np.arange(camera.height))
        rays = np.stack([(u - P[0, 2]) / P[0, 0], (v - P[1, 2]) / P[1, 1], np.ones(u.shape)], axis=-1)
        self._scale = (1.0 / (rays @ camera.R[:, 2])).astype(np.float32)

    def image(self, depth: DepthArray) -> DepthArray:
        """The rectified image [m], shape (height, width); the nearest pixel is taken, never a mean over an edge."""
        if depth.shape != (self.camera.height, self.camera.width):
            got = f"{depth.shape[1]} × {depth.shape[0]}"
            expected = f"{self.camera.width} × {self.camera.height}"
            raise BadImage("the depth image", f"has {got} pixels", f"the calibration is for {expected}")
        moved = depth[self._rows, self._columns] * self._scale
        moved[self._outside] = np.nan
        return moved


def _maps(camera: Camera, kind: int | None = None) -> tuple[Any, Any]:
    """Rectification maps, by default in the fixed-point format that `remap` processes fastest."""
    cv2 = opencv()
    kind = cv2.CV_16SC2 if kind is None else kind
    size = (camera.width, camera.height)
    new = np.ascontiguousarray(camera.projection[:, :3])
    if camera.model is Distortion.FISHEYE:
        D = camera.D if len(camera.D) else np.zeros(4)
        return tuple(cv2.fisheye.initUndistortRectifyMap(camera.K, D, camera.R, new, size, kind))
    D = camera.D if len(camera.D) else np.zeros(5)
    return tuple(cv2.initUndistortRectifyMap(camera.K, D, camera.R, new, size, kind))
