"""Whether a goal of the web viewer is free, at a joint limit or in collision, and with what."""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import ManipapyError
from ..geometry import Checker, RobotBody, World, WorldSnapshot, contact_names
from ..model.chain import Chain
from ..model.robot import Robot
from ..typing import Array

NEAR_LIMIT = 0.01
"""A joint this close to its limit is named [rad or m]."""
NAMED = 2
"""Most contacts that are named."""


class GoalKind(enum.Enum):
    """Kinds of goals."""

    FREE = "free"
    AT_LIMIT = "at a limit"
    COLLIDING = "in collision"
    UNREACHABLE = "out of reach"


@dataclass(frozen=True)
class GoalState:
    """What is known of a goal."""

    kind: GoalKind
    text: str
    """For users."""


class GoalCheck:
    """Checks goals; for collisions once the collision body is built, on a thread of its own.

    Args:
        robot: With collision shapes.
        chain: The arm.
        world: Returns the current world.
    """

    def __init__(self, robot: Robot, chain: Chain, world: Callable[[], WorldSnapshot]):
        self._robot, self._chain, self._world = robot, chain, world
        self._checker: Checker | None = None
        self._problem = "collisions are not checked yet"
        self.ready = threading.Event()
        """Set when the collision body is built, or cannot be."""
        threading.Thread(target=self._build, name="goal-check", daemon=True).start()

    @property
    def body(self) -> RobotBody | None:
        """The collision body; None until it is built."""
        return None if self._checker is None else self._checker.body

    def state(self, q: Array) -> GoalState:
        """State of a goal, q [rad or m], shape (n,)."""
        checker = self._checker
        if checker is not None:
            contacts = contact_names(checker, q, snapshot=self._world())
            if contacts:
                named = ", ".join(f"{first} with {second}" for first, second in contacts[:NAMED])
                more = f" and {len(contacts) - NAMED} more" if len(contacts) > NAMED else ""
                return GoalState(GoalKind.COLLIDING, f"in collision: {named}{more}")
        limits, names = self._chain.limits, self._chain.joint_names
        at_limit = [
            f"{names[j]} at its {side} limit"
            for j in range(self._chain.n)
            for side, distance in (("lower", q[j] - limits.lower[j]), ("upper", limits.upper[j] - q[j]))
            if distance < NEAR_LIMIT
        ]
        note = f" ({self._problem})" if checker is None else ""
        if at_limit:
            return GoalState(GoalKind.AT_LIMIT, f"limit: {', '.join(at_limit[:NAMED])}{note}")
        return GoalState(GoalKind.FREE, f"solved{note}")

    def _build(self) -> None:
        try:
            checker = Checker(RobotBody.build(self._robot, self._chain), World())
            checker.check(np.zeros((1, self._chain.n)))
            self._checker = checker
        except ManipapyError as error:
            self._problem = f"collisions are not checked: {error}"
        self.ready.set()
