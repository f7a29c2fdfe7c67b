"""The one door to OpenCV, which loads when it is first needed."""

from __future__ import annotations

from typing import Any

from ..geometry import MissingPackage


def opencv() -> Any:
    """The module `cv2`.

    Raises:
        MissingPackage: It is not installed; says how to get it.
    """
    try:
        import cv2
    except ImportError:
        raise MissingPackage("opencv-python-headless", "stereo vision", "perception") from None
    return cv2
