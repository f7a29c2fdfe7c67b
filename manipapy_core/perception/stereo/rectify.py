"""Stereo rectification: afterwards a point lies on the same row of both images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .camera import Camera, Distortion, StereoModel
from .images import BadImage, GrayImage, opencv


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


def _maps(camera: Camera) -> tuple[Any, Any]:
    """Rectification maps in the fixed-point format that `remap` processes fastest."""
    cv2 = opencv()
    size = (camera.width, camera.height)
    new = np.ascontiguousarray(camera.projection[:, :3])
    if camera.model is Distortion.FISHEYE:
        D = camera.D if len(camera.D) else np.zeros(4)
        return tuple(cv2.fisheye.initUndistortRectifyMap(camera.K, D, camera.R, new, size, cv2.CV_16SC2))
    D = camera.D if len(camera.D) else np.zeros(5)
    return tuple(cv2.initUndistortRectifyMap(camera.K, D, camera.R, new, size, cv2.CV_16SC2))
