"""The planner's world in another node: received whole once, then kept up to date by its changes."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from manipapy_msgs.msg import ObstacleArray, WorldDiff
from manipapy_msgs.msg import World as WorldMessage
from manipapy_msgs.srv import GetWorld
from rclpy.node import Node
from rclpy.serialization import deserialize_message

from manipapy_core.errors import InputError
from manipapy_core.geometry import World, WorldSnapshot

from ..realtime.polled_topics import PolledSubscription
from . import qos
from .conversions import after_string, aligned
from .object_messages import set_perceived
from .params import Param, Values
from .robot_loader import LoadedRobot
from .world_messages import apply_diff, world_from_message

DIFFS = "_diffs"
"""Appended to the topic of the whole world: the topic of its changes."""
SERVICE = "get_world"
"""Beside the topic: answers with the whole world."""
WORLD_PARAMETERS = (
    Param("world_topic", "planner/world", "World topic of the planner"),
    Param("world_stale_after", 3.0, "Age of the last world message above which the world is not up to date [s]",
          minimum=0.1, maximum=3600.0),
)  # fmt: skip
ASK_AGAIN = 0.5
"""Least time between two requests for the whole world [s]."""
_AFTER_STAMP = 12
_NUMBERS = struct.Struct("<QQ")


class WorldFollower:
    """Keeps a copy of the planner's world. Threads may share it.

    A follower that starts late receives the latched world and the changes since. One that has missed a change requests
    the whole world. A planner that was started again has a new session, and its world replaces the old one. Without
    messages from a planner the last world is kept, and `problem` says so.

    Args:
        node: Owner of the subscriptions; its executor runs.
        topic: Of the whole world.
        frame: Base link of the arm; a world in another frame is refused.
        stale_after: Age of the last message above which the world is not up to date [s].
    """

    def __init__(self, node: Node, topic: str, frame: str, stale_after: float = 3.0):
        self._node, self._frame, self._stale_after = node, frame, stale_after
        self._wholes: PolledSubscription[WorldMessage] = PolledSubscription(node, WorldMessage, topic, qos.LATCHED)
        self._diffs: PolledSubscription[WorldDiff] = PolledSubscription(node, WorldDiff, topic + DIFFS, qos.CHANGES)
        owner, _, _ = topic.rpartition("/")
        self._client = node.create_client(GetWorld, f"{owner}/{SERVICE}" if owner else SERVICE)
        self._lock = threading.Lock()
        self._answers: list[WorldMessage] = []
        self._world, self._session = WorldSnapshot(), 0
        self._arrival, self._asked = -float("inf"), -float("inf")
        self._refused = ""
        self._warned = False
        self.resynchronised = 0
        """How often the whole world was requested because a change was missed."""

    @classmethod
    def of(cls, node: Node, values: Values, frame: str) -> WorldFollower:
        """As `WORLD_PARAMETERS` set it."""
        return cls(node, str(values["world_topic"]), frame, float(values["world_stale_after"]))

    @property
    def topic(self) -> str:
        """Full name of the topic."""
        return self._wholes.topic

    @property
    def received(self) -> bool:
        """Whether a world has arrived."""
        self.snapshot()
        return self._session != 0

    @property
    def fresh(self) -> bool:
        """Whether the last message is recent enough."""
        self.snapshot()
        return self._is_fresh()

    @property
    def problem(self) -> str:
        """Why the world is not up to date; empty if it is."""
        self.snapshot()
        return self._described_problem()

    def snapshot(self) -> WorldSnapshot:
        """The newest world; empty until one has arrived."""
        with self._lock:
            self._poll()
            return self._world

    def destroy(self) -> None:
        """Unsubscribes."""
        self._wholes.destroy()
        self._diffs.destroy()
        self._node.destroy_client(self._client)

    # Under the lock.

    def _poll(self) -> None:
        while self._answers:
            self._take_whole(self._answers.pop(0))
        serialized = self._wholes.newest_serialized()
        if serialized is not None and not self._known(serialized):
            self._take_whole(deserialize_message(serialized, WorldMessage))
        for diff in self._diffs.all_new():
            self._take_diff(diff)
        if self._session and self._is_fresh() == self._warned:
            self._warned = not self._warned
            logger = self._node.get_logger()
            # Two calls: rclpy keeps one severity per place in the source.
            if self._warned:
                logger.warning(self._described_problem())
            else:
                logger.info(f"messages about {self.topic} arrive again")

    def _is_fresh(self) -> bool:
        return time.monotonic() - self._arrival < self._stale_after

    def _described_problem(self) -> str:
        if not self._session:
            return self._refused or f"no world on {self.topic}: is the planner running?"
        if not self._is_fresh():
            age = time.monotonic() - self._arrival
            return f"no message about {self.topic} for {age:.0f} s; the last world is kept: is the planner running?"
        return self._refused

    def _known(self, serialized: bytes) -> bool:
        """Whether a serialized world is not newer than ours, without taking it apart: it may be large."""
        at = aligned(after_string(_AFTER_STAMP, self._frame), 8)
        if len(serialized) < at + _NUMBERS.size or not self._session:
            return False
        session, version = _NUMBERS.unpack_from(serialized, at)
        return session == self._session and version <= self._world.version

    def _take_whole(self, message: WorldMessage) -> None:
        def read() -> WorldSnapshot:
            if message.header.frame_id != self._frame:
                raise InputError(f"its frame is {message.header.frame_id!r}, not {self._frame!r}")
            return world_from_message(message)

        if self._outdated(message.session) or (
            message.session == self._session and message.version <= self._world.version
        ):
            return
        if self._accept(read):
            self._session = message.session

    def _take_diff(self, diff: WorldDiff) -> None:
        if self._outdated(diff.session):
            return
        if diff.session == self._session and diff.version <= self._world.version:
            self._arrival = time.monotonic()
            return
        follows = diff.session == self._session and diff.base_version == self._world.version
        if not (follows and self._accept(lambda: apply_diff(self._world, diff))):
            self._ask()

    def _accept(self, read: Callable[[], WorldSnapshot]) -> bool:
        try:
            self._world = read()
        except InputError as error:
            self._refused = f"world on {self.topic} is not used: {error}"
            self._node.get_logger().error(self._refused, throttle_duration_sec=5.0)
            return False
        self._refused, self._arrival = "", time.monotonic()
        return True

    def _outdated(self, session: int) -> bool:
        """Whether a message is of a planner that ours has replaced."""
        return session < self._session and self._is_fresh()

    def _ask(self) -> None:
        now = time.monotonic()
        if now - self._asked < ASK_AGAIN or not self._client.service_is_ready():
            return
        self._asked = now
        self.resynchronised += self._session != 0
        self._client.call_async(GetWorld.Request()).add_done_callback(self._on_answer)

    def _on_answer(self, future: Any) -> None:
        answer = future.result()
        if answer is not None:
            self._answers.append(answer.world)


class WorldOrObstacles:
    """The planner's world; the perceived obstacles alone where there is no planner.

    Args:
        node: Owner of the subscriptions; its executor runs.
        values: Of `WORLD_PARAMETERS`.
        model: The arm.
    """

    def __init__(self, node: Node, values: Values, model: LoadedRobot):
        self._node, self._model, self._perceived = node, model, World()
        self.follower = WorldFollower.of(node, values, model.chain.base)
        self._obstacles = node.create_subscription(ObstacleArray, "obstacles", self._on_obstacles, qos.NEWEST)

    def snapshot(self) -> WorldSnapshot:
        """The newest state."""
        world = self.follower.snapshot()
        return world if self.follower.received else self._perceived.snapshot()

    def destroy(self) -> None:
        """Unsubscribes."""
        self.follower.destroy()
        self._node.destroy_subscription(self._obstacles)

    def _on_obstacles(self, message: ObstacleArray) -> None:
        if self.follower.received:
            return
        frame = message.header.frame_id
        try:
            T = np.eye(4) if frame in ("", self._model.chain.base) else self._model.fixed_pose(frame)
            set_perceived(self._perceived, message, T)
        except InputError as error:
            self._node.get_logger().warning(f"obstacles ignored: {error}", throttle_duration_sec=5.0)
