"""The planned path and the planner's world as markers, with stable ids."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from manipapy_core.geometry import Box, ConvexMesh, Cylinder, Plane, PointCloud, Sphere, WorldSnapshot
from manipapy_core.geometry.distance import Shape
from manipapy_core.typing import Array

from ..common.conversions import pose_from_matrix
from .world_messages import PERCEIVED

PATH, PERCEIVED_COLOUR, KNOWN = (0.1, 0.6, 1.0, 1.0), (1.0, 0.45, 0.1, 0.6), (0.5, 0.55, 0.6, 0.6)
PLANE_SIDE = 6.0
"""How much of an infinite plane is drawn [m]."""


def path_markers(tip_positions: Array, frame: str, stamp: Time) -> MarkerArray:
    """The path of the tip: a line and its ends.

    Args:
        tip_positions: [m], shape (points, 3).
    """
    line = _marker(0, "planned_path", frame, stamp, Marker.LINE_STRIP, PATH)
    line.scale.x = 0.006
    line.points = [_point(row) for row in tip_positions.tolist()]
    ends = _marker(1, "planned_path", frame, stamp, Marker.SPHERE_LIST, PATH)
    ends.scale.x = ends.scale.y = ends.scale.z = 0.02
    ends.points = [_point(tip_positions[index].tolist()) for index in (0, -1)]
    return MarkerArray(markers=[line, ends])


def world_markers(world: WorldSnapshot, gone: Iterable[str], frame: str, stamp: Time) -> MarkerArray:
    """All objects of the planner's world.

    Args:
        gone: Names drawn before whose markers are deleted.
    """
    markers = []
    for name in gone:
        marker = _marker(_id(name), "world", frame, stamp, Marker.CUBE, KNOWN)
        marker.action = Marker.DELETE
        markers.append(marker)
    for item in world.objects.values():
        colour = PERCEIVED_COLOUR if item.name.startswith(PERCEIVED) else KNOWN
        markers.append(_drawn(item.name, item.shape, item.T_base_object, frame, stamp, colour))
    for held in world.attached.values():
        markers.append(_drawn(held.name, held.shape, held.T_link_object, held.link, stamp, KNOWN))
    return MarkerArray(markers=markers)


def _drawn(
    name: str, shape: Shape, T: Array, frame: str, stamp: Time, colour: tuple[float, float, float, float]
) -> Marker:
    marker = _marker(_id(name), "world", frame, stamp, Marker.CUBE, colour)
    marker.pose, marker.text = pose_from_matrix(T), name
    scale = (1.0, 1.0, 1.0)
    if isinstance(shape, Box):
        scale = tuple(shape.size.tolist())
    elif isinstance(shape, Sphere):
        marker.type, scale = Marker.SPHERE, (2.0 * shape.radius,) * 3
    elif isinstance(shape, Cylinder):
        marker.type, scale = Marker.CYLINDER, (2.0 * shape.radius, 2.0 * shape.radius, shape.length)
    elif isinstance(shape, ConvexMesh):
        marker.type = Marker.TRIANGLE_LIST
        marker.points = [_point(row) for row in shape.vertices[shape.triangles].reshape(-1, 3).tolist()]
    elif isinstance(shape, Plane):
        scale = (PLANE_SIDE, PLANE_SIDE, 0.001)
    elif isinstance(shape, PointCloud):
        marker.type, scale = Marker.CUBE_LIST, (shape.cell,) * 3
        marker.points = [_point(row) for row in shape.points.tolist()]
    else:
        # A capsule is drawn as the cylinder around it.
        radius, length = getattr(shape, "radius", 0.01), getattr(shape, "length", 0.0)
        marker.type, scale = Marker.CYLINDER, (2.0 * radius, 2.0 * radius, length + 2.0 * radius)
    marker.scale.x, marker.scale.y, marker.scale.z = scale
    return marker


def _marker(
    id_: int, namespace: str, frame: str, stamp: Time, kind: int, colour: tuple[float, float, float, float]
) -> Marker:
    marker = Marker(ns=namespace, id=id_, type=kind, action=Marker.ADD)
    marker.header.frame_id, marker.header.stamp = frame, stamp
    marker.pose.orientation.w = 1.0
    marker.color = ColorRGBA(r=colour[0], g=colour[1], b=colour[2], a=colour[3])
    return marker


def _id(name: str) -> int:
    """The same id for the same name."""
    return zlib.crc32(name.encode()) & 0x7FFFFFFF


def _point(row: list[float]) -> Point:
    return Point(x=row[0], y=row[1], z=row[2])
