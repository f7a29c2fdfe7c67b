"""Reachability maps as coloured points, for RViz and whoever else wants to see them."""

from __future__ import annotations

import array
import sys

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from sensor_msgs.msg import PointCloud2, PointField

from manipapy_core.capability import Voxels

FIELDS = ("x", "y", "z", "rgb", "quality", "share")
"""All of 32 bits. RViz colours by rgb, or by quality or share if told to."""
COLOURS = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], dtype=np.float64)
"""From poor to good: dark blue over green to yellow, told apart by the colour-blind as well (viridis)."""


def map_message(places: Voxels, frame: str, stamp: Time) -> PointCloud2:
    """The places of a map as points, coloured by their quality relative to the best."""
    rows = np.zeros((len(places.points), len(FIELDS)), np.float32)
    rows[:, :3], rows[:, 4], rows[:, 5] = places.points, places.best, places.share
    rows[:, 3] = packed_colours(places.best / max(float(places.best.max(initial=0.0)), 1e-30))
    message = PointCloud2(height=1, width=len(rows), point_step=4 * len(FIELDS), is_dense=True)
    message.header.frame_id, message.header.stamp = frame, stamp
    message.row_step = message.point_step * message.width
    message.is_bigendian = sys.byteorder == "big"
    message.fields = [
        PointField(name=name, offset=4 * index, datatype=PointField.FLOAT32, count=1)
        for index, name in enumerate(FIELDS)
    ]
    message.data = array.array("B", rows.tobytes())
    return message


def packed_colours(shares: NDArray[np.floating]) -> NDArray[np.float32]:
    """Colours for numbers from 0 to 1, packed into floats as point clouds hold them: red, green, blue, 8 bits each."""
    steps = np.linspace(0.0, 1.0, len(COLOURS))
    red, green, blue = (np.interp(shares, steps, column).astype(np.uint32) for column in COLOURS.T)
    return (red << 16 | green << 8 | blue).astype(np.uint32).view(np.float32)
