"""Markers as nodes of a viser scene, with the namespaces and ids of RViz."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from visualization_msgs.msg import Marker, MarkerArray

from manipapy_core.typing import Array

from ..common.conversions import to_seconds

POINT_LISTS = (Marker.POINTS, Marker.CUBE_LIST, Marker.SPHERE_LIST)
LINES = (Marker.LINE_STRIP, Marker.LINE_LIST)


class MarkerScene:
    """Draws marker arrays below the frames of an arm's links.

    Args:
        scene: Of viser.
        frames: Names of the scene's nodes by frame; markers in other frames are not drawn.
        warn: Called once for each frame and each type of marker that cannot be drawn.
    """

    def __init__(self, scene: Any, frames: dict[str, str], warn: Callable[[str], None]):
        self._scene, self._frames, self._warn = scene, frames, warn
        self._drawn: dict[tuple[str, str, int], Any] = {}
        self._until: dict[tuple[str, str, int], float] = {}
        self._warned: set[str] = set()
        self._changing = threading.Lock()

    def take(self, topic: str, markers: MarkerArray) -> None:
        """Draw, change and remove the markers of an array of a topic."""
        with self._changing:
            for marker in markers.markers:
                self._take(topic, marker)

    def remove_expired(self) -> None:
        """Remove markers whose lifetime has passed."""
        now = time.monotonic()
        with self._changing:
            for key in [key for key, until in self._until.items() if until < now]:
                self._remove(key)

    def _take(self, topic: str, marker: Marker) -> None:
        key = (topic, marker.ns, marker.id)
        if marker.action == Marker.DELETEALL:
            for drawn in [drawn for drawn in self._drawn if drawn[0] == topic]:
                self._remove(drawn)
        elif marker.action == Marker.DELETE:
            self._remove(key)
        else:
            self._draw(key, marker)

    def _remove(self, key: tuple[str, str, int]) -> None:
        drawn = self._drawn.pop(key, None)
        self._until.pop(key, None)
        if drawn is not None:
            drawn.remove()

    def _draw(self, key: tuple[str, str, int], marker: Marker) -> None:
        parent = self._frames.get(marker.header.frame_id)
        if parent is None:
            self._warn_once(
                f"markers of {key[0]} are in the frame {marker.header.frame_id!r}, which is not a link of this arm"
            )
            return
        topic, namespace, number = key
        name = f"{parent}/{topic.strip('/').replace('/', '_')}/{namespace}_{number}"
        # A node of the same name replaces the old one.
        drawn = _node(self._scene, name, marker)
        if drawn is None:
            self._warn_once(f"markers of type {marker.type} of {key[0]} cannot be drawn")
            return
        self._drawn[key] = drawn
        lifetime = to_seconds(marker.lifetime)
        if lifetime > 0.0:
            self._until[key] = time.monotonic() + lifetime
        else:
            self._until.pop(key, None)

    def _warn_once(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._warn(text)


def _node(scene: Any, name: str, marker: Marker) -> Any:
    """A new node; None for types that viser does not have."""
    pose, scale, colour = marker.pose, marker.scale, marker.color
    place: dict[str, Any] = {
        "position": (pose.position.x, pose.position.y, pose.position.z),
        "wxyz": (pose.orientation.w, pose.orientation.x, pose.orientation.y, pose.orientation.z),
    }
    rgb = (colour.r, colour.g, colour.b)
    look: dict[str, Any] = {**place, "color": rgb, "opacity": colour.a if colour.a < 1.0 else None}
    if marker.type == Marker.CUBE:
        return scene.add_box(name, dimensions=(scale.x, scale.y, scale.z), **look)
    if marker.type == Marker.SPHERE:
        return scene.add_icosphere(name, radius=0.5, scale=(scale.x, scale.y, scale.z), **look)
    if marker.type == Marker.CYLINDER:
        return scene.add_cylinder(name, radius=0.5, height=1.0, scale=(scale.x, scale.y, scale.z), **look)
    if marker.type == Marker.TEXT_VIEW_FACING:
        return scene.add_label(name, marker.text, **place)
    points = _points(marker)
    if marker.type == Marker.TRIANGLE_LIST:
        faces = np.arange(len(points)).reshape(-1, 3)
        return scene.add_mesh_simple(name, points, faces, side="double", flat_shading=True, **look)
    if marker.type in POINT_LISTS:
        return scene.add_point_cloud(name, points, rgb, point_size=scale.x, point_shape="circle", **place)
    if marker.type in LINES:
        strip = marker.type == Marker.LINE_STRIP
        pairs = np.stack([points[:-1], points[1:]], axis=1) if strip else points.reshape(-1, 2, 3)
        return scene.add_line_segments(name, pairs, rgb, thickness=scale.x, **place)
    return None


def _points(marker: Marker) -> Array:
    """[m], shape (points, 3)."""
    return np.array([(point.x, point.y, point.z) for point in marker.points], dtype=np.float64).reshape(-1, 3)
