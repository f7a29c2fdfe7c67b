"""Topics that the web page draws as layers: markers, camera image, point cloud, reachability map.

Everything is polled by one thread. Images and point clouds are large, so they are subscribed to only while their layer
is shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Image, PointCloud2
from visualization_msgs.msg import Marker, MarkerArray

from manipapy_core.draw import ArmView, Layer, MapSlice, thinned
from manipapy_core.draw.recording_view import MARKER_LAYERS
from manipapy_core.errors import InputError

from ..common import qos
from ..common.conversions import to_nanoseconds
from ..common.point_clouds import points_of
from ..common.tf_buffer import NoTransform, TfBuffer
from ..perception.image_messages import pixels_of
from ..realtime.polled_topics import PolledSubscription

MARKERS = {
    "sim_bridge/ground_truth": qos.NEWEST,
    "planner/display_path": qos.LATCHED,
    "perception/obstacle_markers": qos.STATE,
    "capability/polytope_markers": qos.STATE,
}
"""Topics of `MARKER_LAYERS` that are subscribed to; the world of the planner is followed by itself."""
IMAGE_PERIOD, POINTS_PERIOD = 0.2, 0.5
"""Least time between two images and two point clouds on the page [s]."""
CLOUD_COLOUR = (60, 160, 90)
IMAGE_WIDTH = 320
"""Wider images are made smaller [pixels]."""
Message = TypeVar("Message")


class _Large(Generic[Message]):
    """A topic that is subscribed to while its layer is shown."""

    def __init__(self, node: Node, kind: type[Message], topic: str, layer: Layer, period: float):
        self._node, self._kind, self._topic, self._layer, self._period = node, kind, topic, layer, period
        self._subscription: PolledSubscription[Message] | None = None
        self._last = -float("inf")

    def newest(self) -> Message | None:
        """The newest message, if it is time for one."""
        if not self._layer.visible:
            self.destroy()
            return None
        if self._subscription is None:
            self._subscription = PolledSubscription(self._node, self._kind, self._topic, qos.NEWEST)
        if time.monotonic() - self._last < self._period:
            return None
        message = self._subscription.newest()
        if message is not None:
            self._last = time.monotonic()
        return message

    def destroy(self) -> None:
        if self._subscription is not None:
            self._subscription.destroy()
            self._subscription = None


class TopicLayers:
    """Keeps the layers of a page up to date; used by one thread.

    Args:
        node: Owner of the subscriptions.
        view: The page.
        base: Link of the scene's root.
        image_topic: Of the camera.
        points_topic: Of the point cloud.
    """

    def __init__(self, node: Node, view: ArmView, base: str, image_topic: str, points_topic: str):
        self._view, self._base = view, base
        self.transforms = TfBuffer(node)
        self._markers: list[tuple[PolledSubscription[MarkerArray], Layer]] = []
        for topic, profile in MARKERS.items():
            name, visible, hint = MARKER_LAYERS[topic]
            layer = view.layers.add(name, visible=visible, hint=hint)
            self._markers.append((_polled(node, MarkerArray, topic, profile), layer))
        camera = view.layers.add("Camera image", visible=False, hint=image_topic)
        camera.include(view.image)
        self._cloud_layer = view.layers.add("Point cloud", visible=False, hint=points_topic)
        self._images = _Large(node, Image, image_topic, camera, IMAGE_PERIOD)
        self._clouds = _Large(node, PointCloud2, points_topic, self._cloud_layer, POINTS_PERIOD)
        self._maps: PolledSubscription[PointCloud2] = _polled(node, PointCloud2, "capability/map", qos.LATCHED)
        self._slice: MapSlice | None = None
        self.scene_names = frozenset[str]()
        """Objects of the simulated scene."""
        self._has_scene = False
        self._problems: set[str] = set()
        self._warn = node.get_logger().warning

    def update(self) -> None:
        """Draw what has arrived."""
        for subscription, layer in self._markers:
            for message in subscription.all_new():
                self._place_frames(message)
                self._view.markers.take(subscription.topic, message.markers, layer)
                if layer.name == "Scene":
                    self.scene_names = frozenset(marker.ns for marker in message.markers if marker.action == Marker.ADD)
                    if message.markers and not self._has_scene:
                        self._has_scene, self._view.layers["Grid"].visible = True, False
        self._view.markers.remove_expired()
        image, cloud, reach = self._images.newest(), self._clouds.newest(), self._maps.newest()
        if image is not None:
            self._try(lambda: self._view.show_image(as_rgb(pixels_of(image), image.encoding)))
        if cloud is not None:
            self._try(lambda: self._draw_cloud(cloud))
        if reach is not None:
            self._draw_map(reach)

    def destroy(self) -> None:
        """Unsubscribe."""
        for subscription, _ in self._markers:
            subscription.destroy()
        for part in (self._images, self._clouds, self._maps, self.transforms):
            part.destroy()

    def _place_frames(self, message: MarkerArray) -> None:
        for frame in {marker.header.frame_id for marker in message.markers}:
            if self._view.node_of(frame) is None:
                try:
                    # Static frames, such as the simulated world, have the same pose at every time.
                    T = self.transforms.pose(self._base, frame, to_nanoseconds(message.markers[0].header.stamp))
                except NoTransform:
                    continue  # the markers say that the frame is not known
                self._view.place_frame(frame, T)

    def _draw_cloud(self, message: PointCloud2) -> None:
        T = self.transforms.pose(self._base, message.header.frame_id, to_nanoseconds(message.header.stamp))
        points = thinned(points_of(message))
        placed = points @ T[:3, :3].T.astype(np.float32) + T[:3, 3].astype(np.float32)
        name = f"{self._cloud_layer.below('')}/points"
        self._view.server.scene.add_point_cloud(name, placed, CLOUD_COLOUR, point_size=0.006, point_shape="circle")

    def _draw_map(self, message: PointCloud2) -> None:
        if self._slice is None:
            self._slice = self._view.add_map()
        points = points_of(message).reshape(-1, 3).astype(np.float64)
        offset = next(field.offset for field in message.fields if field.name == "quality")
        rows = np.frombuffer(message.data, np.uint8).reshape(-1, message.point_step)
        quality = np.ascontiguousarray(rows[:, offset : offset + 4]).view(np.float32)[:, 0]
        heights = np.unique(np.round(points[:, 2], 4))
        self._slice.show(points, quality, float(np.diff(heights).min()) if len(heights) > 1 else 0.1)

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except InputError as error:
            kind = type(error).__name__
            if kind not in self._problems:
                self._problems.add(kind)
                self._warn(str(error))


def as_rgb(pixels: NDArray[Any], encoding: str) -> NDArray[np.uint8]:
    """An image for people: three colours of 8 bits, at most `IMAGE_WIDTH` wide; depth is scaled to its range."""
    step = max(1, pixels.shape[1] // IMAGE_WIDTH)
    small = pixels[::step, ::step]
    if small.dtype != np.uint8:
        values = np.nan_to_num(small.astype(np.float32), posinf=0.0)
        small = (255.0 * values / max(float(values.max(initial=0.0)), 1e-9)).astype(np.uint8)
    if small.ndim == 2:
        return np.repeat(small[..., None], 3, axis=2)
    return np.ascontiguousarray(small[..., 2::-1] if encoding.startswith("bgr") else small[..., :3])


def _polled(node: Node, kind: type[Message], topic: str, profile: QoSProfile) -> PolledSubscription[Message]:
    return PolledSubscription(node, kind, topic, profile)
