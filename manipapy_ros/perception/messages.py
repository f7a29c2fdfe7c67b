"""Obstacle messages and markers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point32, Vector3
from manipapy_msgs.msg import Obstacle as ObstacleMessage
from manipapy_msgs.msg import ObstacleArray
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from manipapy_core import lie
from manipapy_core.errors import InputError
from manipapy_core.perception import Obstacle, SeenSurface
from manipapy_core.typing import Array

from ..common.conversions import pose_from_matrix

LIFETIME = 2
"""Lifetime of a marker [s]."""
DETECTED, UNDETECTED = (1.0, 0.35, 0.1), (0.6, 0.6, 0.65)


def obstacles_message(obstacles: Iterable[Obstacle], frame: str, stamp: Time) -> ObstacleArray:
    """Message with all obstacles."""
    message = ObstacleArray(obstacles=[_obstacle(obstacle) for obstacle in obstacles])
    message.header.frame_id, message.header.stamp = frame, stamp
    return message


def surfaces_message(surfaces: Iterable[SeenSurface], frame: str, stamp: Time) -> ObstacleArray:
    """Message with one entry per convex part of the tables, floors and walls; the label is the kind of surface."""
    message = ObstacleArray()
    for surface in surfaces:
        for part in surface.parts:
            lower, upper = part.vertices.min(axis=0), part.vertices.max(axis=0)
            entry = ObstacleMessage(
                id=len(message.obstacles),
                pose=pose_from_matrix(lie.pose(None, 0.5 * (lower + upper))),
                size=_vector(upper - lower),
                radius=0.5 * float(np.linalg.norm(upper - lower)),
                label=surface.label,
                hull=[Point32(x=x, y=y, z=z) for x, y, z in part.vertices.tolist()],
            )
            message.obstacles.append(entry)
    message.header.frame_id, message.header.stamp = frame, stamp
    return message


def obstacle_markers(
    obstacles: Iterable[Obstacle], gone: Iterable[int], tip: Array, frame: str, stamp: Time
) -> MarkerArray:
    """A box and a label per obstacle; the marker id is the obstacle id.

    Args:
        gone: Ids whose markers are deleted.
        tip: Position of the arm's tip [m], shape (3,); the label shows the distance to it.
    """
    markers = []
    for number in gone:
        markers += [_marker("boxes", number, frame, stamp), _marker("names", number, frame, stamp)]
        for marker in markers[-2:]:
            marker.action = Marker.DELETE
    for obstacle in obstacles:
        colour = DETECTED if obstacle.fresh else UNDETECTED
        box = _marker("boxes", obstacle.id, frame, stamp)
        box.type, box.pose = Marker.CUBE, pose_from_matrix(obstacle.cluster.T_base_box)
        box.scale = _vector(obstacle.box.size)
        box.color = ColorRGBA(r=colour[0], g=colour[1], b=colour[2], a=0.5)
        text = _marker("names", obstacle.id, frame, stamp)
        text.type = Marker.TEXT_VIEW_FACING
        text.text = f"{obstacle.label or obstacle.id} {obstacle.distance(tip):.2f} m"
        text.pose.position.x, text.pose.position.y, top = obstacle.centre.tolist()
        text.pose.position.z = top + 0.5 * float(obstacle.box.size[2]) + 0.04
        text.scale.z = 0.05
        text.color = ColorRGBA(r=1.0, g=1.0, b=1.0, a=1.0)
        markers += [box, text]
    return MarkerArray(markers=markers)


def _obstacle(obstacle: Obstacle) -> ObstacleMessage:
    message = ObstacleMessage(
        id=obstacle.id,
        pose=pose_from_matrix(obstacle.cluster.T_base_box),
        size=_vector(obstacle.size),
        padding=obstacle.padding,
        radius=obstacle.cluster.radius,
        velocity=_vector(obstacle.velocity),
        age=obstacle.age,
        unseen=obstacle.unseen,
        label=obstacle.label,
        score=obstacle.score,
    )
    try:
        message.hull = [Point32(x=x, y=y, z=z) for x, y, z in obstacle.hull.vertices.tolist()]
    except InputError:
        message.hull = []  # too thin for a hull; use the padded box
    return message


def _marker(namespace: str, number: int, frame: str, stamp: Time) -> Marker:
    marker = Marker(ns=namespace, id=number, lifetime=Duration(sec=LIFETIME))
    marker.header.frame_id, marker.header.stamp = frame, stamp
    marker.pose.orientation.w = 1.0
    return marker


def _vector(values: Array) -> Vector3:
    x, y, z = np.asarray(values, dtype=np.float64).tolist()
    return Vector3(x=x, y=y, z=z)
