"""Polytopes as messages and as markers.

Reachability maps as coloured points, for RViz and other viewers.
"""

from __future__ import annotations

import array
import sys
from collections.abc import Mapping, Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from manipapy_msgs.msg import Polytope as PolytopeMessage
from numpy.typing import NDArray
from sensor_msgs.msg import PointCloud2, PointField
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from manipapy_core.polytopes import Polytope
from manipapy_core.reachability import MapVoxels
from manipapy_core.typing import Array

STATUS = {-1: "empty", 0: "point", 1: "line", 2: "flat", 3: "solid"}
COLOURS = {
    "velocity": (0.2, 0.5, 1.0),
    "motion": (0.2, 0.8, 0.4),
    "force": (1.0, 0.4, 0.2),
    "acceleration": (0.7, 0.3, 0.9),
    "reach": (0.95, 0.75, 0.1),
}
CORNER = 0.012
"""Diameter of a corner [m]."""


def polytope_message(name: str, unit: str, constrained: bool, polytope: Polytope) -> PolytopeMessage:
    """Corners, triangles and half-spaces."""
    message = PolytopeMessage(
        name=name,
        unit=unit,
        constrained=constrained,
        status=STATUS[polytope.dimension],
        volume=float(polytope.measure),
        margin=float(polytope.margin(np.zeros(polytope.d))) if not polytope.is_empty else 0.0,
    )
    message.vertices = [_point(row) for row in polytope.vertices.tolist()]
    message.triangles = polytope.triangles.ravel().astype(np.uint32).tolist()
    message.half_spaces_a = polytope.normals.ravel().tolist()
    message.half_spaces_b = polytope.offsets.tolist()
    return message


def polytope_markers(
    polytopes: Mapping[str, Polytope], scales: Mapping[str, float], tip: Array, frame: str, stamp: Time
) -> MarkerArray:
    """Faces and corners around the tip, one namespace per polytope; an empty one disappears.

    Args:
        scales: Metres per unit, by name.
        tip: [m], shape (3,).
    """
    markers = []
    for name, polytope in polytopes.items():
        corners = tip + scales[name] * polytope.vertices
        faces = corners[polytope.triangles].reshape(-1, 3) if len(polytope.triangles) else np.zeros((0, 3))
        r, g, b = COLOURS[name]
        for number, (kind, points, alpha, size) in enumerate(
            ((Marker.TRIANGLE_LIST, faces, 0.35, 1.0), (Marker.SPHERE_LIST, corners, 0.9, CORNER))
        ):
            marker = Marker(ns=name, id=number, type=kind)
            marker.header.frame_id, marker.header.stamp = frame, stamp
            marker.action = Marker.ADD if len(points) else Marker.DELETE
            marker.pose.orientation.w = 1.0
            marker.scale.x = marker.scale.y = marker.scale.z = size
            marker.color = ColorRGBA(r=r, g=g, b=b, a=alpha)
            marker.points = [_point(row) for row in points.tolist()]
            markers.append(marker)
    return MarkerArray(markers=markers)


def _point(row: Sequence[float]) -> Point:
    return Point(x=row[0], y=row[1], z=row[2])


FIELDS = ("x", "y", "z", "rgb", "quality", "share")
"""All of 32 bits. RViz colours by rgb, or by quality or share if told to."""
MAP_COLOURS = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], dtype=np.float64)
"""From poor to good: dark blue over green to yellow, also distinct for the colour-blind (viridis)."""


def map_message(places: MapVoxels, frame: str, stamp: Time) -> PointCloud2:
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
    steps = np.linspace(0.0, 1.0, len(MAP_COLOURS))
    red, green, blue = (np.interp(shares, steps, column).astype(np.uint32) for column in MAP_COLOURS.T)
    return (red << 16 | green << 8 | blue).astype(np.uint32).view(np.float32)
