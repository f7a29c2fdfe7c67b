"""The planned path as markers, with stable ids."""

from __future__ import annotations

from builtin_interfaces.msg import Time
from visualization_msgs.msg import Marker, MarkerArray

from manipapy_core.typing import Array

from ..common.world_markers import marker_of, points_of

COLOUR = (0.1, 0.6, 1.0, 1.0)


def path_markers(tip_positions: Array, frame: str, stamp: Time) -> MarkerArray:
    """The path of the tip: a line and its ends.

    Args:
        tip_positions: [m], shape (points, 3).
    """
    line = marker_of(0, "planned_path", frame, stamp, Marker.LINE_STRIP, COLOUR)
    line.scale.x = 0.006
    line.points = points_of(tip_positions)
    ends = marker_of(1, "planned_path", frame, stamp, Marker.SPHERE_LIST, COLOUR)
    ends.scale.x = ends.scale.y = ends.scale.z = 0.02
    ends.points = points_of(tip_positions[[0, -1]])
    return MarkerArray(markers=[line, ends])
