"""Point cloud messages as arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import PointCloud2, PointField

from manipapy_core.errors import InputError


def points_of(message: PointCloud2) -> NDArray[np.float32]:
    """x, y, z [m], shape (height, width, 3) if organised, else (points, 3).

    Raises:
        InputError: No float32 fields x, y and z.
    """
    offsets = {field.name: field.offset for field in message.fields if field.datatype == PointField.FLOAT32}
    if not {"x", "y", "z"} <= offsets.keys():
        raise InputError(f"the point cloud has float32 fields {sorted(offsets)}; x, y and z are required")
    order = ">f4" if message.is_bigendian else "<f4"
    layout = np.dtype(
        {"names": ["x", "y", "z"], "formats": [order] * 3, "offsets": [offsets[name] for name in "xyz"],
         "itemsize": message.point_step}
    )  # fmt: skip
    count = message.width * message.height
    if len(message.data) < count * message.point_step:
        raise InputError(
            f"{count} points of {message.point_step} bytes are more than the {len(message.data)} bytes of data"
        )
    structured = np.frombuffer(message.data, layout, count)
    xyz = np.stack([structured[name] for name in "xyz"], axis=-1).astype(np.float32)
    return xyz.reshape(message.height, message.width, 3) if message.height > 1 else xyz
