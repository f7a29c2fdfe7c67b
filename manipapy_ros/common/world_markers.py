"""A collision world as markers, with stable ids."""

from __future__ import annotations

import weakref
import zlib
from collections.abc import Iterable

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from manipapy_core.geometry import Box, ConvexMesh, Cylinder, Octomap, Plane, PointCloud, Sphere, WorldSnapshot
from manipapy_core.geometry.distance import Shape
from manipapy_core.typing import Array

from .conversions import pose_from_matrix
from .object_messages import PERCEIVED, plane_pose

Colour = tuple[float, float, float, float]
PERCEIVED_COLOUR, KNOWN, CARRIED = (1.0, 0.45, 0.1, 0.6), (0.5, 0.55, 0.6, 0.6), (0.3, 0.7, 0.45, 0.8)
PLANE_SIDE = 6.0
"""How much of an infinite plane is drawn [m]."""
MOST_CUBES = 10_000
"""Of a point cloud or an octomap; of more cells only some are drawn."""


def world_markers(world: WorldSnapshot, gone: Iterable[str], frame: str, stamp: Time) -> MarkerArray:
    """All objects of a world; attached ones move with their links.

    Args:
        gone: Names drawn before whose markers are deleted.
    """
    markers = []
    for name in gone:
        marker = marker_of(_id(name), "world", frame, stamp, Marker.CUBE, KNOWN)
        marker.action = Marker.DELETE
        markers.append(marker)
    for item in world.objects.values():
        colour = PERCEIVED_COLOUR if item.name.startswith(PERCEIVED) else KNOWN
        markers.append(_drawn(item.name, item.shape, item.T_base_object, frame, stamp, colour))
    for held in world.attached.values():
        marker = _drawn(held.name, held.shape, held.T_link_object, held.link, stamp, CARRIED)
        marker.frame_locked = True
        markers.append(marker)
    return MarkerArray(markers=markers)


def marker_of(id_: int, namespace: str, frame: str, stamp: Time, kind: int, colour: Colour) -> Marker:
    """A marker to be added, without a size."""
    marker = Marker(ns=namespace, id=id_, type=kind, action=Marker.ADD)
    marker.header.frame_id, marker.header.stamp = frame, stamp
    marker.pose.orientation.w = 1.0
    marker.color = ColorRGBA(r=colour[0], g=colour[1], b=colour[2], a=colour[3])
    return marker


def points_of(rows: Array) -> list[Point]:
    """Points of rows x, y, z, shape (points, 3)."""
    return [Point(x=x, y=y, z=z) for x, y, z in rows.tolist()]


def _drawn(name: str, shape: Shape, T: Array, frame: str, stamp: Time, colour: Colour) -> Marker:
    marker = marker_of(_id(name), "world", frame, stamp, Marker.CUBE, colour)
    marker.text = name
    scale: tuple[float, ...] = (1.0, 1.0, 1.0)
    if isinstance(shape, Box):
        scale = tuple(shape.size.tolist())
    elif isinstance(shape, Sphere):
        marker.type, scale = Marker.SPHERE, (2.0 * shape.radius,) * 3
    elif isinstance(shape, Cylinder):
        marker.type, scale = Marker.CYLINDER, (2.0 * shape.radius, 2.0 * shape.radius, shape.length)
    elif isinstance(shape, ConvexMesh):
        marker.type = Marker.TRIANGLE_LIST
        marker.points = points_of(shape.vertices[shape.triangles].reshape(-1, 3))
    elif isinstance(shape, Plane):
        scale, T = (PLANE_SIDE, PLANE_SIDE, 0.001), T @ plane_pose(shape.normal, shape.offset)
    elif isinstance(shape, (PointCloud, Octomap)):
        marker.type, scale = Marker.CUBE_LIST, (shape.grid.cell,) * 3
        marker.points = _cubes(shape)
    else:
        # A capsule is drawn as the cylinder around it.
        radius, length = shape.radius, shape.length + 2.0 * shape.radius
        marker.type, scale = Marker.CYLINDER, (2.0 * radius, 2.0 * radius, length)
    marker.pose = pose_from_matrix(T)
    marker.scale.x, marker.scale.y, marker.scale.z = scale
    return marker


def _cubes(shape: PointCloud | Octomap) -> list[Point]:
    """Centres of occupied cells; kept as long as the shape exists."""
    found = _KEPT.get(shape)
    if found is None:
        grid = shape.grid
        cells = np.argwhere(grid.distances == 0.0)
        cells = cells[:: -(-len(cells) // MOST_CUBES)]
        found = _KEPT[shape] = points_of(grid.lower + (cells + 0.5) * grid.cell)
    return found


_KEPT: weakref.WeakKeyDictionary[PointCloud | Octomap, list[Point]] = weakref.WeakKeyDictionary()


def _id(name: str) -> int:
    """The same id for the same name."""
    return zlib.crc32(name.encode()) & 0x7FFFFFFF
