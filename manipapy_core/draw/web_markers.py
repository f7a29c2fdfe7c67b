"""Markers as nodes of a viser scene, with the namespaces and ids of RViz.

A marker is any object with the fields of `visualization_msgs/msg/Marker`: a message of ROS, or one decoded from a
recording. A marker that was drawn before is moved, and drawn again only if more than its pose has changed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..typing import Array
from .web_layers import Layer

CUBE, SPHERE, CYLINDER, LINE_STRIP, LINE_LIST = 1, 2, 3, 4, 5
CUBE_LIST, SPHERE_LIST, POINTS, TEXT, TRIANGLES = 6, 7, 8, 9, 11
"""Types of markers, as in their message."""
DELETE, DELETE_ALL = 2, 3
"""Actions, as in their message."""
Key = tuple[str, str, int]


class MarkerScene:
    """Draws markers below the frames of a scene.

    Args:
        scene: Of viser.
        node_of: Name of the scene's node of a frame; None for frames that are not known, whose markers are not drawn.
        warn: Called once for each frame and each type of marker that cannot be drawn.
    """

    def __init__(self, scene: Any, node_of: Callable[[str], str | None], warn: Callable[[str], None]):
        self._scene, self._node_of, self._warn = scene, node_of, warn
        self._drawn: dict[Key, Any] = {}
        self._looks: dict[Key, tuple[Any, ...]] = {}
        self._until: dict[Key, float] = {}
        self._warned: set[str] = set()
        self._changing = threading.Lock()

    def take(self, topic: str, markers: Iterable[Any], layer: Layer, *, grown_by: float = 0.0) -> None:
        """Draw, change and remove the markers of a topic.

        Args:
            topic: Markers of other topics with the same names are kept apart.
            layer: Where they are drawn.
            grown_by: Added to the size of boxes, spheres and cylinders [m]: objects drawn twice do not flicker.
        """
        with self._changing:
            for marker in markers:
                key = (topic, marker.ns, marker.id)
                if marker.action == DELETE_ALL:
                    for drawn in [drawn for drawn in self._drawn if drawn[0] == topic]:
                        self._remove(drawn)
                elif marker.action == DELETE:
                    self._remove(key)
                else:
                    self._draw(key, marker, layer, grown_by)

    def remove_expired(self) -> None:
        """Remove markers whose lifetime has passed."""
        now = time.monotonic()
        with self._changing:
            for key in [key for key, until in self._until.items() if until < now]:
                self._remove(key)

    def clear(self, topic: str) -> None:
        """Remove all markers of a topic."""
        with self._changing:
            for key in [key for key in self._drawn if key[0] == topic]:
                self._remove(key)

    def _remove(self, key: Key) -> None:
        drawn = self._drawn.pop(key, None)
        self._looks.pop(key, None)
        self._until.pop(key, None)
        if drawn is not None:
            drawn.remove()

    def _draw(self, key: Key, marker: Any, layer: Layer, grown_by: float) -> None:
        frame = marker.header.frame_id
        parent = self._node_of(frame)
        if parent is None:
            self._warn_once(f"markers of {key[0]} are in the frame {frame!r}, whose pose is not known")
            return
        look, drawn = _look(marker), self._drawn.get(key)
        if drawn is not None and self._looks[key] == look:
            pose = _place(marker)
            drawn.position, drawn.wxyz = pose["position"], pose["wxyz"]
        else:
            topic, namespace, number = key
            name = f"{layer.below(parent)}/{topic.strip('/').replace('/', '_')}_{namespace}_{number}"
            # A node of the same name replaces the old one.
            drawn = _node(self._scene, name, marker, grown_by)
            if drawn is None:
                self._warn_once(f"markers of type {marker.type} of {key[0]} cannot be drawn")
                return
            self._drawn[key], self._looks[key] = drawn, look
        lifetime = marker.lifetime.sec + 1e-9 * marker.lifetime.nanosec
        if lifetime > 0.0:
            self._until[key] = time.monotonic() + lifetime
        else:
            self._until.pop(key, None)

    def _warn_once(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._warn(text)


def _look(marker: Any) -> tuple[Any, ...]:
    """All that a drawn marker depends on besides its pose."""
    scale, colour = marker.scale, marker.color
    numbers = (scale.x, scale.y, scale.z, colour.r, colour.g, colour.b, colour.a)
    return marker.header.frame_id, marker.type, numbers, marker.text, _points(marker).tobytes()


def _place(marker: Any) -> dict[str, Any]:
    p, o = marker.pose.position, marker.pose.orientation
    turned = any((o.x, o.y, o.z, o.w))  # all zero: no rotation
    return {"position": (p.x, p.y, p.z), "wxyz": (o.w, o.x, o.y, o.z) if turned else (1.0, 0.0, 0.0, 0.0)}


def _node(scene: Any, name: str, marker: Any, grown_by: float) -> Any:
    """A new node; None for types that viser does not have."""
    colour, place = marker.color, _place(marker)
    x, y, z = (size + grown_by for size in (marker.scale.x, marker.scale.y, marker.scale.z))
    rgb = (colour.r, colour.g, colour.b)
    look: dict[str, Any] = {**place, "color": rgb, "opacity": colour.a if colour.a < 1.0 else None}
    if marker.type == CUBE:
        return scene.add_box(name, dimensions=(x, y, z), **look)
    if marker.type == SPHERE:
        return scene.add_icosphere(name, radius=0.5, scale=(x, y, z), **look)
    if marker.type == CYLINDER:
        return scene.add_cylinder(name, radius=0.5, height=1.0, scale=(x, y, z), **look)
    if marker.type == TEXT:
        return scene.add_label(name, marker.text, **place)
    points = _points(marker)
    if marker.type == TRIANGLES:
        faces = np.arange(len(points)).reshape(-1, 3)
        scaled = points * [marker.scale.x or 1.0, marker.scale.y or 1.0, marker.scale.z or 1.0]
        return scene.add_mesh_simple(name, scaled, faces, side="double", flat_shading=True, **look)
    if marker.type in (POINTS, CUBE_LIST, SPHERE_LIST):
        shape = "square" if marker.type == CUBE_LIST else "circle"
        return scene.add_point_cloud(name, points, rgb, point_size=marker.scale.x, point_shape=shape, **place)
    if marker.type in (LINE_STRIP, LINE_LIST):
        strip = marker.type == LINE_STRIP
        pairs = np.stack([points[:-1], points[1:]], axis=1) if strip else points.reshape(-1, 2, 3)
        return scene.add_line_segments(name, pairs, rgb, thickness=marker.scale.x, **place)
    return None


def _points(marker: Any) -> Array:
    """[m], shape (points, 3)."""
    return np.array([(point.x, point.y, point.z) for point in marker.points], dtype=np.float64).reshape(-1, 3)
