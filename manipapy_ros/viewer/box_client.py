"""Boxes from the web page: in the simulation, in the planner's world, or in both."""

from __future__ import annotations

from collections.abc import Callable

from geometry_msgs.msg import Pose
from manipapy_msgs.msg import CollisionObject
from manipapy_msgs.srv import ChangeWorld, RemoveObject, SpawnObject
from std_msgs.msg import ColorRGBA

from manipapy_core import lie
from manipapy_core.draw import BoxCommands
from manipapy_core.typing import Array

from ..client.planner import PlannerClient
from ..client.session import Refused, RosSession
from ..common.conversions import pose_from_matrix

COLOUR = ColorRGBA(r=0.75, g=0.3, b=0.55, a=1.0)


class BoxClient:
    """Adds and removes boxes.

    Args:
        session: Whose node is used.
        planner: Its world gets boxes.
        T_world_base: Returns the pose of the base in the simulated world, shape (4, 4).
    """

    def __init__(self, session: RosSession, planner: PlannerClient, T_world_base: Callable[[], Array]):
        self._session, self._planner, self._T_world_base = session, planner, T_world_base
        self._simulated: set[str] = set()
        self._known: set[str] = set()
        self.commands = BoxCommands(
            add={"planner's world": self.add_known, "simulation": self.add_simulated, "both": self.add_both},
            remove=self.remove,
        )

    def add_known(self, name: str, size: Array, position: Array) -> str:
        """Add a box that the planner knows of."""
        box = CollisionObject(id=name, type="box", dimensions=size.tolist())
        box.pose = pose_from_matrix(lie.pose(translation=position))
        text = self._planner.change_world(ChangeWorld.Request.ADD, box)
        self._known.add(name)
        return text or f"{name} is in the planner's world"

    def add_simulated(self, name: str, size: Array, position: Array) -> str:
        """Add a box to the simulation; the planner learns of it only through cameras."""
        request = SpawnObject.Request(name=name, type="box", dimensions=size.tolist(), texture="speckle", color=COLOUR)
        request.pose = self._in_world(position)
        answer = self._session.call(SpawnObject, "sim_bridge/spawn", request)
        if not answer.success:
            raise Refused(f"{self._session.namespace}/sim_bridge/spawn", answer.message)
        self._simulated.add(name)
        return f"{name} is in the simulation"

    def add_both(self, name: str, size: Array, position: Array) -> str:
        """Add a box to the simulation and to the planner's world."""
        self.add_simulated(name, size, position)
        self.add_known(name, size, position)
        return f"{name} is in the simulation and in the planner's world"

    def remove(self, name: str) -> str:
        """Remove a box from where it was added."""
        if name in self._simulated:
            self._simulated.discard(name)
            answer = self._session.call(RemoveObject, "sim_bridge/remove", RemoveObject.Request(name=name))
            if not answer.success:
                raise Refused(f"{self._session.namespace}/sim_bridge/remove", answer.message)
        if name in self._known:
            self._known.discard(name)
            self._planner.change_world(ChangeWorld.Request.REMOVE, CollisionObject(id=name))
        return f"{name} is removed"

    def _in_world(self, position: Array) -> Pose:
        return pose_from_matrix(self._T_world_base() @ lie.pose(translation=position))
