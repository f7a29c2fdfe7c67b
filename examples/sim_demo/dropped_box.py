"""The box that drops into the path of the moving arm in the `make sim` demo."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import Point
from manipapy_msgs.msg import CollisionObject, ObstacleArray
from manipapy_msgs.srv import ChangeWorld, ListObjects, RemoveObject, SpawnObject
from std_msgs.msg import ColorRGBA

from manipapy_core import kinematics, lie
from manipapy_core.model import Chain
from manipapy_core.typing import Array
from manipapy_ros.client.planner import PlannerClient
from manipapy_ros.client.session import Refused, RosSession
from manipapy_ros.common.conversions import pose_from_matrix
from manipapy_ros.common.object_messages import PERCEIVED

NAME, SIZE = "dropped_box", (0.10, 0.10, 0.60)
"""[m]"""
DROP_DELAY = 0.2
"""From the start of the motion to the drop [s]."""
RADIAL_OFFSET = 0.06
"""Distance of the box beyond the home position of the tip, away from the base [m]."""
CLEAR_TIMEOUT = 10.0
"""How long the obstacle may remain after the box is removed [s]."""
MATCH_DISTANCE = 0.12
"""An obstacle whose centre is this close to the box counts as the box [m]."""


class DroppedBox:
    """Spawns the box in the simulated world once and reports when the cameras detect it.

    Args:
        client: ROS session.
        chain: The arm.
        home: Configuration whose tip position places the box [rad or m], shape (n,).
        planner: Gets the box as a collision object; None leaves the detection to the cameras.
        report: Prints a line.
    """

    def __init__(
        self,
        client: RosSession,
        chain: Chain,
        home: Array,
        planner: PlannerClient | None,
        report: Callable[[str], None],
    ):
        self._client, self._planner, self._report = client, planner, report
        tip = kinematics.forward(chain, home)[:3, 3]
        out = tip[:2] * (1.0 + RADIAL_OFFSET / max(float(np.linalg.norm(tip[:2])), 0.1))
        self._position = np.array([*out, SIZE[2] / 2])
        self._motion_start: float | None = None
        self._dropped_at: float | None = None
        self._detected = self._present = False
        client.node.create_subscription(ObstacleArray, "obstacles", self._on_obstacles, 5)

    def update(self) -> None:
        """Call it while the arm moves: drops the box after the delay."""
        now = time.monotonic()
        if self._motion_start is None:
            self._motion_start = now
        if self._dropped_at is None and now - self._motion_start > DROP_DELAY:
            self._drop()

    def remove(self) -> None:
        """Removes the box."""
        if self._dropped_at is not None:
            self._client.call(RemoveObject, "sim_bridge/remove", RemoveObject.Request(name=NAME))
            if self._planner is not None:
                self._planner.change_world(ChangeWorld.Request.REMOVE, CollisionObject(id=NAME))
            self._report("the box is removed")
            if self._planner is None:
                # The obstacle stays in the planner's world until the cameras report the place free.
                self._client.wait_until(lambda: not self._present and not self._in_planner_world(), CLEAR_TIMEOUT)

    def _in_planner_world(self) -> bool:
        """Whether the planner's world still holds a perceived obstacle at the box."""
        known = self._client.call(ListObjects, "planner/list_objects", ListObjects.Request())
        return any(item.id.startswith(PERCEIVED) and self._is_box(item.pose.position) for item in known.objects)

    def _is_box(self, centre: Point) -> bool:
        distance = np.hypot(centre.x - self._position[0], centre.y - self._position[1])
        return bool(distance < MATCH_DISTANCE and centre.z > MATCH_DISTANCE)

    def _drop(self) -> None:
        request = SpawnObject.Request(name=NAME, type="box", dimensions=list(SIZE), texture="speckle")
        request.color = ColorRGBA(r=0.75, g=0.3, b=0.55, a=1.0)
        request.pose = pose_from_matrix(lie.pose(translation=self._position))
        answer = self._client.call(SpawnObject, "sim_bridge/spawn", request)
        if not answer.success:
            raise Refused("sim_bridge/spawn", answer.message)
        self._dropped_at = time.monotonic()
        if self._planner is None:
            self._report("a box drops into the path; the planner gets no message, the cameras must detect it")
            return
        box = CollisionObject(id=NAME, type="box", dimensions=list(SIZE), pose=request.pose)
        self._planner.change_world(ChangeWorld.Request.ADD, box)
        self._report("a box drops into the path of the moving arm")

    def _on_obstacles(self, message: ObstacleArray) -> None:
        if self._dropped_at is None:
            return
        self._present = False
        for obstacle in message.obstacles:
            if self._is_box(obstacle.pose.position):
                self._present = True
                if self._detected:
                    return
                self._detected = True
                delay = time.monotonic() - self._dropped_at
                size = f"{100 * obstacle.size.x:.0f} × {100 * obstacle.size.y:.0f} × {100 * obstacle.size.z:.0f} cm"
                self._report(f"detected after {delay:.1f} s as obstacle {obstacle.id}, {size}")
