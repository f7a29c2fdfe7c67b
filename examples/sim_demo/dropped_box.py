"""A box that drops into the way of the moving arm in `make sim`, which stops and goes around it."""

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
from manipapy_ros.planner.world_messages import SEEN

NAME, SIZE = "dropped_box", (0.10, 0.10, 0.60)
"""[m]"""
AFTER = 0.2
"""How long the arm is under way when it drops [s]."""
BEYOND = 0.06
"""How much farther out than the tip at home it stands [m]."""
SEEN_GONE = 10.0
"""How long the cameras may take to see that it is gone [s]."""
NEAR = 0.12
"""An obstacle whose middle is so near to that of the box is the box [m]."""


class DroppedBox:
    """Puts the box into the simulated world, once, and notes when the cameras see it.

    Args:
        client: Whose node is used.
        chain: The arm.
        home: Where its tip marks the place [rad or m], shape (n,).
        planner: Is told about the box; None leaves that to the cameras.
        say: For what happens, in words.
    """

    def __init__(
        self, client: RosSession, chain: Chain, home: Array, planner: PlannerClient | None, say: Callable[[str], None]
    ):
        self._client, self._planner, self._say = client, planner, say
        tip = kinematics.forward(chain, home)[:3, 3]
        out = tip[:2] * (1.0 + BEYOND / max(float(np.linalg.norm(tip[:2])), 0.1))
        self._place = np.array([*out, SIZE[2] / 2])
        self._under_way: float | None = None
        self._dropped_at: float | None = None
        self._seen = self._there = False
        client.node.create_subscription(ObstacleArray, "obstacles", self._on_obstacles, 5)

    def look(self) -> None:
        """Called while the arm moves: drops the box when it is time."""
        now = time.monotonic()
        if self._under_way is None:
            self._under_way = now
        if self._dropped_at is None and now - self._under_way > AFTER:
            self._drop()

    def take_away(self) -> None:
        """Remove the box again."""
        if self._dropped_at is not None:
            self._client.ask(RemoveObject, "sim_bridge/remove", RemoveObject.Request(name=NAME))
            if self._planner is not None:
                self._planner.change_world(ChangeWorld.Request.REMOVE, CollisionObject(id=NAME))
            self._say("the box is taken away")
            if self._planner is None:
                # The planner counts with it for as long as the cameras have not seen, and told, that it is gone.
                self._client.wait_until(lambda: not self._there and not self._planned_with(), SEEN_GONE)

    def _planned_with(self) -> bool:
        """Whether something of the box is in the planner's world."""
        known = self._client.ask(ListObjects, "planner/list_objects", ListObjects.Request())
        return any(thing.id.startswith(SEEN) and self._is_box(thing.pose.position) for thing in known.objects)

    def _is_box(self, middle: Point) -> bool:
        away = np.hypot(middle.x - self._place[0], middle.y - self._place[1])
        return bool(away < NEAR and middle.z > NEAR)

    def _drop(self) -> None:
        request = SpawnObject.Request(name=NAME, type="box", dimensions=list(SIZE), texture="speckle")
        request.color = ColorRGBA(r=0.75, g=0.3, b=0.55, a=1.0)
        request.pose = pose_from_matrix(lie.pose(translation=self._place))
        answer = self._client.ask(SpawnObject, "sim_bridge/spawn", request)
        if not answer.success:
            raise Refused("sim_bridge/spawn", answer.message)
        self._dropped_at = time.monotonic()
        if self._planner is None:
            self._say("a box drops into the way; nobody tells the planner, the cameras must see it")
            return
        box = CollisionObject(id=NAME, type="box", dimensions=list(SIZE), pose=request.pose)
        self._planner.change_world(ChangeWorld.Request.ADD, box)
        self._say("a box drops into the way of the moving arm")

    def _on_obstacles(self, message: ObstacleArray) -> None:
        if self._dropped_at is None:
            return
        self._there = False
        for obstacle in message.obstacles:
            if self._is_box(obstacle.pose.position):
                self._there = True
                if self._seen:
                    return
                self._seen = True
                late = time.monotonic() - self._dropped_at
                size = f"{100 * obstacle.size.x:.0f} × {100 * obstacle.size.y:.0f} × {100 * obstacle.size.z:.0f} cm"
                self._say(f"seen after {late:.1f} s as obstacle {obstacle.id}, {size}")
