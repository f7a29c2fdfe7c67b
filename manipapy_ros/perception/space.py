"""Unknown space on the topic `unknown_space`, as an octomap whose occupied leaves are the unknown cells."""

from __future__ import annotations

import array
import time
from typing import Any

import numpy as np
from octomap_msgs.msg import Octomap
from rclpy.node import Node

from manipapy_core.geometry import RobotBody
from manipapy_core.geometry.octree import binary_stream
from manipapy_core.perception import Frame, PerceptionResult, SelfFilter, SpaceMap, SpaceState

from ..common import qos
from ..common.params import Param, Values

SPACE_PARAMETERS = (
    Param("space.enabled", False, "Map seen, free and unknown space, and publish the unknown one on `unknown_space`; "
          "needs depth or stereo images"),
    Param("space.cell", 0.04, "Edge of a cell of that map [m]", minimum=0.01, maximum=0.5),
    Param("space.period", 1.0, "Shortest time between two messages on `unknown_space` [s]", minimum=0.05, maximum=60.0),
)  # fmt: skip
SELF_PADDING = 0.03
"""Of the robot in the map [m]."""


class UnknownSpacePublisher:
    """Keeps the map up to date, and publishes its unknown cells.

    Args:
        values: Parameters of the node.
        body: Of the robot; None: it is not filtered out.
        base: Frame of the map.
        reach: Of the arm [m]; the map has this size in all directions.
    """

    def __init__(self, node: Node, values: Values, body: RobotBody | None, base: str, reach: float):
        self._node, self._base, self._period = node, base, float(values["space.period"])
        self._arm = None if body is None else SelfFilter(body)
        self._map = SpaceMap(np.full(3, -reach), np.full(3, reach), cell=float(values["space.cell"]))
        self._publisher = node.create_publisher(Octomap, "unknown_space", qos.LATCHED)
        self._next, self._sent = -np.inf, b""
        self.spent = 0.0
        """CPU time of the last update [s]."""

    def destroy(self) -> None:
        """Stop publishing."""
        self._node.destroy_publisher(self._publisher)

    def reset(self) -> None:
        """Forget what was seen."""
        self._map.reset()

    def update(self, result: PerceptionResult, frame: Frame, stamp: Any) -> None:
        """Add a frame; publish if it is time to, and something changed."""
        if result.depth is None:
            self._node.get_logger().warning("no map of unknown space from point clouds; use depth images", once=True)
            return
        began = time.thread_time()
        spheres = None
        if self._arm is not None and frame.q is not None:
            spheres = self._arm.spheres_at(frame.q)
            spheres[:, 3] += SELF_PADDING
        self._map.update(result.depth, frame.T_base_optical, spheres)
        self.spent = time.thread_time() - began
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._period
        cells = self._map.centres(SpaceState.UNKNOWN)
        sizes = np.full(len(cells), self._map.cell)
        stream, resolution = binary_stream(cells, sizes) if len(cells) else (b"", self._map.cell)
        if stream == self._sent and len(stream):
            return
        self._sent = stream
        message = Octomap(binary=True, id="OcTree", resolution=resolution, data=array.array("b", stream))
        message.header.frame_id, message.header.stamp = self._base, stamp
        self._publisher.publish(message)
