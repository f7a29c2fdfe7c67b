"""Image decoding: common encodings to grey values or metres; lazy import of OpenCV."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, MissingPackage


def opencv() -> Any:
    """The module `cv2`.

    Raises:
        MissingPackage: It is not installed.
    """
    try:
        import cv2
    except ImportError:
        raise MissingPackage("opencv-python-headless", "stereo vision", "perception") from None
    return cv2


GrayImage = NDArray[np.uint8]
DepthArray = NDArray[np.float32]
AnyImage = NDArray[np.generic]

CONVERSIONS = {order: f"COLOR_{order.upper()}2GRAY" for order in ("rgb", "bgr", "rgba", "bgra")}
GRAY_ENCODINGS = ("mono8", "8UC1", "mono16", "16UC1", "rgb8", "bgr8", "rgba8", "bgra8", "8UC3", "8UC4")
DEPTH_ENCODINGS = ("32FC1", "16UC1", "mono16")
MILLIMETRE = np.float32(1e-3)


class BadImage(InputError):
    """An image that cannot be used."""

    def __init__(self, name: str, problem: str, cure: str):
        super().__init__(f"{name} {problem}; {cure}")
        self.name, self.problem, self.cure = name, problem, cure


def as_gray(image: AnyImage, encoding: str = "", *, name: str = "the image") -> GrayImage:
    """Grey values of an image.

    Args:
        image: Shape (height, width) or (height, width, channels).
        encoding: As in `sensor_msgs/Image`; if not given, three channels are RGB and 16 bits are grey.

    Returns:
        0 to 255, shape (height, width), C-contiguous.
    """
    array = np.asarray(image)
    channels = _channels(array, name)
    _check_encoding(array, encoding, GRAY_ENCODINGS, name)
    if channels == 1:
        flat = array.reshape(array.shape[:2])
        if flat.dtype == np.uint16:
            return _stretched(flat.astype(np.uint16))
        return np.ascontiguousarray(flat, dtype=np.uint8)
    order = encoding.removesuffix("8") if encoding[:3] in ("rgb", "bgr") else "bgr" if encoding else "rgb"
    order = order[:3] + ("a" if channels == 4 else "")
    cv2 = opencv()
    gray: GrayImage = cv2.cvtColor(np.ascontiguousarray(array), getattr(cv2, CONVERSIONS[order]))
    return gray


def as_depth(image: AnyImage, encoding: str = "", *, name: str = "the depth image") -> DepthArray:
    """Depth in metres, invalid values as in REP 117.

    Args:
        image: 32FC1 in metres, or 16UC1 in millimetres where 0 is invalid, shape (height, width).
        encoding: As in `sensor_msgs/Image`; if not given, the dtype decides.

    Returns:
        [m]; NaN: not measured, −inf: too near, +inf: nothing there; shape (height, width).
    """
    array = np.asarray(image)
    if _channels(array, name) != 1:
        raise BadImage(name, f"has shape {array.shape}", "a depth image has one channel")
    array = array.reshape(array.shape[:2])
    if encoding and encoding not in DEPTH_ENCODINGS:
        raise BadImage(name, f"is encoded as {encoding!r}", f"use one of {', '.join(DEPTH_ENCODINGS)} (REP 118)")
    wanted = np.float32 if encoding == "32FC1" else np.uint16 if encoding else array.dtype
    if array.dtype == np.uint16 and wanted == np.uint16:
        depth = array.astype(np.float32) * MILLIMETRE
        depth[array == 0] = np.nan
        return depth
    if array.dtype.kind != "f" or wanted == np.uint16:
        cure = "give float32 metres or uint16 millimetres"
        raise BadImage(name, f"has dtype {array.dtype}{f' as {encoding}' if encoding else ''}", cure)
    metres: DepthArray = np.array(array, dtype=np.float32)
    with np.errstate(invalid="ignore"):
        metres[metres <= 0.0] = np.nan  # drivers write zero for invalid pixels, also in floats
    metres[np.isneginf(array.astype(np.float32))] = -np.inf
    return metres


def resized(image: GrayImage, width: int, height: int) -> GrayImage:
    """The image at a smaller size."""
    if image.shape == (height, width):
        return image
    cv2 = opencv()
    smaller: GrayImage = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    return smaller


def _channels(array: AnyImage, name: str) -> int:
    if array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (1, 3, 4)):
        if array.size == 0:
            raise BadImage(name, "is empty", "wait for a frame of the camera")
        return 1 if array.ndim == 2 else int(array.shape[2])
    raise BadImage(name, f"has shape {array.shape}", "give (height, width) or (height, width, 1, 3 or 4)")


def _check_encoding(array: AnyImage, encoding: str, known: tuple[str, ...], name: str) -> None:
    if array.dtype not in (np.uint8, np.uint16):
        raise BadImage(name, f"has dtype {array.dtype}", "give uint8, or uint16 grey values")
    channels = 1 if array.ndim == 2 else array.shape[2]
    if array.dtype == np.uint16 and channels != 1:
        raise BadImage(name, "has 16 bits per colour", "convert it to 8 bits")
    if not encoding:
        return
    if encoding not in known:
        raise BadImage(name, f"is encoded as {encoding!r}", f"use one of {', '.join(known)}")
    expected = {"m": 1, "r": 3, "b": 3}.get(encoding[0], int(encoding[-1]) if "UC" in encoding else 1)
    expected += encoding[:4] in ("rgba", "bgra")
    deep = "16" in encoding
    if channels != expected or (array.dtype == np.uint16) != deep:
        found = f"{channels} channels of {array.dtype}"
        raise BadImage(name, f"is declared as {encoding} but has {found}", "correct the encoding or the data")


def _stretched(image: NDArray[np.uint16]) -> GrayImage:
    """8 bits from 16: cameras of 10 or 12 bits use only the low bits, so the brightest pixel sets the shift."""
    top = int(image.max())
    shift = max(top.bit_length() - 8, 0)
    return np.ascontiguousarray(image >> shift, dtype=np.uint8)
