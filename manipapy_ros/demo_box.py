"""A box that drops into the way of the moving arm in `make sim`, which stops and goes around it."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from manipapy_msgs.msg import CollisionObject, ObstacleArray
from manipapy_msgs.srv import ChangeWorld, RemoveObject, SpawnObject
from std_msgs.msg import ColorRGBA

from manipapy_core import kinematics, lie
from manipapy_core.model import Chain
from manipapy_core.model.elements import Array

from .client import Client, Refused
from .conversions import pose_from_matrix
from .planner_client import PlannerClient

NAME, SIZE = "dropped_box", (0.10, 0.10, 0.60)
"""[m]"""
AFTER = 0.2
"""How long the arm is under way when it drops [s]."""
BEYOND = 0.06
"""How much farther out than the tip at home it stands [m]."""
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
        self, client: Client, chain: Chain, home: Array, planner: PlannerClient | None, say: Callable[[str], None]
    ):
        self._client, self._planner, self._say = client, planner, say
        tip = kinematics.forward(chain, home)[:3, 3]
        out = tip[:2] * (1.0 + BEYOND / max(float(np.linalg.norm(tip[:2])), 0.1))
        self._place = np.array([*out, SIZE[2] / 2])
        self._under_way: float | None = None
        self._dropped_at: float | None = None
        self._seen = False
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
        if self._dropped_at is None or self._seen:
            return
        for obstacle in message.obstacles:
            p = obstacle.pose.position
            if np.hypot(p.x - self._place[0], p.y - self._place[1]) < NEAR and p.z > NEAR:
                self._seen = True
                late = time.monotonic() - self._dropped_at
                size = f"{100 * obstacle.size.x:.0f} × {100 * obstacle.size.y:.0f} × {100 * obstacle.size.z:.0f} cm"
                self._say(f"seen after {late:.1f} s as obstacle {obstacle.id}, {size}")
