"""Topics that edit the planner's world.

| topic | type | effect |
|---|---|---|
| `obstacles` | manipapy_msgs/ObstacleArray | replaces the perceived obstacles |
| `surfaces` | manipapy_msgs/ObstacleArray | replaces the perceived tables, floors and walls |
| `~/edit_world` | manipapy_msgs/WorldEdit | any edit of `~/change_world` |
| `~/point_cloud` | sensor_msgs/PointCloud2 | replaces the object `point_cloud` |
| `octomap_binary` | octomap_msgs/Octomap, binary or full | replaces the object `octomap` |
| `unknown_space` | octomap_msgs/Octomap, binary | replaces the object `unknown_space`, by the parameters of that name |
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from manipapy_msgs.msg import ObstacleArray, WorldEdit
from octomap_msgs.msg import Octomap
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import QoSProfile
from sensor_msgs.msg import PointCloud2

from manipapy_core.errors import InputError, ManipapyError
from manipapy_core.geometry import RobotBody
from manipapy_core.perception import SelfFilter, UnknownSpace
from manipapy_core.typing import Array

from ..common import qos
from ..common.bounds import check_size
from ..common.conversions import to_nanoseconds
from ..common.node import ManagedNode
from ..common.object_messages import stream_bytes
from ..common.params import Param, Values
from ..common.point_clouds import points_of
from ..common.tf_buffer import TfBuffer
from .world import OCTOMAP, PlannerWorld

INPUT_PARAMETERS = (
    Param("point_cloud.cell", 0.02, "Edge of the cells that points on `~/point_cloud` are merged in [m]", minimum=0.005,
          maximum=0.5, live=True),
    Param("unknown_space.policy", UnknownSpace.AUTO.value, "Unknown space of perception is blocked, free, or auto: "
          "free up to a distance from the arm", live=True),
    Param("unknown_space.distance", 0.3, "Unknown space this near to the arm as it stands is free with the policy auto "
          "[m]", minimum=0.0, maximum=10.0, live=True),
    Param("surfaces.use", True, "Perceived tables, floors and walls are objects of the world", live=True),
)  # fmt: skip
EDITS = QoSProfile(depth=100)
"""Reliable: every edit counts."""
WARN_EVERY = 5.0
"""[s]"""


def unknown_policy(values: Values) -> UnknownSpace:
    """The policy of the parameters.

    Raises:
        InputError: There is no such policy.
    """
    given, known = str(values["unknown_space.policy"]), [entry.value for entry in UnknownSpace]
    if given not in known:
        raise InputError(f"unknown_space.policy is {given!r}; choose one of {', '.join(known)}")
    return UnknownSpace(given)


class WorldInputs:
    """Subscriptions of the planner that edit its world, while the node is active.

    Args:
        node: The planner.
        world: Its world.
        announce: Called after every edit.
        body: Of the robot: unknown space where the arm is, is free.
        positions: Joint positions of the arm now [rad or m], shape (n,).
    """

    def __init__(
        self,
        node: ManagedNode,
        world: PlannerWorld,
        announce: Callable[[], None],
        body: RobotBody,
        positions: Callable[[], Array],
    ):
        self._node, self._world, self._announce = node, world, announce
        self._arm, self._positions = SelfFilter(body), positions
        self._unknown: tuple[object, ...] | None = None
        self._frames, self._lock = TfBuffer(node), threading.Lock()
        self._octomap: tuple[bytes, bytes] | None = None
        # A latched map reaches a late subscriber only if that is latched too, and others only if it is not.
        self._subscriptions = [
            self._subscribe(ObstacleArray, "obstacles", self._on_obstacles, qos.NEWEST),
            self._subscribe(ObstacleArray, "surfaces", self._on_surfaces, qos.NEWEST),
            self._subscribe(Octomap, "unknown_space", self._on_unknown, qos.LATCHED),
            self._subscribe(WorldEdit, "~/edit_world", self._on_edit, EDITS),
            self._subscribe(PointCloud2, "~/point_cloud", self._on_points, qos.COMMAND),
            self._subscribe(Octomap, "octomap_binary", self._on_octomap, qos.COMMAND),
            self._subscribe(Octomap, "octomap_binary", self._on_octomap, qos.LATCHED, optional=True),
        ]

    def destroy(self) -> None:
        """Unsubscribes."""
        self._frames.destroy()
        for subscription in self._subscriptions:
            self._node.destroy_subscription(subscription)

    def _subscribe(
        self, kind: Any, topic: str, edit: Callable[[Any], str], profile: QoSProfile, *, optional: bool = False
    ) -> Any:
        """A subscription whose edits are logged if they are refused.

        Args:
            kind: Type of the messages.
            topic: Its name.
            edit: Changes the world and says what it did.
            profile: Of the topic.
            optional: Without a warning if publishers do not fit the profile, because another subscription takes theirs.
        """

        def on_message(message: Any) -> None:
            if not self._node.is_active:
                return
            try:
                check_size(message)
                done = edit(message)
            except ManipapyError as error:
                self._node.get_logger().warning(f"{topic} ignored: {error}", throttle_duration_sec=WARN_EVERY)
                return
            self._node.get_logger().debug(f"{topic}: {done}")
            self._announce()

        events = SubscriptionEventCallbacks(incompatible_qos=lambda _: None) if optional else None
        return self._node.create_subscription(kind, topic, on_message, profile, event_callbacks=events)

    def _on_obstacles(self, message: ObstacleArray) -> str:
        self._world.update_perceived(message)
        return "perceived obstacles replaced"

    def _on_surfaces(self, message: ObstacleArray) -> str:
        if not self._node.values["surfaces.use"]:
            message = ObstacleArray(header=message.header)
        return self._world.update_surfaces(message)

    def _on_edit(self, message: WorldEdit) -> str:
        return self._world.change(message)

    def _on_points(self, message: PointCloud2) -> str:
        T = self.pose(message.header.frame_id, to_nanoseconds(message.header.stamp))
        return self._world.set_point_cloud(points_of(message), T, float(self._node.values["point_cloud.cell"]))

    def _on_octomap(self, message: Octomap) -> str:
        T = self.pose(message.header.frame_id, to_nanoseconds(message.header.stamp))
        content = stream_bytes(message.data), T.tobytes()
        if content == self._octomap and OCTOMAP in self._world.snapshot().objects:
            return "the same octomap again"
        self._octomap = content
        return self._world.set_octomap(message, T)

    def _on_unknown(self, message: Octomap) -> str:
        policy, distance = unknown_policy(self._node.values), float(self._node.values["unknown_space.distance"])
        T = self.pose(message.header.frame_id, to_nanoseconds(message.header.stamp))
        spheres = self._arm.spheres_at(self._positions())
        content = stream_bytes(message.data), T.tobytes(), policy, distance, np.round(spheres, 2).tobytes()
        if content == self._unknown:
            return "the same unknown space again"
        self._unknown = content
        return self._world.set_unknown(message, T, policy, spheres, distance)

    def pose(self, frame: str, time_ns: int) -> Array:
        """Pose of a frame in the base at a time [ns], 0 for now, shape (4, 4); may be called from any thread.

        Raises:
            InputError: It is not known.
        """
        with self._lock:
            return self._world.frame(frame, self._frames, time_ns or self._node.get_clock().now().nanoseconds)
