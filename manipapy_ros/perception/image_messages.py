"""Conversion of image, calibration, disparity and point cloud messages to arrays and back."""

from __future__ import annotations

import array
import sys

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2, PointField
from stereo_msgs.msg import DisparityImage

from manipapy_core.perception import BadImage, Camera, Disparity, Points

from .compressed import decompressed

CHANNELS = {"mono8": (np.uint8, 1), "mono16": (np.uint16, 1), "16UC1": (np.uint16, 1), "32FC1": (np.float32, 1),
            "8UC1": (np.uint8, 1), "rgb8": (np.uint8, 3), "bgr8": (np.uint8, 3), "8UC3": (np.uint8, 3),
            "rgba8": (np.uint8, 4), "bgra8": (np.uint8, 4)}  # fmt: skip
"""Dtype and channels of the encodings of sensor_msgs."""


def pixels_of(message: Image) -> NDArray[np.generic]:
    """Pixels without a copy, shape (height, width) or (height, width, channels).

    Raises:
        BadImage: Unknown encoding, or less data than the size requires.
    """
    if message.encoding not in CHANNELS:
        cure = f"use one of {', '.join(CHANNELS)}"
        raise BadImage(f"an image of {message.header.frame_id!r}", f"has encoding {message.encoding!r}", cure)
    kind, channels = CHANNELS[message.encoding]
    dtype = np.dtype(kind).newbyteorder(">" if message.is_bigendian else "<")
    row = message.width * channels * dtype.itemsize
    if message.step < row or len(message.data) < message.step * message.height or not row:
        sizes = f"{message.width} × {message.height} pixels, rows of {message.step} bytes, {len(message.data)} bytes"
        raise BadImage(f"an image of {message.header.frame_id!r}", f"has {sizes}", "the size does not match the data")
    rows = np.frombuffer(message.data, np.uint8)[: message.step * message.height].reshape(message.height, message.step)
    pixels = np.ascontiguousarray(rows[:, :row]).view(dtype)
    return pixels if channels == 1 else pixels.reshape(message.height, message.width, channels)


def image_of(message: Image | CompressedImage) -> tuple[NDArray[np.generic], str]:
    """Pixels and encoding of a message, compressed or not.

    Raises:
        BadImage: Unknown encoding or compression, or data that does not match.
    """
    if isinstance(message, CompressedImage):
        return decompressed(message)
    return pixels_of(message), message.encoding


def camera_of(message: CameraInfo) -> Camera:
    """The camera of a `CameraInfo`.

    Raises:
        BadCamera: Invalid calibration.
    """
    return Camera.from_info(
        message.width, message.height, message.k, message.d, message.r, message.p, message.distortion_model
    )


def points_message(points: Points, frame: str, stamp: Time) -> PointCloud2:
    """`PointCloud2` with fields x, y, z; organised if the points are, NaN: not measured."""
    xyz = np.ascontiguousarray(points.xyz, dtype=np.float32)
    height, width = xyz.shape[:2] if xyz.ndim == 3 else (1, len(xyz))
    message = PointCloud2(height=height, width=width, point_step=12, row_step=12 * width, is_dense=False)
    message.fields = [
        PointField(name=name, offset=4 * index, datatype=PointField.FLOAT32, count=1)
        for index, name in enumerate("xyz")
    ]
    message.is_bigendian = sys.byteorder == "big"
    message.data = _bytes(xyz)
    message.header.frame_id, message.header.stamp = frame, stamp
    return message


def disparity_message(disparity: Disparity, frame: str, stamp: Time) -> DisparityImage:
    """`DisparityImage` as stereo_image_proc publishes it; −1: no match."""
    full = disparity.full_size()
    values = np.where(np.isfinite(full), full, np.float32(-1.0)).astype(np.float32)
    stereo = disparity.stereo
    message = DisparityImage(f=float(stereo.left.projection[0, 0]), t=stereo.baseline, delta_d=1.0 / 16.0)
    image = message.image
    image.height, image.width = values.shape
    image.encoding, image.step, image.data = "32FC1", 4 * image.width, _bytes(values)
    message.min_disparity, message.max_disparity = float(disparity.lowest), float(disparity.highest)
    message.header.frame_id, message.header.stamp = frame, stamp
    image.header = message.header
    return message


def _bytes(values: NDArray[np.float32]) -> array.array[int]:
    # Other ways to fill a message take milliseconds.
    data = array.array("B")
    data.frombytes(np.ascontiguousarray(values).data.cast("B"))
    return data
