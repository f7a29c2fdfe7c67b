"""Images compressed by image_transport: `compressed` (JPEG, PNG) and `compressedDepth` (PNG)."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import CompressedImage

from manipapy_core.perception import BadImage
from manipapy_core.perception.stereo.images import opencv

DEPTH_HEADER = struct.Struct("<iff")
"""Of compressedDepth before the PNG: format, and the two parameters of the quantisation of 32FC1."""


def decompressed(message: CompressedImage) -> tuple[NDArray[np.generic], str]:
    """Pixels and encoding, as in an `Image`; colours are BGR, as OpenCV decodes them.

    Raises:
        BadImage: The data is not of the format that the message names, or the format is not read.
    """
    name = f"a compressed image of {message.header.frame_id!r}"
    encoding, _, how = (part.strip() for part in message.format.partition(";"))
    data = np.frombuffer(message.data, np.uint8)
    if "compressedDepth" in how:
        return _depth(data, encoding, how, name)
    pixels = _decoded(data, name)
    if pixels.ndim == 2:
        return pixels, "mono16" if pixels.dtype == np.uint16 else "mono8"
    if pixels.dtype != np.uint8:
        raise BadImage(name, "has 16 bits per colour", "publish 8 bits")
    return pixels, "bgra8" if pixels.shape[2] == 4 else "bgr8"


def _depth(data: NDArray[np.uint8], encoding: str, how: str, name: str) -> tuple[NDArray[np.generic], str]:
    if "rvl" in how.lower():
        raise BadImage(name, "is compressed by RVL", "set the publisher's parameter for compressedDepth format to png")
    if len(data) <= DEPTH_HEADER.size:
        raise BadImage(name, f"has {len(data)} bytes", "the message is cut off")
    _, scale, offset = DEPTH_HEADER.unpack(data[: DEPTH_HEADER.size].tobytes())
    values = _decoded(data[DEPTH_HEADER.size :], name)
    if values.ndim != 2 or values.dtype != np.uint16:
        raise BadImage(name, f"has shape {values.shape} of {values.dtype}", "compressedDepth holds 16 bits")
    if encoding in ("16UC1", "mono16"):
        return values, "16UC1"
    if encoding != "32FC1":
        raise BadImage(name, f"has encoding {encoding!r}", "16UC1 and 32FC1 are read")
    # The inverse of the depth is quantised: v = scale / depth + offset, 0 where nothing was measured.
    with np.errstate(divide="ignore", invalid="ignore"):
        metres = np.where(values == 0, np.nan, scale / (values.astype(np.float64) - offset))
    return metres.astype(np.float32), "32FC1"


def _decoded(data: NDArray[np.uint8], name: str) -> NDArray[np.generic]:
    cv2 = opencv()
    pixels: NDArray[np.generic] | None = cv2.imdecode(data, cv2.IMREAD_UNCHANGED) if len(data) else None
    if pixels is None:
        raise BadImage(name, "cannot be decoded", "use the transports compressed (JPEG, PNG) or compressedDepth (PNG)")
    return pixels
